package api

import (
	"cmp"
	"encoding/json"
	"fmt"
	"slices"
	"strconv"
	"strings"

	"opdeck/api/jsontree"
)

// listing is a list found in an answer.
type listing struct {
	at         string           // path of the object around the array, "" for the answer itself
	items      []jsontree.Value // the records, unwrapped
	total      Number           // "" when there is none
	page, size int              // from the answer; 0 if not reported
	holder     jsontree.Value   // the object around the array
}

// whole64 writes a count in digits; "" for anything but a whole number.
func whole64(s string) Number {
	if n, ok := wholeWord(s); ok && n >= 0 && s != "" {
		return Number(strconv.FormatInt(n, 10))
	}
	return ""
}

// spot is an array that may hold the records.
type spot struct {
	path    string
	holder  jsontree.Value // the object around it
	items   []jsontree.Value
	records int // elements that are records, plain or wrapped
	rank    int // of its name; lower is likelier
}

// listNames are the names of arrays of records, the likeliest first.
var listNames = []string{"items", "data", "list", "results", "result", "records", "rows", "content", "entries",
	"elements", "values", "objects", "entities"}

var unnamed = len(listNames) + 1 // the rank of any other name

// findList finds the list in an answer. name is the array's name in the config, preferred to all others; "" for none.
// ok is false if no array qualifies.
func (t RecordType) findList(body jsontree.Value, name string) (listing, bool) {
	if body.Kind() == jsontree.Array {
		items := elementsOf(body)
		return t.listed(spot{items: items, records: t.count(items)}, jsontree.Value{}), true
	}
	spots := t.spots(body, "", 0, name)
	if len(spots) == 0 {
		l := t.listed(spot{holder: body}, body)
		return l, saysEmpty(body, l)
	}
	return t.listed(slices.MinFunc(spots, likelier), body), true
}

// likelier orders spots: first those with records, then by name and path.
func likelier(a, b spot) int {
	if (a.records > 0) != (b.records > 0) {
		if a.records > 0 {
			return -1
		}
		return 1
	}
	return cmp.Or(cmp.Compare(a.rank, b.rank), cmp.Compare(a.path, b.path))
}

// saysEmpty reports whether an answer without an array is an empty list: such an answer has only counts.
func saysEmpty(body jsontree.Value, l listing) bool {
	if body.Kind() != jsontree.Object || l.total != "0" && (l.total != "" || !hasMeta(body)) {
		return false
	}
	for name, v := range body.Members() {
		if hasParts(v) && !slices.Contains(metas, name) {
			return false
		}
	}
	return true
}

// spots returns the arrays of an object and of the objects in it; if the config names the array, at most that one.
func (t RecordType) spots(v jsontree.Value, at string, depth int, config string) []spot {
	var out []spot
	for _, m := range v.Sorted() {
		path, rank := under(at, m.Name), t.rank(m.Name)
		named := config != "" && (path == config || strings.HasSuffix(path, "."+config))
		if isAside(m.Name) && !named {
			continue
		}
		items, is := t.elements(m.Value)
		sp := spot{path: path, holder: v, items: items, records: t.count(items), rank: 100*depth + rank}
		likely := sp.records > 0 || rank < unnamed || len(items) == 0 && depth == 0
		switch {
		case named && (is || m.Null()):
			return []spot{sp}
		case is && likely, m.Null() && rank < unnamed:
			out = append(out, sp)
		case !is && depth+1 < jsontree.MaxWrappers:
			inner := t.innerSpots(m, sp, config)
			if len(inner) == 1 && config != "" && strings.HasSuffix(inner[0].path, config) {
				return inner
			}
			out = append(out, inner...)
		}
	}
	return out
}

// innerSpots returns the spots in an object that is a member of another one. A single record under a list's name is a
// list of one, and arrays inside it are its own.
func (t RecordType) innerSpots(m jsontree.Member, sp spot, config string) []spot {
	inner := t.spots(m.Value, sp.path, sp.rank/100+1, config)
	if !t.isRecord(m.Value) || t.rank(m.Name) >= unnamed {
		return inner
	}
	inner = slices.DeleteFunc(inner, func(s spot) bool { return s.rank%100 >= unnamed })
	if len(inner) == 0 {
		sp.items, sp.records = []jsontree.Value{m.Value}, 1
		inner = []spot{sp}
	}
	return inner
}

// elements returns the elements of an array, or the values of an object whose values are all records, by key.
func (t RecordType) elements(v jsontree.Value) ([]jsontree.Value, bool) {
	if v.Kind() == jsontree.Array {
		return elementsOf(v), true
	}
	for _, m := range v.Members() {
		if !t.isRecord(m) {
			return nil, false
		}
	}
	var out []jsontree.Value
	for _, m := range v.Sorted() {
		out = append(out, m.Value)
	}
	return out, len(out) > 0
}

func elementsOf(v jsontree.Value) []jsontree.Value {
	out := make([]jsontree.Value, 0, v.Len())
	for _, m := range v.Members() {
		out = append(out, m)
	}
	return out
}

