package index_test

import (
	"context"
	"strings"
	"testing"

	"opdeck/api"
	"opdeck/internal/domain/index"
	"opdeck/internal/domain/index/filter"
	"opdeck/internal/domain/note"
)

// desk has a write in doubt, an approval and two notes.
type desk struct{}

func (desk) InDoubt(context.Context) ([]string, error) { return []string{first}, nil }
func (desk) Waiting(ctx context.Context) ([]string, error) {
	if api.ActorOf(ctx).Name == "ben" {
		return []string{second}, nil
	}
	return nil, nil
}
func (desk) Find(_ context.Context, text string, _ int) (out []note.Note, err error) {
	for _, n := range []note.Note{{Object: note.Operation, ID: third, Text: "call the bank back"}, {Object: note.Customer, ID: "D1", Text: "prefers mail"}} {
		if strings.Contains(string(n.Text), text) {
			out = append(out, n)
		}
	}
	return out, nil
}

// TestRecordsBesideTheIndex: a term about records that the index does not hold has the same answer in every query, and
// prints as typed.
func TestRecordsBesideTheIndex(t *testing.T) {
	x, ben := filled(t), api.WithActor(t.Context(), api.Actor{Name: "ben", Role: api.Admin})
	x.Beside = desk{}
	ops := []api.Operation{named(first, "SBX-1", "Harbour & Finch"), named(second, "SBX-2", "Oak"), named(third, "INV 237f", "Tallinn Tools")}
	for typed, want := range map[string]string{
		"is:doubt": first, "is:waiting": second, "has:doubt,waiting": first + " " + second, "-is:doubt": second + " " + third, "is:doubt harbour": first, "is:doubt oak": "",
		"note:bank": third, "note:nothing": "", "note:mail": first + " " + second + " " + third, "bank": third, `"call the"`: third, "bank tallinn": third, "bank oak": "", "-bank": first + " " + second,
		"bank OR is:doubt": first + " " + third,
	} {
		f, err := filter.Parse(typed)
		if err != nil || f.String() != strings.ReplaceAll(typed, "is:", "has:") {
			t.Fatalf("%q prints as %q, %v", typed, f, err)
		}
		answers := map[string]string{}
		ids := func(of string, all []api.Operation) {
			for _, id := range []string{first, second, third} {
				for _, o := range all {
					if string(o.OPID) == id {
						answers[of] = strings.TrimSpace(answers[of] + " " + id)
					}
				}
			}
		}
		w, err := x.Window(ben, index.Query{Filter: f, Limit: 9}, now)
		if err != nil {
			t.Fatal(err)
		}
		var rows, each []api.Operation
		for _, r := range w.Rows {
			rows = append(rows, r.Op)
		}
		if err := x.Each(ben, f, index.Sort{}, now, func(_ int, r index.Record) error {
			each = append(each, r.Op)
			return nil
		}); err != nil {
			t.Fatal(err)
		}
		page, err := x.Arrange(ben, ops, f, index.Sort{}, now)
		if err != nil {
			t.Fatal(err)
		}
		found, err := x.Find(ben, typed, nil, 9, now)
		if err != nil {
			t.Fatal(err)
		}
		var opened []api.Operation
		for _, r := range found.Others {
			opened = append(opened, r.Op)
		}
		ids("rows", rows)
		ids("each", each)
		ids("page", page)
		ids("open", opened)
		for _, of := range []string{"rows", "each", "page", "open"} {
			if answers[of] != want {
				t.Errorf("%s: %s are %q, want %q", typed, of, answers[of], want)
			}
		}
		n, err := x.Count(ben, f, now)
		if err != nil || int(n) != len(strings.Fields(want)) {
			t.Errorf("%s counts %d, %v", typed, n, err)
		}
	}
	f, _ := filter.Parse("is:waiting")
	if n, err := x.Count(api.WithActor(t.Context(), api.Actor{Name: "ana", Role: api.Admin}), f, now); n != 0 || err != nil {
		t.Errorf("what waits for ben waits for ana: %d, %v", n, err)
	}
}
