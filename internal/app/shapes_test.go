package app

import (
	"bytes"
	"compress/gzip"
	"encoding/json"
	"fmt"
	"net/http"
	"net/http/httptest"
	"net/url"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"opdeck/api"
	"opdeck/api/endpoint"
	"opdeck/internal/domain/index"
	"opdeck/internal/domain/index/filter"
)

// object is JSON of the fake service.
type object = map[string]any

// stranger is a service of its own: it shares no code with the built-in one, and answers in one shape.
type stranger struct {
	login  func(pair object) any
	list   func(q url.Values, ops []object) any
	record func(op object) object // each one, in lists and alone
	one    func(op object) any
	header http.Header
	pack   func(body []byte) []byte

	logins atomic.Int32
}

const (
	strangers = 73 // operations
	atOnce    = 25 // on a page at most
)

func (s *stranger) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	var body any
	switch id, one := strings.CutPrefix(r.URL.EscapedPath(), "/v2/billing/operation/"); {
	case r.URL.Path == "/v2/auth/login":
		s.logins.Add(1)
		body = s.login(object{"accessToken": "a-token-" + strconv.Itoa(int(s.logins.Load())), "refreshToken": "r-token", "accessTtl": 300, "refreshTtl": 900})
	case r.Header.Get("Authorization") == "":
		w.WriteHeader(http.StatusUnauthorized)
		return
	case r.URL.Path == "/v2/billing/operation":
		var ops []object
		for n := range strangers {
			ops = append(ops, s.record(s.operation(n)))
		}
		if body = s.list(r.URL.Query(), ops); body == nil {
			w.WriteHeader(http.StatusBadRequest)
			return
		}
	case one:
		id, _ = url.PathUnescape(id)
		for n := range strangers {
			if op := s.record(s.operation(n)); id == fmt.Sprint(op["opid"]) {
				body = s.one(op)
			}
		}
	}
	if body == nil {
		w.WriteHeader(http.StatusNotFound)
		return
	}
	raw, _ := json.Marshal(body)
	w.Header().Set("Content-Type", "application/json")
	for name, v := range s.header {
		w.Header()[name] = v
	}
	_, _ = w.Write(s.pack(raw))
}

// operation is the one of that number, the newest first: 1.25 EUR each.
func (s *stranger) operation(n int) object {
	at := time.Date(2026, 3, 1, 12, 0, 0, 0, time.UTC).Add(-time.Duration(n) * time.Hour).Format(time.RFC3339)
	return object{"opid": fmt.Sprintf("op-%04d-aaaa-bbbb", n), "status": "PENDING", "type": "WITHDRAW", "paymentType": "SWIFT",
		"createdAt": at, "updatedAt": at, "isVisible": true, "sourceAmount": object{"sum": object{"currencyCode": "EUR", "units": "1", "nanos": 250000000}},
		"customer": object{"cuid": "D1", "name": "Ada"}, "documents": []any{}}
}

// window is the page of ops that numbers ask for, from 0.
func window(ops []object, page, size int) []object {
	size = min(max(size, 1), atOnce)
	return ops[min(page*size, len(ops)):min((page+1)*size, len(ops))]
}

func number(q url.Values, name string) int { n, _ := strconv.Atoi(q.Get(name)); return n }

func asDocumented(q url.Values) (page, size int) {
	return number(q, "meta.page"), number(q, "meta.pageSize")
}

// usual is the list as the service's pages show it.
func usual(q url.Values, ops []object) any {
	page, size := asDocumented(q)
	return object{"meta": object{"page": page, "pageSize": size, "total": strconv.Itoa(len(ops))}, "items": window(ops, page, size)}
}

// under is a list with other names around it, without a total.
func silentList(q url.Values, ops []object) any {
	page, size := asDocumented(q)
	return window(ops, page, size)
}

// chain answers by a cursor that is under key in the answer and asked for by name; "" stays out.
func chain(key, name string) func(url.Values, []object) any {
	return func(q url.Values, ops []object) any {
		from := number(q, name)
		body := object{"items": ops[min(from, len(ops)):min(from+atOnce, len(ops))]}
		if from+atOnce < len(ops) {
			body[key] = strconv.Itoa(from + atOnce)
		} else {
			body[key] = nil
		}
		return body
	}
}

// fromOne is a list that refuses page 0.
func fromOne(q url.Values, ops []object) any {
	page, size := asDocumented(q)
	if page < 1 {
		return nil
	}
	return object{"items": window(ops, page-1, size), "total": len(ops)}
}

// money makes each amount what of says.
func money(of func() any) func(object) object {
	return func(op object) object {
		op["sourceAmount"] = object{"sum": of()}
		return op
	}
}

