package audit_test

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"opdeck/api"
	"opdeck/api/endpoint"
	"opdeck/internal/domain/audit"
	"opdeck/internal/store"
	"opdeck/internal/store/storetest"
)

var errFull = errors.New("no room left on the disk")

func TestRecordHoldsWhatAuditorsAsk(t *testing.T) {
	m, c := &memory{}, newClock()
	l := newLog(t, audit.Options{Store: m, Now: c.Now, Build: "1.2.3",
		Context: audit.Context{Name: "stage", BaseURL: "https://stage.example.com", Account: "machine@example.com"}})
	a := act
	a.Body, a.SecretDigest = json.RawMessage(`{"token":"••••"}`), strings.Repeat("ab", 32)
	ref, err := l.Intent(as(ana), ana, a)
	if err != nil {
		t.Fatal(err)
	}
	c.add(90 * time.Millisecond)
	out := api.Outcome{Verdict: api.Denied, Status: 409, Rule: api.RuleLocked, Detail: "Document is locked",
		RequestID: "req-7", Took: 90 * time.Millisecond}
	if err := l.Outcome(as(ana), ref, out); err != nil {
		t.Fatal(err)
	}
	var in, res audit.Record
	for i, r := range []*audit.Record{&in, &res} {
		if err := json.Unmarshal(m.rows[i].Bytes, r); err != nil {
			t.Fatal(err)
		}
	}
	want := audit.Record{V: 1, Chain: in.Chain, Seq: 1, UID: ref, At: c.t.Add(-90 * time.Millisecond), Boot: in.Boot,
		Event: "document.remove", Code: "OP101I", Phase: audit.PhaseIntent,
		Context: audit.Context{Name: "stage", BaseURL: "https://stage.example.com", Account: "machine@example.com"},
		Actor:   audit.Author{Name: "ana", Role: "operator", Key: "SHA256:ana"}, Via: "ssh", From: "192.0.2.7:5022",
		Sid:    "s1",
		Object: "operation", ID: "op-1", Item: "doc-1", Name: "invoice.pdf", Method: "DELETE", Path: a.Path,
		Body: api.HashHex(a.Body), Secret: a.SecretDigest, Act: a.Digest(), Before: "5ee7",
		Summary: "Remove invoice.pdf", Reason: "wrong file", Build: "1.2.3", Prev: strings.Repeat("0", 64)}
	if in != want {
		t.Errorf("intent\n%+v\nwant\n%+v", in, want)
	}
	want = audit.Record{V: 1, Chain: in.Chain, Seq: 2, UID: res.UID, At: c.t, Mono: 90000, Boot: in.Boot,
		Event: "document.remove", Code: "OP101D", Phase: audit.PhaseOutcome, Ref: ref, Context: in.Context,
		Actor: in.Actor, Via: "ssh", From: in.From, Sid: "s1", Req: "req-7", Object: "operation", ID: "op-1", Item: "doc-1",
		Name: "invoice.pdf", Act: in.Act,
		Outcome: audit.ResultDenied, Status: 409, Rule: "locked", Error: "Document is locked", Took: 90000, Build: "1.2.3",
		Prev: m.rows[0].Hash}
	if res != want {
		t.Errorf("outcome\n%+v\nwant\n%+v", res, want)
	}
	if strings.Contains(string(m.rows[0].Bytes), "••••") {
		t.Error("the body itself is in the record")
	}
}

func TestIntentRefusedWhenItCannotBeStored(t *testing.T) {
	m := &memory{fail: errFull}
	l := newLog(t, audit.Options{Store: m})
	g := api.Gate{Audit: l, Now: time.Now}
	_, err := g.Begin(as(ana), endpoint.Rule(act.Kind), act, nil)
	if e := api.AsError(err); e == nil || e.Rule != api.RuleAudit || !errors.Is(err, errFull) {
		t.Fatalf("%v, want a refusal because of the trail", err)
	}
	if h := l.Health(); h.OK() || !errors.Is(h.Err, errFull) {
		t.Errorf("health %+v", h)
	}
	m.trouble(nil, nil)
	if _, err := g.Begin(as(ana), endpoint.Rule(act.Kind), act, nil); err != nil {
		t.Fatal(err)
	}
	if h := l.Health(); !h.OK() {
		t.Errorf("health after recovery %+v", h)
	}
}

