package endpoint_test

import (
	"context"
	"fmt"
	"io"
	"net/http"
	"strings"
	"testing"
	"time"

	"opdeck/api"
	"opdeck/api/endpoint"
	"opdeck/api/secret"
	"opdeck/api/session"
)

// said is one answer of a service that is written down by hand.
type said struct {
	status int    // 0: 200
	kind   string // of the content; "": application/json
	body   string
	header http.Header
}

// scripted answers each call by its method, path and page. What is not there is
// 404 with an empty page.
type scripted struct {
	t     *testing.T
	says  map[string]said
	calls []string
}

func (s *scripted) RoundTrip(r *http.Request) (*http.Response, error) {
	call := r.Method + " " + r.URL.Path
	s.calls = append(s.calls, call)
	a, ok := s.says[call+"?page="+r.URL.Query().Get("meta.page")]
	if !ok {
		if a, ok = s.says[call]; !ok {
			a = said{status: 404, kind: "text/plain", body: "404 page not found"}
		}
	}
	h := http.Header{}
	if a.header != nil {
		h = a.header.Clone()
	}
	if a.kind == "" {
		a.kind = "application/json"
	}
	if a.kind != "none" {
		h.Set("Content-Type", a.kind)
	}
	if a.status == 0 {
		a.status = 200
	}
	return &http.Response{StatusCode: a.status, Header: h, Body: io.NopCloser(strings.NewReader(a.body)), Request: r}, nil
}

// lends lends one token to every call.
type lends struct{}

func (lends) Do(ctx context.Context, _ session.Route, send api.Send) error {
	_, _, err := send(ctx, secret.New("token"))
	return err
}

func against(t *testing.T, says map[string]said, service api.Service) (*endpoint.Wire, *scripted) {
	t.Helper()
	s := &scripted{t: t, says: says}
	c, err := endpoint.New(api.Options{BaseURL: "https://service.invalid", Transport: s, Session: lends{}.Do,
		Gate:    &api.Gate{Audit: &trail{}, Now: time.Now},
		Timeout: time.Second, Now: time.Now, Service: service,
		Sleep: func(context.Context, time.Duration) error { return nil }})
	if err != nil {
		t.Fatal(err)
	}
	return c, s
}

const (
	opA = `{"opid":"a","status":"PENDING","sourceAmount":{"sum":{"currencyCode":"EUR","units":"5","nanos":0}},"documents":[]}`
	opB = `{"opid":"b","status":"SUCCESS","documents":[{"guid":"g","fileName":"f.pdf","size":7}]}`
	// opText has scalars of another type than the pages show.
	opText = `{"opid":"t","status":"PENDING","isVisible":"true","isParent":1,"createdAt":1767323045,"sourceAmount":{"sum":{"currencyCode":"EUR","units":5,"nanos":"0"}},
		"documents":[{"guid":99,"size":"1006","isLock":"false","fileName":true}]}`
)

