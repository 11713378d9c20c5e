package present

import (
	"testing"
	"time"

	"opdeck/api/hook"
	"opdeck/api/session"
	"opdeck/internal/domain/audit"
	"opdeck/internal/domain/receiver"
	"opdeck/internal/domain/verdict"
)

// TestARecordIsSaidOnce: a value has one name within its record, by which a card lists it.
func TestARecordIsSaidOnce(t *testing.T) {
	raw := []byte(`{"hook_id":"00000008-0000-4000-8000-000000000000","hook_type":1,"Data":{"Operation":{"opid":"o-1",` +
		`"status":2,"type":3,"source_amount":{"sum":{"currency_code":"USD","units":250}}}}}`)
	e := EventOf(receiver.Stored{Record: receiver.Record{Raw: raw, Object: hook.ObjectOperation}})
	if !e.Good {
		t.Fatal("the event cannot be read")
	}
	for _, record := range [][]Section{EventFacts(as, e, nil),
		AuditEntry(as, audit.Entry{Record: audit.Record{Seq: 1, Name: "a",
			Object: "b", ID: "c", Actor: audit.Author{Name: "d", Role: "e"}}}),
		{{Facts: SessionPair(as, session.Status{})}, {Facts: SessionCounts(session.Counts{})}}} {
		seen := map[string]bool{}
		for _, s := range record {
			for _, f := range s.Facts {
				if seen[f.Key()] {
					t.Errorf("%s: two facts are called %q", s.Title, f.Key())
				}
				seen[f.Key()] = true
			}
		}
	}
}

// TestEvidenceIsNotAStatement: what the verdict says already is not said again, and what shows it is labelled as that.
func TestEvidenceIsNotAStatement(t *testing.T) {
	s := session.Status{AsOf: as.Now, History: []session.Event{{Kind: session.EventLogin, Outcome: session.OK, At: as.Now.Add(-time.Minute)},
		{Kind: session.EventPremature, At: as.Now}}}
	p := verdict.Explain(s)
	if p.Cause != verdict.ForeignClient || len(p.Evidence) == 0 {
		t.Fatalf("%+v", p)
	}
	for cause, labels := range map[verdict.Cause]string{"": "what", verdict.Foreign: "evidence"} {
		all := Session(as, s, verdict.Verdict{Findings: []verdict.Finding{{Cause: cause}}})
		if last := all[len(all)-1]; last.Facts[0].Label != labels {
			t.Errorf("%q: %+v", cause, last)
		}
	}
}