func TestOutcomeWaitsAndIsTriedAgain(t *testing.T) {
	m := &memory{}
	var alarms []error
	l := newLog(t, audit.Options{Store: m, Alarm: func(err error) { alarms = append(alarms, err) }})
	g := api.Gate{Audit: l, Now: time.Now}
	p, err := g.Begin(as(ana), endpoint.Rule(act.Kind), act, nil)
	if err != nil {
		t.Fatal(err)
	}
	if open, err := l.Unsettled(context.Background()); err != nil || len(open) != 0 {
		t.Fatalf("an act under way counts as unsettled: %v, %v", open, err)
	}
	m.trouble(errFull, nil)
	if err := g.End(as(ana), p, api.Outcome{Verdict: api.Done, Status: 200}); !errors.Is(err, errFull) {
		t.Fatalf("%v, want the disk's error", err)
	}
	open, err := l.Unsettled(context.Background())
	if err != nil || len(open) != 1 || open[0].ID != "op-1" {
		t.Fatalf("unsettled: %v, %v", open, err)
	}
	if _, err := g.Begin(as(ana), endpoint.Rule(act.Kind), act, nil); err == nil {
		t.Fatal("another write went out while the trail cannot be written")
	}
	if h := l.Health(); h.Waiting != 1 {
		t.Errorf("%d records wait, want 1", h.Waiting)
	}
	m.trouble(nil, nil)
	if err := l.Flush(context.Background()); err != nil {
		t.Fatal(err)
	}
	if open, _ := l.Unsettled(context.Background()); len(open) != 0 {
		t.Errorf("still unsettled: %v", open)
	}
	if len(alarms) != 2 || !errors.Is(alarms[0], errFull) || alarms[1] != nil {
		t.Errorf("alarms %v, want trouble and its end", alarms)
	}
	if r := verified(t, m); !r.Intact() || len(r.Unsettled) != 0 || r.Records != 2 {
		t.Errorf("report %+v", r)
	}
}

func TestCommitWhoseAnswerGotLost(t *testing.T) {
	m := &memory{lost: errors.New("connection broken while committing")}
	l := newLog(t, audit.Options{Store: m})
	ref, err := l.Intent(as(ana), ana, act)
	if err != nil {
		t.Fatalf("the intent is stored, yet: %v", err)
	}
	if err := l.Outcome(as(ana), ref, api.Outcome{Verdict: api.Done}); err != nil {
		t.Fatal(err)
	}
	if len(m.rows) != 2 {
		t.Errorf("%d records, want 2", len(m.rows))
	}
}

func TestSettle(t *testing.T) {
	m, c := &memory{}, newClock()
	crashed := newLog(t, audit.Options{Store: m, Now: c.Now})
	ref, err := crashed.Intent(as(ana), ana, act)
	if err != nil {
		t.Fatal(err)
	}
	l := newLog(t, audit.Options{Store: m, Now: c.Now})
	if open, _ := l.Unsettled(context.Background()); len(open) != 0 {
		t.Fatal("an act of another process counts as unsettled at once")
	}
	c.add(6 * time.Minute)
	open, err := l.Unsettled(context.Background())
	if err != nil || len(open) != 1 || open[0].UID != ref || open[0].Item != "doc-1" {
		t.Fatalf("unsettled: %+v, %v", open, err)
	}
	if err := l.Settle(as(admin), admin, ref, "the document is still attached"); err != nil {
		t.Fatal(err)
	}
	if open, _ := l.Unsettled(context.Background()); len(open) != 0 {
		t.Error("still unsettled")
	}
	var r audit.Record
	if err := json.Unmarshal(m.rows[1].Bytes, &r); err != nil {
		t.Fatal(err)
	}
	if r.Code != "OP101U" || r.Outcome != audit.ResultUnknown || r.Actor.Name != "kim" || r.Ref != ref ||
		r.Detail != "the document is still attached" || r.ID != "op-1" {
		t.Errorf("%+v", r)
	}
	if err := l.Settle(as(admin), admin, ref, "again"); api.KindOf(err) != api.NotFound {
		t.Errorf("settled twice: %v", err)
	}
}

// alive knows who has ended.
type alive map[string]bool

func (a alive) Hold(boot string) (func(bool), bool) {
	return func(behind bool) { a[boot] = behind }, true
}
func (a alive) Gone(boot string) bool  { return a[boot] }
func (a alive) Lives(boot string) bool { return !a[boot] }

