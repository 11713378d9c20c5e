package ui

import (
	"errors"
	"fmt"
	"slices"
	"strings"
	"time"

	tea "github.com/charmbracelet/bubbletea"

	"opdeck/api"
	"opdeck/ui/keymap"
	"opdeck/ui/theme"
)

// input is a dialog that runs a form. It asks before typed text is lost, and opens the form
// again if its data is refused.
type input struct {
	dialog
	model FormModel
	size  tea.WindowSizeMsg // that the model has
	armed time.Time         // keys before this time are ignored
}

func newInput(owner screenID, m FormModel) *input { return &input{dialog: dialog{owner}, model: m} }

func (d *input) keys() []keymap.Key { return d.model.form().Keys() }

func (d *input) key(s *Shell, p keymap.Press) (Action, tea.Cmd, bool) {
	if now := s.win.now(); now.Before(d.armed) { // meant for the previous content
		d.armed = later(d.armed, now.Add(quiet))
		return nil, nil, false
	}
	return d.take(s, p)
}

// take passes a message to the model. An Action of the model closes the dialog; a resulting
// question or write keeps the form.
func (d *input) take(s *Shell, msg tea.Msg) (Action, tea.Cmd, bool) {
	a, cmd := Update(d.model, msg)
	switch a.(type) {
	case nil:
		return nil, cmd, false
	case Cancel:
		return d.cancel()
	}
	if st := s.asker(d); st != nil && cmd != nil {
		st.sent = d.model
	}
	return remembering(a, d.model), cmd, true
}

// cancel closes the form; it asks first if there is typed text.
func (d *input) cancel() (Action, tea.Cmd, bool) {
	f := d.model.form()
	what := f.unsaved()
	if what == "" {
		return nil, nil, true
	}
	return do(func(s *Shell) tea.Cmd {
		return s.route.askDiscard(what, "", func(s *Shell) tea.Cmd {
			f.fields.Clear()
			s.dialogs.remove(d)
			return nil
		})
	}), nil, false
}

// onForm passes an answer to the form that asked, if it is still open.
func (s *Shell) onForm(m formMsg) tea.Cmd {
	for _, o := range s.dialogs.overlays {
		if d, ok := o.(*input); ok && d.model.form() == m.of {
			a, cmd, done := d.take(s, m)
			if done {
				s.dialogs.remove(d)
			}
			return s.finish(d, a, cmd)
		}
	}
	return nil
}

// remembering returns the action with the form that was filled in before stored in its question
// or menu.
func remembering(a Action, form FormModel) Action {
	switch a := a.(type) {
	case Confirm:
		a.form = form
		return a
	case Choose:
		a.form = form
		return a
	case Many:
		out := slices.Clone(a)
		for i := range out {
			out[i] = remembering(out[i], form)
		}
		return out
	}
	return a
}

// backToForm opens the form from before the menu with its input.
func (m *menu) backToForm() Action {
	return do(func(s *Shell) tea.Cmd {
		m.form.form().reopen()
		s.dialogs.push(newInput(m.screen, m.form))
		return nil
	})
}

func (d *input) counts(_ *Shell, now time.Time) time.Time {
	if now.Before(d.armed) {
		return d.armed
	}
	return time.Time{}
}

// layout passes the size to the model; it is called after each message.
func (d *input) layout(s *Shell) {
	w, h := s.win.area()
	if size := formSize(w, h); size != d.size {
		d.size = size
		d.model.Update(size)
	}
}

// formSize is the room inside the frame of a form in an area.
func formSize(w, h int) tea.WindowSizeMsg {
	return tea.WindowSizeMsg{Width: max(min(w, dialogWidth)-4, 1), Height: max(h-2, 1)}
}

func (d *input) panel(s *Shell, _, _ int, now time.Time) panel {
	f := d.model.form()
	p := panel{title: f.ask.Title, tone: theme.Accent, tail: strings.Split(d.model.View(), "\n")}
	if now.Before(d.armed) {
		p.foot = s.win.th.Signs.Wait + " keys are ignored for a moment"
	}
	if f.sending {
		p.foot = s.win.th.Signs.Wait + " checking first …"
	}
	return p
}

// CheckID says whether s can be an id of the service (api.CheckID).
func CheckID(s string) error {
	switch {
	case s == "":
		return errors.New("an id is needed")
	case api.CheckID("id", s) != nil:
		return fmt.Errorf("an id has only visible characters, at most %d bytes", api.MaxID)
	}
	return nil
}
