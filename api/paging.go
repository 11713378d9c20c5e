package api

import (
	"cmp"
	"encoding/json"
	"fmt"
	"net/http"
	"net/url"
	"slices"
	"strconv"
	"strings"
	"unicode"

	"opdeck/api/jsontree"
)

// PagingWay is a way to request the pages of a list.
type PagingWay string

// The ways.
const (
	ByPage   PagingWay = "page"   // by page number
	ByOffset PagingWay = "offset" // by the number of rows to skip
	ByCursor PagingWay = "cursor" // by the cursor in the previous page
	OnePage  PagingWay = "none"   // the whole list in one answer
)

// The names of the paging parameters in the service's documents.
const (
	PageName = "meta.page"
	SizeName = "meta.pageSize"
)

// Paging says how to request the service's lists page by page (config, [service]). The zero value follows the
// service's documents.
type Paging struct {
	Way         PagingWay // "": ByPage
	PageName    string    // query name of the page number or the offset; "": PageName
	SizeName    string    // "": SizeName
	First       int       // number of the first page: 0 or 1
	CursorName  string    // query name of the cursor; "": derived from its name in the answer
	CursorField string    // path of the cursor in an answer, "meta.next"; "": detected
}

// Names returns the query names of this way to page.
func (p Paging) Names() []string {
	out := []string{cmp.Or(p.PageName, PageName), cmp.Or(p.SizeName, SizeName)}
	if p.CursorName != "" {
		out = append(out, p.CursorName)
	}
	return out
}

// CountsPages reports whether pages are requested by number.
func (p Paging) CountsPages() bool { return p.Way == "" || p.Way == ByPage }

// Ask rewrites a query with PageName (from 0) and SizeName to the service's own form. next is After.Next of the
// previous page, "" for none.
func (p Paging) Ask(v url.Values, next string) {
	page, _ := strconv.Atoi(v.Get(PageName))
	size, _ := strconv.Atoi(v.Get(SizeName))
	if !v.Has(PageName) {
		return
	}
	v.Del(PageName)
	v.Del(SizeName)
	if p.Way != OnePage {
		v.Set(cmp.Or(p.SizeName, SizeName), strconv.Itoa(size))
	}
	if more, err := url.ParseQuery(next); err == nil && next != "" {
		for name, values := range more {
			v[name] = values
		}
		return
	}
	name := cmp.Or(p.PageName, PageName)
	switch cmp.Or(p.Way, ByPage) {
	case ByPage:
		v.Set(name, strconv.Itoa(page+p.First))
	case ByOffset:
		v.Set(name, strconv.Itoa(page*size+p.First))
	}
}

// PageOf returns the page number, from 0, in a query.
func (p Paging) PageOf(v url.Values) int {
	n, _ := strconv.Atoi(v.Get(cmp.Or(p.PageName, PageName)))
	return max(n-p.First, 0)
}

// More says whether there are more pages.
type More string

// Its values; "" is not reported.
const (
	MoreFollows More = "more"
	NoMore      More = "end"
)

// After is what a page of a list says about the next one.
type After struct {
	More More
	// Next is the query of the next page, "cursor=abc"; "" if the answer has none that can be used.
	Next string
	// Key is the path of the member that says so: "meta.nextCursor".
	Key string
	// ByNumber: the member is a page number, which we count ourselves anyway.
	ByNumber bool
}

// PageAt is where a page of a list begins: its number from 0 and, if the previous page named it, that page's
// After.Next.
type PageAt struct {
	Page int
	Next string
}

// chains reports whether the page names the next one by a cursor or link.
func (a After) chains() bool { return a.Next != "" && !a.ByNumber }

// Then returns where the page after p, which began at, begins. fresh says that p has records that no page before it
// had; more is false if there is no next page to read. A cursor is followed if the list has no total, by which pages
// are counted, or if pages by number repeat.
func (p Page[T]) Then(at PageAt, fresh bool) (next PageAt, more bool) {
	next = PageAt{Page: at.Page + 1}
	repeats := !fresh && at.Page > 0 && at.Next == "" && len(p.Items) > 0
	if p.After.chains() && (p.Total == "" || at.Next != "" || repeats) {
		next.Next = p.After.Next
	}
	return next, fresh || repeats && next.Next != ""
}

var (
	moreFlags = []string{"hasMore", "hasNext", "hasNextPage", "moreAvailable", "more", "truncated", "isTruncated"}
	lastFlags = []string{"last", "isLast", "lastPage", "isLastPage", "endOfList"}
	cursors   = []string{"cursor", "endCursor", "continuationToken", "continuation", "scrollId", "pageToken",
		"startingAfter"}
)

const maxNext = 4096 // bytes of a cursor or link

// after finds what an answer says about the next page: in paging objects, beside the list, and in the header Link.
func (p Paging) after(l listing, body jsontree.Value, h http.Header, at string) After {
	var a After
	if p.CursorField != "" {
		a.read(p, body.Named(p.CursorField), p.CursorField)
		if v := body.Named(p.CursorField); v.Kind() != 0 {
			return a
		}
	}
	for _, o := range pagingObjects(l.holder, body, at) {
		for _, m := range o.Sorted() {
			a.member(p, under(o.path, m.Name), m)
		}
	}
	if next := linkNext(h); next != "" && a.Next == "" {
		a.More, a.Key = MoreFollows, "Link"
		a.follow(p, "next", next)
	}
	return a
}