// An act of a process that has ended for sure is shown at once; that of one which
// may be at it still is not.
func TestActsOfTheDeadAreShownAtOnce(t *testing.T) {
	mem, clk, dead := &memory{}, newClock(), alive{}
	open := func() *audit.Log {
		return newLog(t, audit.Options{Store: mem, Now: clk.Now, Alive: dead})
	}
	one, two := open(), open()
	if _, err := one.Intent(t.Context(), api.Actor{Name: "ana", Role: api.Operator},
		api.Act{Kind: api.ActRemoveDocument, Object: "operation", ID: "op-1"}); err != nil {
		t.Fatal(err)
	}
	clk.add(time.Second)
	if list, err := two.Unsettled(t.Context()); err != nil || len(list) != 0 {
		t.Errorf("%d acts of the living, %v", len(list), err)
	}
	rows, err := mem.Open(t.Context())
	if err != nil || len(rows) != 1 {
		t.Fatal(rows, err)
	}
	dead[rows[0].Boot] = true
	unmarked := newLog(t, audit.Options{Store: mem, Now: clk.Now}) // no one would notice its end
	if _, err := unmarked.Intent(t.Context(), api.Actor{Name: "bo", Role: api.Operator},
		api.Act{Kind: api.ActRemoveDocument, Object: "operation", ID: "op-2"}); err != nil {
		t.Fatal(err)
	}
	if rows, err = mem.Open(t.Context()); err != nil || len(rows) != 2 {
		t.Fatal(rows, err)
	}
	dead[rows[1].Boot] = true
	if list, err := two.Unsettled(t.Context()); err != nil || len(list) != 1 || list[0].ID != "op-1" {
		t.Errorf("%d acts of the dead, %v", len(list), err)
	}
	if list, err := one.Unsettled(t.Context()); err != nil || len(list) != 0 {
		t.Errorf("%d acts of our own, %v", len(list), err)
	}
}

func TestFloodOfDeniedAttempts(t *testing.T) {
	m, c := &memory{}, newClock()
	l := newLog(t, audit.Options{Store: m, Now: c.Now})
	for i := range 10_000 {
		who := api.Actor{Name: fmt.Sprintf("guest%d", i%3000), Via: "ssh", From: "203.0.113.9:4000"}
		if err := l.Note(as(who), who, api.Event{Name: "ssh.auth.failed", Detail: "no such key"}); err != nil {
			t.Fatal(err)
		}
		c.add(5 * time.Millisecond)
	}
	if n := len(m.rows); n != 60 {
		t.Errorf("%d records before the minute is over, want 60", n)
	}
	if err := l.Close(context.Background()); err != nil {
		t.Fatal(err)
	}
	var last audit.Record
	if err := json.Unmarshal(m.rows[len(m.rows)-1].Bytes, &last); err != nil {
		t.Fatal(err)
	}
	if len(m.rows) != 61 || last.Count != 10_000-60 || last.Since == "" || last.Event != "ssh.auth.failed" {
		t.Errorf("%d records, the last %+v", len(m.rows), last)
	}
}

// TestClocksOfSeveralHosts: writers whose clocks are seconds apart, records that waited before they were stored, and
// the
// next process of a host are no clock that went back; one that did is, also between two processes.
func TestClocksOfSeveralHosts(t *testing.T) {
	m, c := &memory{}, newClock()
	var logs []*audit.Log
	for _, off := range []time.Duration{0, -30 * time.Second, 10 * time.Second} {
		logs = append(logs, newLog(t, audit.Options{Store: m, Now: func() time.Time { return c.Now().Add(off) }}))
	}
	for range 3 {
		for _, l := range logs {
			write(t, l, 1)
			c.add(time.Second)
		}
	}
	waits := logs[0]
	m.trouble(errors.New("disk full"), nil)
	_ = waits.Note(as(ana), ana, api.Event{Name: "console.open"})
	ref, _ := logs[2].Intent(as(ana), ana, act)
	m.trouble(nil, nil)
	c.add(time.Minute)
	write(t, logs[1], 1)
	_ = waits.Flush(context.Background())
	_ = ref
	if r := verified(t, m); !r.Intact() || len(r.ClockSteps) != 0 ||
		len(m.filter(func(r audit.Row) bool { return r.Event == audit.EventClock })) > 0 {
		t.Errorf("%+v", r.ClockSteps)
	}

	p := newPlace(t, storetest.Open(t, store.SQLite), 1)
	p.now.add(-time.Hour) // between two processes of one host
	p.command("op-2")
	if r := p.verify(); !r.Intact() || len(r.ClockSteps) != 1 || r.ClockSteps[0].Back < 59*time.Minute {
		t.Errorf("%+v", r)
	}
}

func TestClockStep(t *testing.T) {
	m, c := &memory{}, newClock()
	l := newLog(t, audit.Options{Store: m, Now: c.Now})
	write(t, l, 1)
	c.add(-time.Hour)
	write(t, l, 1)
	if len(m.rows) != 5 || m.rows[2].Event != "clock.step" {
		t.Fatalf("%d records, the third %s", len(m.rows), m.rows[2].Event)
	}
	if r := verified(t, m); !r.Intact() || len(r.ClockSteps) != 1 ||
		r.ClockSteps[0] != (audit.ClockStep{Seq: 3, Back: time.Hour}) {
		t.Errorf("%+v", r)
	}
}

