package api

import (
	"net/http"
	"net/url"
	"testing"
)

// What an answer says about the next page is found under any name and in any place; it is the end only if the answer
// shows it.
func TestAfterAPage(t *testing.T) {
	const rows = `"items":[{"opid":"a"}]`
	for _, c := range []struct {
		name, body, link string
		more             More
		next             string
		byNumber         bool
	}{
		{name: "nothing", body: `{` + rows + `}`},
		{name: "cursor", body: `{"nextCursor":"abc",` + rows + `}`, more: MoreFollows, next: "cursor=abc"},
		{name: "cursor in meta", body: `{"meta":{"next_cursor":"abc"},` + rows + `}`, more: MoreFollows, next: "cursor=abc"},
		{name: "token", body: `{"nextPageToken":"abc",` + rows + `}`, more: MoreFollows, next: "pageToken=abc"},
		{name: "snake token", body: `{"next_page_token":"abc",` + rows + `}`, more: MoreFollows, next: "page_token=abc"},
		{name: "the end", body: `{"nextCursor":null,` + rows + `}`, more: NoMore},
		{name: "empty end", body: `{"next":"",` + rows + `}`, more: NoMore},
		{name: "flag", body: `{"hasMore":false,` + rows + `}`, more: NoMore},
		{name: "flag goes before cursor", body: `{"endCursor":"abc","hasNextPage":false,` + rows + `}`, more: NoMore, next: "after=abc"},
		{name: "more without a cursor", body: `{"has_more":true,` + rows + `}`, more: MoreFollows},
		{name: "last", body: `{"last":false,` + rows + `}`, more: MoreFollows},
		{name: "link", body: `{"_links":{"next":{"href":"/v2/billing/operation?after=x&n=2"}},` + rows + `}`, more: MoreFollows, next: "after=x&n=2"},
		{name: "header", body: `{` + rows + `}`, link: `<https://h/x?page%5Bafter%5D=7>; rel="next"`, more: MoreFollows, next: "page%5Bafter%5D=7"},
		{name: "header of another relation", body: `{` + rows + `}`, link: `<https://h/x?a=7>; rel="prev"`},
		{name: "number", body: `{"nextPage":2,` + rows + `}`, more: MoreFollows, next: "page=2", byNumber: true},
		{name: "link by number", body: `{"next":"https://h/x?meta.page=1",` + rows + `}`, more: MoreFollows, next: "meta.page=1", byNumber: true},
		{name: "offset", body: `{"nextOffset":50,` + rows + `}`, more: MoreFollows, next: "offset=50"},
		{name: "JSON:API", body: `{"data":[{"opid":"a"}],"links":{"self":"/x","next":null}}`, more: NoMore},
		{name: "in a wrapper", body: `{"code":0,"data":{"list":[{"opid":"a"}],"cursor":"q"}}`, more: MoreFollows, next: "cursor=q"},
		{name: "not about pages", body: `{"nextRetryAt":"2026-01-01","nextUpdate":1,` + rows + `}`},
	} {
		h := http.Header{"Content-Type": {"application/json"}}
		if c.link != "" {
			h.Set("Link", c.link)
		}
		p, err := PageIn[Operation](Service{}, Request{Op: "list"}, Answer{Status: 200, Header: h, Body: []byte(c.body)}, OperationRecord)
		if got := p.After; err != nil || got.More != c.more || got.Next != c.next || got.ByNumber != c.byNumber {
			t.Errorf("%s: %+v, %v", c.name, got, err)
		}
	}
}

// The names of paging in the query are the settings'; what the page before says goes before them.
func TestAskForAPage(t *testing.T) {
	asked := url.Values{PageName: {"2"}, SizeName: {"50"}, "account": {"A"}}.Encode()
	for _, c := range []struct {
		p          Paging
		next, want string
	}{
		{Paging{}, "", asked},
		{Paging{PageName: "page", SizeName: "limit", First: 1}, "", "account=A&limit=50&page=3"},
		{Paging{Way: ByOffset, PageName: "offset", SizeName: "limit"}, "", "account=A&limit=50&offset=100"},
		{Paging{Way: OnePage}, "", "account=A"},
		{Paging{Way: ByCursor, SizeName: "limit", CursorName: "after"}, "", "account=A&limit=50"},
		{Paging{}, "cursor=x%26y", "account=A&cursor=x%26y&meta.pageSize=50"},
	} {
		v, _ := url.ParseQuery(asked)
		if c.p.Ask(v, c.next); v.Encode() != c.want {
			t.Errorf("%+v: %s", c.p, v.Encode())
		}
	}
	v := url.Values{"account": {"A"}}
	if (Paging{PageName: "page"}).Ask(v, ""); v.Encode() != "account=A" {
		t.Errorf("a query without pages became %s", v.Encode())
	}
}
