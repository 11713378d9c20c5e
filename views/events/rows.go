package events

import (
	"encoding/json"
	"fmt"
	"slices"
	"strconv"

	"opdeck/api/hook"
	"opdeck/api/untrusted"
	"opdeck/internal/domain/receiver"
	"opdeck/internal/format"
	"opdeck/ui/list"
	"opdeck/ui/theme"
	"opdeck/ui/widget"
)

// columns of the list in a window of w cells; how far an event can be trusted is
// in view wherever it is drawn at all.
func columns(w int) []widget.Column {
	change, badge, age, object := 14, 13, 3, 1
	if w < 44 { // an object has no room then: how old it is has
		age, object = object, age
	}
	if w < 34 {
		change, badge = 6, 10
	}
	return []widget.Column{
		{Title: "received", Min: 16, HidePriority: 4}, {Title: "type", Min: 9, Max: 12, Flex: 1, HidePriority: 2},
		{Title: "object", Min: 11, Max: 36, Flex: 1, CutMiddle: true, HidePriority: object},
		{Title: "change", Min: change, Flex: 3}, {Title: "age", Min: 5, Align: widget.Right, HidePriority: age},
		{Title: "trust", Min: badge},
	}
}

// shortTypes are the words for types in the list.
var shortTypes = map[hook.Type]string{hook.TypeOperation: "OPERATION", hook.TypeDepositAccount: "ACCOUNT",
	hook.TypeClient: "CLIENT", hook.TypeCounterparty: "COUNTERPARTY", hook.TypeDepositAccountRequisite: "REQUISITE"}

func shortType(t hook.Type) string {
	if s, ok := shortTypes[t]; ok {
		return s
	}
	if t == 0 {
		return "unknown" // it was no whole number
	}
	return t.String()
}

// item is a stored event, read.
type item struct {
	receiver.Stored
	event  hook.Envelope
	good   bool        // event can be used
	before *hook.Event // the state of the same object that came before; nil: not known
	late   bool        // a newer state of the object came earlier
}

func read(s receiver.Stored) item {
	it := item{Stored: s}
	if s.Status != receiver.Quarantined {
		if e, err := hook.Decode(s.Raw); err == nil {
			it.event, it.good = e, true
		}
	}
	return it
}

// sensitive reports whether masking cannot tell what the body holds.
func (it item) sensitive() bool { return !json.Valid(it.Raw) }

type code struct {
	field hook.Field
	value int64
}

// codeTable is what was learnt about codes of operations.
type codeTable struct {
	list   []hook.Meaning
	byCode map[code]hook.Meaning
}

func newCodeTable(list []hook.Meaning) codeTable {
	t := codeTable{list, make(map[code]hook.Meaning, len(list))}
	for _, m := range list {
		t.byCode[code{m.Field, m.Code}] = m
	}
	return t
}

// older puts older events, newest first, in front of those that are held.
func older(held []item, list []receiver.Stored) []item {
	all := make([]item, 0, len(list)+len(held))
	for _, s := range slices.Backward(list) {
		all = append(all, read(s))
	}
	return linked(append(all, held...))
}

// newer appends events, oldest first; dropped: the oldest had to go.
func newer(held []item, list []receiver.Stored) (all []item, dropped bool) {
	all = slices.Clone(held)
	for _, s := range list {
		all = append(all, read(s))
	}
	all = linked(all)
	if n := len(all) - maxRows; n > 0 {
		return all[n:], true
	}
	return all, false
}

// linked leaves out events that are there twice, and notes of each what its object
// was before it.
func linked(all []item) []item {
	met, newest := map[string]bool{}, map[string]*hook.Event{}
	out := all[:0]
	for _, it := range all {
		if met[it.Key] {
			continue
		}
		met[it.Key] = true
		it.before, it.late = nil, false
		if it.good && it.Status != receiver.Conflict {
			id := string(it.Object) + " " + string(it.ObjectID)
			known := newest[id]
			if it.late = known != nil && it.event.UpdatedAt.Given && it.event.UpdatedAt.Compare(known.UpdatedAt) < 0; !it.late {
				event := it.event.Event
				it.before, newest[id] = known, &event
			}
		}
		out = append(out, it)
	}
	return out
}

