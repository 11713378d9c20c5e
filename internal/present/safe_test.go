package present

import (
	"slices"
	"testing"
	"time"

	"opdeck/api"
	"opdeck/api/hook"
	"opdeck/api/session"
	"opdeck/api/untrusted"
	"opdeck/internal/domain/approval"
	"opdeck/internal/domain/audit"
	"opdeck/internal/domain/receiver"
)

// TestFactsAreSafe: whatever a store or the service says, what is presented can be drawn as it is.
func TestFactsAreSafe(t *testing.T) {
	const bad = "a\x1b[2J\u202eb\nc"
	person := approval.Person{Name: bad, Role: api.Role(bad), Login: bad}
	stored := receiver.Stored{Record: receiver.Record{HookID: bad, Key: bad, Source: bad, Reason: bad, Detail: bad,
		ObjectID: bad, CUID: bad, Verdict: hook.Verdict{Verifier: bad}}}
	sections := AuditEntry(as, audit.Entry{Record: audit.Record{Event: bad, Summary: bad, Object: bad, ID: bad,
		Detail: bad, Before: bad, Context: audit.Context{Name: bad}}, Hash: bad})
	sections = append(sections, EventFacts(as, EventOf(stored), nil)...)
	_, checked, found := Verified(as, audit.Report{Chain: bad, Head: bad, Warnings: []string{bad},
		Problems:  []audit.Problem{{Seq: 1, Kind: bad, Text: bad}},
		Unsettled: []audit.OpenIntent{{Event: bad, Actor: bad, Object: bad, ID: bad}}})
	sections = append(sections, checked)
	for _, f := range found {
		for _, l := range f.Lines {
			sections = append(sections, Section{Facts: []Fact{{Label: f.Title, Value: l.Line(as)}}})
		}
	}
	facts := slices.Concat(
		SessionPair(as, session.Status{Account: bad, BaseURL: bad, From: bad, By: session.Owner{Host: bad},
			Holder: &session.Owner{Host: bad}, NextRotation: noon, LoginWait: time.Minute}),
		Decision(as, approval.Request{Requester: person, Digest: bad, Act: api.Act{Method: bad, Path: bad, Reason: bad,
			Body: []byte(bad), Object: bad, ID: bad, Name: bad, Lifted: []api.Rule{api.Rule(bad)},
			Subject: api.Subject{Customer: bad, Amount: &api.Sum{Value: bad, Code: bad}, Status: bad, Document: bad}}}, bad),
		Rejected(receiver.Rejection{Reason: bad, Detail: bad, Request: bad, Algorithm: bad, Claims: []string{bad},
			Header: []receiver.HeaderField{{Name: bad, Value: bad}}}),
		HookSettings(api.HookSettings{HookURL: bad}))
	for _, s := range append(sections, Section{Facts: facts}) {
		for _, f := range s.Facts {
			for _, text := range []string{s.Title, f.Label, f.Value} {
				if clean, flags := untrusted.Clean(text, len(text)+1); flags != 0 || clean != text {
					t.Errorf("%s: %q is not safe to draw", f.Label, text)
				}
			}
		}
	}
}

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
			Object: "b", ID: "c", Actor: audit.Person{Name: "d", Role: "e"}}}),
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