func TestReadingIsRecorded(t *testing.T) {
	m := &memory{}
	l := newLog(t, audit.Options{Store: m})
	write(t, l, 3)
	viewer := api.Actor{Name: "vic", Role: api.Viewer}
	if _, err := l.Reader.Find(as(viewer), audit.Query{}); api.AsError(err).Rule != api.RuleRole {
		t.Errorf("a viewer reads the trail: %v", err)
	}
	p, err := l.Reader.Find(as(ana), audit.Query{Limit: 4})
	if err != nil || len(p.Entries) != 4 || p.Entries[0].Event != audit.EventRead {
		t.Fatalf("%+v, %v", p, err)
	}
	if p, err = l.Reader.Find(as(ana), audit.Query{Limit: 4, Before: p.Next}); err != nil || len(p.Entries) != 4 ||
		p.Next != 0 {
		t.Fatalf("second page %d, next %d, %v", len(p.Entries), p.Next, err)
	}
	var out bytes.Buffer
	if _, err := l.Reader.Export(as(ana), &out, 0, 0); api.AsError(err).Rule != api.RuleRole || out.Len() > 0 {
		t.Errorf("an operator exports the trail: %v", err)
	}
	n, err := l.Reader.Export(as(admin), &out, 0, 0)
	if err != nil || n != int64(len(m.rows)) {
		t.Fatalf("%d records exported, %v", n, err)
	}
	var events []string
	for _, r := range m.rows[6:] {
		events = append(events, r.Event+" "+r.Actor)
	}
	if got := strings.Join(events, ", "); got != "denied vic, audit.read ana, denied ana, audit.export kim" {
		t.Error(got)
	}
	for i, line := range strings.Split(strings.TrimSuffix(out.String(), "\n"), "\n") {
		if want := fmt.Sprintf(`{"hash":"%s","record":%s}`, m.rows[i].Hash, m.rows[i].Bytes); line != want {
			t.Errorf("line %d is %s", i+1, line)
		}
	}
	m.trouble(errFull, nil)
	if _, err := l.Reader.Find(as(ana), audit.Query{}); err != nil {
		t.Errorf("reading stopped: %v", err)
	}
	if _, err := l.Reader.Export(as(admin), &out, 0, 0); api.AsError(err).Rule != api.RuleAudit {
		t.Errorf("an export without a record: %v", err)
	}
}

func TestRunRetriesAndSigns(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		m, key := &memory{}, seeded(t, 7)
		l := newLog(t, audit.Options{Store: m, Key: key, Checkpoints: points(t)})
		ctx, stop := context.WithCancel(context.Background())
		done := make(chan struct{})
		go func() { l.Run(ctx); close(done) }()
		defer func() { stop(); <-done }()
		points := func(want ...int64) {
			t.Helper()
			synctest.Wait()
			name, err := l.Signer.CheckpointFile(t.Context())
			if err != nil {
				t.Fatal(err)
			}
			list, _, err := audit.ReadCheckpoints(bytes.NewReader(contents(t, name)))
			var got []int64
			for _, s := range list {
				if got = append(got, s.N); !s.By(key.Public()) {
					t.Error("not signed by the key")
				}
			}
			if err != nil || fmt.Sprint(got) != fmt.Sprint(want) {
				t.Errorf("checkpoints %v, %v; want %v", got, err, want)
			}
		}
		time.Sleep(time.Second)
		ref, err := l.Intent(as(ana), ana, act)
		if err != nil {
			t.Fatal(err)
		}
		m.trouble(errFull, nil)
		_ = l.Outcome(as(ana), ref, api.Outcome{Verdict: api.Done})
		time.Sleep(29 * time.Second)
		points()
		m.trouble(nil, nil)
		time.Sleep(6 * time.Second)
		points(2) // with the outcome, as soon as it is stored
		if len(m.rows) != 2 || !l.Health().OK() {
			t.Errorf("%d records after recovery, health %+v", len(m.rows), l.Health())
		}
		write(t, l, 1)
		points(2, 4)
		note := func(l *audit.Log) {
			if err := l.Note(as(ana), ana, api.Event{Name: "reveal", Object: "operation", ID: "op-1"}); err != nil {
				t.Fatal(err)
			}
		}
		note(l)
		points(2, 4)
		time.Sleep(time.Minute)
		points(2, 4, 5) // a note within the minute
		note(newLog(t, audit.Options{Store: m}))
		time.Sleep(time.Minute)
		points(2, 4, 5, 6) // what others wrote as well
		time.Sleep(time.Hour)
		points(2, 4, 5, 6)
		if h := l.Health(); !h.OK() {
			t.Errorf("%+v", h)
		}
		m.mu.Lock()
		m.rows = m.rows[:5]
		m.mu.Unlock()
		time.Sleep(time.Minute)
		synctest.Wait()
		if bad := l.Health().Tampered(); bad == nil || bad.N != 6 {
			t.Errorf("a cut end is not noticed: %+v", l.Health())
		}
	})
}
