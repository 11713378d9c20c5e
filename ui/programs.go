package ui

import (
	"context"
	"strings"

	tea "github.com/charmbracelet/bubbletea"

	"opdeck/api"
	"opdeck/ui/widget"
)

// Programs are other programs of this host that a text can be handed to, together with
// the terminal. The methods with a context are called in commands, and return when the
// program has ended.
type Programs interface {
	// Pager and Editor name the program, or say why there is none.
	Pager() (program, why string)
	Editor() (program, why string)
	// Folder is where a file for the editor is made.
	Folder() string
	// Page shows text; nothing of it is written to disk.
	Page(ctx context.Context, text string) error
	// Edit opens a temporary file with text and removes it afterwards.
	Edit(ctx context.Context, name, text string) error
}

// handedMsg tells that a program has ended that had the terminal.
type handedMsg struct {
	done string
	err  error
}

// handed says how that went, where it is worth a word.
func (s *Shell) handed(m handedMsg) tea.Cmd {
	switch {
	case m.err != nil:
		return s.notify(Error, safe(api.AsError(m.err).Public))
	case m.done != "":
		return s.notify(Info, m.done)
	}
	return nil
}

// offer switches the keys for other programs by what there is.
func (p *pager) offer(s *Shell) {
	if s.opt.Programs == nil {
		p.k.Pager.Off(s.opt.NoPrograms)
		p.k.Editor.Off(s.opt.NoPrograms)
		return
	}
	_, noPager := s.opt.Programs.Pager()
	_, noEditor := s.opt.Programs.Editor()
	p.k.Pager.Set(noPager)
	p.k.Editor.Set(noEditor)
}

// text is what is shown: safe, and masked where the screen masks.
func (p *pager) text(s *Shell) string { return strings.Join(p.lines(s), "\n") + "\n" }

// toPager hands what is shown to a pager.
func (p *pager) toPager(s *Shell) Action {
	if why := p.k.Pager.Why(); why != "" {
		return Notify{Level: Denied, Text: why}
	}
	programs, ctx, text := s.opt.Programs, s.root, p.text(s)
	name, _ := programs.Pager()
	return Write{What: p.title + " in " + name, Cmd: func() tea.Msg { return handedMsg{err: programs.Page(ctx, text)} }}
}

// toEditor asks before what is shown is written to a file for an editor.
func (p *pager) toEditor(s *Shell) Action {
	if why := p.k.Editor.Why(); why != "" {
		return Notify{Level: Denied, Text: why}
	}
	programs, ctx, text, file := s.opt.Programs, s.root, p.text(s), fileName(p.title)
	name, _ := programs.Editor()
	return Confirm{Title: "Open in the editor", Ask: "Write this JSON to a temporary file and open it?", Verb: "Open", SkipTypedConfirmation: true,
		Facts: []widget.Pair{{Label: "shown", Value: safe(p.title), Long: true}, {Label: "program", Value: safe(name), Long: true}, {Label: "file in", Value: safe(programs.Folder()), Long: true}},
		Risk:  "What is shown here is on disk, in a file that only you may read, until the editor has ended. Changes that you make there are not read back.",
		Yes: func(Seen) tea.Cmd {
			return func() tea.Msg {
				return handedMsg{"The editor has ended, its file is removed, and nothing was read back.", programs.Edit(ctx, file, text)}
			}
		},
		No: func() Action { return Notify{Level: Info, Text: "Not opened. Nothing was written."} }}
}

// fileName is a title as the name of a file.
func fileName(title string) string {
	return strings.Trim(strings.Map(func(r rune) rune {
		if r < 0x80 && (r >= '0' && r <= '9' || r|0x20 >= 'a' && r|0x20 <= 'z') {
			return r
		}
		return '-'
	}, title), "-") + ".json"
}