func snake(op object) object {
	out := object{}
	for name, v := range op {
		var b strings.Builder
		for _, r := range name {
			if r >= 'A' && r <= 'Z' {
				b.WriteByte('_')
			}
			b.WriteString(strings.ToLower(string(r)))
		}
		if inner, is := v.(object); is {
			v = snake(inner)
		}
		out[b.String()] = v
	}
	return out
}

// expected is what is known of a service after it was read: all rows and their sum, unless said otherwise.
type expected struct {
	name    string
	service stranger
	config  string
	partly  bool   // not all can be read, or nothing proves it
	noSum   bool   // amounts are not known
	says    string // doctor, in a finding or a setting
	nothing bool   // there is no session
}

func zipped(b []byte) []byte {
	var out bytes.Buffer
	w := gzip.NewWriter(&out)
	_, _ = w.Write(b)
	_ = w.Close()
	return out.Bytes()
}

var theShapes = []expected{
	{name: "as documented"},
	{name: "login in data", service: stranger{login: func(p object) any { return object{"data": p} }},
		config: "access_token_field = \"data.accessToken\"\nrefresh_token_field = \"data.refreshToken\"\n"},
	{name: "login in data, not named", service: stranger{login: func(p object) any { return object{"data": p} }}, nothing: true,
		says: "[service] access_token_field"},
	{name: "login in snake case", service: stranger{login: func(p object) any { return snake(p) }}},
	{name: "login with code and message", service: stranger{login: func(p object) any { return object{"code": 0, "msg": "ok", "data": object{"item": p}} }}, nothing: true,
		says: "[service] access_token_field"},
	{name: "login as JSON:API", service: stranger{login: func(p object) any { return object{"data": object{"type": "s", "id": "1", "attributes": p}} }}, nothing: true,
		says: "[service] access_token_field"},
	{name: "login with Bearer", service: stranger{login: func(p object) any { p["accessToken"] = "Bearer " + p["accessToken"].(string); return p }}, nothing: true,
		says: "cannot be sent in a header"},
	{name: "login with a duration", service: stranger{login: func(p object) any { p["accessTtl"] = "300s"; return p }}},
	{name: "login with an ISO duration", service: stranger{login: func(p object) any { p["accessTtl"] = "PT300S"; return p }}},
	{name: "login that cannot be read", service: stranger{login: func(object) any { return object{"ticket": "x"} }}, nothing: true, says: "ticket"},
	{name: "gzip that was not asked for", service: stranger{pack: zipped, header: http.Header{"Content-Encoding": {"gzip"}}}},
	{name: "gzip that nobody names", service: stranger{pack: zipped}, nothing: true, says: "the bytes 1f 8b"},
	{name: "byte order mark", service: stranger{pack: func(b []byte) []byte { return append([]byte("\xef\xbb\xbf"), b...) }}},
	{name: "text/plain", service: stranger{header: http.Header{"Content-Type": {"text/plain"}}}},

	{name: "a bare array", service: stranger{list: silentList}},
	{name: "under data.rows", service: stranger{list: func(q url.Values, ops []object) any {
		page, size := asDocumented(q)
		return object{"code": 0, "data": object{"rows": window(ops, page, size), "total": len(ops)}}
	}}},
	{name: "each in an object", service: stranger{record: func(op object) object { return op }, list: func(q url.Values, ops []object) any {
		page, size := asDocumented(q)
		var items []object
		for _, op := range window(ops, page, size) {
			items = append(items, object{"item": op})
		}
		return object{"items": items, "totalCount": len(ops)}
	}}},
	{name: "snake case", service: stranger{record: snake}, noSum: true, says: "no sourceAmount"},
	{name: "record in code and data", service: stranger{one: func(op object) any { return object{"code": 0, "msg": "", "data": object{"item": op}} }}},
	{name: "record by itself", service: stranger{one: func(op object) any { return op }}},
	{name: "unknown shape of a list", service: stranger{list: func(url.Values, []object) any { return object{"blob": "x"} }}, partly: true, says: "blob"},
	{name: "status words with a prefix", service: stranger{record: func(op object) object { op["status"] = "operation_status_completed"; return op }}},

	{name: "a member beside money", service: stranger{record: money(func() any { return object{"currencyCode": "EUR", "units": "1", "nanos": 250000000, "note": ""} })}, noSum: true, says: "“note” (text)"},
	{name: "a scale beside units", service: stranger{record: money(func() any { return object{"currencyCode": "EUR", "units": "125", "nanos": 0, "scale": 2} })}, noSum: true, says: "not known and in no sum"},
	{name: "money in two spellings", service: stranger{record: money(func() any {
		return object{"currencyCode": "EUR", "units": "1", "Units": "125", "nanos": 250000000}
	})}, noSum: true, says: "not known and in no sum"},
	{name: "money as a decimal text", service: stranger{record: money(func() any { return object{"currency": "EUR", "value": "1.25"} })}, noSum: true, says: "“value” (text)"},
	{name: "money with a scale", service: stranger{record: money(func() any { return object{"currencyCode": "EUR", "amount": 125, "scale": 2} })}, noSum: true, says: "“scale” (number)"},
	{name: "money without an object of its own", service: stranger{record: func(op object) object {
		op["sourceAmount"] = object{"currencyCode": "EUR", "units": "1", "nanos": 250000000}
		return op
	}}, noSum: true, says: "“units” (text)"},
	{name: "money that may be cents", service: stranger{record: money(func() any { return object{"currencyCode": "EUR", "value": 125} })}, noSum: true, says: "“value” (number)"},
	{name: "money of nulls", service: stranger{record: money(func() any { return object{"currencyCode": "EUR", "units": nil, "nanos": nil} })}, noSum: true, says: "not known and in no sum"},
	{name: "money as a text", service: stranger{record: money(func() any { return "1.25 EUR" })}, noSum: true, says: "not known and in no sum"},
	{name: "zeros beside a value", service: stranger{record: money(func() any {
		return object{"currencyCode": "EUR", "units": "0", "nanos": 0, "micros": 1250000}
	})}, noSum: true, says: "micros"},

	{name: "ids with slashes and spaces", service: stranger{record: func(op object) object { op["opid"] = strings.ReplaceAll(op["opid"].(string), "-", "/ "); return op }}},
	{name: "long ids", service: stranger{record: func(op object) object { op["opid"] = op["opid"].(string) + strings.Repeat("x", 200); return op }}},
	{name: "numbers as ids", service: stranger{record: func(op object) object {
		n, _ := strconv.Atoi(op["opid"].(string)[3:7])
		op["opid"] = 1000 + n
		return op
	}}, partly: true, says: "“opid” (number)"},

	{name: "cursor", service: stranger{list: chain("nextCursor", "cursor")}},
	{name: "page token", service: stranger{list: chain("next_page_token", "page_token")}},
	{name: "link", service: stranger{list: func(q url.Values, ops []object) any {
		body := chain("next", "after")(q, ops).(object)
		if next := body["next"]; next != nil {
			body["next"] = "https://elsewhere.example/v2/billing/operation?after=" + next.(string)
		}
		return body
	}}},
	{name: "cursor with settings", service: stranger{list: chain("mark", "since")}, config: "paging = \"cursor\"\ncursor_name = \"since\"\ncursor_field = \"mark\"\n"},
	{name: "more follows, and nothing says how", service: stranger{list: func(q url.Values, ops []object) any {
		return object{"items": ops[:atOnce], "hasMore": true}
	}}, partly: true, says: "cursor_field of [service]"},
	{name: "pages from 1, strictly", service: stranger{list: fromOne}, partly: true, says: "first_page of [service]"},
	{name: "pages from 1, set", service: stranger{list: fromOne}, config: "first_page = 1\n"},
	{name: "pages from 1, leniently", service: stranger{list: func(q url.Values, ops []object) any {
		page, size := asDocumented(q)
		return object{"items": window(ops, max(page-1, 0), size), "total": len(ops)}
	}}},
	{name: "other names of pages", service: stranger{list: func(q url.Values, ops []object) any {
		return object{"items": window(ops, number(q, "page"), atOnce), "total": len(ops)}
	}}, partly: true, says: "[service] paging"},
	{name: "other names of pages, set", service: stranger{list: func(q url.Values, ops []object) any {
		return object{"items": window(ops, number(q, "page")-1, number(q, "per_page")), "total": len(ops)}
	}}, config: "page_name = \"page\"\npage_size_name = \"per_page\"\nfirst_page = 1\n"},
	{name: "offset", service: stranger{list: func(q url.Values, ops []object) any {
		from := number(q, "offset")
		return object{"items": ops[min(from, len(ops)):min(from+atOnce, len(ops))]}
	}}, partly: true, says: "[service] paging"},
	{name: "offset, set", service: stranger{list: func(q url.Values, ops []object) any {
		from := number(q, "offset")
		return object{"items": ops[min(from, len(ops)):min(from+max(number(q, "limit"), 1), len(ops))]}
	}}, config: "paging = \"offset\"\npage_name = \"offset\"\npage_size_name = \"limit\"\n"},
	{name: "page ignored", service: stranger{list: func(_ url.Values, ops []object) any { return ops[:atOnce] }}, partly: true, says: "[service] paging"},
	{name: "no pages", service: stranger{list: func(_ url.Values, ops []object) any { return ops }}, config: "paging = \"none\"\n"},
	{name: "the total is that of the page", service: stranger{list: func(q url.Values, ops []object) any {
		page, size := asDocumented(q)
		rows := window(ops, page, size)
		return object{"items": rows, "total": len(rows)}
	}}},
}

