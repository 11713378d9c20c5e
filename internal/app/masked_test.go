package app

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"reflect"
	"slices"
	"strings"
	"testing"
	"time"

	"opdeck/api"
	"opdeck/api/endpoint"
	"opdeck/internal/domain/index"
	"opdeck/internal/domain/mask"
	"opdeck/internal/e2e/racedetector"
	"opdeck/internal/sandbox"
)

const (
	canary  = "DE89370400440532013000"
	unnamed = "P-5510-2207-XQ" // in members that this program has no name for
)

// holds reports whether a value has the secret in any of its texts, in fields that
// are not exported too.
func holds(v reflect.Value) bool {
	switch v.Kind() {
	case reflect.String:
		return strings.Contains(v.String(), canary) || strings.Contains(v.String(), unnamed)
	case reflect.Pointer, reflect.Interface:
		return !v.IsNil() && holds(v.Elem())
	case reflect.Struct:
		for i := range v.NumField() {
			if holds(v.Field(i)) {
				return true
			}
		}
	case reflect.Slice, reflect.Array:
		if v.Kind() == reflect.Slice && v.Type().Elem().Kind() == reflect.Uint8 {
			return bytes.Contains(v.Bytes(), []byte(canary)) || bytes.Contains(v.Bytes(), []byte(unnamed))
		}
		for i := range v.Len() {
			if holds(v.Index(i)) {
				return true
			}
		}
	case reflect.Map:
		for k, e := range v.Seq2() {
			if holds(k) || holds(e) {
				return true
			}
		}
	}
	return false
}

// leaky is the built-in service with an account number in every text that people
// write.
func leaky(t *testing.T) *App {
	t.Helper()
	svc, err := sandbox.Open(t.Context(), sandbox.Options{Operations: 5})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = svc.Close() })
	srv := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		rec := httptest.NewRecorder()
		svc.Handler().ServeHTTP(rec, r)
		body := rec.Body.Bytes()
		if v := any(nil); !strings.Contains(r.URL.Path, "/auth/") && json.Unmarshal(body, &v) == nil {
			fillIn(v)
			body, _ = json.Marshal(v)
		}
		rec.Header().Del("Content-Length")
		for k, v := range rec.Header() {
			w.Header()[k] = v
		}
		w.WriteHeader(rec.Code)
		_, _ = w.Write(body)
	}))
	t.Cleanup(srv.Close)
	dir := t.TempDir()
	file := filepath.Join(dir, "opdeck.toml")
	text := fmt.Sprintf("[contexts.t]\nbase_url = %q\nlogin = %q\npassword_env = \"PW\"\n[limits.per_minute]\naccount = 1000\nbilling = 1000\ncustomer = 1000\ngeneral = 1000\n", srv.URL, sandbox.DefaultLogin)
	if err := os.WriteFile(file, []byte(text), 0o600); err != nil {
		t.Fatal(err)
	}
	a, err := Open(t.Context(), Options{ConfigFlag: file, StateFlag: filepath.Join(dir, "state"), Getenv: func(name string) string {
		return map[string]string{"PW": sandbox.DefaultPassword, "HOME": dir}[name]
	}})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = a.Close() })
	return a
}

func fillIn(v any) {
	switch v := v.(type) {
	case map[string]any:
		for k, e := range v {
			if slices.Contains([]string{"name", "comment", "reference", "fileName", "info", "number", "firstName", "company", "value"}, k) && fmt.Sprint(e) != "" {
				v[k] = canary
			}
			fillIn(e)
		}
		if slices.ContainsFunc([]string{"opid", "cuid", "id", "guid", "counterpartyId"}, func(id string) bool { return v[id] != nil }) {
			v["passportNo2"], v["more"] = unnamed, map[string]any{"deep": []any{map[string]any{"apiToken": unnamed, "e-mail": unnamed}}}
		}
	case []any:
		for _, e := range v {
			fillIn(e)
		}
	}
}

