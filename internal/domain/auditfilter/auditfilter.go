// Package auditfilter is the filter language for the audit trail: the grammar of the operations list with its own
// fields, for the Audit screen and opdeck audit list.
package auditfilter

import (
	"context"
	"slices"
	"strings"
	"time"

	"opdeck/internal/domain/audit"
	"opdeck/internal/domain/index/filter"
)

// Expr is a filter over records of the trail.
type Expr = filter.Expr[audit.Entry]

// Parse reads a filter. A mistake is a *filter.Error with its column.
func Parse(input string) (Expr, error) { return table.Parse(input) }

// Table is the language. The caller must not change it.
func Table() *filter.Table[audit.Entry] { return table }

var table = filter.NewTable(fields()...)

func fields() []filter.Field[audit.Entry] {
	type entry = audit.Entry
	one := func(f func(entry) string) func(entry) []string {
		return func(e entry) []string { return []string{string(audit.Unquote(f(e)))} }
	}
	return []filter.Field[entry]{
		{Name: "person", Aliases: []string{"who"}, Kind: filter.Code, Exact: true, Help: "the person's name, exactly",
			Example: "person:ana", Strings: one(func(e entry) string { return e.Actor.Name })},
		{Name: "event", Kind: filter.Ident, Help: "the event's name, or its beginning", Example: "event:document.*",
			Strings: one(func(e entry) string { return e.Event })},
		{Name: "id", Kind: filter.Code, Exact: true, Help: "the identifier of an object, or of an item of it, exactly",
			Example: "id:5b55db86-17e5-4612-81f9-29d3bd5082a1",
			Strings: func(e entry) []string { return []string{e.ID, e.Item} }},
		{Name: "object", Kind: filter.Code, Exact: true, Help: "the kind of object", Example: "object:operation",
			Strings: one(func(e entry) string { return e.Object })},
		{Name: "context", Kind: filter.Code, Exact: true, Help: "the context: the trail has those of one store",
			Example: "context:prod", Strings: one(func(e entry) string { return e.Context.Name })},
		{Name: "phase", Kind: filter.Flag, Help: "intent, outcome or note", Example: "phase:outcome",
			Values: words(audit.PhaseIntent, audit.PhaseOutcome, audit.PhaseNote),
			Flag:   func(e entry, v string) bool { return string(e.Phase) == v }},
		{Name: "outcome", Kind: filter.Flag, Help: "the write's outcome", Example: "outcome:denied",
			Values: append(words(audit.ResultOK, audit.ResultDenied, audit.ResultFailed, audit.ResultUnknown,
				audit.ResultSeen, audit.ResultNotSeen), shownOK, shownDenied),
			Flag: hasOutcome},
		{Name: "is", Kind: filter.Flag, Help: "the outcome of a write, a refusal, or a sign that the trail is not " +
			"complete", Example: "is:write,refusal",
			Values: []string{"write", "refusal", "trouble"}, Flag: is},
		{Name: "at", Aliases: []string{"since"}, Kind: filter.Time, Help: "when it was written", Example: "at<2h",
			Time: func(e entry) time.Time { return e.At }},
		{Name: "via", Kind: filter.Code, Help: "console, ssh, command or service", Example: "via:ssh",
			Strings: one(func(e entry) string { return e.Via })},
		{Kind: filter.Free, Help: "contained in any text of the record", Example: `"free text"`, Strings: texts},
	}
}

// The words of outcomes that lists show in other words.
const (
	shownOK     = "done"
	shownDenied = "refused"
)

func hasOutcome(e audit.Entry, word string) bool {
	switch word {
	case shownOK:
		return e.Outcome == audit.ResultOK
	case shownDenied:
		return e.Outcome == audit.ResultDenied
	}
	return string(e.Outcome) == word
}

// Main is the initial filter of the Audit screen.
const Main = "is:write,refusal,trouble"

// refusals are the events of requests that were refused before they were an act.
var refusals = []string{audit.EventDenied, audit.EventLoginRefused, audit.EventQuarantine, audit.EventLendDenied}

func is(e audit.Entry, what string) bool {
	switch what {
	case "write":
		return e.Phase == audit.PhaseOutcome || e.Phase == audit.PhaseNote && e.Ref != ""
	case "refusal":
		return e.Outcome == audit.ResultDenied || slices.Contains(refusals, e.Event)
	}
	return e.Damaged || e.Event == audit.EventTamper
}

func words[T ~string](all ...T) []string {
	out := make([]string, len(all))
	for i, w := range all {
		out[i] = string(w)
	}
	return out
}

func texts(e audit.Entry) []string {
	all := []string{e.Actor.Name, e.Actor.Role, e.Event, e.Code, e.Object, e.ID, e.Item, e.Name, e.Summary, e.Reason,
		e.Detail, e.Error, e.Rule, e.Req, e.From, e.UID, e.Path}
	for i, s := range all {
		all[i] = string(audit.Unquote(s))
	}
	return all
}

// narrow adds to q the parts of e that the trail can select by. The result includes all records that match q and e,
// and usually more, so each record still has to Match.
func narrow(q audit.Query, e Expr, now time.Time) audit.Query {
	set := func(to *string, v string) {
		if *to == "" {
			*to = v
		}
	}
	for _, n := range e.Parts() {
		l, ok := n.(*filter.Leaf)
		if !ok || len(l.Values) != 1 {
			continue
		}
		switch v := l.Values[0]; l.Field {
		case "person":
			set(&q.Actor, v.Text)
		case "event":
			set(&q.Event, strings.ToLower(v.Text)+"*")
		case "id":
			set(&q.ID, v.Text)
		case "object":
			set(&q.Object, v.Text)
		case "phase":
			set((*string)(&q.Phase), v.Text)
		case "at":
			b := l.TimeBounds(v, now)
			if from := time.UnixMicro(b.Lo); b.HasLo && from.Year() > 1 && from.After(q.From) {
				q.From = from
			}
			if to := time.UnixMicro(b.Hi); b.HasHi && !b.HiWith && (q.Until.IsZero() || to.Before(q.Until)) {
				q.Until = to
			}
		}
	}
	return q
}

// Log is the searched trail.
type Log interface {
	Find(ctx context.Context, q audit.Query) (audit.Page, error)
}

// Found is the result of one search.
type Found struct {
	Entries []audit.Entry
	Next    int64 // start of older ones; 0: none
	Seen    int   // records examined
}

// maxPages bounds the pages read in one search for what the trail cannot select.
const maxPages = 25

// Find returns one page of the records that match q and e, newest first. The trail cannot select by words and
// outcomes, so pages are read until one is full.
func Find(ctx context.Context, log Log, q audit.Query, e Expr, now time.Time) (Found, error) {
	var out Found
	q = narrow(q, e, now)
	for range maxPages {
		p, err := log.Find(ctx, q)
		if err != nil {
			return out, err
		}
		for i, r := range p.Entries {
			out.Seen++
			if !e.Match(r, now) {
				continue
			}
			if out.Entries = append(out.Entries, r); len(out.Entries) == q.Limit && i < len(p.Entries)-1 {
				out.Next = r.Seq
				return out, nil
			}
		}
		if out.Next, q.Before = p.Next, p.Next; p.Next == 0 || len(out.Entries) >= q.Limit {
			break
		}
	}
	return out, nil
}
