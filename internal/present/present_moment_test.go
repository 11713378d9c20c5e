package present

import (
	"encoding/json"
	"testing"

	"opdeck/api"
	"opdeck/internal/field"
)

// A text that is not a moment stays as it came; a number is none, and is among the fields that were not understood.
func TestExactMoments(t *testing.T) {
	for in, want := range map[string]string{`1732000030000`: "", `"1732000030"`: "1732000030",
		`"2024-11-19T07:07:10Z"`: "2024-11-19T07:07:10Z", `"soon"`: "soon", `12`: "", `null`: ""} {
		var op api.Operation
		if err := json.Unmarshal([]byte(`{"opid":"o","createdAt":`+in+`}`), &op); err != nil {
			t.Fatal(err)
		}
		if got := Exact(field.Operations.Get(field.OpCreated), op, 64); got != want {
			t.Errorf("%s is %q, want %q", in, got, want)
		}
	}
}
