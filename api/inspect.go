package api

import (
	"context"
	"encoding/json"
	"fmt"
	"maps"
	"reflect"
	"slices"
	"strings"
	"time"

	"opdeck/api/jsontree"
)

// Inspection is what one read shows about the shape of the service's answers: names of fields and kinds of values,
// never a value.
type Inspection struct {
	Call      string        // "GET /v2/billing/operation"
	Status    int           // 0: no answer
	Content   string        // media type from the header, "no content type" if missing
	Took      time.Duration // including slot and session
	At        string        // path of the record or list: "item", "items", "" for the answer itself
	Wrapper   string        // of a list: the key around each record
	Items     int           // of a list
	Unusable  int           // items without an identifier
	Total     Number        // of a list; "" if not reported
	TotalAt   string        // "meta.total"
	Asked     int           // of a list: the page size in the request
	Reported  int           // the page size in the answer; 0 if not reported
	Order     Order         // of a list of operations
	Kinds     []string      // "documents[].size: text instead of number"
	Unknown   []string      // names of fields without a Go field
	Odd       []string      // names of fields whose values cannot be read
	Missing   []string      // names of expected fields that no record has
	Words     int           // number of unknown status words
	After     After         // of a list: what it says about the next page
	Repeats   bool          // of a list: the next page repeats the first
	Amounts   []string      // "sourceAmount.sum: “value” (number)": amounts without a clear value
	Beside    []string      // names of members beside the parts of those amounts
	Settings  []string      // lines of [service] that would fix the reading
	Announced string        // the announced end of this call
	Err       error         // the call failed, or its answer could not be read
}

// Order is how a list is ordered by the time of creation.
type Order string

// The orders; "" if there are too few records to say.
const (
	NewestFirst Order = "newest first"
	OldestFirst Order = "oldest first"
	NoOrder     Order = "in no time order"
)

// Inspection lists at most this many names; they are safe to draw.
const maxNames = 12

// Inspect makes a read and describes the answer before it is decoded.
func (c *Client) Inspect(ctx context.Context, r Request) (Answer, Inspection) {
	began := c.opt.Now()
	a, err := c.Read(ctx, r, nil)
	p := Inspection{Call: r.Method + " " + r.Route, Status: a.Status, Took: c.opt.Now().Sub(began), Err: err}
	if a.Header != nil {
		kind, _, _ := strings.Cut(a.Header.Get("Content-Type"), ";")
		p.Content, p.Announced = orNothing(kind), ending(a.Header)
	}
	return a, p
}

// InspectOne is Inspect for a record, compared with its Go type.
func (c *Client) InspectOne(ctx context.Context, r Request, t RecordType, record any) Inspection {
	a, p := c.Inspect(ctx, r)
	if p.Err != nil {
		return p
	}
	raw, err := RecordIn(r, a, t)
	if p.Err = err; err != nil {
		return p
	}
	_, p.At, _ = t.Find(ParseJSON(a.Body))
	p.Compare(t, record, raw)
	return p
}

// InspectList is Inspect for the first page of a list, read by the settings s.
func InspectList[T Record](ctx context.Context, c *Client, s Service, r Request, t RecordType) (Page[T], Inspection) {
	a, p := c.Inspect(ctx, r)
	if p.Asked = s.PageSize; p.Err != nil {
		return Page[T]{}, p
	}
	page, err := PageIn[T](s, r, a, t)
	p.Err = err
	p.At, p.Wrapper, p.TotalAt = page.Shape.Key, page.Shape.Wrapper, page.Shape.Total
	p.Items, p.Unusable, p.Total, p.Reported = len(page.Items), page.Unusable, page.Total, page.PageSize
	p.After = page.After
	l, _ := t.findList(ParseJSON(a.Body), s.ListField)
	var raws []json.RawMessage
	for _, v := range l.items {
		raws = append(raws, v.Raw())
	}
	var one T
	p.Compare(t, one, raws...)
	return page, p
}