// row draws one event.
func (s *Screen) row(it item) widget.Row {
	th := s.env.Theme
	b := trust(th, it.Stored)
	age, _ := format.Age(it.ReceivedAt, s.env.Now())
	what, tone := s.codes.change(it)
	out := widget.Row{ID: it.Key,
		Cells: []string{format.Minute(it.ReceivedAt, s.env.Zone()), shortType(it.Type), it.ObjectID.Line(128), what,
			age, b.sign + " " + b.word},
		Tones: []theme.Tone{theme.Dim, theme.Plain, theme.Dim, tone, theme.Dim, b.tone}}
	switch {
	case it.Retry.Waiting():
		out.Sign, out.Tone = th.Signs.Warn, theme.Warn
		out.Cells[5], out.Tones[5] = th.Signs.Warn+" not merged", theme.Warn
	case it.Alarming():
		out.Sign, out.Tone = b.sign, b.tone
	case it.late || len(it.event.Issues) > 0:
		out.Sign, out.Tone = th.Signs.Warn, theme.Warn
	}
	return out
}

type badge struct {
	sign, word string
	tone       theme.Tone
	long       string // a sentence
}

// trust says how far an event can be believed, by sign, word and tone.
func trust(th *theme.Theme, s receiver.Stored) badge {
	g := th.Signs
	switch {
	case s.Status == receiver.Conflict:
		return badge{g.Bad, "conflict", theme.Bad, "An earlier event has the same hook_id and another body: one of the two " +
			"is wrong or forged. Compare both."}
	case s.Status == receiver.Quarantined:
		return badge{g.Locked, "quarantined", theme.Bad, "It cannot be used and was set aside unchanged."}
	case !s.Verdict.Authenticated:
		return badge{g.Unknown, "unverified", theme.Warn, "Nothing proves where it comes from: it was put in by hand, or " +
			"verify is \"none\"."}
	case s.Verdict.Bound:
		return badge{g.Good, "bound", theme.Good, "Verified, and the signature covers the body: its content can be trusted."}
	}
	return badge{g.Warn, "unbound", theme.Warn, "Verified, but the signature does not cover the body: only a hint to " +
		"read the object again."}
}

// legend is what the help says of the signs in a row.
func legend() []list.Sign {
	out := []list.Sign{list.Warning("at the start of a row: late, partly unreadable, or not merged yet")}
	for _, e := range []receiver.Record{{Status: receiver.Conflict}, {Status: receiver.Quarantined}, {},
		{Verdict: hook.Verdict{Authenticated: true, Bound: true}}, {Verdict: hook.Verdict{Authenticated: true}}} {
		s := receiver.Stored{Record: e}
		b := trust(theme.Words(), s)
		out = append(out, list.Sign{Sign: func(th *theme.Theme) string { return trust(th, s).sign },
			Says: b.word + ": " + b.long})
	}
	return out
}

// change is what the event tells of its object: before → after where both are known.
func (t codeTable) change(it item) (string, theme.Tone) {
	if !it.good {
		return line(string(it.Reason)+": "+it.Detail, 200), theme.Warn
	}
	is := t.status(it.event.Event)
	if it.event.Counterparty != nil {
		return format.Plural(len(it.event.Counterparty.Accounts), "account", "accounts"), theme.Plain
	}
	switch {
	case it.late:
		return is + " (late: a newer state is known)", theme.Warn
	case it.before != nil && it.before.Status != it.event.Status:
		return t.status(*it.before) + " → " + is, theme.Plain
	case it.before != nil:
		return is + " (unchanged)", theme.Dim
	}
	return is, theme.Plain
}

func (t codeTable) status(e hook.Event) string {
	if e.Object == hook.ObjectOperation {
		return t.code(hook.FieldStatus, e.Status)
	}
	return hook.StatusText(e.Object, e.Status)
}

// code is a code of an operation with its learnt meaning; "?" where something
// speaks against it, "(unlisted)" where nothing is known. Nothing is guessed.
func (t codeTable) code(f hook.Field, c hook.Code) string {
	m := t.byCode[code{f, c.Value}]
	switch {
	case !c.Given || m.Word == "" && m.Contradictions == 0:
		return c.String()
	case m.Word == "":
		return strconv.FormatInt(c.Value, 10) + " (undecided)"
	}
	doubt := ""
	if m.Contradictions > 0 {
		doubt = "?"
	}
	return fmt.Sprintf("%d %s%s", c.Value, m.Word.Line(64), doubt)
}

func line(s string, max int) string { return untrusted.Text(s).Line(max) }
