package ui

import (
	"strings"
	"time"

	tea "github.com/charmbracelet/bubbletea"

	"opdeck/api"
	"opdeck/internal/act/remedy"
	"opdeck/ui/keymap"
	"opdeck/ui/widget"
)

// PageScreen has the methods that a screen adds to its Page. They are called in the update
// loop; none of them may wait.
type PageScreen interface {
	tea.Model
	// Answer handles every message except keys and answers to Env.Read and Write.
	Answer(tea.Msg) (Action, tea.Cmd)
	// OwnKey handles a key that is not text; false leaves it to the page.
	OwnKey(keymap.Press) (Action, tea.Cmd, bool)
	// Reload reads the page again.
	Reload() tea.Cmd
	// Refresh updates everything that depends on the state or on time, such as keys that are
	// off; it is called after each message.
	Refresh()
	// Content returns the content: Page draws it, and plain mode prints it.
	Content() Content
	// Item returns the object for the keys that copy an id and show JSON.
	Item() Item
}

// Page is the body of a screen that is text, in a viewer with search: it draws the
// screen's Content. View changes nothing.
type Page struct {
	Wanted
	W, H  int       // the size of the body, in cells
	Loads *Requests // the reads of the content
	At    time.Time // when it was read
	Err   *api.Error
	Doing string // a write in progress: "finalizing"
	// Narrow puts sections beside each other from 120 columns on, not from 140.
	Narrow bool

	env    *Env
	screen PageScreen
	source Source // its constant members
	view   *widget.Viewer
	cursor linkCursor

	problem int // the line that shows Source.Problem, from 1; 0: none
}

// NewPage returns the page of the screen that embeds it. origin is the source of its data
// ("store"), class the budget that a reload costs, "" for none.
func NewPage(env *Env, screen PageScreen, origin, class string) Page {
	view := widget.NewViewer(env.Theme, env.Keys).Footed()
	return Page{env: env, screen: screen, source: Source{Origin: origin, Class: class}, Loads: env.Requests(), view: view,
		cursor: linkCursor{view: view, keys: env.Keys}}
}

// Init implements Screen.
func (p *Page) Init() tea.Cmd { return p.screen.Reload() }

// Update implements Screen.
func (p *Page) Update(msg tea.Msg) (tea.Model, tea.Cmd) { return p.screen, p.Keep(p.take(msg)) }

func (p *Page) take(msg tea.Msg) (Action, tea.Cmd) {
	defer p.Layout()
	switch msg := msg.(type) {
	case tea.WindowSizeMsg:
		// A visible cursor stays visible, but a page that nobody has moved in shows its top.
		saw := p.view.Sees(p.cursor.line) && (p.cursor.at > 0 || !p.view.AtTop())
		p.W, p.H = msg.Width, msg.Height
		if p.Layout(); saw {
			p.view.Show(p.cursor.line)
		}
		return nil, nil
	case tea.KeyMsg:
		return p.key(keymap.Read(msg))
	case keymap.Press:
		return p.key(msg)
	}
	if a, cmd, ok := Answered(msg); ok {
		return a, cmd
	}
	return p.screen.Answer(msg)
}

// Refresh implements PageScreen for a screen without updates.
func (p *Page) Refresh() {}

// Item implements PageScreen for a screen without an item.
func (p *Page) Item() Item { return Item{} }

// OwnKey implements PageScreen for a screen without keys of its own.
func (p *Page) OwnKey(keymap.Press) (Action, tea.Cmd, bool) { return nil, nil, false }

// Answer implements PageScreen for a screen without other messages.
func (p *Page) Answer(tea.Msg) (Action, tea.Cmd) { return nil, nil }

// Source implements Screen.
func (p *Page) Source() Source {
	src := p.source
	src.At, src.Loading, src.Problem = p.At, p.Loads.Busy(), Problem(p.Err)
	return src
}

// Lines draws the page; View is the same as one string.
func (p *Page) Lines() []string { return p.view.Lines() }

// View implements Screen.
func (p *Page) View() string { return strings.Join(p.Lines(), "\n") }

// Drawn implements Drawer.
func (p *Page) Drawn() Drawn {
	d := Drawn{Problem: p.problem > 0 && p.view.Sees(p.problem-1)}
	if row := p.view.Row(p.cursor.line); row >= 0 && len(p.cursor.links) > 0 {
		d.Cursors = []int{row}
	}
	return d
}

// Editing implements Screen: keys are text while the person types a search.
func (p *Page) Editing() bool { return p.view.Searching() }

// key handles a key: as text of the search while the person types one, else by the screen,
// else by scrolling.
func (p *Page) key(k keymap.Press) (Action, tea.Cmd) {
	if g := &p.env.Keys.Global; !p.view.Searching() {
		if (g.Back.Match(k) || g.Quit.Match(k)) && p.view.Clear() {
			return Handled{}, nil
		}
		if p.cursor.reveal(k, p.Layout) {
			return Handled{}, nil
		}
		if a, cmd, ok := p.screen.OwnKey(k); ok {
			return a, cmd
		}
		if a, ok := TakeItem(p.env, k, p.item); ok {
			return a, nil
		}
		if g.Reload.Match(k) {
			return nil, p.screen.Reload()
		}
		if p.cursor.move(k, p.Layout) {
			return nil, nil
		}
	}
	p.view.Update(k)
	p.cursor.catchUp(p.Layout)
	return nil, nil
}

// PageKeys returns the keys of a screen with this page: those for matches during a
// search, then its own. secrets: the page has masked values.
func (p *Page) PageKeys(secrets bool, own ...keymap.Key) []keymap.Key {
	keys, k := p.view.Hints(), p.env.Keys
	if p.view.Searching() {
		return keys
	}
	keys = append(append(keys, p.cursor.hints()...), own...)
	if secrets && p.env.Masked() {
		reveal := k.Global.Reveal
		reveal.Extra = false
		keys = append(keys, reveal)
	}
	return append(append(keys, keymap.All(k.Nav)...), k.Global.Reload, k.Viewer.Search)
}

// Failed returns the content of a page that could not be read.
func (p *Page) Failed(err *api.Error) Content {
	th, g := p.env.Theme, &p.env.Keys.Global
	if th.Linear {
		return Content{Lines: []string{err.Public, remedy.Plain(err)}}
	}
	return Content{Problem: 1, Lines: []string{th.Bad.Render(th.Signs.Bad + " " + err.Public),
		th.Dim.Render(remedy.Screen(err)), "",
		th.Dim.Render(g.Reload.Help().Key + " tries again, " + g.Back.Help().Key + " goes back.")}}
}

// NotReread returns the lines that say that the page is of an earlier read; nil if it is not.
func (p *Page) NotReread() []string {
	if p.Err == nil {
		return nil
	}
	return []string{p.env.ReloadFailed(p.Err)}
}

// ReloadFailed says that what is shown is of an earlier read, why, and how to read it again: one line, to be wrapped
// and not cut.
func (e *Env) ReloadFailed(err *api.Error) string {
	return e.Theme.Warn.Render(e.Theme.Signs.Warn + " Reload failed: " + strings.TrimRight(safe(err.Public), ".") + ". " +
		e.Way(e.Keys.Global.Reload) + " tries again.")
}

// Problem returns the sentence of an error for Source, "" for none.
func Problem(err *api.Error) string {
	if err == nil {
		return ""
	}
	return err.Public
}
