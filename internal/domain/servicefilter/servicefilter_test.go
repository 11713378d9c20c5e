package servicefilter

import (
	"context"
	"errors"
	"strings"
	"testing"
	"time"

	"opdeck/api"
	"opdeck/api/endpoint"
	"opdeck/api/endpoint/endpointtest"
	"opdeck/api/untrusted"
	"opdeck/internal/domain/index/filter"
)

func parse(t *testing.T, s string) filter.OperationExpr {
	t.Helper()
	f, err := filter.Parse(s)
	if err != nil {
		t.Fatal(err)
	}
	return f
}

// TestQuestions: only what must hold of every operation is asked for.
func TestQuestions(t *testing.T) {
	for f, want := range map[string]string{
		"":                              "",
		"status:PENDING":                "",
		"customer:Ana":                  "name=Ana",
		`customer="Harbour & Finch"`:    "name=Harbour & Finch",
		"customer:DqCsgSE-4e95-ViYbNI":  "cuid=DqCsgSE-4e95-ViYbNI name=DqCsgSE-4e95-ViYbNI",
		"party:DE89370400440532":        "account=DE89370400440532",
		"from:UhcPVBEpjmtR1 customer:A": "account=UhcPVBEpjmtR1 name=A",
		"party:meridian":                "",
		"-customer:Ana":                 "",
		"customer:Ana OR status:NEW":    "",
		"customer:Ana,Ben":              "",
		"customer:Ana amount>5":         "name=Ana",
	} {
		var got []string
		for _, q := range Questions(parse(t, f)) {
			for name, v := range map[string]string{"cuid": q.Query.ClientCUID, "name": q.Query.ClientName, "account": q.Query.Account} {
				if v != "" {
					got = append(got, name+"="+v)
				}
			}
		}
		if strings.Join(got, " ") != want {
			t.Errorf("%q asks %q, want %q", f, got, want)
		}
	}
	for _, q := range Questions(parse(t, "party:DE89370400440532").Masked()) {
		t.Errorf("a covered number is asked for: %+v", q)
	}
}

// lists is a service that answers lists of operations so.
func lists(answer func(api.OperationQuery) (api.Page[api.Operation], error)) *endpointtest.Fake {
	var f endpointtest.Fake
	endpointtest.On(&f, endpoint.ListOperations, func(_ context.Context, q api.OperationQuery) (api.Page[api.Operation], error) {
		return answer(q)
	})
	return &f
}

// TestAsk: a value that turns out not to be an id is queried as a name, and it is reported if the service ignores the
// query.
func TestAsk(t *testing.T) {
	op := func(id, cuid, name string) api.Operation {
		return api.Operation{OPID: untrusted.Text(id), Customer: api.CustomerRef{CUID: untrusted.Text(cuid), Name: untrusted.Text(name)}}
	}
	page := func(ops ...api.Operation) api.Page[api.Operation] {
		return api.Page[api.Operation]{Items: ops, Total: "7"}
	}
	calls := 0
	byName := lists(func(q api.OperationQuery) (api.Page[api.Operation], error) {
		if calls++; q.ClientName == "" || q.Size != 5 || q.Page != 2 {
			return api.Page[api.Operation]{}, nil
		}
		return page(op("1", "c", "Harbour-Finch-2")), nil
	})
	a, err := Ask(t.Context(), byName, parse(t, "customer:harbour-finch-2"), 2, 5, time.Now())
	if err != nil || calls != 2 || len(a.Page.Items) != 1 || !a.Held || !a.Whole || !strings.Contains(a.Summary(), "it has 7") {
		t.Errorf("%+v %v after %d calls", a, err, calls)
	}
	ignores := lists(func(api.OperationQuery) (api.Page[api.Operation], error) {
		return page(op("1", "c", "Ana"), op("2", "d", "Ben")), nil
	})
	if a, err = Ask(t.Context(), ignores, parse(t, "customer:Ana status:NEW"), 0, 0, time.Now()); err != nil || a.Held || a.Whole || !strings.Contains(a.Summary(), "others as well") {
		t.Errorf("%+v %v", a, err)
	}
	if a, err = Ask(t.Context(), ignores, parse(t, "status:NEW"), 0, 0, time.Now()); err != nil || a.Asked != "" {
		t.Errorf("%+v %v", a, err)
	}
	fails := lists(func(api.OperationQuery) (api.Page[api.Operation], error) {
		return page(), errors.New("no")
	})
	if _, err = Ask(t.Context(), fails, parse(t, "customer:Ana"), 0, 0, time.Now()); err == nil {
		t.Error("a failure is hidden")
	}
}

// TestNobodyAsksForANumber: who may not reveal account numbers does not get one
// confirmed by the service either.
func TestNobodyAsksForANumber(t *testing.T) {
	for role, want := range map[api.Role]int{api.Viewer: 0, "": 0, api.Analyst: 1} {
		asked := lists(func(api.OperationQuery) (api.Page[api.Operation], error) { return api.Page[api.Operation]{}, nil })
		ctx := api.WithActor(t.Context(), api.Actor{Name: "p", Role: role})
		if _, err := Ask(ctx, asked, parse(t, "party:DE89370400440532013000"), 0, 0, time.Now()); err != nil || asked.Calls("") != want {
			t.Errorf("%q asks %d times, %v", role, asked.Calls(""), err)
		}
	}
}
