package cli

import (
	"strings"
	"testing"
	"time"

	"opdeck/api/reach"
	"opdeck/internal/domain/verdict"
)

// TestCheckLine: the exit code follows the asked parts, and the line has the cause, its beginning, the next step and
// the person.
func TestCheckLine(t *testing.T) {
	now := time.Date(2026, 3, 2, 12, 0, 0, 0, time.UTC)
	f := verdict.Facts{Now: now, Service: "stage.example.com",
		Store:   verdict.Known(verdict.Store{State: verdict.StoreGood}, "store", now, time.Minute),
		Session: verdict.Known(verdict.Session{State: "live", AccessUntil: now.Add(time.Second)}, "store", now, time.Minute),
		Calls: []verdict.Fact[verdict.Call]{verdict.Known(verdict.Call{Class: "general", Route: "GET /a", Good: now}, "a", now,
			time.Minute)}}
	needed := []verdict.Part{verdict.PartService, verdict.PartSession, verdict.PartStore}
	if code, line := checkLine(verdict.Conclude(f), needed); code != nagiosOK || !strings.HasPrefix(line, "No fault known. Good: service, session, store. | ") {
		t.Error(code, line)
	}
	down := f
	down.Calls = []verdict.Fact[verdict.Call]{verdict.Known(verdict.Call{Class: "general", Route: "GET /a", Failed: now,
		Since: now.Add(-time.Minute), Fault: reach.Fault{Class: reach.NoPort}}, "a", now, time.Minute)}
	code, line := checkLine(verdict.Conclude(down), needed)
	for _, want := range []string{"stage.example.com refuses connections. Since 11:59:00 UTC.", "opdeck doctor", "Who can fix it: ",
		"critical=1"} {
		if code != nagiosCritical || !strings.Contains(line, want) {
			t.Errorf("%d %s: no %q", code, line, want)
		}
	}
	if code, line = checkLine(verdict.Conclude(down), []verdict.Part{verdict.PartStore}); code != nagiosOK {
		t.Error(code, line)
	}
	if code, line = checkLine(verdict.Conclude(verdict.Facts{Now: now}), needed); code != nagiosUnknown ||
		!strings.HasPrefix(line, "Not known: service, session, store.") {
		t.Error(code, line)
	}
}
