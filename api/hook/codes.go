package hook

import (
	"cmp"
	"fmt"
	"slices"
	"strings"
	"time"

	"opdeck/api"
	"opdeck/api/untrusted"
)

// Field is an operation's field that is a number in webhooks and a word in REST.
type Field string

// The fields.
const (
	FieldType        Field = "type"
	FieldStatus      Field = "status"
	FieldPaymentType Field = "payment_type"
)

// Window is how long after a webhook a read may show the same state if the read does not say when the operation last
// changed.
const Window = 10 * time.Second

// ReceivedEvent is an authenticated event from the inbox.
type ReceivedEvent struct {
	Event      Event
	ReceivedAt time.Time
	Bound      bool // see Verdict
}

// Read is one REST read of an operation; At is when the request was sent.
type Read struct {
	Operation api.Operation
	At        time.Time
}

// Pair is one observation: a code and a word for the same state of one operation.
type Pair struct {
	Field Field
	Code  int64
	Word  untrusted.Text
	OPID  untrusted.Text
	At    Stamp // the event's updated_at
	Exact bool  // both have the same time to the nanosecond
}

// Pairs compares a read with the events of the same operation and returns the pairs that follow. A pair needs one of
//   - the same time of last change in both, to the nanosecond (Exact);
//   - the same time to the precision of the read, and no other event within that precision;
//   - a read without a time, at most Window after the event arrived, with no other change until then. Here the event's
//     body must be bound.
//
// Anything else proves nothing.
func Pairs(events []ReceivedEvent, r Read) []Pair {
	var out []Pair
	for i, s := range events {
		e := s.Event
		if e.Object != ObjectOperation || e.ObjectID != r.Operation.OPID || !e.UpdatedAt.Given {
			continue
		}
		exact, ok := sameState(events, i, r)
		if !ok {
			continue
		}
		for _, f := range []struct {
			field Field
			code  Code
			word  untrusted.Text
		}{{FieldType, e.OperationType, r.Operation.Type}, {FieldStatus, e.Status, r.Operation.Status},
			{FieldPaymentType, e.PaymentType, r.Operation.PaymentType}} {
			if f.code.Given && isWord(f.word) {
				out = append(out, Pair{Field: f.field, Code: f.code.Value, Word: f.word, OPID: e.ObjectID, At: e.UpdatedAt,
					Exact: exact})
			}
		}
	}
	return out
}

// isWord accepts enumeration names only, since the table is kept for ever.
func isWord(w untrusted.Text) bool {
	for i := 0; i < len(w); i++ {
		c := w[i]
		if (c < 'A' || c > 'Z') && (c < 'a' || c > 'z') && (c < '0' || c > '9') && c != '_' && c != '-' {
			return false
		}
	}
	return w != "" && len(w) <= 64
}

// sameState reports whether r shows the same state as events[i].
func sameState(events []ReceivedEvent, i int, r Read) (exact, ok bool) {
	e := events[i].Event
	if at := r.Operation.UpdatedAt; !at.IsZero() {
		rest := StampOf(at.Time)
		unit := int32(precision(string(at.Raw)))
		cut := Stamp{Seconds: e.UpdatedAt.Seconds, Nanos: e.UpdatedAt.Nanos / unit * unit, Given: true}
		if cut.Compare(rest) != 0 || others(events, i, rest, Stamp{rest.Seconds, rest.Nanos + unit - 1, true}) {
			return false, false
		}
		return e.UpdatedAt.Compare(rest) == 0, true
	}
	late := r.At.Sub(events[i].ReceivedAt)
	if !events[i].Bound || late < 0 || late > Window {
		return false, false
	}
	return false, !others(events, i, e.UpdatedAt, StampOf(r.At.Add(Window)))
}

// others reports whether another event of the operation is a change within from..to, or one of unknown time.
func others(events []ReceivedEvent, i int, from, to Stamp) bool {
	e := events[i].Event
	for j, o := range events {
		if j == i || o.Event.Object != e.Object || o.Event.ObjectID != e.ObjectID {
			continue
		}
		at := o.Event.UpdatedAt
		same := at == e.UpdatedAt && o.Event.Status == e.Status && o.Event.OperationType == e.OperationType &&
			o.Event.PaymentType == e.PaymentType
		if !same && (!at.Given || at.Compare(from) >= 0 && at.Compare(to) <= 0) {
			return true
		}
	}
	return false
}

