package api

import (
	"cmp"
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
