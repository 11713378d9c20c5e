package audittrail

import (
	"strings"
	"time"

	"opdeck/api/untrusted"
	"opdeck/internal/domain/audit"
	"opdeck/internal/domain/index/filter"
)

// language is the filter language over the records of the trail.
var language = filter.NewTable(
	filter.Field[audit.Entry]{Name: "person", Kind: filter.Code, Help: "who did it", Example: "person:ana", Strings: one(func(e audit.Entry) string { return e.Actor.Name })},
	filter.Field[audit.Entry]{Name: "event", Kind: filter.Code, Help: "what was done, or its kind", Example: "event:document.*", Strings: eventNames},
	filter.Field[audit.Entry]{Name: "id", Kind: filter.Ident, Help: "the identifier of the object or of a part of it, or its beginning", Example: "id:7f3a",
		Strings: func(e audit.Entry) []string { return []string{string(read(e.ID)), string(read(e.Item))} }},
	filter.Field[audit.Entry]{Name: "object", Kind: filter.Code, Help: "the kind of object", Example: "object:operation", Strings: one(func(e audit.Entry) string { return e.Object })},
	filter.Field[audit.Entry]{Name: "phase", Kind: filter.Flag, Help: "the kind of record", Example: "phase:intent",
		Values: []string{string(audit.PhaseIntent), string(audit.PhaseOutcome), string(audit.PhaseNote)}, Flag: func(e audit.Entry, v string) bool { return string(e.Phase) == v }},
	filter.Field[audit.Entry]{Name: "outcome", Kind: filter.Flag, Help: "how it ended", Example: "outcome:denied", Values: outcomes,
		Flag: func(e audit.Entry, v string) bool { return string(e.Outcome) == v }},
	filter.Field[audit.Entry]{Name: "at", Aliases: []string{"since"}, Kind: filter.Time, Help: "when it was written", Example: "at<2h", Time: func(e audit.Entry) time.Time { return e.At }},
	filter.Field[audit.Entry]{Kind: filter.Free, Help: "contained in any text of the record", Example: `"free text"`, Strings: texts})

var outcomes = []string{string(audit.ResultOK), string(audit.ResultDenied), string(audit.ResultFailed), string(audit.ResultUnknown), string(audit.ResultNotSeen)}

func one(f func(audit.Entry) string) func(audit.Entry) []string {
	return func(e audit.Entry) []string { return []string{string(read(f(e)))} }
}

// eventNames are the event's name and the kinds that it belongs to: document.remove
// and document.*.
func eventNames(e audit.Entry) []string {
	name := string(read(e.Event))
	out := []string{name}
	for i := range name {
		if name[i] == '.' {
			out = append(out, name[:i+1]+"*")
		}
	}
	return out
}

func texts(e audit.Entry) []string {
	out := []string{e.Actor.Name, e.Actor.Role, e.Event, e.Code, e.Object, e.ID, e.Item, e.Name, e.Summary, e.Reason, e.Detail, e.Error, e.Rule, e.Req, e.From, e.UID, e.Path}
	for i := range out {
		out[i] = string(read(out[i]))
	}
	return out
}

// narrow is what the store can select by: it lets through all that e does, and
// mostly more, so that each record still has to Match.
func narrow(e filter.Expr[audit.Entry], now time.Time) audit.Query {
	var q audit.Query
	for _, n := range e.Parts() {
		l, ok := n.(*filter.Leaf)
		if !ok || len(l.Values) != 1 {
			continue
		}
		v := l.Values[0].Text
		switch l.Field {
		case "person":
			q.Actor = v
		case "event":
			q.Event = v
		case "object":
			q.Object = v
		case "phase":
			q.Phase = audit.Phase(v)
		case "id":
			if len(v) == 36 && strings.Count(v, "-") == 4 { // whole: operations are named by UUIDs
				q.ID = v
			}
		case "at":
			b := l.TimeBounds(l.Values[0], now)
			if from := time.UnixMicro(b.Lo); b.HasLo && from.After(q.From) {
				q.From = from
			}
			if to := time.UnixMicro(b.Hi).Add(time.Microsecond); b.HasHi && (q.Until.IsZero() || to.Before(q.Until)) {
				q.Until = to
			}
		}
	}
	return q
}

// read is a text of a record as it was before it was quoted.
func read(s string) untrusted.Text { return audit.Reading(s) }
