package present

import (
	"slices"
	"strconv"
	"strings"
	"time"

	"opdeck/api"
	"opdeck/api/hook"
	"opdeck/api/untrusted"
	"opdeck/internal/domain/index"
	"opdeck/internal/domain/note"
	"opdeck/internal/domain/receiver"
	"opdeck/internal/field"
	"opdeck/internal/format"
)

// MomentKind is the kind of a timeline entry.
type MomentKind string

// The kinds of entries, as commands print them.
const (
	StateMoment   MomentKind = "state"
	WebhookMoment MomentKind = "event"
	GoneMoment    MomentKind = "gone" // the service no longer had it
	NoteMoment    MomentKind = "note" // a colleague wrote one about it or its customer
)

// Moment is one entry of an operation's timeline.
type Moment struct {
	ID     string // of the row, while the index keeps it
	At     time.Time
	Kind   MomentKind
	From   string // list, read or webhook
	Status untrusted.Text

	// Of a state.
	Place   int // position among the states; the oldest is 0
	State   index.State
	Before  *Moment           // the previous state; nil for the first
	Changes []index.Change    // from the previous state
	Who     map[string]string // who changed documents, by list entry

	Webhook Webhook   // of a webhook
	Note    note.Note // of a note
}

// IsState reports whether the moment is a state of the operation, also that of being gone.
func (m Moment) IsState() bool { return m.Kind == StateMoment || m.Kind == GoneMoment }

// Write is a person's write to a document of the operation through opdeck.
type Write struct {
	Who  string
	Act  api.ActKind
	Item string    // the document's id
	At   time.Time // right before it was sent
}

// Webhook is a delivery about the operation.
type Webhook struct {
	Key    string // in the inbox
	Trust  string // verified, unverified, …
	At     time.Time
	Status untrusted.Text // the code in it, with its word if known
}

// WebhookOf converts a delivery for the timeline.
func WebhookOf(s receiver.Stored, known hook.Meanings) Webhook {
	out := Webhook{Key: s.Key, Trust: string(s.Status), At: s.ReceivedAt}
	if e, err := s.Event(); err == nil && e.Status.Given {
		out.Status = untrusted.Text(known.Text(hook.FieldStatus, e.Status))
	}
	return out
}

// Timeline is the history of an operation, oldest first: its known states (given oldest first) with their changes and
// who changed its documents, the webhooks about it, and the notes on it and its customer.
func Timeline(states []index.State, webhooks []Webhook, writes []Write, notes []note.Note) []Moment {
	out := moments(states)
	attribute(out, writes)
	for _, w := range webhooks {
		out = append(out, Moment{ID: "event " + w.Key, At: w.At, Kind: WebhookMoment, From: index.Hook.String(),
			Status: w.Status, Place: -1, Webhook: w})
	}
	for _, n := range notes {
		out = append(out, Moment{ID: "note " + n.UID, At: n.At, Kind: NoteMoment, From: string(NoteMoment), Place: -1,
			Note: n})
	}
	slices.SortStableFunc(out, func(a, b Moment) int { return a.At.Compare(b.At) })
	return out
}

// moments pairs each state with the previous one. Two with the same time are distinguished by their place.
func moments(states []index.State) []Moment {
	out := make([]Moment, len(states))
	seen := map[string]int{}
	for i, st := range states {
		id := strconv.FormatInt(st.At.UnixNano(), 36) + " " + st.Origin.String()
		m := Moment{ID: id, At: st.At, Kind: StateMoment, From: st.Origin.String(), Status: st.Op.Status, Place: i, State: st}
		if n := seen[id]; n > 0 {
			m.ID += " " + strconv.Itoa(n)
		}
		seen[id]++
		if i > 0 {
			before := out[i-1]
			m.Before, m.Changes = &before, index.Diff(before.State.Op, st.Op)
			before.Before = nil // one step back is enough
		}
		if st.Gone {
			m.Kind, m.Status, m.Changes = GoneMoment, "", nil
		}
		out[i] = m
	}
	return out
}

// MomentColumns are the columns of a timeline; as many as full changes of a moment are shown with their values.
func MomentColumns(full int) []Column[Moment] {
	return []Column[Moment]{
		momentColumn(),
		rightColumn("ago", field.Layout{Min: 7, HidePriority: 4}, func(o Options, m Moment) Cell {
			age, next := format.Age(m.At, o.Now)
			return Cell{Text: age, Tone: Dim, Until: next}
		}),
		textColumn("what", field.Layout{}, func(m Moment) string { return safe(string(m.Kind), 20) }),
		column("from", field.Layout{Title: "source", Min: 7, HidePriority: 3}, func(_ Options, m Moment) Cell {
			return Cell{Text: safe(m.From, 40), Tone: Dim}
		}),
		exactly(column("status", field.Layout{Min: 10, Max: 16, HidePriority: 2}, func(o Options, m Moment) Cell {
			return m.Look(o)
		}), func(m Moment) string { return m.Status.Line(60) }),
		column("changes", field.Layout{Min: 10, Flex: 1}, func(o Options, m Moment) Cell {
			return Cell{Text: m.Summary(o, full)}
		}),
	}
}

