package api

import (
	"bytes"
	"cmp"
	"encoding/json"
	"fmt"
	"maps"
	"slices"
	"strconv"
	"strings"
)

// Shape tells how an answer carried a list.
type Shape struct {
	Key     string // of the array: "items", "data.rows"; "" when the answer is the array
	Wrapper string // key of the record within each element; "" when the element is the record
	Total   string // key of the total: "meta.total"; "" when there is none
}

// listing is a list as it was found in an answer.
type listing struct {
	shape      Shape
	items      []json.RawMessage // the records, unwrapped
	total      Number            // "" when it was not told
	page, size int               // as told; 0 when not
}

// whole64 writes a count in digits; what is not a whole number is "".
func whole64(n Number) Number {
	if n == "" {
		return ""
	}
	if w, ok := wholeWord(string(n)); ok && w >= 0 {
		return Number(strconv.FormatInt(w, 10))
	}
	return ""
}

// spot is an array that may hold the records.
type spot struct {
	path    string
	holder  fields // the object around it
	items   []json.RawMessage
	records int // elements that are records, plain or wrapped
	rank    int // of its name: the smaller, the likelier
}

// listNames are the names of an array of records, the likeliest first.
var listNames = []string{"items", "data", "list", "results", "result", "records", "rows", "content", "entries", "elements", "values", "objects", "entities"}

var unnamed = len(listNames) + 1 // the rank of any other name

// findList looks for the list in an answer. field is the array's name by the config,
// which goes before all others; "" for none. ok is false when there is no array
// that can be it.
func (t thing) findList(body []byte, field string) (listing, bool) {
	if items, ok := array(body); ok {
		return t.listed(spot{items: items, records: t.count(items)}, nil), true
	}
	top := object(body)
	spots := t.spots(top, "", 0, field)
	if len(spots) == 0 {
		l := t.listed(spot{holder: top}, top)
		return l, t.omitted(top, l)
	}
	return t.listed(slices.MinFunc(spots, likelier), top), true
}

// likelier orders spots: one with records first, then by name and path.
func likelier(a, b spot) int {
	if (a.records > 0) != (b.records > 0) {
		if a.records > 0 {
			return -1
		}
		return 1
	}
	return cmp.Or(cmp.Compare(a.rank, b.rank), cmp.Compare(a.path, b.path))
}

// omitted reports whether an answer without an array tells an empty list: one
// that leaves out what is empty, and tells nothing else.
func (t thing) omitted(top fields, l listing) bool {
	if top == nil || l.total != "0" && (l.total != "" || !hasMeta(top)) {
		return false
	}
	for name, raw := range top {
		if b := bytes.TrimSpace(raw); (b[0] == '{' || b[0] == '[') && !slices.Contains(metas, name) {
			return false
		}
	}
	return true
}

// spots are the arrays of an object, and of the objects in it: at most one where
// field names it.
func (t thing) spots(m fields, at string, depth int, field string) []spot {
	var out []spot
	for _, name := range slices.Sorted(maps.Keys(m)) {
		path := under(at, name)
		named := field != "" && (path == field || strings.HasSuffix(path, "."+field))
		if slices.Contains(asides, strings.ToLower(name)) && !named {
			continue
		}
		items, is := t.elements(m[name])
		sp := spot{path: path, holder: m, items: items, records: t.count(items), rank: 100*depth + t.rank(name)}
		switch {
		case named && (is || null(m[name])):
			return []spot{sp}
		case is && (len(items) == 0 && depth == 0 || sp.records > 0 || t.rank(name) < unnamed), null(m[name]) && t.rank(name) < unnamed:
			out = append(out, sp)
		case !is && depth+1 < maxNesting:
			inner := t.spots(object(m[name]), path, depth+1, field)
			if t.isRecord(m[name]) && t.rank(name) < unnamed { // one record, and what is in it is its own
				inner = slices.DeleteFunc(inner, func(s spot) bool { return s.rank%100 >= unnamed })
				if len(inner) == 0 {
					sp.items, sp.records = []json.RawMessage{m[name]}, 1
					inner = []spot{sp}
				}
			}
			if len(inner) == 1 && field != "" && strings.HasSuffix(inner[0].path, field) {
				return inner
			}
			out = append(out, inner...)
		}
	}
	return out
}

// elements are those of an array, or the values of an object whose values are all
// records, by their keys.
func (t thing) elements(raw json.RawMessage) ([]json.RawMessage, bool) {
	if items, ok := array(raw); ok {
		return items, true
	}
	m := object(raw)
	var out []json.RawMessage
	for _, name := range slices.Sorted(maps.Keys(m)) {
		if !t.isRecord(m[name]) {
			return nil, false
		}
		out = append(out, m[name])
	}
	return out, len(out) > 0
}

// rank is how likely a name is one of the list.
func (t thing) rank(name string) int {
	if name == "items" {
		return 0
	}
	if slices.Contains(t.lists, name) {
		return 1
	}
	if i := slices.Index(listNames, name); i >= 0 {
		return 1 + i
	}
	return unnamed
}

// count is how many elements are records; it looks at the first few.
func (t thing) count(items []json.RawMessage) int {
	n := 0
	for _, it := range items[:min(len(items), 5)] {
		if _, _, ok := t.find(it); ok {
			n++
		}
	}
	return n
}

func (t thing) isRecord(raw json.RawMessage) bool { return t.holds(object(raw), t.sure) }