// reads calls every method of v that is not left out, with arguments made for
// their types, and says of each whether the secret came out of it.
func reads(ctx context.Context, v any, id string, n int, out []string) map[string]bool {
	found := map[string]bool{}
	rv := reflect.ValueOf(v)
	for i := range rv.NumMethod() {
		name, m := rv.Type().Method(i).Name, rv.Method(i)
		if slices.Contains(out, name) {
			continue
		}
		var w bytes.Buffer
		args := make([]reflect.Value, m.Type().NumIn())
		for k := range args {
			in := m.Type().In(k)
			switch {
			case in == reflect.TypeFor[context.Context]():
				args[k] = reflect.ValueOf(ctx)
			case in == reflect.TypeFor[index.Query]():
				args[k] = reflect.ValueOf(index.Query{Limit: 10})
			case in == reflect.TypeFor[[]index.By]():
				args[k] = reflect.ValueOf([]index.By{index.ByCounterparty, index.ByCustomer})
			case in == reflect.TypeFor[index.Sheet]():
				args[k] = reflect.ValueOf(index.Sheet{Format: index.JSONL})
			case in == reflect.TypeFor[time.Time]():
				args[k] = reflect.ValueOf(time.Now())
			case in.Kind() == reflect.Interface && reflect.TypeFor[*bytes.Buffer]().Implements(in):
				args[k] = reflect.ValueOf(&w)
			case in.Kind() == reflect.String:
				args[k] = reflect.ValueOf(id).Convert(in)
			case in.Kind() == reflect.Int:
				args[k] = reflect.ValueOf(n)
			case in.Kind() == reflect.Func:
				args[k] = reflect.MakeFunc(in, func(got []reflect.Value) []reflect.Value {
					found[name] = found[name] || slices.ContainsFunc(got, holds)
					none := make([]reflect.Value, in.NumOut())
					for o := range none {
						none[o] = reflect.Zero(in.Out(o))
					}
					return none
				})
			default:
				args[k] = reflect.Zero(in)
			}
		}
		got := m.Call(args)
		found[name] = found[name] || slices.ContainsFunc(got, holds) || holds(reflect.ValueOf(w.Bytes()))
	}
	return found
}

// sample is a call by its own value.
func sample[In, Out any](e endpoint.Endpoint[In, Out], in func(id string) In) (*endpoint.Route, func(context.Context, endpoint.Caller, string) reflect.Value) {
	return e.Route, func(ctx context.Context, c endpoint.Caller, id string) reflect.Value {
		out, _ := endpoint.Do(ctx, c, e, in(id))
		return reflect.ValueOf(&out)
	}
}

// samples are one call each of what a person can read; calls that cannot be masked are
// refused instead.
func samples() map[*endpoint.Route]func(context.Context, endpoint.Caller, string) reflect.Value {
	out := map[*endpoint.Route]func(context.Context, endpoint.Caller, string) reflect.Value{}
	add := func(r *endpoint.Route, do func(context.Context, endpoint.Caller, string) reflect.Value) { out[r] = do }
	same := func(id string) string { return id }
	none := func(string) struct{} { return struct{}{} }
	add(sample(endpoint.ListOperations, func(string) api.OperationQuery { return api.OperationQuery{} }))
	add(sample(endpoint.GetOperation, same))
	add(sample(endpoint.GetOperationTree, same))
	add(sample(endpoint.ListCommissions, func(string) api.TariffQuery { return api.TariffQuery{} }))
	add(sample(endpoint.ListPaymentLimits, func(string) api.TariffQuery { return api.TariffQuery{} }))
	add(sample(endpoint.GetReport, func(string) endpoint.ReportTo { return endpoint.ReportTo{To: io.Discard} }))
	add(sample(endpoint.ListCustomers, func(string) api.CustomerQuery { return api.CustomerQuery{} }))
	add(sample(endpoint.GetCustomer, same))
	add(sample(endpoint.GetApplication, same))
	add(sample(endpoint.ListFiles, func(id string) endpoint.FileQuery { return endpoint.FileQuery{CUID: id} }))
	add(sample(endpoint.DownloadDocument, func(id string) endpoint.Download { return endpoint.Download{CUID: id, GUID: id, To: io.Discard} }))
	add(sample(endpoint.ListAccounts, func(string) api.AccountQuery { return api.AccountQuery{} }))
	add(sample(endpoint.GetAccount, same))
	add(sample(endpoint.ListCounterparties, func(string) api.CounterpartyQuery { return api.CounterpartyQuery{} }))
	add(sample(endpoint.GetCounterparty, same))
	add(sample(endpoint.ListUsers, none))
	add(sample(endpoint.GetHooks, none))
	return out
}

// TestEveryReadHasASample: the test of masks tries every call that reads.
func TestEveryReadHasASample(t *testing.T) {
	tried := samples()
	for _, r := range endpoint.All() {
		if r.Write == nil && !r.Foreign && tried[r] == nil {
			t.Errorf("%s has no sample: add one to samples", r.Kind)
		}
	}
}

