package present

import (
	"slices"
	"testing"
	"time"

	"opdeck/api"
	"opdeck/internal/field"
)

// marks are the characters of signs in tests.
func marks(s Sign) string { return []string{"", "✓", "✗", "◌", "!", "?", "–", "•", "▣"}[s] }

var (
	noon = time.Date(2026, 3, 2, 12, 0, 0, 0, time.UTC)
	as   = Options{Now: noon, Zone: time.UTC, Sign: marks}
)

// scratch is the catalogue of operations with a field that no one has written code for.
func scratch() *field.Catalogue[api.Operation] {
	return field.New(append(slices.Clone(field.Operations.All()), field.Field[api.Operation]{Name: "made-up", JSON: "made-up", Kind: field.Count,
		Column: field.Layout{Min: 8}, Count: func(api.Operation) int { return 7 }})...)
}

// TestAColumnDrawsItsOwnField: a new field is drawn in lists and printed by commands and exports with its own value,
// without a line of code about it.
func TestAColumnDrawsItsOwnField(t *testing.T) {
	op := api.Operation{OPID: "op-1", Documents: []api.Document{{GUID: "d-1"}, {GUID: "d-2", Lock: api.Locked}}}
	c := scratch()
	columns := Columns(c, "documents", "made-up")
	if got := columns[0].Cell(as, op).Text; got != "2 ▣" {
		t.Errorf("documents are %q", got)
	}
	if got := columns[1]; got.Cell(as, op).Text != "7" || got.Title != "made-up" || got.Align != field.Right {
		t.Errorf("the list shows %+v: %q", got, got.Cell(as, op).Text)
	}
	sheet := c.Sheet()
	if last := sheet[len(sheet)-1]; last.Head != "made-up" || last.Cell(op).String() != "7" {
		t.Errorf("an export has %s = %q", last.Head, last.Cell(op))
	}
}

// TestANewFieldIsOnTheCard: a field that no section names is a fact of the operation itself.
func TestANewFieldIsOnTheCard(t *testing.T) {
	if got := rest(scratch(), operationState, operationOwn, operationWho, operationSides, operationAmounts); !slices.Contains(got, "made-up") {
		t.Errorf("fields without a section: %v", got)
	}
	facts := FactsOf(as, scratch().Get("made-up"), api.Operation{})
	if len(facts) != 1 || facts[0].Value != "7" {
		t.Errorf("%+v", facts)
	}
}

// TestATextThatNoAnswerToldIsNotKnown: it is not an empty one.
func TestATextThatNoAnswerToldIsNotKnown(t *testing.T) {
	for raw, want := range map[string]string{`{"opid":"o"}`: "?", `{"comment":""}`: "", `{"comment":"rush"}`: "rush"} {
		op := api.Operation{Raw: []byte(raw)}
		if want == "rush" {
			op.Comment = "rush"
		}
		if got := CellOf(as, field.Operations.Get(field.OpComment), op); got.Text != want {
			t.Errorf("%s: %q", raw, got.Text)
		}
	}
}