// listed reads items and counts from a spot.
func (t thing) listed(s spot, top fields) listing {
	l := listing{items: s.items, shape: Shape{Key: s.path}}
	for i, it := range s.items {
		if t.isRecord(it) {
			continue
		}
		if inner, at, ok := t.find(it); ok {
			if l.items[i] = inner; l.shape.Wrapper == "" {
				l.shape.Wrapper = at
			}
		}
	}
	at := s.path[:max(strings.LastIndexByte(s.path, '.'), 0)]
	l.counts(s.holder, at)
	if l.total == "" && at != "" {
		l.counts(top, "")
	}
	return l
}

var (
	metas  = []string{"meta", "_meta", "pagination", "paging", "page", "pageInfo", "metadata"}
	totals = []string{"total", "totalCount", "total_count", "totalItems", "totalElements", "totalRecords", "totalResults", "recordsTotal", "count"}
)

func hasMeta(m fields) bool {
	return slices.ContainsFunc(metas, func(name string) bool { return object(m[name]) != nil })
}

// counts reads total, page and size from the meta object in m, else from m itself.
func (l *listing) counts(m fields, at string) {
	for _, name := range metas {
		if inner := object(m[name]); inner != nil {
			l.count(inner, under(at, name))
		}
	}
	l.count(m, at)
}

func (l *listing) count(m fields, at string) {
	for _, name := range totals {
		n := whole64(Number(m.text(name)))
		if l.total != "" || n == "" || name == "count" && string(n) == strconv.Itoa(len(l.items)) && len(l.items) > 0 {
			continue // a count that equals the page may be the page's
		}
		l.total, l.shape.Total = n, under(at, name)
	}
	if n, ok := wholeWord(m.text("page", "pageNumber", "number")); ok && l.page == 0 {
		l.page = int(n)
	}
	if n, ok := wholeWord(m.text("pageSize", "page_size", "size", "limit", "perPage")); ok && l.size == 0 {
		l.size = int(n)
	}
}

// pageOf finds the list in an answer and reads its records.
func pageOf[T record](c *Client, r request, a answer, t thing, page int) (Page[T], error) {
	if err := a.json(r); err != nil {
		return Page[T]{}, err
	}
	l, ok := t.findList(a.body, c.opt.Service.ListField)
	if l.total == "" && a.header != nil {
		if l.total = whole64(Number(a.header.Get("X-Total-Count"))); l.total != "" {
			l.shape.Total = "X-Total-Count"
		}
	}
	p := Page[T]{Page: l.page, PageSize: l.size, Total: l.total, At: a.at, Shape: l.shape}
	if len(l.items) == 0 {
		if err := saidNo(r, a, "list of "+t.many); err != nil {
			return p, err
		}
	}
	switch {
	case !ok && page == 0, !ok && l.total == "", len(l.items) == 0 && page == 0 && l.total != "" && l.total != "0":
		return p, noList(r, a, t, l)
	}
	p.Items = readItems[T](l.items)
	for i, it := range p.Items {
		if it.key() != "" {
			continue
		}
		if inner, _, ok := t.find(l.items[i]); ok {
			p.Items[i] = readItems[T]([]json.RawMessage{inner})[0]
		}
		if p.Items[i].key() == "" {
			p.Unusable++
		}
	}
	if p.Unusable > 0 && p.Unusable == len(p.Items) {
		return p, noIDs(r, a, t, l)
	}
	return p, nil
}

func noList(r request, a answer, t thing, l listing) error {
	if !json.Valid(a.body) {
		return notUnderstood(r, a, nil)
	}
	e := &Error{Op: r.op, Kind: Internal, Status: a.status, RequestID: a.id, Remedy: Remedy{Kind: NameListField},
		Public: "The service's answer holds no list of " + t.many + " that can be read. It holds " + keysOf(a.body) + "."}
	if l.total != "" {
		e.Public = fmt.Sprintf("The service tells a total of %s %s, and its answer holds none that can be read. It holds %s.", l.total, t.many, keysOf(a.body))
	}
	return e
}

func noIDs(r request, a answer, t thing, l listing) error {
	return &Error{Op: r.op, Kind: Internal, Status: a.status, RequestID: a.id, Remedy: Remedy{Kind: NameListField},
		Public: fmt.Sprintf("None of the %d %s in the service's answer has the field “%s”, which identifies it. The first one holds %s.",
			len(l.items), t.many, t.ids[0], keysOf(l.items[0]))}
}

// record is what lists hold; key is its identifier, "" when it has none that can
// be used.
type record interface{ key() string }

func (o Operation) key() string    { return string(o.OPID) }
func (c Customer) key() string     { return string(c.CUID) }
func (f CustomerFile) key() string { return string(f.ID) }
func (a Account) key() string      { return string(a.ID) }
func (p Counterparty) key() string { return string(p.ID) }

// readItems reads each item by itself, so that one odd item hides no other. One
// that cannot be read is kept with its Raw alone.
func readItems[T record](raws []json.RawMessage) []T {
	out := make([]T, 0, len(raws))
	for _, raw := range raws {
		var it T
		if err := json.Unmarshal(raw, &it); err != nil {
			switch p := any(&it).(type) {
			case *Operation:
				*p = Operation{Raw: raw}
			case *Customer:
				*p = Customer{Raw: raw}
			case *CustomerFile:
				*p = CustomerFile{Raw: raw}
			case *Account:
				*p = Account{Raw: raw}
			case *Tariff:
				*p = Tariff{Raw: raw}
			case *Counterparty:
				*p = Counterparty{Raw: raw}
			}
		}
		out = append(out, it)
	}
	return out
}
