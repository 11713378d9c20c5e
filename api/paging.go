package api

import (
	"cmp"
	"encoding/json"
	"fmt"
	"net/url"
	"strconv"
	"strings"

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

// The usual names of members about the next page, beside the list or in its meta: cursors with their query names,
// then flags.
var (
	cursorNames = map[string]string{"next": "cursor", "nextCursor": "cursor", "next_cursor": "cursor",
		"nextPageToken": "pageToken", "next_page_token": "page_token"}
	moreNames = []string{"hasMore", "has_more"}
)

const maxNext = 4096 // bytes of a cursor or link

// after finds what an answer says about the next page: at cursor_field, else under the usual names.
func (p Paging) after(l listing, body jsontree.Value) (a After) {
	if p.CursorField != "" {
		a.read(p, body.Path(p.CursorField), p.CursorField)
		return a
	}
	for _, o := range []jsontree.Value{l.holder, l.holder.Member("meta"), body, body.Member("meta")} {
		for _, m := range o.Sorted() {
			if _, is := cursorNames[m.Name]; is && a.Key == "" {
				a.read(p, m.Value, m.Name)
			}
		}
		for _, name := range moreNames {
			if more, told := o.Member(name).Flag(); told { // it overrides any cursor
				a.More, a.Key = NoMore, name
				if more {
					a.More = MoreFollows
				}
			}
		}
	}
	return a
}

// read reads a cursor, a link or null from the member at path.
func (a *After) read(p Paging, v jsontree.Value, path string) {
	s, scalar := v.Scalar()
	switch {
	case v.Null(), scalar && s == "":
		a.More, a.Key = NoMore, path
	case scalar && len(s) <= maxNext:
		a.More, a.Key = MoreFollows, path
		name := path[strings.LastIndexByte(path, '.')+1:]
		a.follow(p, cmp.Or(p.CursorName, cursorNames[name], name), s)
	}
}

// follow builds the query of the next page: that of a link, else the cursor under its query name.
func (a *After) follow(p Paging, query, value string) {
	if u, err := url.Parse(value); err == nil && u.RawQuery != "" {
		q := u.Query()
		a.ByNumber, a.Next = q.Has(cmp.Or(p.PageName, PageName)), q.Encode()
		return
	}
	a.Next = url.Values{query: {value}}.Encode()
}

// listing is a list found in an answer.
type listing struct {
	items      []jsontree.Value // the records, unwrapped
	total      Number           // "" when there is none
	page, size int              // from the answer; 0 if not reported
	holder     jsontree.Value   // the object around the array
}

// listNames are the usual names of arrays of records; the documents have the first.
var listNames = []string{"items", "data", "list", "results", "rows"}

// listIn finds the list in an answer: at the path in the config, else under a usual name in the answer or what it
// wraps, or the answer itself. ok is false if there is none.
func (t RecordType) listIn(body jsontree.Value, field string) (l listing, ok bool) {
	list := body
	if body.Kind() != jsontree.Array {
		list, l.holder = t.arrayIn(body, field)
	}
	for _, v := range elementsOf(list) {
		if inner, found := t.Find(v); found {
			v = inner
		}
		l.items = append(l.items, v)
	}
	for _, o := range []jsontree.Value{l.holder.Member("meta"), l.holder, body.Member("meta"), body} {
		m := ObjectIn(o)
		l.total = cmp.Or(l.total, wholeText(m.First("total")))
		l.page = cmp.Or(l.page, intOf(m.First("page")))
		l.size = cmp.Or(l.size, intOf(m.First("pageSize")))
	}
	return l, list.Kind() != 0 || l.total == "0"
}

// arrayIn returns the array of records and the object around it; null is an empty one.
func (t RecordType) arrayIn(body jsontree.Value, field string) (list, holder jsontree.Value) {
	if list = body.Path(field); field != "" && isList(list) {
		if at := strings.LastIndexByte(field, '.'); at >= 0 {
			return list, body.Path(field[:at])
		}
		return list, body
	}
	for _, o := range body.Inside() {
		for _, name := range append([]string{t.list}, listNames...) {
			if list := o.Member(name); isList(list) {
				return list, o
			}
		}
	}
	return jsontree.Value{}, body
}

func isList(v jsontree.Value) bool { return v.Kind() == jsontree.Array || v.Null() }

func intOf(s string) int {
	n, _ := strconv.Atoi(s)
	return n
}

// wholeText is s if it is a count in digits, else "".
func wholeText(s string) Number {
	if _, err := strconv.ParseUint(s, 10, 63); err != nil {
		return ""
	}
	return Number(s)
}

// PageIn finds the list in the answer to a request for a page and decodes its records.
func PageIn[T Record](s Service, r Request, a Answer, t RecordType) (Page[T], error) {
	body, err := a.JSON(r)
	if err != nil {
		return Page[T]{}, err
	}
	first := !r.Follows && s.Paging.PageOf(r.Query) == 0
	l, ok := t.listIn(body, s.ListField)
	p := Page[T]{Page: l.page, PageSize: l.size, Total: l.total, At: a.At}
	p.After = s.Paging.after(l, body)
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