// raws reads by the service's own paths, as scripts do.
func raws(ctx context.Context, c endpoint.Caller, id string, found map[string]bool) {
	for _, r := range endpoint.All() {
		if !r.Lent.Reads {
			continue
		}
		var ids []string
		for range strings.Count(r.Path, "{") {
			ids = append(ids, id)
		}
		got, err := endpoint.Do(ctx, c, endpoint.GetRaw, endpoint.Raw{Route: r, IDs: ids})
		if err != nil {
			continue
		}
		body, _ := io.ReadAll(got.Body)
		_ = got.Body.Close()
		found["raw "+string(r.Kind)] = holds(reflect.ValueOf(body))
	}
}

// TestEveryReadIsMasked makes every call and calls every method of the index as someone who may not
// reveal account numbers, as no one, and as someone who may, without a reveal and with one.
// A new one is called too: what it returns must be masked.
func TestEveryReadIsMasked(t *testing.T) {
	racedetector.Skip(t)
	a := leaky(t)
	base := t.Context()
	as := func(role api.Role) context.Context {
		return api.WithActor(base, api.Actor{Name: "p", Role: role, Via: "command"})
	}
	page, err := endpoint.Do(as(api.Analyst), a.Client, endpoint.ListOperations, api.OperationQuery{})
	if err != nil || len(page.Items) == 0 {
		t.Fatal(err)
	}
	opid, cuid := string(page.Items[0].OPID), string(page.Items[0].Customer.CUID)
	accounts, err := endpoint.Do(as(api.Analyst), a.Client, endpoint.ListAccounts, api.AccountQuery{})
	if err != nil || len(accounts.Items) == 0 {
		t.Fatal(err)
	}
	payees, err := endpoint.Do(as(api.Analyst), a.Client, endpoint.ListCounterparties, api.CounterpartyQuery{})
	if err != nil || len(payees.Items) == 0 {
		t.Fatal(err)
	}
	if _, err := endpoint.Do(as(api.Analyst), a.Client, endpoint.GetOperation, opid); err != nil {
		t.Fatal(err)
	}
	reported := map[string]bool{} // to an analyst
	try := func(role api.Role, unmasked bool) {
		base = t.Context()
		if unmasked {
			base = mask.ByCaller(base)
		}
		whole := unmasked && role == api.Analyst
		for _, id := range []string{opid, cuid, string(accounts.Items[0].ID), string(payees.Items[0].ID)} {
			calls := map[string]bool{}
			for r, do := range samples() {
				calls[string(r.Kind)] = holds(do(as(role), a.Client, id))
			}
			raws(as(role), a.Client, id, calls)
			for _, r := range []map[string]bool{
				calls,
				// Unmasked says what it does; the others change the index, or do not return.
				reads(as(role), a.Index, id, 5, []string{"Unmasked", "Consistent", "Watch", "Rebuild", "Put", "Page", "Read", "Commit", "Event", "Owe"}),
			} {
				for name, found := range r {
					if found && !whole {
						t.Errorf("%s shows %q an account number", name, role)
					}
					reported[name] = reported[name] || found && whole
				}
			}
		}
		if op, _, ok := a.Known(as(role), opid); !ok || holds(reflect.ValueOf(op)) != whole {
			t.Errorf("Known shows %q: %v", role, op.Comment)
		}
		var seen []api.Operation
		stop := a.OnOperation(as(role), func(op api.Operation) { seen = append(seen, op) })
		if _, err := endpoint.Do(as(role), a.service, endpoint.GetOperation, opid); err != nil || len(seen) != 1 || holds(reflect.ValueOf(seen)) != whole {
			t.Errorf("OnOperation shows %q: %d, %v", role, len(seen), err)
		}
		stop()
	}
	for _, role := range []api.Role{api.Viewer, "", api.Analyst} {
		try(role, false)
		try(role, true)
	}
	for _, name := range []string{"operation.get", "operation.list", "operation.tree", "customer.get", "customer.list", "customer.files", "account.get", "account.list",
		"counterparty.get", "counterparty.list", "raw operation.get", "raw operation.list", "raw customer.get", "raw account.list", "Get", "Window", "Answer", "Each", "Export", "History", "Totals"} {
		if !reported[name] {
			t.Errorf("%s shows an analyst nothing: the test cannot judge it", name)
		}
	}
}
