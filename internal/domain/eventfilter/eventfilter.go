// Package eventfilter is the filter language for stored webhooks: the grammar of the operations list with its own
// fields, for the Events screen and opdeck event list, tail and forward.
package eventfilter

import (
	"context"
	"encoding/json"
	"slices"
	"strconv"
	"strings"
	"time"

	"opdeck/api"
	"opdeck/api/hook"
	"opdeck/internal/domain/index/filter"
	"opdeck/internal/domain/mask"
	"opdeck/internal/domain/receiver"
)

// Expr is a filter over stored events.
type Expr = filter.Expr[receiver.Stored]

// Parse reads a filter. A mistake is a *filter.Error with its column.
func Parse(input string) (Expr, error) { return table.Parse(input) }

// Table is the language. The caller must not change it.
func Table() *filter.Table[receiver.Stored] { return table }

var table = filter.NewTable(fields()...)

// unlisted is the word for every type that the service does not document.
const unlisted = "unlisted"

// types maps words to types of events: the word of lists, the service's name and its number. typeWords lists them,
// display words first.
var types, typeWords = typesByWord()

func typesByWord() (map[string]hook.Type, []string) {
	types, words := map[string]hook.Type{}, []string{}
	add := func(word func(hook.Type) string) {
		for _, t := range hook.Types() {
			if w := strings.ToLower(word(t)); types[w] == 0 {
				types[w], words = t, append(words, w)
			}
		}
	}
	add(hook.Type.Word)
	words = append(words, unlisted)
	add(hook.Type.String)
	add(func(t hook.Type) string { return strconv.Itoa(int(t)) })
	return types, words
}

// Types lists the words for types, display words first.
func Types() []string { return slices.Clone(typeWords) }

// Statuses lists the words for how far an event is trusted.
func Statuses() []string {
	return []string{string(receiver.Verified), string(receiver.Unverified), string(receiver.Quarantined),
		string(receiver.Conflict)}
}

func fields() []filter.Field[receiver.Stored] {
	type event = receiver.Stored
	one := func(f func(event) string) func(event) []string {
		return func(s event) []string { return []string{f(s)} }
	}
	return []filter.Field[event]{
		{Name: "type", Kind: filter.Flag, Help: "the kind of object, or the type's number", Example: "type:operation",
			Values: Types(), Flag: isType},
		{Name: "status", Kind: filter.Flag, Help: "how far to trust it", Example: "status:quarantined",
			Values: Statuses(),
			Flag:   func(s event, v string) bool { return string(s.Status) == v }},
		{Name: "id", Aliases: []string{"object", "opid"}, Kind: filter.Ident,
			Help: "the object's identifier, or its beginning", Example: "id:5b55db86",
			Strings: one(func(s event) string { return string(s.ObjectID) })},
		{Name: "hook", Kind: filter.Ident, Help: "the event's own identifier, or its beginning", Example: "hook:9d30dbad",
			Strings: one(func(s event) string { return s.Key })},
		{Name: "customer", Aliases: []string{"cuid"}, Kind: filter.Ident, Help: "the customer's identifier, or its beginning",
			Example: "customer:DqCsgSE",
			Strings: one(func(s event) string { return string(s.CUID) })},
		{Name: "received", Aliases: []string{"since", "at"}, Kind: filter.Time, Help: "when it was first received",
			Example: "received<2h", Time: func(s event) time.Time { return s.ReceivedAt }},
		{Name: "state", Kind: filter.Code, Help: "the numeric status of its object", Example: "state:2",
			Strings: state},
		{Name: "currency", Kind: filter.Code, Help: "the currency of the amount", Example: "currency:EUR", Strings: currency},
		{Name: "amount", Kind: filter.Money, Help: "the amount that an operation pays, or an account's balance, exact",
			Example: "amount>=1000.50", Key: amount},
		{Name: "deliveries", Kind: filter.Count, Help: "how often it was received", Example: "deliveries>1",
			Count: func(s event) int64 { return int64(s.Deliveries) }},
		{Name: "source", Aliases: []string{"from"}, Kind: filter.Text, Help: "the sender's address, or manual",
			Example: "source:manual",
			Strings: one(func(s event) string { return string(s.Source) })},
		{Name: "reason", Kind: filter.Text, Help: "why it was quarantined", Example: "reason:duplicate_key",
			Strings: func(s event) []string { return []string{string(s.Reason), s.Detail} }},
		{Name: "has", Aliases: []string{"is"}, Kind: filter.Flag, Help: "a yes/no property", Example: "-has:bound",
			Values: []string{"authenticated", "bound", "reason", "waiting"}, Flag: has},
		{Kind: filter.Free, Help: "contained in any of these, or in the body", Example: `"free text"`, Strings: texts,
			Masked: masked},
	}
}

func isType(s receiver.Stored, v string) bool {
	if v == unlisted {
		return !s.Type.Known()
	}
	return s.Type == types[v]
}

func has(s receiver.Stored, v string) bool {
	switch v {
	case "authenticated":
		return s.Verdict.Authenticated
	case "bound":
		return s.Verdict.Bound
	case "waiting":
		return s.Retry.Waiting()
	}
	return s.Reason != ""
}

