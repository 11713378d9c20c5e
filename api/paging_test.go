package api

import (
	"net/http"
	"net/url"
	"testing"
)

// What an answer says about the next page is found under the usual names beside the list or in meta, or where
// cursor_field says. Other members say nothing: pages are then requested by number, and the end is an empty page.
func TestAfterAPage(t *testing.T) {
	const rows = `"items":[{"opid":"a"}]`
	for _, c := range []struct {
		name, body string
		paging     Paging
		more       More
		next       string
		byNumber   bool
	}{
		{name: "nothing", body: `{` + rows + `}`},
		{name: "cursor", body: `{"nextCursor":"abc",` + rows + `}`, more: MoreFollows, next: "cursor=abc"},
		{name: "cursor in meta", body: `{"meta":{"next_cursor":"abc"},` + rows + `}`, more: MoreFollows, next: "cursor=abc"},
		{name: "token", body: `{"nextPageToken":"abc",` + rows + `}`, more: MoreFollows, next: "pageToken=abc"},
		{name: "snake token", body: `{"next_page_token":"abc",` + rows + `}`, more: MoreFollows, next: "page_token=abc"},
		{name: "the end", body: `{"nextCursor":null,` + rows + `}`, more: NoMore},
		{name: "empty end", body: `{"next":"",` + rows + `}`, more: NoMore},
		{name: "flag", body: `{"hasMore":false,` + rows + `}`, more: NoMore},
		{name: "flag goes before cursor", body: `{"nextCursor":"abc","hasMore":false,` + rows + `}`, more: NoMore, next: "cursor=abc"},
		{name: "more without a cursor", body: `{"has_more":true,` + rows + `}`, more: MoreFollows},
		{name: "link", body: `{"next":"https://h/x?after=x&n=2",` + rows + `}`, more: MoreFollows, next: "after=x&n=2"},
		{name: "link by number", body: `{"next":"https://h/x?meta.page=1",` + rows + `}`, more: MoreFollows, next: "meta.page=1", byNumber: true},
		{name: "in a wrapper", body: `{"code":0,"data":{"list":[{"opid":"a"}],"nextCursor":"q"}}`, more: MoreFollows, next: "cursor=q"},
		{name: "by the config", body: `{"mark":{"at":"q"},"nextCursor":"x",` + rows + `}`, paging: Paging{CursorField: "mark.at", CursorName: "since"},
			more: MoreFollows, next: "since=q"},
		{name: "the end by the config", body: `{"mark":null,` + rows + `}`, paging: Paging{CursorField: "mark"}, more: NoMore},

		{name: "other names", body: `{"endCursor":"abc","hasNextPage":true,"last":false,"nextPage":2,"nextOffset":50,` + rows + `}`},
		{name: "other places", body: `{"_links":{"next":{"href":"/x?after=x"}},"links":{"next":"/x?after=x"},` + rows + `}`},
		{name: "other forms", body: `{"hasMore":"true","nextCursor":{"token":"x"},` + rows + `}`},
		{name: "not about pages", body: `{"nextRetryAt":"2026-01-01","nextUpdate":1,` + rows + `}`},
	} {
		h := http.Header{"Content-Type": {"application/json"}}
		p, err := PageIn[Operation](Service{Paging: c.paging}, Request{Op: "list"}, Answer{Status: 200, Header: h, Body: []byte(c.body)}, OperationRecord)
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