// TestListShapes: a page of operations in every shape, and what the call says.
func TestListShapes(t *testing.T) {
	const operations = "GET /v2/billing/operation"
	for name, c := range map[string]struct {
		say     said
		service api.Service
		page    int
		ids     string // of the operations found, joined; "!": the call must fail
		total   string
		words   []string // in the error
		odd     int
	}{
		"as the pages show it": {say: said{body: `{"meta":{"page":0,"pageSize":100,"total":"2"},"items":[` +
			opA + `,` + opB + `]}`}, ids: "a b", total: "2"},
		"a number for the total": {say: said{body: `{"meta":{"page":0,"pageSize":100,"total":2},"items":[` + opA + `,` +
			opText + `]}`}, ids: "a t", total: "2"},
		"a number for an id": {say: said{body: `{"meta":{"total":2},"items":[` + opA + `,{"opid":17}]}`}, ids: "a -", total: "2",
			odd: 1},
		"another name": {say: said{body: `{"operations":[` + opA + `],"meta":{"total":"200"}}`},
			ids: "a", total: "200"},
		"a name nobody knows": {say: said{body: `{"zahlungen":[` + opA + `,` + opB + `],"anzahl":2}`}, ids: "!",
			words: []string{"“zahlungen” (array)", "list_field"}},
		"that name in the config": {say: said{body: `{"zahlungen":[` + opA + `,` + opB + `],"anzahl":2}`},
			service: api.Service{ListField: "zahlungen"}, ids: "a b"},
		"a name of the config": {say: said{body: `{"first":[` + opA + `],"second":[` + opB + `]}`},
			service: api.Service{ListField: "second"}, ids: "b"},
		"a name of the config, deeper": {say: said{body: `{"d":{"rows":[` + opB + `],"total":9},"items":[]}`},
			service: api.Service{ListField: "d.rows"}, ids: "b", total: "9"},
		"a name of the config that is not there": {say: said{body: `{"items":[` + opA + `],"total":1}`},
			service: api.Service{ListField: "rows"}, ids: "a", total: "1"},
		"wrapped items": {say: said{body: `{"items":[{"item":` + opA + `},{"item":` + opB +
			`}],"meta":{"total":"2"}}`}, ids: "a b", total: "2"},
		"items in data": {say: said{body: `{"data":[{"item":` + opA + `}],"total":1}`}, ids: "a", total: "1"},
		"items wrapped by their kind": {say: said{body: `{"data":[{"operation":` + opA + `}],"total":1}`}, ids: "!",
			words: []string{"opid", "“operation” (object)"}},
		"one wrapped among plain ones": {say: said{body: `{"items":[` + opA + `,{"item":` + opB +
			`}],"meta":{"total":"2"}}`}, ids: "a b", total: "2"},
		"nested": {say: said{body: `{"data":{"items":[` + opA +
			`],"meta":{"total":"3","page":"0"}}}`}, ids: "a", total: "3"},
		"nested, total outside": {say: said{body: `{"success":true,"data":{"list":[` + opA +
			`]},"meta":{"total":"4"}}`}, ids: "a", total: "4"},
		"nested otherwise": {say: said{body: `{"result":{"list":[` + opA + `]}}`}, ids: "!",
			words: []string{"“result” (object)", "list_field"}},
		"nested otherwise, in the config": {say: said{body: `{"result":{"list":[` + opA + `],"total":"4"}}`},
			service: api.Service{ListField: "result.list"}, ids: "a", total: "4"},
		"totals of other names": {say: said{body: `{"items":[` + opA + `],"totalCount":4,"pagination":{"totalItems":4}}`,
			header: http.Header{"X-Total-Count": {"40"}}}, ids: "a"},
		"a bare array":        {say: said{body: `[` + opA + `,` + opB + `]`}, ids: "a b"},
		"a bare array of one": {say: said{body: `[` + opA + `]`}, ids: "a"},
		"one record for a list": {say: said{body: `{"items":{"opid":"a","documents":[],"parts":[{"opid":"z"}]}}`},
			ids: "!", words: []string{"“items” (object)"}},
		"an object for a list": {say: said{body: `{"items":{"state":"x","documents":[]}}`}, ids: "!",
			words: []string{"“items” (object)"}},
		"an object by ids": {say: said{body: `{"items":{"a":` + opA + `,"b":` + opB + `},"total":2}`}, ids: "!",
			words: []string{"total of 2", "“items” (object)"}},
		"JSON that is called text": {say: said{kind: "text/plain; charset=utf-8",
			body: `{"items":[` + opA + `],"meta":{"total":1}}`}, ids: "a", total: "1"},
		"JSON that is called nothing": {say: said{kind: "none",
			body: "\ufeff " + `{"items":[` + opA + `],"meta":{"total":1}}`}, ids: "a", total: "1"},
		"a count of the page is no total": {say: said{body: `{"items":[` + opA + `],"count":1}`}, ids: "a"},

		"empty":                        {say: said{body: `{"items":[],"meta":{"total":"0"}}`}, total: "0"},
		"empty, null":                  {say: said{body: `{"items":null,"meta":{"total":0}}`}, total: "0"},
		"empty, no meta":               {say: said{body: `{"items":[]}`}},
		"empty, left out":              {say: said{body: `{"meta":{"page":0,"pageSize":100}}`}, ids: "!", words: []string{"“meta” (object)"}},
		"empty, left out with a total": {say: said{body: `{"meta":{"total":"0"}}`}, total: "0"},
		"empty, another name":          {say: said{body: `{"rows":[],"total":0}`}, total: "0"},
		"empty, bare":                  {say: said{body: `[]`}},
		"beyond the end": {say: said{body: `{"items":[],"meta":{"total":"200"}}`}, page: 2,
			total: "200"},
		"beyond the end, left out": {say: said{body: `{"meta":{"total":"200"}}`}, page: 2, total: "200"},
		"one without an id among others": {say: said{body: `{"items":[` + opA +
			`,{"status":"PENDING"}],"meta":{"total":2}}`}, ids: "a -", total: "2", odd: 1},
		"one that is not an object among others": {say: said{body: `{"items":[` + opA + `,7,null],"meta":{"total":2}}`},
			ids: "a - -", total: "2", odd: 2},
		"a null error beside the items":    {say: said{body: `{"error":null,"items":[` + opA + `]}`}, ids: "a"},
		"an empty list that was a success": {say: said{body: `{"success":true,"items":[],"total":"0"}`}, total: "0"},
		"a total and no items": {say: said{body: `{"items":[],"meta":{"total":"200"}}`}, ids: "!",
			words: []string{"total of 200", "items", "list_field"}},
		"a total and items left out": {say: said{body: `{"meta":{"total":"200"}}`}, ids: "!",
			words: []string{"total of 200", "meta"}},
		"items that are no records": {say: said{body: `{"rows":{"x":1},"meta":{"total":"3"}}`}, ids: "!",
			words: []string{"total of 3", "“rows” (object)"}},
		"items without ids": {say: said{body: `{"items":[{"uid":"a","state":"x"}],"meta":{"total":"1"}}`}, ids: "!",
			words: []string{"opid", "“uid” (text)"}},
		"neither meta nor items": {say: said{body: `{"hello":"you","n":5}`}, ids: "!",
			words: []string{"“hello” (text)", "“n” (number)"}},
		"an empty object": {say: said{body: `{}`}, ids: "!", words: []string{"empty object"}},
		"an error with a good status": {say: said{body: `{"error":"Database is on fire"}`}, ids: "!",
			words: []string{"Database is on fire"}},
		"no success with a good status": {say: said{body: `{"success":false,"message":"No rights"}`}, ids: "!",
			words: []string{"No rights"}},
		"a web page": {say: said{kind: "text/html", body: `<html>{"items":[]}</html>`}, ids: "!",
			words: []string{"text/html"}},
		"a web page that is called JSON": {say: said{body: `<html></html>`}, ids: "!",
			words: []string{"could not be understood"}},
		"nothing": {say: said{status: 204, kind: "none"}, ids: "!",
			words: []string{"nothing (204)"}},
		"broken JSON": {say: said{body: `{"items":[` + opA}, ids: "!",
			words: []string{"could not be understood"}},
		"a text": {say: said{body: `"items"`}, ids: "!", words: []string{"It contains text"}},
		"names that could draw": {say: said{body: "{\"a\\u001b[2Jb\":1,\"" + strings.Repeat("k", 90) +
			"\":2}"}, ids: "!", words: []string{"·[2Jb", "…"}},
		"an array of something else": {say: said{body: `{"tags":["x","y"],"total":2}`}, ids: "!",
			words: []string{"total of 2", "“tags” (array)"}},
		"records of another kind, deep inside": {say: said{body: `{"batch":{"id":"1","documents":[{"guid":"g"}]},"meta":{"total":"2"}}`}, ids: "!", words: []string{"total of 2", "“batch” (object)"}},
	} {
		t.Run(name, func(t *testing.T) {
			client, _ := against(t, map[string]said{operations: c.say}, c.service)
			p, err := endpoint.Do(t.Context(), client, endpoint.ListOperations, api.OperationQuery{Page: c.page})
			if c.ids == "!" {
				e := api.AsError(err)
				if err == nil {
					t.Fatalf("read as %d operations of %q", len(p.Items), p.Total)
				}
				for _, w := range c.words {
					if !strings.Contains(e.Public+" "+string(e.Remedy.Kind), w) {
						t.Errorf("%q %q does not say %q", e.Public, e.Remedy, w)
					}
				}
				if len(e.Public) > 1000 || strings.ContainsRune(e.Public, '\x1b') {
					t.Errorf("not fit to be shown: %q", e.Public)
				}
				return
			}
			if err != nil {
				t.Fatal(err)
			}
			var ids []string
			for _, o := range p.Items {
				id := string(o.OPID)
				if id == "" {
					id = "-"
				}
				ids = append(ids, id)
			}
			if got := strings.Join(ids, " "); got != c.ids || string(p.Total) != c.total || p.Unusable != c.odd {
				t.Errorf("got %q of %q, %d without id; want %q of %q, %d", got, p.Total, p.Unusable, c.ids, c.total, c.odd)
			}
		})
	}
}

