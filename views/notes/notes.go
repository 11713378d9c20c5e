// Package notes is the part of a screen with the notes about its object: it shows them and takes a new one.
package notes

import (
	"context"

	tea "github.com/charmbracelet/bubbletea"

	"opdeck/internal/domain/note"
	"opdeck/internal/present"
	"opdeck/ui"
	"opdeck/ui/draw"
	"opdeck/ui/widget"
)

// Panel has the notes about one object. Its methods are called in the update loop, but for Read.
type Panel struct {
	env        *ui.Env
	book       *note.Notes
	object, id string
	list       []note.Note // newest first
	err        error       // of the last read
}

// New returns the panel of an object: note.Operation or note.Customer.
func New(env *ui.Env, book *note.Notes, object, id string) *Panel {
	return &Panel{env: env, book: book, object: object, id: id}
}

// Read reads the notes from the store, in a command of the screen; it costs no call.
func (p *Panel) Read(ctx context.Context) ui.Then {
	if p.book == nil { // no notes are kept
		return func() (ui.Action, tea.Cmd) { return nil, nil }
	}
	list, err := p.book.About(ctx, p.object, p.id)
	return func() (ui.Action, tea.Cmd) {
		if p.err = err; err == nil {
			p.list = list
		}
		return nil, nil
	}
}

// Section shows the notes, newest first, in lines of at most w cells; without one it has no title.
func (p *Panel) Section(w int) ui.Section {
	th := p.env.Theme
	out := ui.Section{Title: "Notes", Hint: p.env.Keys.Notes.Add.Help().Key + " writes one", Beside: true}
	if p.err != nil {
		out.Lines = []string{th.Warn.Render(th.Signs.Warn + " The notes could not be read from opdeck's store.")}
		return out
	}
	if len(p.list) == 0 {
		return ui.Section{}
	}
	for _, n := range p.list {
		out.Lines = append(out.Lines, th.Dim.Render(present.NoteBy(p.env.Present(), n)))
		for _, l := range draw.Wrap(present.NoteText(n), max(w-2, 10)) {
			out.Lines = append(out.Lines, "  "+l)
		}
	}
	return out
}

// Ask opens the form for a new note.
func (p *Panel) Ask() ui.Action {
	return ui.Ask{Title: "Note", Verb: "Save",
		Intro: []string{"For colleagues, about " + p.object + " " + draw.ID(p.id, 40) + ". It stays in opdeck and is never " +
			"sent to the service. It cannot be changed."},
		Fields: []widget.Field{{Label: "Note", Max: note.Most, Check: check}},
		Submit: func(v ui.Values) (ui.Action, tea.Cmd) { return nil, p.add(v.Text(0)) }}
}

func check(text string) error {
	_, err := note.Check(text)
	return err
}

func (p *Panel) add(text string) tea.Cmd {
	return p.env.Write(func(ctx context.Context) (ui.Then, ui.Notify) {
		_, err := p.book.Add(ctx, p.object, p.id, text)
		read := p.Read(ctx)
		return func() (ui.Action, tea.Cmd) {
			_, cmd := read()
			return ui.Ended("Note", "Note saved.", err), cmd
		}, ui.EndedElsewhere("The note was not saved", "Note saved.", err)
	})
}
