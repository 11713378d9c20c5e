package ui

import (
	"strings"

	tea "github.com/charmbracelet/bubbletea"

	"opdeck/api"
	"opdeck/ui/keymap"
	"opdeck/ui/widget"
)

// Page is the body of a screen that is text, in a viewer with search. A screen
// embeds it and calls Layout at the end of its Update: View changes nothing.
type Page struct {
	W, H int // the size that SetSize told
	env  *Env
	text func() []string
	view *widget.Viewer
}

// NewPage makes a page; text makes its lines, in the update loop.
func NewPage(env *Env, text func() []string) Page {
	return Page{env: env, text: text, view: widget.NewViewer(env.Theme, env.Keys).Footed()}
}

// Layout makes the lines anew.
func (p *Page) Layout() {
	p.view.SetLines(p.text())
	p.view.SetSize(p.W, p.H)
}

// SetSize implements Screen.
func (p *Page) SetSize(w, h int) {
	p.W, p.H = w, h
	p.Layout()
}

// Lines draws the page; View is the same as one string.
func (p *Page) Lines() []string { return p.view.Lines() }

// View implements Screen.
func (p *Page) View() string { return strings.Join(p.Lines(), "\n") }

// Editing implements Screen: keys are text while something is searched for.
func (p *Page) Editing() bool { return p.view.Searching() }

// Key takes a key: while something is typed into the search it is text, then it is
// offered to own, and last it scrolls.
func (p *Page) Key(k keymap.Press, own func(keymap.Press) (a Action, cmd tea.Cmd, ok bool)) (Action, tea.Cmd) {
	g := &p.env.Keys.Global
	if !p.view.Searching() {
		if (g.Back.Match(k) || g.Quit.Match(k)) && p.view.Clear() {
			return Handled{}, nil
		}
		if a, cmd, ok := own(k); ok {
			return a, cmd
		}
	}
	p.view.Update(k)
	return nil, nil
}

// PageKeys are the keys of a screen with this page: those for the hits while
// something is searched for, then its own. secrets says that something is masked.
func (p *Page) PageKeys(secrets bool, own ...keymap.Key) []keymap.Key {
	keys, k := p.view.Hints(), p.env.Keys
	if p.view.Searching() {
		return keys
	}
	keys = append(keys, own...)
	if secrets && p.env.Masked() {
		reveal := k.Global.Reveal
		reveal.Extra = false
		keys = append(keys, reveal)
	}
	return append(append(keys, keymap.All(k.Nav)...), k.Global.Reload, k.Viewer.Search)
}

// Failed is the text of a page that could not be read.
func (p *Page) Failed(err *api.Error) []string {
	th, g := p.env.Theme, &p.env.Keys.Global
	return []string{th.Bad.Render(th.Signs.Bad + " " + err.Public), th.Dim.Render(err.Hint), "",
		th.Dim.Render(g.Reload.Help().Key + " tries again, " + g.Back.Help().Key + " goes back.")}
}

// Problem is the sentence of an error for Source, "" when there is none.
func Problem(err *api.Error) string {
	if err == nil {
		return ""
	}
	return err.Public
}