// rank returns how likely a name is that of the list; lower is likelier.
func (t RecordType) rank(name string) int {
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

// count counts the elements that are records, among the first few.
func (t RecordType) count(items []jsontree.Value) int {
	n := 0
	for _, it := range items[:min(len(items), 5)] {
		if _, ok := t.Find(it); ok {
			n++
		}
	}
	return n
}

// listed reads items and counts from a spot.
func (t RecordType) listed(s spot, body jsontree.Value) listing {
	at := s.path[:max(strings.LastIndexByte(s.path, '.'), 0)]
	l := listing{at: at, items: s.items, holder: s.holder}
	for i, it := range s.items {
		if t.isRecord(it) {
			continue
		}
		if inner, ok := t.Find(it); ok {
			l.items[i] = inner
		}
	}
	l.readCounts(s.holder)
	if l.total == "" && at != "" {
		l.readCounts(body)
	}
	return l
}

var (
	metas  = []string{"meta", "_meta", "pagination", "paging", "page", "pageInfo", "metadata"}
	totals = []string{"total", "totalCount", "total_count", "totalItems", "totalElements", "totalRecords",
		"totalResults", "recordsTotal", "count"}
)

func hasMeta(v jsontree.Value) bool {
	return slices.ContainsFunc(metas, func(name string) bool { return v.Member(name).Kind() == jsontree.Object })
}

// readCounts reads total, page and size from the meta object in v, else from v itself.
func (l *listing) readCounts(v jsontree.Value) {
	for _, name := range metas {
		if inner := ObjectIn(v.Member(name)); inner.Exists() {
			l.readCountsOf(inner)
		}
	}
	l.readCountsOf(ObjectIn(v))
}

func (l *listing) readCountsOf(m Object) {
	for _, name := range totals {
		n := whole64(m.First(name))
		ofPage := name == "count" && len(l.items) > 0 && string(n) == strconv.Itoa(len(l.items))
		if l.total == "" && n != "" && !ofPage {
			l.total = n
		}
	}
	if n, ok := wholeWord(m.First("page", "pageNumber", "number")); ok && l.page == 0 {
		l.page = int(n)
	}
	if n, ok := wholeWord(m.First("pageSize", "page_size", "size", "limit", "perPage")); ok && l.size == 0 {
		l.size = int(n)
	}
}

// PageIn finds the list in the answer to a request for a page and decodes its records.
func PageIn[T Record](s Service, r Request, a Answer, t RecordType) (Page[T], error) {
	body, err := a.JSON(r)
	if err != nil {
		return Page[T]{}, err
	}
	first := !r.Follows && s.Paging.PageOf(r.Query) == 0
	l, ok := t.findList(body, s.ListField)
	if l.total == "" {
		l.total = whole64(a.Header.Get("X-Total-Count"))
	}
	p := Page[T]{Page: l.page, PageSize: l.size, Total: l.total, At: a.At}
	p.After = s.Paging.after(l, body, a.Header, l.at)
	switch s.Paging.Way {
	case OnePage:
		p.After = After{More: NoMore}
	case ByPage, ByOffset:
		p.After.Next = ""
	}
	if len(l.items) == 0 {
		if err := SaidNo(r, a, body, "list of "+t.many); err != nil {
			return p, err
		}
	}
	missing := first && l.total != "" && l.total != "0" // the first page is empty and the total is not
	if !ok && (first || l.total == "") || len(l.items) == 0 && missing {
		return p, a.unreadable(r, body, Remedy{Kind: NameListField}, noList(t, l)+" It contains "+body.Keys()+".")
	}
	p.Items = make([]T, 0, len(l.items))
	for _, v := range l.items {
		it := readItem[T](v)
		if p.Items = append(p.Items, it); it.key() == "" {
			p.Unusable++
		}
	}
	if p.Unusable > 0 && p.Unusable == len(p.Items) {
		const why = "None of the %d %s in the service's answer has the field “%s”, which identifies it. The first one " +
			"contains %s."
		return p, a.unreadable(r, body, Remedy{Kind: NameListField},
			fmt.Sprintf(why, len(l.items), t.many, t.ids[0], l.items[0].Keys()))
	}
	return p, nil
}

func noList(t RecordType, l listing) string {
	if l.total == "" {
		return "The service's answer contains no list of " + t.many + " that can be read."
	}
	return fmt.Sprintf("The service reports a total of %s %s, but its answer has none that can be read.", l.total, t.many)
}

// Record is an element of a list; key is its identifier, "" if it has no usable one. A pointer to it decodes itself
// from JSON and keeps a copy of the JSON.
type Record interface{ key() string }

func (o Operation) key() string    { return string(o.OPID) }
func (c Customer) key() string     { return string(c.CUID) }
func (f CustomerFile) key() string { return string(f.ID) }
func (a Account) key() string      { return string(a.ID) }
func (p Counterparty) key() string { return string(p.ID) }

// readItem decodes one item by itself, so that a malformed one does not affect others. An unreadable one has only its
// Raw.
func readItem[T Record](v jsontree.Value) (it T) {
	_ = any(&it).(json.Unmarshaler).UnmarshalJSON(v.Raw())
	return it
}
