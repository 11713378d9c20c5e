package ui_test

import (
	"context"
	"slices"
	"strings"
	"testing"
	"time"

	tea "github.com/charmbracelet/bubbletea"

	"opdeck/api"
	"opdeck/ui"
	"opdeck/ui/keymap"
	"opdeck/ui/uitest"
	"opdeck/ui/uitest/shelltest"
	"opdeck/ui/widget"
)

// ownForm is a form with a state of its own.
type ownForm struct {
	*ui.Form
	keys int // that reached it
}

func (f *ownForm) Update(msg tea.Msg) (tea.Model, tea.Cmd) {
	if _, ok := msg.(keymap.Press); ok {
		f.keys++
	}
	_, cmd := f.Form.Update(msg)
	return f, cmd
}

// TestFillRunsTheModel: the dialog runs the model that the screen made, and a refusal opens
// that same one, with what was typed, secrets excepted.
func TestFillRunsTheModel(t *testing.T) {
	w := newWorld()
	r := w.start(t, w.options(ui.Test))
	f := w.top()
	var sent []string
	form := &ownForm{}
	form.Form = ui.NewForm(f.env, ui.Ask{Title: "Own", Fields: []widget.Field{{Label: "Name"}, {Label: "Token", Secret: true}},
		Submit: func(v ui.Values) (ui.Action, tea.Cmd) {
			sent = append(sent, v.Text(0)+" "+v.Secret(1).Reveal())
			return ui.Confirm{Title: "Send", Ask: "Send it?", Yes: func(ui.Seen) tea.Cmd {
				return f.env.Write(func(context.Context) (ui.Then, ui.Notify) {
					return func() (ui.Action, tea.Cmd) {
						return ui.Failure("Sending", &api.Error{Kind: api.Refused, Public: "It is refused."}), nil
					}, ui.Notify{}
				})
			}}, nil
		}})
	f.extra = func(m tea.Msg) (ui.Action, tea.Cmd, bool) {
		if k, ok := m.(keymap.Press); ok && k.Name == "a" {
			return ui.Fill{Form: form}, nil, true
		}
		return ui.Answered(m)
	}
	r.Send(uitest.Key("a"), uitest.Type("Ana"), uitest.Key("enter"), uitest.Type("hush"))
	if r.Has("─ Own", "Ana", "••••"); form.keys != 8 {
		t.Errorf("%d keys reached it", form.keys)
	}
	for _, line := range strings.Split(form.View(), "\n") {
		r.Has(line)
	}
	r.Send(uitest.Key("enter"), w.clock.Wait(shelltest.Armed), uitest.Key("y"))
	r.Has("It is refused.", "Secrets are not kept: type it again.", "› Token", "Ana")
	r.HasNot("••••")
	r.Send(uitest.Key("esc"), w.clock.Wait(time.Second), uitest.Type("again"), uitest.Key("enter"))
	if want := "Ana hush,Ana again"; strings.Join(sent, ",") != want || form.keys != 15 {
		t.Errorf("sent %q, %d keys", sent, form.keys)
	}
}

// TestAListIsUnderItsField: what a field offers is drawn below its text and above the next field.
func TestAListIsUnderItsField(t *testing.T) {
	w := newWorld()
	r := w.start(t, w.options(ui.Test))
	options := []widget.Option{{Value: "ONE"}, {Value: "TWO"}}
	form := ui.NewForm(w.top().env, ui.Ask{Title: "Own", Intro: []string{"Why."},
		Fields: []widget.Field{{Label: "First", Options: options}, {Label: "Second", Options: options}, {Label: "Third"}}})
	_ = r
	for _, h := range []int{30, 12, 8} {
		form.Update(tea.WindowSizeMsg{Width: 36, Height: h})
		for range 2 {
			lines := strings.Split(form.View(), "\n")
			if len(lines) > h {
				t.Errorf("%d lines of %d", len(lines), h)
			}
			at := slices.IndexFunc(lines, func(l string) bool { return strings.Contains(l, "› ") })
			if got := strings.Join(lines[at+2:at+4], " "); !strings.Contains(got, "ONE") || !strings.Contains(got, "TWO") {
				t.Errorf("height %d: below the field is %q\n%s", h, got, form.View())
			}
			form.Update(uitest.Key("tab"))
		}
		form.Update(uitest.Key("tab"))
	}
}
