package ui_test

import (
	"context"
	"errors"
	"testing"

	tea "github.com/charmbracelet/bubbletea"

	"opdeck/ui"
	"opdeck/ui/keymap"
	"opdeck/ui/uitest"
	"opdeck/ui/uitest/shelltest"
	"opdeck/ui/widget"
)

// TestLateAnswerOpensNothing: what an answer opens is for the person who is still where
// it was asked for; a person who continued gets a notice and no dialog.
func TestLateAnswerOpensNothing(t *testing.T) {
	opening := map[string]ui.Action{
		"menu":     ui.Choose{Title: "Late", Items: []ui.Choice{{Text: "one"}}},
		"form":     ui.Ask{Title: "Late", Fields: []widget.Field{{Label: "Name"}}},
		"question": ui.Confirm{Title: "Late", Ask: "Do it?"},
		"JSON":     ui.Raw{Title: "Late", JSON: []byte("{}")},
		"page":     ui.Explain{Title: "Late", Lines: []string{"Found."}},
		"several":  ui.Many{ui.Notify{Text: "Read."}, ui.Ask{Title: "Late", Fields: []widget.Field{{Label: "Name"}}}},
		"failure":  ui.Failure("Late", errors.New("no")),
	}
	gone := map[string]func(*fake) []tea.Msg{
		"stayed":          func(*fake) []tea.Msg { return []tea.Msg{uitest.Key("down")} },
		"another screen":  func(*fake) []tea.Msg { return []tea.Msg{uitest.Key("5")} },
		"a dialog":        func(*fake) []tea.Msg { return []tea.Msg{uitest.Key("?")} },
		"a filter":        func(*fake) []tea.Msg { return []tea.Msg{uitest.Key("/")} },
		"a page":          func(f *fake) []tea.Msg { f.layer = &ui.Layer{Crumb: "record"}; return nil },
		"there and back":  func(*fake) []tea.Msg { return []tea.Msg{uitest.Key("?"), uitest.Key("esc")} },
		"the page before": func(*fake) []tea.Msg { return []tea.Msg{uitest.Key("esc")} },
	}
	for what, action := range opening {
		for how, leave := range gone {
			t.Run(what+", "+how, func(t *testing.T) {
				w := newWorld()
				r := w.start(t, w.options(ui.Test))
				f := w.top()
				f.extra = func(m tea.Msg) (ui.Action, tea.Cmd, bool) {
					if k, ok := m.(keymap.Press); ok && k.Name == "a" {
						return nil, f.env.Read(nil, func(context.Context) ui.Then { return func() (ui.Action, tea.Cmd) { return action, nil } }), true
					}
					return ui.Answered(m)
				}
				shelltest.HoldAnswers(r)
				r.Send(uitest.Key("a"))
				r.Send(leave(f)...)
				before := r.View()
				r.Release()
				switch how {
				case "stayed", "there and back":
					r.Has("─ Late")
				case "the page before":
					if r.View() != before {
						t.Errorf("a closed screen answered:\n%s", r.View())
					}
				default:
					r.HasNot("─ Late")
					r.Has("Late")
				}
			})
		}
	}
}
