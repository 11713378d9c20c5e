package session

import (
	"testing"
	"time"

	"opdeck/api/evidence"
)

// TestDeadAndForeignRestOnARefusal: what the history says of a pair holds only with a refusal by the route that was
// asked for that, of that pair, from after it came, by a clock that was not set back since.
func TestDeadAndForeignRestOnARefusal(t *testing.T) {
	at := time.Date(2026, 3, 4, 11, 0, 0, 0, time.UTC)
	history := []Event{
		{Kind: EventLogin, Outcome: OK, Gen: 3, At: at},
		{Kind: EventUnauthorized, Reason: Early, Gen: 3, Route: "GET /documents", At: at.Add(time.Minute)},
		{Kind: EventPremature, Gen: 3, Route: "GET /documents", By: "GET /accounts", Known: true, At: at.Add(time.Minute)},
	}
	row := Row{At: at.Add(time.Hour)}
	for name, conclude := range map[string]func([]Event, Event, Row) (evidence.Conclusion, evidence.Need){
		"dead": dead, "foreign": foreign} {
		for flaw, change := range map[evidence.Flaw]func(*evidence.Evidence){
			evidence.Sound:        func(*evidence.Evidence) {},
			evidence.OtherRoute:   func(e *evidence.Evidence) { e.Route = "GET /documents" },
			evidence.OtherObject:  func(e *evidence.Evidence) { e.Object = generation(2) },
			evidence.BeforeAct:    func(e *evidence.Evidence) { e.Seen.At = at },
			evidence.BeforeStep:   func(e *evidence.Evidence) { e.Seen.At = at.Add(2 * time.Hour) },
			evidence.NothingShown: func(e *evidence.Evidence) { *e = evidence.Evidence{} },
		} {
			t.Run(name+" "+string(flaw), func(t *testing.T) {
				c, need := conclude(history, history[2], row)
				change(&c.Rests[0])
				if got := c.Flaw(need); got != flaw {
					t.Errorf("%q, want %q", got, flaw)
				}
			})
		}
	}
	v := Diagnose(history, row)
	if v.Cause != ForeignClient || len(v.Why) != 2 || v.Why[0].Kind != evidence.Dead || v.Why[1].Kind != evidence.Foreign {
		t.Fatalf("%s: %+v", v.Cause, v.Why)
	}
	if got, want := v.Why[1].Line(time.UTC), "another client logged in or refreshed: GET /accounts at 11:01:00 (store's "+
		"clock) refused generation 3 (401), which none of our processes had replaced"; got != want {
		t.Errorf("%q, want %q", got, want)
	}
	row.At = at.Add(30 * time.Second) // the store's clock was set back
	if v := Diagnose(history, row); v.Cause != OneRefusal || v.Why[0].Open != string(evidence.BeforeStep) {
		t.Errorf("after the clock was set back: %s, %+v", v.Cause, v.Why)
	}
}