type pagingObject struct {
	path string
	jsontree.Value
}

// pagingObjects returns the objects that may describe the paging: those with such a name around the list, and the
// list's own object.
func pagingObjects(holder, body jsontree.Value, at string) []pagingObject {
	var out []pagingObject
	add := func(v jsontree.Value, path string) {
		if v.Kind() != jsontree.Object {
			return
		}
		out = append(out, pagingObject{path, v})
		for _, m := range v.Sorted() {
			if m.Kind() == jsontree.Object && pagingName(m.Name) {
				out = append(out, pagingObject{under(path, m.Name), m.Value})
			}
		}
	}
	add(holder, at)
	if at != "" {
		add(body, "")
	}
	return out
}

func pagingName(name string) bool {
	return slices.ContainsFunc(slices.Concat(metas, []string{"links", "_links", "cursors", "cursor"}),
		func(n string) bool { return jsontree.SameName(n, name) })
}

// member reads one member of a paging object.
func (a *After) member(p Paging, path string, m jsontree.Member) {
	is := func(names []string) bool {
		return slices.ContainsFunc(names, func(n string) bool { return jsontree.SameName(n, m.Name) })
	}
	word, scalar := m.Scalar()
	flag, known := flagWord(word)
	switch {
	case is(moreFlags) && scalar && known && word != "":
		a.flag(flag, path)
	case is(lastFlags) && scalar && known && word != "":
		a.flag(!flag, path)
	case nextName(m.Name), is(cursors):
		a.read(p, m.Value, path)
	}
}

// nexts are the words that may follow "next" in the names of members about the next page.
var nexts = []string{"", "cursor", "page", "pageToken", "token", "offset", "link", "url", "href", "uri", "key", "id",
	"marker", "start", "pageCursor", "pageUrl", "pageLink", "pageNumber"}

// nextName reports whether a name means the next page: next, nextCursor, next_page_token.
func nextName(name string) bool {
	name = strings.TrimLeft(name, "_")
	if len(name) < len("next") || !strings.EqualFold(name[:len("next")], "next") {
		return false
	}
	return slices.ContainsFunc(nexts, func(n string) bool { return jsontree.SameName(n, name[len("next"):]) })
}

// flag reads a yes or no about more pages; it overrides any cursor.
func (a *After) flag(more bool, path string) {
	a.More, a.Key = NoMore, path
	if more {
		a.More = MoreFollows
	}
}

// read reads a cursor, a link or null from the member at path.
func (a *After) read(p Paging, v jsontree.Value, path string) {
	if v.Kind() == jsontree.Object {
		v = v.Named("href", "url", "cursor", "token")
	}
	s, scalar := v.Scalar()
	name := path[strings.LastIndexByte(path, '.')+1:]
	switch {
	case v.Null(), scalar && (s == "" || s == "false"):
		if nextName(name) && a.More == "" {
			a.More, a.Key = NoMore, path
		}
	case scalar && len(s) <= maxNext && (a.Next == "" || nextName(name)):
		if a.More == "" {
			a.More = MoreFollows
		}
		a.Key = path
		a.follow(p, name, s)
	}
}

// follow builds the query of the next page: that of a link, else the cursor under the query name that its own name
// suggests.
func (a *After) follow(p Paging, name, value string) {
	if strings.ContainsAny(value, "?/") {
		u, err := url.Parse(value)
		if err == nil && u.RawQuery != "" {
			q := u.Query()
			a.ByNumber = q.Has(cmp.Or(p.PageName, PageName)) && p.CursorName == "" || onlyNumber(q)
			a.Next = q.Encode()
			return
		}
		if err == nil && strings.HasPrefix(value, "/") {
			return
		}
	}
	query := cmp.Or(p.CursorName, queryName(name))
	a.ByNumber = slices.ContainsFunc([]string{"page", "pageNumber"}, func(n string) bool {
		return jsontree.SameName(n, query) && p.CursorName == ""
	})
	a.Next = url.Values{query: {value}}.Encode()
}

// onlyNumber reports whether a link pages by number.
func onlyNumber(q url.Values) bool {
	for _, n := range []string{"page", "pageNumber", "page_number"} {
		if _, err := strconv.Atoi(q.Get(n)); err == nil {
			return true
		}
	}
	return false
}

// queryName derives a cursor's query name from its name in the answer: cursor for nextCursor, page_token for
// next_page_token.
func queryName(name string) string {
	for _, same := range []string{"endCursor"} {
		if jsontree.SameName(name, same) {
			return "after"
		}
	}
	rest := strings.TrimLeft(name, "_")
	if !nextName(name) || jsontree.SameName(name, "nextToken") {
		return rest
	}
	rest = strings.TrimLeft(rest[len("next"):], "_-")
	if rest == "" {
		return "cursor"
	}
	r := []rune(rest)
	r[0] = unicode.ToLower(r[0])
	return string(r)
}

// linkNext returns the address of the next page from a header Link (RFC 8288).
func linkNext(h http.Header) string {
	for _, line := range h.Values("Link") {
		for _, link := range strings.Split(line, ",") {
			target, params, ok := strings.Cut(strings.TrimSpace(link), ">")
			rel := strings.ReplaceAll(strings.ToLower(params), `"`, "")
			if ok && strings.HasPrefix(target, "<") && strings.Contains(strings.ReplaceAll(rel, " ", "")+";", "rel=next;") {
				return target[1:]
			}
		}
	}
	return ""
}

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