// read is the event of a usable delivery.
func read(s receiver.Stored) (hook.Event, bool) {
	if s.Status == receiver.Quarantined {
		return hook.Event{}, false
	}
	e, err := s.Event()
	return e, err == nil
}

func state(s receiver.Stored) []string {
	if e, ok := read(s); ok && e.Status.Given {
		return []string{strconv.FormatInt(e.Status.Value, 10)}
	}
	return nil
}

func sum(s receiver.Stored) (api.Money, bool) {
	e, ok := read(s)
	switch {
	case !ok:
		return api.Money{}, false
	case e.Object == hook.ObjectOperation:
		return e.SourceAmount.Sum, true
	case e.Object == hook.ObjectAccount:
		return e.CurrentBalanceAmount.Sum, true
	}
	return api.Money{}, false
}

func currency(s receiver.Stored) []string {
	m, _ := sum(s)
	return []string{string(m.CurrencyCode)}
}

func amount(s receiver.Stored) string {
	if m, ok := sum(s); ok {
		return filter.MoneyKey(m)
	}
	return ""
}

func about(s receiver.Stored) []string {
	return []string{s.Key, s.Type.String(), string(s.Object), string(s.ObjectID), string(s.CUID), string(s.Status),
		string(s.Reason), s.Detail, string(s.Source)}
}

func texts(s receiver.Stored) []string { return append(about(s), string(s.Raw)) }

// masked returns texts after masking; none for an unreadable body, where account numbers cannot be located.
func masked(s receiver.Stored) []string {
	if !json.Valid(s.Raw) {
		return []string{s.Key, s.Type.String(), string(s.Status), string(s.Reason), string(s.Source)}
	}
	return append(about(s), string(mask.JSON(s.Raw)))
}

// Narrow returns the parts of e that the inbox can select by. The result includes all rows that match e, and usually
// more, so each row still has to Match.
func Narrow(e Expr, now time.Time) receiver.Filter {
	var f receiver.Filter
	for _, n := range e.Parts() {
		l, ok := n.(*filter.Leaf)
		if !ok {
			continue
		}
		switch l.Field {
		case "type":
			f.Types = narrower(f.Types, typesOf(l))
		case "status":
			var all []receiver.Status
			for _, v := range l.Values {
				all = append(all, receiver.Status(v.Text))
			}
			f.Statuses = narrower(f.Statuses, all)
		case "has":
			f.Waiting = f.Waiting || len(l.Values) == 1 && l.Values[0].Text == "waiting"
		case "received":
			times(&f, l, now)
		case "id":
			if len(l.Values) == 1 && whole(l.Values[0].Text) && f.ObjectID == "" {
				f.ObjectID = strings.ToLower(l.Values[0].Text)
			}
		}
	}
	return f
}

// minPage is the least number of events per read.
const minPage = 300

// Find returns the newest events with a Seq below before (0: all) that match e, newest first, and the Seq below which
// there may be more (0: none). list lists the inbox; it cannot select by all of a filter, so pages are read until there
// are limit events, and at most pages of them.
func Find(ctx context.Context, list func(context.Context, receiver.Filter) ([]receiver.Stored, error), e Expr,
	now time.Time, before int64, limit, pages int) ([]receiver.Stored, int64, error) {
	var out []receiver.Stored
	q := Narrow(e, now)
	q.Before, q.Limit = before, max(limit, minPage)
	for range pages {
		page, err := list(ctx, q)
		if err != nil {
			return nil, 0, err
		}
		for _, s := range page {
			if e.Match(s, now) {
				out = append(out, s)
			}
		}
		if len(page) < q.Limit {
			return out, 0, nil
		}
		if q.Before = page[len(page)-1].Seq; len(out) >= limit {
			break
		}
	}
	return out, q.Before, nil
}

// whole reports whether the prefix of an identifier is all of it: operations have UUIDs.
func whole(s string) bool { return len(s) == 36 && strings.Count(s, "-") == 4 }

// narrower keeps the first selection of two; either is correct.
func narrower[T any](before, next []T) []T {
	if before != nil {
		return before
	}
	return next
}

// typesOf is nil if an unlisted type may match.
func typesOf(l *filter.Leaf) []hook.Type {
	var all []hook.Type
	for _, v := range l.Values {
		t, listed := types[v.Text]
		if !listed {
			return nil
		}
		if !slices.Contains(all, t) {
			all = append(all, t)
		}
	}
	return all
}

// times selects the span of the leaf, a millisecond wider on either side because the inbox rounds.
func times(f *receiver.Filter, l *filter.Leaf, now time.Time) {
	if len(l.Values) != 1 {
		return
	}
	b := l.TimeBounds(l.Values[0], now)
	if from := time.UnixMicro(b.Lo).Add(-time.Millisecond); b.HasLo && from.Year() > 1 && from.After(f.Since) {
		f.Since = from
	}
	if to := time.UnixMicro(b.Hi).Add(time.Millisecond); b.HasHi && (f.Until.IsZero() || to.Before(f.Until)) {
		f.Until = to
	}
}
