package present

import (
	"encoding/json"
	"testing"

	"opdeck/api"
	"opdeck/internal/field"
)

// A moment that came as a number is a moment for people; one that came as a text stays as it came.
func TestExactMoments(t *testing.T) {
	for in, want := range map[string]string{`1732000030000`: "2024-11-19T07:07:10Z", `"1732000030"`: "2024-11-19T07:07:10Z",
		`"2024-11-19T07:07:10Z"`: "2024-11-19T07:07:10Z", `"soon"`: "soon", `12`: "12", `null`: ""} {
		var op api.Operation
		if err := json.Unmarshal([]byte(`{"opid":"o","createdAt":`+in+`}`), &op); err != nil {
			t.Fatal(err)
		}
		if got := Exact(field.Operations.Get(field.OpCreated), op, 64); got != want {
			t.Errorf("%s is %q, want %q", in, got, want)
		}
	}
}
