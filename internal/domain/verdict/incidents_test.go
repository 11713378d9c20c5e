package verdict_test

import (
	"strings"
	"testing"

	"opdeck/api/reach"
	"opdeck/internal/domain/verdict"
	"opdeck/internal/domain/verdict/verdicttest"
)

// TestIncidents: each has its first sentence, with a next step, a person and evidence, and no second cause that the
// facts do not contain.
func TestIncidents(t *testing.T) {
	for name, one := range verdicttest.Incidents() {
		t.Run(name, func(t *testing.T) {
			v := verdict.Conclude(one.Facts)
			if got := v.Headline(); got != one.Want {
				t.Errorf("got  %s\nwant %s", got, one.Want)
			}
			first, wrong := v.First()
			if wrong == strings.HasPrefix(one.Want, "No fault known") {
				t.Fatalf("found %+v", v.Findings)
			}
			if wrong && (first.Since.IsZero() || first.Follows != "" || v.State() < verdict.Warned ||
				v.Of(first.Part) < verdict.Warned) {
				t.Errorf("%+v, state %s", first, v.State())
			}
			for _, f := range v.Findings[min(1, len(v.Findings)):] {
				if f.Follows == "" {
					t.Errorf("another cause: %s", f.Sentence)
				}
			}
		})
	}
}

// TestTwoCauses: a second cause that does not follow from the first is listed as one of its own.
func TestTwoCauses(t *testing.T) {
	f := verdicttest.InStore(verdict.StoreAbsent, "")
	f.Calls = verdicttest.Call(reach.Fault{Class: reach.NoPort}).Calls
	v := verdict.Conclude(f)
	if len(v.Findings) != 2 || v.Findings[0].Part != verdict.PartStore || v.Findings[1].Part != verdict.PartService ||
		v.Findings[1].Follows != "" {
		t.Errorf("%+v", v.Findings)
	}
}
