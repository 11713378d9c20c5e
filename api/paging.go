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

// PagingWay is how the pages of a list are asked for.
type PagingWay string

// The ways.
const (
	ByPage   PagingWay = "page"   // by the number of the page
	ByOffset PagingWay = "offset" // by the number of rows before it
	ByCursor PagingWay = "cursor" // by what the page before says
	OnePage  PagingWay = "none"   // the list comes whole in one answer
)

// The names by which the service pages its lists, as its documents have them.
const (
	PageName = "meta.page"
	SizeName = "meta.pageSize"
)

// Paging is how the service's lists are asked for page by page (config, [service]). The zero value is what its
// documents say.
type Paging struct {
	Way         PagingWay // "": ByPage
	PageName    string    // in the query: of the page's number or the offset; "": PageName
	SizeName    string    // "": SizeName
	First       int       // number of the first page: 0 or 1
	CursorName  string    // in the query: of the cursor; "": as the answer's own name for it suggests
	CursorField string    // where an answer holds the cursor, "meta.next"; "": found by itself
}

// Names are those of a query that asks for a page in this way.
func (p Paging) Names() []string {
	out := []string{cmp.Or(p.PageName, PageName), cmp.Or(p.SizeName, SizeName)}
	if p.CursorName != "" {
		out = append(out, p.CursorName)
	}
	return out
}

// CountsPages reports whether pages are asked for by their number.
func (p Paging) CountsPages() bool { return p.Way == "" || p.Way == ByPage }

// Ask turns a query that asks for a page from 0 by PageName and SizeName into the service's own. next is
// Page.Next of the page before it, "" for none.
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

// PageOf is the page from 0 that a query asks for by its number.
func (p Paging) PageOf(v url.Values) int {
	n, _ := strconv.Atoi(v.Get(cmp.Or(p.PageName, PageName)))
	return max(n-p.First, 0)
}

// More is what a page says about those behind it.
type More string

// What it may say; "" is nothing.
const (
	MoreFollows More = "more"
	NoMore      More = "end"
)

// After is what a page of a list says about the one behind it.
type After struct {
	More More
	// Next is the query that asks for it, "cursor=abc"; "" where the answer names none that can be used.
	Next string
	// Key is where the answer says so: "meta.nextCursor".
	Key string
	// ByNumber: what it names is a page's number, which is counted here anyhow.
	ByNumber bool
}

var (
	moreFlags = []string{"hasMore", "hasNext", "hasNextPage", "moreAvailable", "more", "truncated", "isTruncated"}
	lastFlags = []string{"last", "isLast", "lastPage", "isLastPage", "endOfList"}
	cursors   = []string{"cursor", "endCursor", "continuationToken", "continuation", "scrollId", "pageToken",
		"startingAfter"}
)

const maxNext = 4096 // bytes of a cursor or link

// after looks for what an answer says about the next page: in the objects of paging, beside the list, and in
// the header Link.
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

// pagingObjects are the objects that may report on paging: those of that name around the list, and what the list
// is in.
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

// member reads one member of an object of paging.
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

// nexts are the words behind next in the names of members that report on the next page.
var nexts = []string{"", "cursor", "page", "pageToken", "token", "offset", "link", "url", "href", "uri", "key", "id",
	"marker", "start", "pageCursor", "pageUrl", "pageLink", "pageNumber"}

// nextName reports whether a member reports on the next page: next, nextCursor, next_page_token.
func nextName(name string) bool {
	name = strings.TrimLeft(name, "_")
	if len(name) < len("next") || !strings.EqualFold(name[:len("next")], "next") {
		return false
	}
	return slices.ContainsFunc(nexts, func(n string) bool { return jsontree.SameName(n, name[len("next"):]) })
}

// flag is a yes or no to the question for more; it goes before what any cursor says.
func (a *After) flag(more bool, path string) {
	a.More, a.Key = NoMore, path
	if more {
		a.More = MoreFollows
	}
}

// read takes a cursor, a link or nothing from the member at path.
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

// follow makes the query of the next page: the one of a link, else the cursor under the name that its own name
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

// onlyNumber reports whether a link asks by the number of a page.
func onlyNumber(q url.Values) bool {
	for _, n := range []string{"page", "pageNumber", "page_number"} {
		if _, err := strconv.Atoi(q.Get(n)); err == nil {
			return true
		}
	}
	return false
}

// queryName is what a query calls the cursor that an answer has under name: nextCursor is cursor, next_page_token
// is page_token.
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

// linkNext is the address of the next page in a header Link (RFC 8288).
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