// TestScalarsOfAnotherType: a value of another type than the documents show is not known and named; it is never
// converted, and never loses the record.
func TestScalarsOfAnotherType(t *testing.T) {
	c, _ := against(t, map[string]said{
		"GET /v2/billing/operation/t":   {body: `{"item":` + opText + `}`},
		"GET /v2/billing/operation/odd": {body: `{"item":{"opid":"odd","status":{"code":"X"},"documents":[{"guid":"g","size":"12 KB","isLock":"maybe"},"loose"],"customer":"c"}}`},
		"GET /v2/customer/5/file":       {body: `{"items":[{"guid":"8","size":"42"},{"documentId":"d","size":{}},{"id":"e","size":7}],"meta":{"total":3}}`},
	}, api.Service{})
	for id, named := range map[string]string{
		"t":   "createdAt documents[0].fileName documents[0].guid documents[0].isLock documents[0].size isParent isVisible",
		"odd": "customer documents[0].isLock documents[0].size documents[1] status",
	} {
		o, err := endpoint.Do(t.Context(), c, endpoint.GetOperation, id)
		if err != nil {
			t.Fatal(err)
		}
		if len(o.Documents) != 1 || o.Documents[0].Size != -1 || o.Documents[0].Lock != api.LockUnknown || o.IsVisible || o.IsParent ||
			!o.CreatedAt.IsZero() {
			t.Errorf("%+v", o)
		}
		var odd []string
		for _, f := range o.Unknown() {
			if !f.Odd {
				t.Errorf("%s is called unknown", f.Path)
			}
			odd = append(odd, f.Path)
		}
		if got := strings.Join(odd, " "); got != named {
			t.Errorf("marked: %s", got)
		}
	}
	files, err := endpoint.Do(t.Context(), c, endpoint.ListFiles, endpoint.FileQuery{CUID: "5", Page: 0})
	if err != nil {
		t.Fatal(err)
	}
	if got := fmt.Sprintf("%s %d %s %d %d", files.Items[0].ID, files.Items[0].Size, files.Items[1].ID, files.Items[1].Size,
		files.Items[2].Size); got != "8 -1 d -1 7" {
		t.Error(got)
	}
}