// precision returns the nanoseconds of the last digit of an ISO 8601 moment.
func precision(raw string) int {
	if raw == "" { // made by opdeck
		return 1
	}
	unit := int(time.Second)
	if _, fraction, ok := strings.Cut(raw, "."); ok {
		for i := 0; i < len(fraction) && i < 9 && fraction[i] >= '0' && fraction[i] <= '9'; i++ {
			unit /= 10
		}
	}
	return unit
}

// Evidence is how often a code and a word were seen together; each state of an operation counts once.
type Evidence struct {
	Field  Field
	Code   int64
	Word   untrusted.Text
	Count  int // up to MaxEvidence
	Exact  int // of these, to the nanosecond
	Sample untrusted.Text
}

// MaxEvidence is the count at which a store may stop counting. A repeated pair counts once.
const MaxEvidence = 200

// Meaning is what is known of one code: the word with the most evidence, and the evidence for others. Word is "" for
// a tie.
type Meaning struct {
	Field          Field
	Code           int64
	Word           untrusted.Text
	Evidence       int
	Contradictions int
	All            []Evidence // most first
}

// String is a line for people, "3 WITHDRAW (seen 12 times, 1 against)".
func (m Meaning) String() string {
	switch {
	case m.Word == "" && m.Contradictions == 0:
		return fmt.Sprintf("%d, meaning not learned", m.Code)
	case m.Word == "":
		return fmt.Sprintf("%d (undecided: %d observations disagree)", m.Code, m.Contradictions)
	}
	s := fmt.Sprintf("%d %s (seen %s", m.Code, m.Word.Line(64), times(m.Evidence))
	if m.Contradictions > 0 {
		s += fmt.Sprintf(", %d against", m.Contradictions)
	}
	return s + ")"
}

func times(n int) string {
	switch {
	case n == 1:
		return "once"
	case n >= MaxEvidence:
		return fmt.Sprintf("%d times or more", MaxEvidence)
	}
	return fmt.Sprintf("%d times", n)
}

// Weigh derives meanings from evidence, ordered by field and code.
func Weigh(all []Evidence) Meanings {
	type key struct {
		f Field
		c int64
	}
	groups := map[key][]Evidence{}
	for _, e := range all {
		groups[key{e.Field, e.Code}] = append(groups[key{e.Field, e.Code}], e)
	}
	var out Meanings
	for k, g := range groups {
		slices.SortFunc(g, func(a, b Evidence) int {
			return cmp.Or(cmp.Compare(b.Count, a.Count), cmp.Compare(a.Word, b.Word))
		})
		m := Meaning{Field: k.f, Code: k.c, All: g, Word: g[0].Word, Evidence: g[0].Count}
		for _, e := range g[1:] {
			m.Contradictions += e.Count
		}
		if len(g) > 1 && g[1].Count == g[0].Count {
			m.Word, m.Evidence, m.Contradictions = "", 0, m.Contradictions+g[0].Count
		}
		out = append(out, m)
	}
	slices.SortFunc(out, func(a, b Meaning) int {
		return cmp.Or(cmp.Compare(a.Field, b.Field), cmp.Compare(a.Code, b.Code))
	})
	return out
}

// Meanings are the meanings learnt by all processes, by field and code.
type Meanings []Meaning

// Meaning returns the word of a code with the number of observations for and against it; "" if there is none, or no
// decisive one.
func (ms Meanings) Meaning(f Field, code int64) (word untrusted.Text, evidence, contradictions int) {
	m := ms.Lookup(f, code)
	return m.Word, m.Evidence, m.Contradictions
}

// Lookup is Meaning with all evidence.
func (ms Meanings) Lookup(f Field, code int64) Meaning {
	for _, m := range ms {
		if m.Field == f && m.Code == code {
			return m
		}
	}
	return Meaning{Field: f, Code: code}
}