// filled is a stranger that answers as documented where its shape says nothing.
func (s *stranger) filled() {
	if s.login == nil {
		s.login = func(p object) any { return p }
	}
	if s.list == nil {
		s.list = usual
	}
	if s.record == nil {
		s.record = func(op object) object { return op }
	}
	if s.one == nil {
		s.one = func(op object) any { return object{"item": op} }
	}
	if s.pack == nil {
		s.pack = func(b []byte) []byte { return b }
	}
}

// TestStrangeServices: whatever the shape of its answers, a service is understood, or what was not is named with the
// setting that would mend it. No number is wrong, nothing is complete while a row is missing, and it takes one login.
func TestStrangeServices(t *testing.T) {
	for i := range theShapes {
		c := &theShapes[i]
		t.Run(c.name, func(t *testing.T) {
			t.Parallel()
			c.service.filled()
			opt := c.open(t)
			a, err := Open(t.Context(), opt)
			if err != nil {
				t.Fatal(err)
			}
			ctx := api.WithActor(t.Context(), api.Actor{Name: "p", Role: api.Admin})
			synced := a.Mirror().Sync(ctx, true, func(index.Freshness) {})
			if c.nothing {
				if synced == nil {
					t.Error("it synced without a session")
				}
			} else {
				c.holds(t, a, synced)
			}
			if err := a.Close(); err != nil {
				t.Error(err)
			}
			var said []string
			Doctor(t.Context(), opt, nil, true, func(f Finding) {
				said = append(said, f.Text, f.Hint)
			})
			if all := strings.Join(said, "\n"); !strings.Contains(all, c.says) {
				t.Errorf("doctor does not say %q: %s", c.says, all)
			}
			if n := c.service.logins.Load(); n > 1 {
				t.Errorf("%d logins", n)
			}
		})
	}
}