// TestRecordShapes: one operation in every shape.
func TestRecordShapes(t *testing.T) {
	for name, c := range map[string]struct {
		body string
		fail string // "": it is found
		kind api.Kind
	}{
		"under item":      {body: `{"item":` + opA + `}`},
		"by itself":       {body: opA},
		"by its kind":     {body: `{"success":true,"operation":` + opA + `}`, fail: "“operation” (object)", kind: api.Internal},
		"under data":      {body: `{"data":` + opA + `}`},
		"deeper":          {body: `{"data":{"item":` + opA + `}}`},
		"an array of one": {body: `[` + opA + `]`},
		"another name":    {body: `{"vorgang":` + opA + `,"ok":true}`, fail: "“vorgang” (object)", kind: api.Internal},
		"an error":        {body: `{"error":"Operation not found: a"}`, fail: "has no such operation", kind: api.NotFound},
		"no success":      {body: `{"success":false,"message":"Not today"}`, fail: "Not today", kind: api.Refused},
		"null":            {body: `{"item":null}`, fail: "“item” (null)", kind: api.Internal},
		"a part of it": {body: `{"status":"PENDING","related":{"opid":"z"},"type":"X","n":1}`, fail: "contains no operation",
			kind: api.Internal},
		"a list": {body: `{"items":[` + opA + `,` + opB + `]}`, fail: "“items” (array)", kind: api.Internal},
	} {
		t.Run(name, func(t *testing.T) {
			client, _ := against(t, map[string]said{"GET /v2/billing/operation/a": {body: c.body}}, api.Service{})
			o, err := endpoint.Do(t.Context(), client, endpoint.GetOperation, "a")
			if c.fail == "" {
				if err != nil || o.OPID != "a" || o.SourceAmount.Sum.Units != "5" {
					t.Errorf("%+v %v", o, err)
				}
				return
			}
			if e := api.AsError(err); e == nil || e.Kind != c.kind || !strings.Contains(e.Public, c.fail) {
				t.Errorf("%+v", e)
			}
		})
	}
}

