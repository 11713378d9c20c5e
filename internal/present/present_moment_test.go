package present

import (
	"encoding/json"
	"testing"

	"opdeck/api"
	"opdeck/internal/field"
)

// TestUntoldMomentsAndSizes: what was not told or is not understood is "?", in a list, in its card and in CSV.
func TestUntoldMomentsAndSizes(t *testing.T) {
	for in, want := range map[string]string{`1732000030000`: "?", `"soon"`: "?", `{"seconds":1}`: "?", `null`: "?", `""`: "?",
		`"2024-11-19T07:07:10Z"`: "2024-11-19 07:07:10"} {
		var op api.Operation
		decode(t, `{"opid":"o","createdAt":`+in+`}`, &op)
		untold(t, field.Operations, field.OpCreated, op, in, want)
	}
	for in, want := range map[string]string{`"guid":"g"`: "?", `"size":null`: "?", `"size":"12"`: "?", `"size":1,"size":2`: "?",
		`"size":0`: "0", `"size":12`: "12"} {
		var op api.Operation
		var file api.CustomerFile
		decode(t, `{"documents":[{"fileName":"a.pdf",`+in+`}]}`, &op)
		decode(t, `{"fileName":"a.pdf",`+in+`}`, &file)
		untold(t, field.Documents, "size", op.Documents[0], in, want)
		untold(t, field.Files, "size", file, in, want)
	}
}

func decode(t *testing.T, record string, to any) {
	t.Helper()
	if err := json.Unmarshal([]byte(record), to); err != nil {
		t.Fatal(record, err)
	}
}

// untold compares a field in CSV, and whether a list and the card show it.
func untold[T any](t *testing.T, c *field.Catalogue[T], name string, r T, in, csv string) {
	t.Helper()
	if got := ColumnOf(c, name).Sheet(Options{})[0].Cell(r).String(); got != csv {
		t.Errorf("%s is %q in CSV, want %q", in, got, csv)
	}
	cell, card := CellOf(Options{}, c.Get(name), r), FactsOf(Options{}, c.Get(name), r)[0]
	if (cell.Text == "?") != (csv == "?") || (card.Tone == Warn) != (csv == "?") {
		t.Errorf("%s is drawn as %q and %q", in, cell.Text, card.Value)
	}
}
