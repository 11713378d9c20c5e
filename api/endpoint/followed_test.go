package endpoint_test

import (
	"encoding/json"
	"net/http"
	"net/http/httptest"
	"strconv"
	"testing"

	"opdeck/api"
	"opdeck/api/endpoint"
)

// fewAtOnce is the number of records in a page of the service in TestListsAreReadToTheirEnd, which has 25.
const fewAtOnce, recordsThere = 10, 25

// pager answers a page of the list: where it begins and what it says beside the items.
type pager func(r *http.Request) (from int, beside map[string]any)

func beyond(from int) (next string, more bool) {
	return strconv.Itoa(from + fewAtOnce), from+fewAtOnce < recordsThere
}

func query(r *http.Request, name string) int {
	n, _ := strconv.Atoi(r.URL.Query().Get(name))
	return n
}

var pagers = map[string]pager{
	"by number": func(r *http.Request) (int, map[string]any) {
		return query(r, api.PageName) * fewAtOnce, map[string]any{"total": recordsThere}
	},
	"by number without a total": func(r *http.Request) (int, map[string]any) {
		return query(r, api.PageName) * fewAtOnce, map[string]any{}
	},
	"a cursor": func(r *http.Request) (int, map[string]any) {
		from := query(r, "cursor")
		if next, more := beyond(from); more {
			return from, map[string]any{"nextCursor": next}
		}
		return from, map[string]any{"nextCursor": nil}
	},
	"a cursor with a total": func(r *http.Request) (int, map[string]any) {
		from := query(r, "page_token")
		if next, more := beyond(from); more {
			return from, map[string]any{"next_page_token": next, "total": recordsThere}
		}
		return from, map[string]any{"total": recordsThere}
	},
	"a link": func(r *http.Request) (int, map[string]any) {
		from := query(r, "after")
		if next, more := beyond(from); more {
			return from, map[string]any{"next": r.URL.Path + `?after=` + next}
		}
		return from, map[string]any{"next": nil}
	},
}

// TestListsAreReadToTheirEnd by api.Page.Then, however the service pages them: all records come, and the end is found.
func TestListsAreReadToTheirEnd(t *testing.T) {
	for name, p := range pagers {
		t.Run(name, func(t *testing.T) {
			service := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
				from, body := p(r)
				items := []map[string]any{}
				for n := from; n < min(from+fewAtOnce, recordsThere); n++ {
					id := strconv.Itoa(n)
					items = append(items, map[string]any{"cuid": id, "id": id, "name": "n" + id})
				}
				body["items"] = items
				w.Header().Set("Content-Type", "application/json")
				_ = json.NewEncoder(w).Encode(body)
			}))
			defer service.Close()
			c := clientAt(t, service.URL)
			for kind, n := range map[string]int{
				"customers": readAll(t, func(at api.PageAt) (api.Page[api.Customer], error) {
					return endpoint.Do(t.Context(), c, endpoint.ListCustomers, api.CustomerQuery{Page: at.Page, Next: at.Next})
				}, func(r api.Customer) string { return string(r.CUID) }),
				"files": readAll(t, func(at api.PageAt) (api.Page[api.CustomerFile], error) {
					return endpoint.Do(t.Context(), c, endpoint.ListFiles, endpoint.FileQuery{CUID: "c", Page: at.Page, Next: at.Next})
				}, func(r api.CustomerFile) string { return string(r.ID) }),
				"accounts": readAll(t, func(at api.PageAt) (api.Page[api.Account], error) {
					return endpoint.Do(t.Context(), c, endpoint.ListAccounts, api.AccountQuery{Page: at.Page, Next: at.Next})
				}, func(r api.Account) string { return string(r.ID) }),
			} {
				if n != recordsThere {
					t.Errorf("%d %s of %d", n, kind, recordsThere)
				}
			}
		})
	}
}

// readAll counts the distinct records of all pages.
func readAll[T any](t *testing.T, read func(api.PageAt) (api.Page[T], error), id func(T) string) int {
	t.Helper()
	seen, at, more := map[string]bool{}, api.PageAt{}, true
	for calls := 0; more; calls++ {
		p, err := read(at)
		if err != nil || calls > 6 {
			t.Fatal(calls, err)
		}
		before := len(seen)
		for _, r := range p.Items {
			seen[id(r)] = true
		}
		at, more = p.Then(at, len(seen) > before)
		more = more && !p.Whole(len(seen))
	}
	return len(seen)
}
