package audittrail

import (
	"slices"
	"strings"
	"time"
	"unicode/utf8"

	"opdeck/api/untrusted"
	"opdeck/internal/domain/audit"
)

// filter is what is shown of the trail: what the store selects, and what is
// looked for in each record.
type filter struct {
	query   audit.Query
	outcome audit.Result
	words   []string // lower case; each stands somewhere in the record
}

// problem is a mistake in a filter: where, and what to write instead.
type problem struct {
	column int // from 0, in characters
	what   string
}

// fields are the names before a colon, for completion.
var fields = []string{"person:", "event:", "id:", "object:", "phase:", "outcome:", "since:"}

// parse reads a filter: person:ana event:document.* id:7f3a object:operation
// phase:intent outcome:denied since:2h and free words, each of which narrows.
func parse(s string, now time.Time) (filter, *problem) {
	var f filter
	for _, tok := range split(s) {
		name, value, named := strings.Cut(tok.text, ":")
		if !named || tok.quoted {
			f.words = append(f.words, strings.ToLower(tok.text))
			continue
		}
		value = strings.Trim(value, `"`)
		if what := f.set(strings.ToLower(name), value, now); what != "" {
			at := tok.column
			if slices.Contains(fields, strings.ToLower(name)+":") { // the value is wrong, not the name
				at += utf8.RuneCountInString(name) + 1
			}
			return filter{}, &problem{at, what}
		}
	}
	return f, nil
}

func (f *filter) set(name, value string, now time.Time) string {
	if value == "" {
		return "Something must stand behind the colon."
	}
	switch name {
	case "person":
		f.query.Actor = value
	case "event":
		f.query.Event = value
	case "id":
		f.query.ID = value
	case "object":
		f.query.Object = value
	case "phase":
		f.query.Phase = audit.Phase(strings.ToLower(value))
		if f.query.Phase != audit.PhaseIntent && f.query.Phase != audit.PhaseOutcome && f.query.Phase != audit.PhaseNote {
			return "phase is intent, outcome or note."
		}
	case "outcome":
		f.outcome = audit.Result(strings.ToLower(value))
		switch f.outcome {
		case audit.ResultOK, audit.ResultDenied, audit.ResultFailed, audit.ResultUnknown, audit.ResultNotSeen:
		default:
			return "outcome is ok, denied, failed or unknown."
		}
	case "since":
		at, ok := since(value, now)
		if !ok {
			return "since is a time back (30m, 2h, 7d) or a day (2026-01-31)."
		}
		f.query.From = at
	default:
		return "There is no such field; person, event, id, object, phase, outcome and since are."
	}
	return ""
}

// since reads a length of time back from now, or a day in UTC.
func since(v string, now time.Time) (time.Time, bool) {
	if day, err := time.Parse(time.DateOnly, v); err == nil {
		return day, true
	}
	if days, ok := strings.CutSuffix(v, "d"); ok {
		d, err := time.ParseDuration(days + "h")
		return now.Add(-24 * d), err == nil && d > 0
	}
	d, err := time.ParseDuration(v)
	return now.Add(-d), err == nil && d > 0
}

type token struct {
	text   string
	column int
	quoted bool
}

// split takes words apart at spaces outside double quotes.
func split(s string) []token {
	var out []token
	var word []rune
	start, quoted, in := 0, false, false
	flush := func() {
		if len(word) > 0 {
			out = append(out, token{string(word), start, quoted})
		}
		word, quoted = nil, false
	}
	for i, r := range []rune(s) {
		switch {
		case r == '"':
			if len(word) == 0 {
				start, quoted = i, true
			}
			in = !in
		case r == ' ' && !in:
			flush()
		default:
			if len(word) == 0 && !quoted {
				start = i
			}
			word = append(word, r)
		}
	}
	flush()
	return out
}

// match reports whether a record holds what the store does not select.
func (f filter) match(e audit.Entry) bool {
	if f.outcome != "" && e.Outcome != f.outcome {
		return false
	}
	if len(f.words) == 0 {
		return true
	}
	var b strings.Builder
	for _, s := range []string{e.Actor.Name, e.Actor.Role, e.Event, e.Code, e.Object, e.ID, e.Item, e.Name, e.Summary, e.Reason,
		e.Detail, e.Error, e.Rule, e.Req, e.From, e.UID, e.Path} {
		b.WriteString(strings.ToLower(string(read(s))))
		b.WriteByte('\n')
	}
	all := b.String()
	for _, w := range f.words {
		if !strings.Contains(all, w) {
			return false
		}
	}
	return true
}

// read is a text of a record as it was before it was quoted.
func read(s string) untrusted.Text { return audit.Reading(s) }