// momentColumn is when a moment was seen, to the second: several may be in a minute.
func momentColumn() Column[Moment] {
	out := TimeColumn("at", field.Layout{Title: "when", Min: 19, HidePriority: 1}, exactMillis,
		func(m Moment) time.Time { return m.At })
	out.Cell = func(o Options, m Moment) Cell { return Cell{Text: format.Second(m.At, o.Zone), Tone: Dim} }
	return out
}

// Item is the list entry that a change is part of and that was added or removed as a whole, and what became of it;
// both are "" for another change. all are the changes of the moment.
func (m Moment) Item(all []index.Change, c index.Change) (item, says string) {
	item, word := entry(all, c)
	if word != "added" && word != "removed" {
		return "", ""
	}
	says = m.itemName(item) + " " + word + m.by(item)
	guid, is := documentOf(item)
	if !is {
		return item, says
	}
	for _, of := range []*Moment{&m, m.Before} {
		if of == nil {
			continue
		}
		if d, ok := of.State.Op.Document(guid); ok {
			about := []string{"id " + d.GUID.Line(64)}
			if d.Size > 0 {
				about = append([]string{format.Size(d.Size)}, about...)
			}
			if d.DocType != "" {
				about = append([]string{d.DocType.Line(40)}, about...)
			}
			return item, "Document " + says + " (" + strings.Join(about, ", ") + ")"
		}
	}
	return item, says
}

// Look is the status of the moment as a cell; a webhook's code is not a status word.
func (m Moment) Look(o Options) Cell {
	if m.Kind == WebhookMoment || m.Kind == NoteMoment {
		return Cell{Text: m.Status.Line(30), Tone: Dim}
	}
	return o.status(m.Status)
}

// DocumentsChanged reports whether a document was added, removed or changed.
func DocumentsChanged(all []Moment) bool {
	for _, m := range all {
		for _, c := range m.Changes {
			if strings.HasPrefix(c.Path, "documents[") {
				return true
			}
		}
	}
	return false
}

// Summary describes a moment in one line: at most full changes with values, further ones by name. A document is named
// by its file, with the person who changed it if known. The time of the change, which every change has, is named only
// if nothing else changed.
func (m Moment) Summary(o Options, full int) string {
	switch {
	case m.Kind == NoteMoment:
		return NoteOn(m.Note) + " by " + safe(m.Note.Author, 40) + ": " + NoteText(m.Note)
	case m.Kind == WebhookMoment:
		return "webhook " + untrusted.Text(m.Webhook.Key).Line(80) + ", " + m.Webhook.Trust
	case m.Kind == GoneMoment:
		return "gone: the service no longer has it"
	case m.Place == 0:
		return "first known state"
	case len(m.Changes) == 0:
		return "read again, no change"
	}
	changes := Important(m.Changes)
	if changes[0].Path == timeOfChange { // it is the last
		return "updated, no other change"
	}
	changes = slices.DeleteFunc(changes, func(c index.Change) bool { return c.Path == timeOfChange })
	var parts []string
	seen := map[string]bool{}
	for _, c := range changes {
		if len(parts) == max(full, 12) {
			parts = append(parts, "…")
			break
		}
		if item, word := entry(m.Changes, c); item != "" {
			if !seen[item] {
				parts = append(parts, m.itemName(item)+" "+word+m.by(item))
			}
			seen[item] = true
			continue
		}
		part := m.FieldName(c)
		if len(changes) <= full {
			part += " " + Value(o, c, c.Before, 60) + " → " + Value(o, c, c.After, 60)
		}
		parts = append(parts, part)
	}
	return strings.Join(parts, ", ")
}

func (m Moment) by(item string) string {
	if m.Who[item] == "" {
		return ""
	}
	return " by " + m.Who[item]
}

// By is the person behind a change; "" if not known.
func (m Moment) By(c index.Change) string {
	item, _ := entry(m.Changes, c)
	return m.Who[item]
}

// documentOf is the document id of a list entry: "documents[g-1]".
func documentOf(item string) (guid string, ok bool) {
	guid, ok = strings.CutPrefix(item, "documents[")
	return strings.TrimSuffix(guid, "]"), ok
}

// FieldName is the field of a change; for a document it begins with the file name.
func (m Moment) FieldName(c index.Change) string {
	name := FieldName(c)
	if item, rest, ok := strings.Cut(name, "]."); ok {
		return m.itemName(item+"]") + " " + rest
	}
	return name
}

// itemName is the display name of a list entry: for a document its file name.
func (m Moment) itemName(item string) string {
	guid, _ := documentOf(item)
	for _, op := range []*Moment{&m, m.Before} {
		if op == nil {
			continue
		}
		if d, ok := op.State.Op.Document(guid); ok && d.FileName != "" {
			return format.File(d.FileName, 60)
		}
	}
	return untrusted.Text(item).Line(60)
}

// NoteListed are the columns of a list of notes.
var NoteListed = []Column[note.Note]{
	TimeColumn("at", field.Layout{}, time.RFC3339, func(n note.Note) time.Time { return n.At }),
	textColumn("author", field.Layout{}, func(n note.Note) string { return safe(n.Author, 60) }),
	textColumn("object", field.Layout{}, func(n note.Note) string { return safe(n.Object, 20) }),
	textColumn("id", field.Layout{}, func(n note.Note) string { return safe(n.ID, 128) }),
	textColumn("text", field.Layout{}, NoteText),
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
