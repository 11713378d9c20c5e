package index_test

import (
	"errors"
	"slices"
	"strings"
	"testing"
	"time"

	"opdeck/api"
	"opdeck/api/untrusted"
	"opdeck/internal/domain/index"
	"opdeck/internal/domain/index/filter"
)

// named is an operation with a reference and a customer.
func named(id, reference, customer string) api.Operation {
	o := op(id, "PENDING", t1)
	o.Reference, o.Customer.Name, o.Customer.CUID = untrusted.Text(reference), untrusted.Text(customer), "D1"
	return o
}

const (
	first  = "237f91db-a65d-4f18-a240-17ab808bf1b4"
	second = "237f0000-a65d-4f18-a240-17ab80801111"
	third  = "62387cd9-6926-45b3-bf48-8a53f850c0b8"
)

func filled(t *testing.T) *index.Index {
	x, done := open(t, fixed)
	t.Cleanup(done)
	for _, o := range []api.Operation{named(first, "SBX-1", "Harbour & Finch"), named(second, "SBX-2", "Oak"), named(third, "INV 237f", "Tallinn Tools")} {
		if _, err := x.Read(t.Context(), o, now); err != nil {
			t.Fatal(err)
		}
	}
	return x
}

func TestFind(t *testing.T) {
	x := filled(t)
	for typed, want := range map[string]struct {
		beginning, others string
		only              string
		whole             bool
	}{
		"237f91": {first, "", first, false}, "237F91": {first, "", first, false}, " 237f91 ": {first, "", first, false},
		"237f": {first + " " + second, third, "", false}, "237f91…8bf1b4": {first, "", first, false}, "237f91...8bf1b4": {first, "", first, false},
		"Operation: " + first: {first, "", first, true}, "<" + third + ">": {third, "", third, true}, "https://pay.example/op/" + first + "?x=1": {first, "", first, true},
		strings.ReplaceAll(first, "-", "\u2011") + ",": {first, "", first, true}, strings.Replace(first, "a", "\u0430", 1): {},
		"237f9…ffff": {}, "2…b4": {first, "", first, false}, first: {first, "", first, true}, third: {third, "", third, true},
		"INV": {"", third, "", false}, "sbx-": {"", first + " " + second, "", false}, "harbour & f": {"", first, "", false}, "tallinn": {"", third, "", false},
		"00000000-0000-4000-8000-000000000000": {"", "", "", true}, "zzz": {}, "": {}, "…": {}, `a"b\`: {}, strings.Repeat("x", 5000): {}, "\x1b[2J": {}, "op_12345": {},
	} {
		l, err := x.Find(t.Context(), typed, time.UTC, 10, now)
		if err != nil {
			t.Fatalf("%.40q: %v", typed, err)
		}
		ids := func(rows []index.Record) string {
			var out []string
			for _, r := range rows {
				out = append(out, string(r.Op.OPID))
			}
			slices.Sort(out)
			slices.SortFunc(out, func(a, b string) int {
				return slices.Index([]string{first, second, third}, a) - slices.Index([]string{first, second, third}, b)
			})
			return strings.Join(out, " ")
		}
		if ids(l.Beginning) != want.beginning || ids(l.Others) != want.others || l.Only(typed) != want.only || l.Whole != want.whole {
			t.Errorf("%.40q: begin so %q, others %q, only %q, whole %v", typed, ids(l.Beginning), ids(l.Others), l.Only(typed), l.Whole)
		}
	}
}

// TestFindReadsAFilter: what a list filters by is found, a list of ids with the number that is known, and what is no
// filter says why.
func TestFindReadsAFilter(t *testing.T) {
	x := filled(t)
	for typed, want := range map[string]struct {
		found      int
		ids, known int
		missing    string
	}{
		"pending": {found: 3}, "reference:SBX": {found: 2}, "oak OR tools": {found: 2}, "harbour pend": {found: 1}, "9,999.25": {missing: "9,999.25 is the amount 9999.25."},
		first + "\n" + second + "," + third[:8] + "…" + third[30:]: {found: 3, ids: 3, known: 3},
		first + " 00000000-0000-4000-8000-000000000000":            {found: 1, ids: 2, known: 1},
	} {
		l, err := x.Find(t.Context(), typed, nil, 10, now)
		if err != nil {
			t.Fatalf("%q: %v", typed, err)
		}
		if n := len(l.Beginning) + len(l.Others); n != want.found || l.IDs != want.ids || l.Known != want.known || l.IDs == 0 && l.Missing != want.missing {
			t.Errorf("%q: %d found, %d of %d ids, missing %q", typed, n, l.Known, l.IDs, l.Missing)
		}
	}
	wrong := (*filter.Error)(nil)
	if _, err := x.Find(t.Context(), "(oak", nil, 10, now); !errors.As(err, &wrong) {
		t.Errorf("%v", err)
	}
}

// TestResolve: only whole ids are left to the service.
func TestResolve(t *testing.T) {
	x := filled(t)
	for typed, want := range map[string]string{"237f91": first, "623": third, first: first, "62387c…50c0b8": third,
		"00000000-0000-4000-8000-000000000000": "00000000-0000-4000-8000-000000000000", "not/../an id": "not/../an id"} {
		if got, err := x.Resolve(t.Context(), typed, now); err != nil || got != want {
			t.Errorf("%q is %q, %v", typed, got, err)
		}
	}
	for typed, want := range map[string]api.Kind{"237f": api.Usage, "zzz": api.NotFound, "op_12345": api.NotFound, "not/an id": api.NotFound, "237f9…ffff": api.NotFound} {
		if got, err := x.Resolve(t.Context(), typed, now); api.KindOf(err) != want {
			t.Errorf("%q is %q, %v", typed, got, err)
		}
	}
	if _, err := x.Resolve(t.Context(), "237f", now); !strings.Contains(err.Error(), first) || !strings.Contains(err.Error(), second) {
		t.Errorf("it does not name what could be meant: %v", err)
	}
}

// TestAnExactIDIsNoBeginning: one that others begin with is itself; ids are as long as
// the service makes them.
func TestAnExactIDIsNoBeginning(t *testing.T) {
	x, done := open(t, fixed)
	defer done()
	if got, err := x.Resolve(t.Context(), "op_1", now); err != nil || got != "op_1" { // nothing is known of ids yet
		t.Errorf("%q, %v", got, err)
	}
	for _, id := range []string{"op_1", "op_12", "op_2"} {
		if _, err := x.Read(t.Context(), named(id, "", ""), now); err != nil {
			t.Fatal(err)
		}
	}
	for typed, want := range map[string]string{"op_1": "op_1", "OP_1": "op_1", "op_12": "op_12", "op_999": "op_999"} {
		if got, err := x.Resolve(t.Context(), typed, now); err != nil || got != want {
			t.Errorf("%q is %q, %v", typed, got, err)
		}
	}
	if _, err := x.Resolve(t.Context(), "op", now); api.KindOf(err) != api.Usage {
		t.Errorf("%v", err)
	}
}

// TestMoreThanTheLimit says so.
func TestMoreThanTheLimit(t *testing.T) {
	x := filled(t)
	l, err := x.Find(t.Context(), "237f", time.UTC, 1, now)
	if err != nil || len(l.Beginning) != 1 || !l.Several || l.Only("237f") != "" {
		t.Errorf("%+v, %v", l, err)
	}
}
