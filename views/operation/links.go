package operation

import (
	"strings"

	tea "github.com/charmbracelet/bubbletea"

	"opdeck/ui"
	"opdeck/ui/widget"
)

// Kinds of places that other packages name.
const (
	accounts       = "accounts"
	counterparties = "counterparties"
)

// tree stands for reading the children, in the place of a kind of place.
const tree = "tree"

// link is what a line leads to: the place of a kind, of an object; the zero link leads
// nowhere.
type link struct {
	opens, id string
	row       string // of a list: where the cursor goes there
}

// sep is between the parts of a link's id; an id of the service that holds it leads
// nowhere.
const sep = "\x00"

// to is the link of a line; name tells it from the others of the page. tab goes to it
// when stop is set and there is something to open.
func (l link) to(name, what, text string, stop bool) widget.Link {
	return widget.Link{ID: strings.Join([]string{name, l.opens, l.id, l.row}, sep), Copy: text, What: what,
		Opens: stop && l.opens != "" && l.id != ""}
}

// open opens what the cursor is on.
func (s *Screen) open() (ui.Action, tea.Cmd) {
	parts := strings.Split(s.Link().ID, sep)
	if len(parts) != 4 || parts[1] == "" || parts[2] == "" {
		next := s.env.Keys.Global.Pane.Help().Key
		return ui.Notify{Level: ui.Info, Text: "Nothing to open here; " + next +
			" goes to the next line that opens something."}, nil
	}
	to := link{parts[1], parts[2], parts[3]}
	if to.opens == tree {
		return nil, s.loadTree(true)
	}
	return ui.Open{Place: ui.Place{Kind: to.opens, ID: to.id}, Row: to.row}, nil
}
