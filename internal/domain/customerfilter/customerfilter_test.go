package customerfilter_test

import (
	"testing"
	"time"

	"opdeck/api"
	"opdeck/internal/domain/customerfilter"
	"opdeck/internal/domain/index/filter/filtertest"
	"opdeck/internal/domain/journey"
)

// TestMatch: the catalogue's fields, and what is kept of the verification.
func TestMatch(t *testing.T) {
	now := time.Date(2026, 3, 1, 12, 0, 0, 0, time.UTC)
	begun := customerfilter.BegunOf([]journey.Record{{CUID: "C1", Applied: true, AppliedAt: now.Add(-72 * time.Hour), Updated: now},
		{CUID: "C2", Applied: true, FinalizedAt: now}})
	table := customerfilter.Table(func() customerfilter.Begun { return begun })
	one := api.Customer{CUID: "C1", Name: "Ana", Lastname: "Oak", Type: api.Individual, Status: "VERIFY"}
	two := api.Customer{CUID: "C2", Name: "Oak Works", Type: api.Corporate, Status: "ACCEPT"}
	for expr, want := range map[string][2]bool{"": {true, true}, "begun:yes": {true, false}, "begun:no": {false, true}, "waits:yes": {true, false},
		"status:verify,moderation": {true, false}, "kind:CORPORATE": {false, true}, "oak": {true, true}, "-begun:yes oak": {false, true},
		"since>2d": {true, false}, "since<2d": {false, false}, "waits:no OR ana": {true, true}, "cuid:C1": {true, false}} {
		f, err := table.Parse(expr)
		if err != nil {
			t.Errorf("%s: %v", expr, err)
			continue
		}
		if got := [2]bool{f.Match(one, now), f.Match(two, now)}; got != want {
			t.Errorf("%s: %v, want %v", expr, got, want)
		}
	}
	for _, wrong := range []string{"begun:perhaps", "balance:1", "since:soon"} {
		if _, err := table.Parse(wrong); err == nil {
			t.Errorf("%s is taken", wrong)
		}
	}
}

// TestNameIn: the service is asked for what every customer must have in the name.
func TestNameIn(t *testing.T) {
	table := customerfilter.Table(nil)
	for expr, want := range map[string]string{"oak": "oak", `"oak works" status:NEW`: "oak works", "name:oak begun:yes": "oak", "oak OR elm": "", "-oak": "", "DqC7": "", "name=oak": ""} {
		f, err := table.Parse(expr)
		if err != nil {
			t.Fatal(err)
		}
		if got := customerfilter.NameIn(f); got != want {
			t.Errorf("%s: %q, want %q", expr, got, want)
		}
	}
}

// TestDocumentedFields holds the table in docs/filter.md against the fields.
func TestDocumentedFields(t *testing.T) {
	filtertest.Documented(t, "../../../docs/filter.md", "customers", "internal/domain/customerfilter", "", customerfilter.Table(nil).Rows())
}
