package present

import (
	"opdeck/internal/domain/presence"
	"opdeck/internal/field"
	"opdeck/internal/format"
)

// ConnectedColumns are the columns of the people who have a console open.
var ConnectedColumns = []Column[presence.Place]{
	textColumn("person", field.Column{Min: 12}, func(p presence.Place) string { return safe(p.Person, 60) }),
	textColumn("host", field.Column{Min: 12}, func(p presence.Place) string { return safe(p.Host, 120) }),
	textColumn("at", field.Column{Min: 30, Flex: 1}, func(p presence.Place) string {
		at := safe(p.Object, 40)
		if p.ID != "" {
			at += " " + safe(p.ID, 128)
		}
		if p.Dialog {
			at += ", before a write"
		}
		return at
	}),
	{Name: "since", Column: field.Column{Title: "since"}, Cell: func(o Options, p presence.Place) Cell {
		ago, next := format.Ago(p.Since, o.Now)
		return Cell{Text: "since " + ago, Tone: Dim, Until: next}
	}},
}
