package index_test

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"os"
	"slices"
	"strings"
	"testing"

	"opdeck/api"
	"opdeck/api/untrusted"
	"opdeck/internal/domain/index"
	"opdeck/internal/domain/index/filter"
	"opdeck/internal/domain/mask"
	"opdeck/internal/e2e/racedetector"
)

func as(role api.Role) context.Context {
	return api.WithActor(context.Background(), api.Actor{Name: "p", Role: role, Via: "console"})
}

// Two IBANs that are alike in the four signs that the mask shows.
const secretA, secretB = "DE75512108001245126199", "DE52700202700010126199"

// twins are operations that differ in nothing but what the mask hides in one
// place.
func twins(t *testing.T, place string) []api.Operation {
	t.Helper()
	var out []api.Operation
	for i, secret := range []string{secretA, secretB} {
		fields := map[string]string{"id": fmt.Sprintf("0000000%d-0000-4000-8000-000000000000", i), "source": "", "destination": "", "comment": "", "reference": "", "file": "", "info": "", "customer": "", "name": "", "account": ""}
		if fields[place] = secret; strings.HasPrefix(place, "account") {
			fields["account"] = secret
		}
		raw, err := json.Marshal(map[string]any{
			"opid": fields["id"], "status": "PENDING", "createdAt": t1, "updatedAt": t2, "comment": "to " + fields["comment"], "reference": fields["reference"],
			"customer": map[string]any{"cuid": "D1", "name": "Acme " + fields["customer"]},
			"source":   map[string]any{"account": map[string]any{"id": "U1" + fields["account"], "name": "Main", "number": fields["source"]}},
			"destination": map[string]any{"counterpartyAccount": map[string]any{"id": "K1", "name": "Oak " + fields["name"], "number": fields["destination"],
				"counterparty": map[string]any{"suid": "S1", "name": "Oak & Iron", "bankName": "Bank"}}},
			"documents": []any{map[string]any{"guid": "g", "fileName": fields["file"] + ".pdf", "info": fields["info"], "docType": "OPERATION_DOCUMENT"}},
		})
		if err != nil {
			t.Fatal(err)
		}
		var o api.Operation
		if err := json.Unmarshal(raw, &o); err != nil {
			t.Fatal(err)
		}
		out = append(out, o)
	}
	return out
}

// probes are what someone would try who guesses sign by sign.
func probes() []string {
	var out []string
	for i := range len(secretA) {
		out = append(out, secretA[:i+1])
		if i%4 == 1 {
			out = append(out, secretA[i:], secretA[i:min(i+3, len(secretA))])
		}
	}
	return append(out, "DE75 5121", "••••6199", "6199", secretB)
}

func asked(t *testing.T, e filter.OperationExpr, x *index.Index, ctx context.Context) int64 {
	t.Helper()
	n, err := x.Count(ctx, e, now)
	if err != nil {
		t.Fatal(err)
	}
	return n
}

// TestNobodyGuessesWhatIsMasked asks every field for every part of an account
// number, as people who see numbers and as people who do not. Each place of the number is asked for a quarter of the
// parts, OPDECK_TEST_LONG=1: for all.
func TestNobodyGuessesWhatIsMasked(t *testing.T) {
	racedetector.Skip(t)
	places, step := []string{"source", "comment", "customer", "destination", "reference", "file", "info", "name", "account"}, 4
	if os.Getenv("OPDECK_TEST_LONG") == "1" {
		step = 1
	}
	for at, place := range places {
		t.Run(place, func(t *testing.T) {
			x, done := open(t, fixed)
			defer done()
			if _, err := x.Page(context.Background(), twins(t, place), now); err != nil {
				t.Fatal(err)
			}
			reported := false
			for _, field := range []string{"", "source:", "source=", "to:", "to=", "party:", "party=", "customer:", "customer=", "ref:", "ref=", "comment:", "comment=", "doc:", "doc=", "id:", "-party:"} {
				for n, p := range probes() {
					if n%step != at%step {
						continue
					}
					e, err := filter.Parse(fmt.Sprintf("%s%q", field, p))
					if err != nil {
						t.Fatal(err)
					}
					for _, ctx := range []context.Context{as(api.Viewer), context.Background()} {
						if asked(t, e, x, ctx) == 1 {
							t.Errorf("%s shows one of the two", e)
						}
					}
					reported = reported || asked(t, e, x, as(api.Operator)) == 1
				}
			}
			if !reported && place != "account" {
				t.Error("an operator cannot find the number either")
			}
		})
	}
}

