package ui

import (
	"strings"
	"testing"
	"time"

	"opdeck/ui/keymap"
	"opdeck/ui/theme"
	"opdeck/ui/widget"
)

// smallest is the height that a dialog has in a window of 40x12.
const smallest = 8

// drawn is a shell that can draw a dialog.
func drawn() *Shell {
	return assemble(&window{th: &theme.Theme{Signs: theme.Unicode()}, keys: keymap.New(), shown: &display{}})
}

// TestASmallWindowShowsTheRefusal: the fields of a form that came back do not push out
// why it did.
func TestASmallWindowShowsTheRefusal(t *testing.T) {
	s := drawn()
	f := NewForm(&Env{Theme: s.win.th, Keys: s.win.keys}, Ask{Title: "Upload", Intro: []string{"The file goes into the customer's store."},
		Fields: []widget.Field{{Label: "File", Value: "a.pdf"}, {Label: "Type"}, {Label: "Info"}}})
	f.Update(formSize(40, smallest))
	text := func() string {
		if n := strings.Count(f.View(), "\n") + 1; n > smallest-2 {
			t.Errorf("%d lines of %d", n, smallest-2)
		}
		return f.View()
	}
	if got := text(); !strings.Contains(got, "Type") {
		t.Errorf("without a refusal:\n%s", got)
	}
	f.refuse(Explain{Title: "Upload refused", Lines: []string{"It is damaged."}})
	for _, want := range []string{"Upload refused.", "It is damaged.", "a.pdf"} {
		if got := text(); !strings.Contains(got, want) {
			t.Errorf("%q is not in\n%s", want, got)
		}
	}
}

// TestACutTextSaysSo: a text above the fields that has no room ends with a sign, and one that has room does not.
func TestACutTextSaysSo(t *testing.T) {
	s := drawn()
	f := NewForm(&Env{Theme: s.win.th, Keys: s.win.keys}, Ask{Title: "Share", Fields: []widget.Field{{Label: "Token"}},
		Intro: []string{strings.Repeat("A token works once. ", 20)}})
	for h, cut := range map[int]bool{smallest: true, 24: false} {
		f.Update(formSize(40, h))
		if strings.Contains(f.View(), "…") != cut || !strings.Contains(f.View(), "Token") {
			t.Errorf("in %d lines:\n%s", h, f.View())
		}
	}
}

// TestTheRiskIsReadFirst: what has to be scrolled is behind the risk of a question.
func TestTheRiskIsReadFirst(t *testing.T) {
	s := drawn()
	q := &question{c: Confirm{Title: "Remove", Ask: "Remove it?", Risk: "Nothing brings it back.", Verb: "Remove",
		Facts: []widget.Pair{{Label: "document", Value: "a.pdf"}, {Label: "type", Value: "DEED"}, {Label: "size", Value: "7 kB"}, {Label: "status", Value: "PENDING"}, {Label: "amount", Value: "1.50 EUR"}}}}
	for h, first := range map[int]bool{smallest: true, 24: false} {
		text := strings.Join(q.panel(s, 60, h, time.Time{}).body, "\n")
		if risk, fact := strings.Index(text, "Nothing brings"), strings.Index(text, "a.pdf"); risk < 0 || fact < 0 || risk < fact != first {
			t.Errorf("in %d lines:\n%s", h, text)
		}
	}
}
