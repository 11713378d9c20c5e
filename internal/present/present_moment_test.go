package present

import (
	"encoding/json"
	"testing"

	"opdeck/api"
	"opdeck/internal/field"
)

// What is not a moment stays as it came: it is not known, and not none.
func TestExactMoments(t *testing.T) {
	for in, want := range map[string]string{`1732000030000`: "1732000030000", `"1732000030"`: "1732000030",
		`"2024-11-19T07:07:10Z"`: "2024-11-19 07:07:10", `"soon"`: "soon", `12`: "12", `{"seconds":1}`: `{"seconds":1}`, `null`: ""} {
		var op api.Operation
		if err := json.Unmarshal([]byte(`{"opid":"o","createdAt":`+in+`}`), &op); err != nil {
			t.Fatal(err)
		}
		if got := ColumnOf(field.Operations, field.OpCreated).Sheet(Options{})[0].Cell(op).String(); got != want {
			t.Errorf("%s is %q, want %q", in, got, want)
		}
		cell := CellOf(Options{}, field.Operations.Get(field.OpCreated), op).Text
		if unread := want != "" && op.CreatedAt.IsZero(); (cell == "?") != unread {
			t.Errorf("%s is drawn as %q", in, cell)
		}
	}
}