// TestEveryQuestionIsMasked asks for a number in every way that there is.
func TestEveryQuestionIsMasked(t *testing.T) {
	x, done := open(t, fixed)
	defer done()
	ops := append(twins(t, "source"), twins(t, "customer")[1])
	ops[2].OPID = "x"
	if _, err := x.Page(context.Background(), ops, now); err != nil {
		t.Fatal(err)
	}
	e, err := filter.Parse("party:" + secretA[:18])
	if err != nil {
		t.Fatal(err)
	}
	count := func(ctx context.Context) []int {
		n, err1 := x.Count(ctx, e, now)
		all, err2 := x.Totals(ctx, e, nil, 0, now)
		groups, err3 := x.Totals(ctx, e, []index.By{index.ByCustomer}, 5, now)
		line, err4 := x.Timeline(ctx, e, now)
		place, err5 := x.Place(ctx, e, index.Sort{}, string(ops[0].OPID), now)
		var out bytes.Buffer
		lines, err6 := x.Export(ctx, &out, index.Sheet{Format: index.CSV, Filter: e}, nil)
		for _, err := range []error{err1, err2, err3, err4, err5, err6} {
			if err != nil {
				t.Fatal(err)
			}
		}
		var daily int64
		for _, d := range line.Days {
			daily += d.Count
		}
		return []int{int(n), len(all.Sums), len(groups.Parts), int(daily), int(place.Total), lines}
	}
	if got := count(as(api.Operator)); !slices.Equal(got, []int{1, 1, 1, 1, 1, 1}) {
		t.Errorf("an operator gets %v", got)
	}
	if got := count(as(api.Viewer)); !slices.Equal(got, make([]int, 6)) {
		t.Errorf("a viewer gets %v", got)
	}
	for role, want := range map[api.Role]int{api.Viewer: 0, api.Operator: 1} {
		ctx := mask.ByCaller(as(role))
		v, err := x.Values(ctx, "customer", secretB[:6], 5)
		if s := x.Suggest(ctx, "customer:"+secretB[:6], 15); err != nil || len(v) != want || len(s) != want {
			t.Errorf("%s is offered %q, %v", role, v, s)
		}
	}
	var all strings.Builder
	if _, err := x.Export(as(api.Viewer), &all, index.Sheet{Format: index.JSONL}, nil); err != nil {
		t.Fatal(err)
	}
	h, err := x.History(as(api.Viewer), string(ops[0].OPID))
	if err != nil || len(h) == 0 || strings.Contains(string(h[0].Op.Raw)+all.String(), secretA[:18]) || strings.Contains(all.String(), secretB[:18]) {
		t.Errorf("masked: %s, %v", all.String(), err)
	}
	for ctx, want := range map[context.Context]untrusted.Text{mask.ByCaller(as(api.Operator)): secretA,
		as(api.Operator): "••••6199", mask.ByCaller(as(api.Viewer)): "••••6199", as(api.Viewer): "••••6199", context.Background(): "••••6199"} {
		if r, err := x.Get(ctx, string(ops[0].OPID)); err != nil || r.Op.Source.Account.Number != want {
			t.Errorf("%+v gets %q, %v", api.ActorOf(ctx), r.Op.Source.Account.Number, err)
		}
	}
	if r, err := x.Unmasked().Get(context.Background(), string(ops[0].OPID)); err != nil || r.Op.Source.Account.Number != secretA {
		t.Errorf("what the program merges is %q, %v", r.Op.Source.Account.Number, err)
	}
}
