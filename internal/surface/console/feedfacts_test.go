package console

import (
	"reflect"
	"testing"
	"time"

	"opdeck/api"
	"opdeck/api/limit"
	"opdeck/api/reach"
	"opdeck/internal/domain/verdict"
)

// TestTimeAloneIsNoNews: budgets that differ only in how much time has passed between two reads are the same; else the
// feed would pass them on and read again without an end.
func TestTimeAloneIsNoNews(t *testing.T) {
	t.Parallel()
	now, later := limit.Usage{NextSlot: 30.2}, limit.Usage{NextSlot: 30.1}
	durations := 0
	for i := range reflect.TypeFor[limit.Usage]().NumField() {
		a, b := reflect.ValueOf(&now).Elem().Field(i), reflect.ValueOf(&later).Elem().Field(i)
		if a.Type() == reflect.TypeFor[time.Duration]() {
			a.SetInt(int64(30*time.Second + 20*time.Millisecond))
			b.SetInt(int64(30*time.Second - 20*time.Millisecond))
			durations++
		}
	}
	now.Window, later.Window = time.Minute, time.Minute // a constant
	if durations < 6 {
		t.Fatalf("%d durations", durations)
	}
	if a, b := rounded([]limit.Usage{now}), rounded([]limit.Usage{later}); !reflect.DeepEqual(a, b) {
		t.Errorf("%+v\n%+v", a, b)
	}
	later.Full = 0
	if reflect.DeepEqual(rounded([]limit.Usage{now}), rounded([]limit.Usage{later})) {
		t.Error("a budget with room again is no news")
	}
}

// TestACallFailsInTheWordsOfItsFinding: the list of calls, the notice and the on-call page word one failed call alike.
func TestACallFailsInTheWordsOfItsFinding(t *testing.T) {
	t.Parallel()
	now := time.Date(2026, 3, 2, 12, 0, 0, 0, time.UTC)
	for _, fault := range []reach.Fault{{Class: reach.NoName}, {Class: reach.NoPort}, {Class: reach.Slow}, {Class: reach.Cut},
		{Class: reach.Maintenance, Status: 503}, {Class: reach.Gateway, Status: 502}, {Class: reach.Moved, Target: "x.example"}} {
		f := verdict.Facts{Now: now, Service: "stage.example.com"}
		f.Calls = append(f.Calls, verdict.Known(verdict.Call{Class: "billing", Route: "GET /x", Failed: now, Since: now, Fault: fault},
			"this process", now, time.Minute))
		found := verdict.Conclude(f).In(verdict.PartService)
		line := callFacts(api.Call{Phase: api.CallEnded, Kind: api.Unavailable, Error: "other words", Fault: fault}, f.Service, now)
		if len(found) != 1 || line.Note != found[0].Sentence {
			t.Errorf("%s: the list of calls says %q, the findings %v", fault.Class, line.Note, found)
		}
	}
	if line := callFacts(api.Call{Phase: api.CallEnded, Kind: api.NotFound, Error: "no such operation"}, "s", now); line.Note != "no such operation" {
		t.Errorf("a refusal is listed as %q", line.Note)
	}
}