// Compare compares a sample of records with what is expected of them; record has their Go type.
func (p *Inspection) Compare(t RecordType, record any, raws ...json.RawMessage) {
	const enough = 25
	kinds, unknown, odd, came := map[string]bool{}, map[string]bool{}, map[string]bool{}, map[string]bool{}
	amounts, beside := map[string]bool{}, map[string]bool{}
	for _, raw := range raws[:min(len(raws), enough)] {
		for _, f := range Unknown(raw, record) {
			if f.Odd {
				odd[plainPath(f.Path)] = true
			} else {
				unknown[plainPath(f.Path)] = true
			}
		}
		v := ParseJSON(raw)
		recordLayout(reflect.TypeOf(record)).visit("", v, func(path string, v jsontree.Value, l *layout) {
			path = plainPath(path)
			if l != nil && notKnown(l.typ, v) {
				amounts[path+": "+v.Keys()] = true
				for name := range v.Members() {
					if !IsAmountPart(name) {
						beside[name] = true
					}
				}
			}
			if want, got := expectedKind(l, path), v.KindWord(); want != "" && got != want && got != "null" {
				kinds[path+": "+got+" instead of "+want] = true
			}
		})
		for name := range v.Members() {
			came[name] = true
		}
	}
	p.Kinds, p.Unknown, p.Odd, p.Amounts, p.Beside = names(kinds), names(unknown), names(odd), names(amounts),
		names(beside)
	for _, name := range t.expected {
		if len(raws) > 0 && !came[name] {
			p.Missing = append(p.Missing, name)
		}
	}
}

// notKnown reports whether v is an amount of type t without a clear value.
func notKnown(t reflect.Type, v jsontree.Value) bool {
	if t != reflect.TypeFor[Money]() && t != reflect.TypeFor[Amount]() && t != reflect.TypeFor[Balance]() {
		return false
	}
	to := reflect.New(t)
	recordLayout(t).read(v, to.Elem())
	switch m := to.Interface().(type) {
	case *Money:
		return m.Unclear
	case *Amount:
		return m.Sum.Unclear
	case *Balance:
		return m.Value().Unclear
	}
	return false
}

func names(set map[string]bool) []string {
	var out []string
	for _, n := range slices.Sorted(maps.Keys(set)) {
		if len(out) == maxNames {
			return append(out, fmt.Sprintf("and %d more", len(set)-maxNames))
		}
		out = append(out, safeLine(n, 120))
	}
	return out
}

// plainPath is a path without element numbers: "documents[].scan".
func plainPath(path string) string {
	var b strings.Builder
	in := false
	for _, r := range path {
		if in = in && r != ']'; !in {
			b.WriteRune(r)
		}
		in = in || r == '['
	}
	return b.String()
}

// expectedKind is the JSON kind that the service's pages show for a scalar; "" for a value with parts or without a Go
// field.
func expectedKind(l *layout, path string) string {
	switch {
	case l == nil:
	case l.typ == reflect.TypeFor[Number]() && strings.HasSuffix(path, "nanos"):
		return "number"
	case l.typ == reflect.TypeFor[Time](), l.typ.Kind() == reflect.String:
		return "text"
	case l.typ.Kind() == reflect.Bool, l.typ == reflect.TypeFor[Lock]():
		return "true or false"
	case l.typ.Kind() == reflect.Int64:
		return "number"
	}
	return ""
}

// OrderOf returns the order of operations by creation time.
func OrderOf(ops []Operation) Order {
	up, down := false, false
	var before time.Time
	for _, o := range ops {
		at := o.CreatedAt.Time
		if at.IsZero() {
			continue
		}
		if !before.IsZero() {
			up, down = up || at.After(before), down || at.Before(before)
		}
		before = at
	}
	switch {
	case up && down:
		return NoOrder
	case up:
		return OldestFirst
	case down:
		return NewestFirst
	}
	return ""
}