// TestTreeShapes: trees of every shape show who spawned whom, and no empty row.
func TestTreeShapes(t *testing.T) {
	op := func(id, more string) string { return `{"opid":"` + id + `","status":"S"` + more + `}` }
	for name, c := range map[string]struct {
		body, want string
		unread     int
		again      int
	}{
		"none": {body: `{"item":` + op("p", "") + `}`, want: "p"},
		"children beside": {body: `{"item":` + op("p", "") + `,"children":[` + op("c", "") + `,` + op("d", "") +
			`]}`, want: "p c1 d1"},
		"children inside": {body: `{"item":` + op("p", `,"children":[`+op("c", `,"children":[`+op("g", "")+`]`)+
			`,`+op("d", "")+`]`) + `}`, want: "p c1 g2 d1"},
		"by itself": {body: op("p", `,"operations":[`+op("c", "")+`]`), want: "p c1"},
		"general, wrapped children": {body: `{"general":` + op("p", "") + `,"children":[{"general":` + op("c", "") +
			`,"children":[{"general":` + op("g", "") + `}]}]}`, want: "p c1 g2"},
		"nested":                   {body: `{"data":{"general":` + op("p", "") + `,"children":[{"operation":` + op("c", "") + `}]}}`, want: "p c1"},
		"a flat list":              {body: `{"items":[` + op("p", "") + `,` + op("c", "") + `]}`, want: "p c1"},
		"a bare list, parent last": {body: `[` + op("c", "") + `,` + op("p", "") + `]`, want: "p c1"},
		"the parent twice": {body: `{"item":` + op("p", "") + `,"operations":[` + op("p", "") + `,` + op("c",
			"") + `]}`, want: "p c1", again: 1},
		"below itself": {body: op("p", `,"children":[`+op("p", `,"children":[`+op("p", "")+`]`)+`]`),
			want: "p", again: 2},
		"a circle of three": {body: op("p", `,"children":[`+op("c",
			`,"children":[`+op("d", `,"children":[`+op("p", `,"children":[`+op("c", "")+`]`)+`]`)+`]`)+`]`), want: "p c1 d2",
			again: 2},
		"of a larger tree": {body: op("r", `,"children":[`+op("x", "")+`,`+op("p",
			`,"children":[`+op("c", "")+`]`)+`,`+op("y", "")+`]`), want: "p c1 <r"},
		"far down in a larger tree": {body: op("r", `,"children":[`+op("x", `,"children":[`+op("y", "")+`]`)+`,`+op("z",
			`,"children":[`+op("p", "")+`]`)+`]`), want: "p <z <r"},
		"beside other children": {body: `{"item":` + op("r", "") + `,"children":[` + op("x", "") + `,` + op("p", "") +
			`]}`, want: "p <r"},
		"its parent named beside it": {body: `{"item":` + op("p", "") + `,"parent":` + op("r", "") + `,"children":[` +
			op("c", "") + `]}`, want: "p c1 <r"},
		"its parent named inside it": {body: op("p", `,"parent":`+op("r", `,"parent":`+op("q", ""))), want: "p <r <q"},
		"itself named as its parent": {body: op("p", `,"parent":`+op("p", "")), want: "p"},
		"children that cannot be read": {body: `{"item":` + op("p", "") + `,"children":["one",{"status":"S"},` + op("c", "") +
			`]}`, want: "p c1", unread: 2},
	} {
		t.Run(name, func(t *testing.T) {
			client, _ := against(t, map[string]said{"GET /v2/billing/operation/p/tree": {body: c.body}}, api.Service{})
			tree, err := endpoint.Do(t.Context(), client, endpoint.GetOperationTree, "p")
			if err != nil {
				t.Fatal(err)
			}
			got := string(tree.Parent.OPID)
			for _, child := range tree.Children {
				got += fmt.Sprintf(" %s%d", child.OPID, child.Depth)
			}
			for _, above := range tree.Ancestors {
				got += " <" + string(above.OPID)
			}
			if got != c.want || tree.Unread != c.unread || tree.Repeated != c.again || len(tree.Raw) == 0 {
				t.Errorf("%s, %d unread, %d again; want %s, %d, %d", got, tree.Unread, tree.Repeated, c.want, c.unread, c.again)
			}
		})
	}
	client, _ := against(t, map[string]said{"GET /v2/billing/operation/p/tree": {body: `{"error":"Operation not found: p"}`}}, api.Service{})
	if _, err := endpoint.Do(t.Context(), client, endpoint.GetOperationTree, "p"); api.KindOf(err) != api.NotFound {
		t.Errorf("an error body: %v", err)
	}
}

