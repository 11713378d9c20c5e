package ui

import (
	"slices"

	tea "github.com/charmbracelet/bubbletea"

	"opdeck/ui/keymap"
)

// Program is one screen as a program of its own, with its dialogs, notices and key
// hints: a Shell that knows no other place. The models of the views are made of it
// (operation.Model, documents.Model, compliance.ShareForm, limits.Model).
type Program struct{ *Shell }

// Alone makes the model of the screen of one place. The zero Options do; questions
// are those of a sandbox then.
func Alone(o Options, p Place, screen func(*Env) Screen) Program {
	o.Start = p
	o.Make = func(env *Env, at Place) Screen {
		if at != p {
			return nil
		}
		return screen(env)
	}
	m := Program{New(o)}
	others := append(keymap.All(m.keys.Global)[:places], m.keys.Global.OpenID)
	m.keys.Allow(func(k keymap.Key) (why string) {
		if slices.ContainsFunc(others, func(o keymap.Key) bool { return o.Name == k.Name }) {
			return "Only this screen is available here."
		}
		return ""
	})
	return m
}

// Update implements tea.Model.
func (m Program) Update(msg tea.Msg) (tea.Model, tea.Cmd) {
	_, cmd := m.Shell.Update(msg)
	return m, cmd
}
