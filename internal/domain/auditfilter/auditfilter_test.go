package auditfilter_test

import (
	"context"
	"strings"
	"testing"
	"time"

	"opdeck/internal/domain/audit"
	"opdeck/internal/domain/auditfilter"
	"opdeck/internal/domain/index/filter/filtertest"
)

var noon = time.Date(2026, 3, 2, 12, 0, 0, 0, time.UTC)

func record(n int64, person, event, object, id string, phase audit.Phase, out audit.Result) audit.Entry {
	return audit.Entry{Record: audit.Record{Seq: n, At: noon.Add(-time.Duration(n) * time.Hour),
		Actor: audit.Author{Name: person}, Event: event, Object: object, ID: id, Phase: phase,
		Outcome: out, Via: "console"}}
}

// TestRecords asks each field, and holds what the trail is asked for against what
// the filter means: it may bring more, never less.
func TestRecords(t *testing.T) {
	all := []audit.Entry{
		record(1, "ana", "document.remove", "operation", "op-1", audit.PhaseIntent, ""),
		record(2, "ana", "document.attach", "operation", "op-1", audit.PhaseOutcome, audit.ResultDenied),
		record(3, "Ana", "session.login", "session", "m", audit.PhaseOutcome, audit.ResultOK),
		record(4, "bob", "denied", "customer", "CU-1", audit.PhaseNote, ""),
	}
	all[0].Item, all[1].Reason, all[3].Via = "doc-9", "\"wrong \\\"invoice\\\"\"", "ssh"
	for in, want := range map[string]string{
		"": "1234", "person:ana": "12", "who:Ana": "3", "person:ana,bob": "124", "-person:ana": "34",
		"event:document.*": "12", "event:Document.r": "1", "event:d": "124",
		"id:op-1": "12", "id:doc-9": "1", "id:op": "", "id:cu-1": "", "object:operation": "12", "phase:outcome": "23",
		"outcome:denied": "2", "outcome:ok,denied": "23", "outcome:done": "3", "outcome:refused": "2",
		"at<150m": "12", "since:150m": "12", "at>3h": "4", "at>2026-03-01": "1234", "at:2026-03-01": "",
		"at>=2026-03-02T09:30Z": "12", "via:SSH": "4",
		"is:write": "23", "is:refusal": "24", "is:trouble": "", "is:write,refusal -person:bob": "23", auditfilter.Main: "234",
		"invoice": "2", `"wrong \"invoice"`: "2", "person:ana event:document.* invoice": "2",
		"person:bob OR outcome:ok": "34", `person:"nobody"`: "", "DOC-9": "1",
	} {
		e, err := auditfilter.Parse(in)
		if err != nil {
			t.Errorf("%s: %v", in, err)
			continue
		}
		log := &trail{all: all}
		got, err := auditfilter.Find(t.Context(), log, audit.Query{Limit: 100}, e, noon)
		if err != nil {
			t.Fatal(err)
		}
		s := ""
		for _, r := range got.Entries {
			s += string(rune('0' + r.Seq))
		}
		if s != want {
			t.Errorf("%s finds %q, want %q; asked %+v", in, s, want, log.asked)
		}
	}
	for in, want := range map[string]string{
		"phase:x": "phase:x is not known", "outcome:maybe": "outcome:maybe is not known", "at:soon": "is not a time",
		"person:": "A value for person is missing", "color:red": "There is no field",
	} {
		if _, err := auditfilter.Parse(in); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%s: %v, want %q", in, err, want)
		}
	}
}

// trail selects as the real one does.
type trail struct {
	all   []audit.Entry
	asked audit.Query
	calls int
	find  func(audit.Query) audit.Page
}

func (l *trail) Find(_ context.Context, q audit.Query) (audit.Page, error) {
	l.asked = q
	if l.calls++; l.find != nil {
		return l.find(q), nil
	}
	var p audit.Page
	for _, e := range l.all {
		start, begins := strings.CutSuffix(q.Event, "*")
		if (q.Actor == "" || e.Actor.Name == q.Actor) && (q.Object == "" || e.Object == q.Object) &&
			(q.ID == "" || e.ID == q.ID || e.Item == q.ID) &&
			(q.Event == "" || e.Event == q.Event || begins && strings.HasPrefix(e.Event, start)) &&
			(q.Phase == "" || e.Phase == q.Phase) &&
			(q.From.IsZero() || !e.At.Before(q.From)) && (q.Until.IsZero() || e.At.Before(q.Until)) {
			p.Entries = append(p.Entries, e)
		}
	}
	return p, nil
}

// TestWordsLookThroughPages: what the trail cannot select is searched page by page, a bounded number at a time, and
// no record is returned twice or missed.
func TestWordsLookThroughPages(t *testing.T) {
	log := &trail{find: func(q audit.Query) audit.Page {
		p := audit.Page{Next: q.Before + 10}
		e := record(q.Before+1, "ana", "denied", "", "", audit.PhaseNote, "")
		if q.Before == 30 {
			e.Detail, p.Next = "needle", 0
		}
		p.Entries = []audit.Entry{e}
		return p
	}}
	needle, _ := auditfilter.Parse("needle")
	got, err := auditfilter.Find(t.Context(), log, audit.Query{Limit: 5}, needle, noon)
	if err != nil || len(got.Entries) != 1 || got.Seen != 4 || got.Next != 0 {
		t.Errorf("%+v %v", got, err)
	}
	nowhere, _ := auditfilter.Parse("nowhere")
	log.calls = 0
	if got, _ = auditfilter.Find(t.Context(), log, audit.Query{Before: 31, Limit: 5}, nowhere, noon); log.calls != 25 ||
		got.Next == 0 {
		t.Errorf("%d pages at once, next %d", log.calls, got.Next)
	}
	two := &trail{find: func(q audit.Query) audit.Page {
		return audit.Page{Entries: []audit.Entry{record(9, "ana", "x", "", "", audit.PhaseNote, ""),
			record(8, "ana", "x", "", "", audit.PhaseNote, ""), record(7, "ana", "x", "", "", audit.PhaseNote, "")}}
	}}
	all, _ := auditfilter.Parse("")
	if got, _ = auditfilter.Find(t.Context(), two, audit.Query{Limit: 2}, all, noon); len(got.Entries) != 2 ||
		got.Next != 8 {
		t.Errorf("%d records, next %d", len(got.Entries), got.Next)
	}
}

// TestExamplesParse: what is shown as an example is right.
func TestExamplesParse(t *testing.T) {
	for _, r := range auditfilter.Table().Rows() {
		if e, err := auditfilter.Parse(r.Example); err != nil || e.Empty() {
			t.Errorf("%s: %v", r.Example, err)
		}
	}
}

// TestDocumentedFields holds the table in docs/filter.md against the fields.
func TestDocumentedFields(t *testing.T) {
	filtertest.Documented(t, "../../../docs/filter.md", "audit", "internal/domain/auditfilter", "",
		auditfilter.Table().Rows())
}