// TestOneCustomer: by GET, or by POST, as the service's page has it, if GET is not taken; what works is remembered. A
// customer is never looked for in a list.
func TestOneCustomer(t *testing.T) {
	const one, list = "/v2/customer/c", "GET /v2/customer"
	const rec = `{"cuid":"c","name":"Ana","type":"INDIVIDUAL"}`
	listed := said{body: `{"items":[{"cuid":"x"},` + rec + `],"meta":{"total":"2"}}`}
	for name, c := range map[string]struct {
		says   map[string]said
		kind   api.Kind // of the error; "": found
		first  int      // calls
		second int
	}{
		"GET": {says: map[string]said{"GET " + one: {body: `{"item":` + rec + `}`}}, first: 1,
			second: 1},
		"GET, under customer": {says: map[string]said{"GET " + one: {body: `{"customer":` + rec + `}`}, list: listed},
			kind: api.Internal, first: 1, second: 1},
		"POST only": {says: map[string]said{"GET " + one: {status: 405, body: `{}`},
			"POST " + one: {body: rec}}, first: 2, second: 1},
		"neither, listed": {says: map[string]said{list: listed}, kind: api.NotFound, first: 1, second: 1},
		"405 on both, listed": {says: map[string]said{"GET " + one: {status: 405}, "POST " + one: {status: 405},
			list: listed}, kind: api.Refused, first: 2, second: 2},
		"an answer that is none": {says: map[string]said{"GET " + one: {body: `{"ok":true}`}, list: listed}, kind: api.Internal,
			first: 1, second: 1},
		"unknown, in words": {says: map[string]said{"GET " + one: {status: 404,
			body: `{"error":"Customer not found: c"}`}, list: listed}, kind: api.NotFound, first: 1, second: 1},
		"unknown, in words at 200": {says: map[string]said{"GET " +
			one: {body: `{"success":false,"message":"Customer not found: c"}`}, list: listed}, kind: api.NotFound, first: 1,
			second: 1},
		"forbidden": {says: map[string]said{"GET " + one: {status: 403}, list: listed}, kind: api.Refused,
			first: 1, second: 1},
	} {
		t.Run(name, func(t *testing.T) {
			client, wire := against(t, c.says, api.Service{})
			for turn, want := range []int{c.first, c.second} {
				wire.calls = nil
				got, err := endpoint.Do(t.Context(), client, endpoint.GetCustomer, "c")
				if api.KindOf(err) != c.kind || err == nil && (got.CUID != "c" || got.Name != "Ana") {
					t.Fatalf("turn %d: %+v, %v", turn, got, err)
				}
				if len(wire.calls) != want {
					t.Errorf("turn %d took %v, want %d calls", turn, wire.calls, want)
				}
			}
		})
	}
}

