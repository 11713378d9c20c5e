package present

import (
	"time"

	"opdeck/internal/domain/note"
	"opdeck/internal/field"
	"opdeck/internal/format"
)

// NoteListed are the columns of a list of notes.
var NoteListed = []Column[note.Note]{
	timeColumn("at", field.Column{}, time.RFC3339, func(n note.Note) time.Time { return n.At }),
	textColumn("author", field.Column{}, func(n note.Note) string { return safe(n.Author, 60) }),
	textColumn("object", field.Column{}, func(n note.Note) string { return safe(n.Object, 20) }),
	textColumn("id", field.Column{}, func(n note.Note) string { return safe(n.ID, 128) }),
	textColumn("text", field.Column{}, NoteText),
}

// NoteText is the text of a note as one safe line.
func NoteText(n note.Note) string { return n.Text.Line(note.Most) }

// NoteBy is when and by whom a note was written.
func NoteBy(o Options, n note.Note) string {
	return format.Time(n.At, o.Zone) + "  " + safe(n.Author, 40)
}

// NoteOn says whether a note is on the customer.
func NoteOn(n note.Note) string {
	if n.Object == note.Customer {
		return "note on the customer"
	}
	return "note"
}

// NoteFound says which note finds an operation by a word of a filter.
func NoteFound(o Options, n note.Note) string {
	return NoteOn(n) + ", " + NoteBy(o, n) + ": " + NoteText(n)
}
