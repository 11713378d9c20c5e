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

// tree is the pseudo kind of the link that reads the children.
const tree = "tree"

// link is the place that a line opens, by kind and object; the zero link opens
// nothing.
type link struct {
	opens, id string
	row       string // of a list: where the cursor goes there
}

// sep separates the parts of a link's id; an id of the service that contains it opens
// nothing.
const sep = "\x00"

// to returns the link of a line; name is unique on the page. tab goes to it
// if stop is set and the link opens something.
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