func (c *expected) open(t *testing.T) Options {
	t.Helper()
	server := httptest.NewServer(&c.service)
	t.Cleanup(server.Close)
	dir := t.TempDir()
	file := filepath.Join(dir, "opdeck.toml")
	text := fmt.Sprintf("[contexts.t]\nbase_url = %q\nlogin = \"m\"\npassword_env = \"PW\"\n[limits]\nper_minute = { login = 1000, refresh = 1000, account = 1000, customer = 1000, billing = 1000, general = 1000 }\n[service]\n%s", server.URL, c.config)
	if err := os.WriteFile(file, []byte(text), 0o600); err != nil {
		t.Fatal(err)
	}
	return Options{ConfigFlag: file, StateFlag: filepath.Join(dir, "state"), Getenv: func(name string) string {
		return map[string]string{"PW": "secret", "HOME": dir}[name]
	}}
}

// holds checks what is known after a sync that someone waited for.
func (c *expected) holds(t *testing.T, a *App, synced error) {
	t.Helper()
	ctx := api.WithActor(t.Context(), api.Actor{Name: "p", Role: api.Admin})
	st, err := a.Mirror().Status(ctx)
	if err != nil {
		t.Fatal(err)
	}
	if st.Complete && st.Indexed != strangers {
		t.Errorf("complete with %d rows of %d", st.Indexed, strangers)
	}
	if st.Complete == c.partly {
		t.Errorf("complete: %t with %d rows: %v, %s", st.Complete, st.Indexed, synced, st.Note)
	}
	if c.partly && synced == nil && st.Note == "" {
		t.Error("nothing says why it is not complete")
	}
	all, err := a.Index.Totals(ctx, filter.OperationExpr{}, nil, 0, a.Now())
	if err != nil {
		t.Fatal(err)
	}
	for _, s := range all.Sums {
		good := s.Count - s.Bad
		if c.noSum && (good != 0 || s.Amount != nil) || !c.noSum && (s.Bad != 0 || s.Amount.Text('f') != fmt.Sprintf("%g", 1.25*float64(good))) {
			t.Errorf("%d of %d are %v %s", good, s.Count, s.Amount, string(s.Currency))
		}
	}
	if c.partly {
		return
	}
	rows, err := a.Index.Window(ctx, index.Query{Sort: index.Sort{Desc: true}, Limit: strangers + 1}, a.Now())
	if err != nil || len(rows.Rows) != strangers {
		t.Fatalf("%d rows, %v", len(rows.Rows), err)
	}
	first := string(rows.Rows[0].Op.OPID)
	if op, err := endpoint.Do(ctx, a.Client, endpoint.GetOperation, first); err != nil || string(op.OPID) != first || op.Status == "" {
		t.Errorf("%s: %+v, %v", first, op, err)
	}
	if !slices.IsSortedFunc(rows.Rows, func(a, b index.Record) int { return b.Op.CreatedAt.Compare(a.Op.CreatedAt.Time) }) {
		t.Error("moments are not read")
	}
}
