package documents

import (
	tea "github.com/charmbracelet/bubbletea"

	"opdeck/api"
	"opdeck/ui"
	"opdeck/ui/keymap"
	"opdeck/ui/widget"
	"opdeck/views/storedfile"
)

// contentKey takes the keys about what a document holds: they work on the list and on the
// page of the document.
func (s *Screen) contentKey(msg keymap.Press, doc api.Document) (ui.Action, tea.Cmd, bool) {
	switch {
	case doc.GUID == "":
	case s.keys.Save.Match(msg):
		return storedfile.AskSave(s.env, s.parts.Save, s.known(doc)), nil, true
	case s.Page == nil && s.env.Keys.List.Open.Match(msg):
		storedfile.Show(s.List, s.known(doc), func() []widget.Pair { return s.changes.grouped(s.card(doc)) })
		return nil, nil, true
	}
	return nil, nil, false
}

// known is what the operation reports on a document.
func (s *Screen) known(d api.Document) storedfile.Document {
	return storedfile.Document{CUID: string(s.latest.Op.Customer.CUID), ID: string(d.GUID), Name: d.FileName,
		Kind: d.DocType, MIME: d.MIME, Size: d.Size, Attached: true}
}

// noContent says why the content cannot be read; "" when it can.
func (s *Screen) noContent() string {
	switch _, has := s.selected(); {
	case s.latest.Op == nil:
		return "The operation has not been read yet."
	case !has:
		return "No document is selected."
	case s.latest.Op.Customer.CUID == "":
		return "The operation has no customer, and a document can only be read through its customer."
	}
	return ""
}