// TestApplicationShapes: an application in every shape; a missing one is reported as missing, whatever the status.
func TestApplicationShapes(t *testing.T) {
	for name, c := range map[string]struct {
		say    said
		holds  string // kind of the application
		status string
		fails  api.Kind
	}{
		"by itself": {say: said{body: `{"status":"DRAFT","individual":{"firstName":"A"}}`}, holds: api.Individual,
			status: "DRAFT"},
		"under item":    {say: said{body: `{"item":{"corporate":{"individual":{"x":1}}}}`}, holds: api.Corporate},
		"under data":    {say: said{body: `{"data":{"status":3,"individual":{},"corporate":null}}`}, holds: api.Individual},
		"an empty one":  {say: said{body: `{}`}},
		"only a status": {say: said{body: `{"item":{"status":"NEW"}}`}, status: "NEW"},
		"404":           {say: said{status: 404, body: `{"error":"no"}`}, fails: api.NotFound},
		"none, at 200": {say: said{body: `{"success":false,"message":"Application is not configured"}`},
			fails: api.NotFound},
		"an error, 200": {say: said{body: `{"error":"Try later"}`}, fails: api.Refused},
	} {
		t.Run(name, func(t *testing.T) {
			client, _ := against(t, map[string]said{"GET /v2/customer/c/application": c.say}, api.Service{})
			app, err := endpoint.Do(t.Context(), client, endpoint.GetApplication, "c")
			if api.KindOf(err) != c.fails || app.Kind() != c.holds || string(app.Status) != c.status {
				t.Errorf("%s %q %v", app.Kind(), app.Status, err)
			}
		})
	}
}

// TestAnnouncements: the end of each act is announced once.
func TestAnnouncements(t *testing.T) {
	end := http.Header{"Deprecation": {"true"}, "Sunset": {"Sat, 01 Jan 2028 00:00:00 GMT"}}
	client, _ := against(t, map[string]said{
		"GET /v2/billing/operation/a":     {body: opA, header: end},
		"GET /v2/customer":                {body: `[]`, header: http.Header{"Deprecation": {"false"}}},
		"POST /v2/customer/c/application": {body: `{"success":true}`, header: http.Header{"Deprecation": {"@1\x1b[2J"}}},
	}, api.Service{})
	var reported []string
	ctx := api.WithAnnouncements(api.WithActor(t.Context(), api.Actor{Name: "ana", Role: api.Operator}),
		func(op, said string) { reported = append(reported, op+": "+said) })
	for range 2 {
		_, _ = endpoint.Do(ctx, client, endpoint.GetOperation, "a")
		_, _ = endpoint.Do(ctx, client, endpoint.ListCustomers, api.CustomerQuery{})
		_, _ = endpoint.Do(ctx, client, endpoint.SetApplication,
			endpoint.NewApplication{CUID: "c", Body: []byte(`{"individual":{}}`)})
	}
	want := "read operation: Deprecation: true, Sunset: Sat, 01 Jan 2028 00:00:00 GMT|set application: Deprecation: @1·[2J"
	if got := strings.Join(reported, "|"); got != want {
		t.Errorf("reported %q", got)
	}
}

// FuzzListShape: whatever the answer, the call ends with operations that can be read, a list that the service says is
// empty, or an error that is safe to show.
func FuzzListShape(f *testing.F) {
	for _, s := range []string{`{"items":[` + opA + `],"meta":{"total":"1"}}`, `[` + opB + `]`,
		`{"data":{"rows":[{"item":` + opA + `}]},"total":3}`, `{}`, `{"items":null}`,
		`{"items":{"a":` + opA + `}}`, `{"meta":{"total":"9"},"items":[]}`, `{"error":{"message":"x"}}`,
		`{"a":{"b":{"c":{"d":[` + opA + `]}}}}`, `[[[]]]`, `{"items":[7]}`} {
		f.Add([]byte(s))
	}
	f.Fuzz(func(t *testing.T, body []byte) {
		client, _ := against(t, map[string]said{"GET /v2/billing/operation": {body: string(body)},
			"GET /v2/billing/operation/a/tree": {body: string(body)}}, api.Service{})
		p, err := endpoint.Do(t.Context(), client, endpoint.ListOperations, api.OperationQuery{})
		if e := api.AsError(err); e != nil {
			if e.Public == "" || len(e.Public) > 2000 || strings.ContainsFunc(e.Public, func(r rune) bool { return r < 0x20 }) {
				t.Fatalf("%q: %q", body, e.Public)
			}
		} else if len(p.Items) == 0 && p.Total != "" && p.Total != "0" || len(p.Items) > 0 && p.Unusable >= len(p.Items) {
			t.Fatalf("%q: %d items, %d without id, total %q", body, len(p.Items), p.Unusable, p.Total)
		}
		tree, err := endpoint.Do(t.Context(), client, endpoint.GetOperationTree, "a")
		for _, c := range tree.Children {
			if err == nil && (c.OPID == "" || c.Depth < 1) {
				t.Fatalf("%q: an empty child", body)
			}
		}
	})
}
