package approval_test

import (
	"context"
	"fmt"
	"math"
	"os"
	"strings"
	"sync"
	"testing"
	"time"

	"opdeck/api"
	"opdeck/internal/domain/approval"
	"opdeck/internal/e2e/racedetector"
	"opdeck/internal/store"
	"opdeck/internal/store/journal"
	"opdeck/internal/store/storetest"
)

// step is one thing that someone does in a sequence.
type step int

const (
	doAsk     step = iota // ana sends, which asks while no one has approved
	doApprove             // bo does
	doDeny                // bo does
	doObject              // the object of the act changes
	doReason              // ana gives the other reason from now on
	doRole                // bo loses the role, or gets it back
	doKey                 // ana's key is replaced, or comes back
	doTwice               // two processes of ana send at once
	doBoth                // bo approves and cy denies at once
	steps
)

func (s step) String() string {
	return [...]string{"ask", "approve", "deny", "object", "reason", "role", "key", "twice", "both"}[s]
}

// requestOfModel is a request as the model has it. One ends as approved, spent, denied, void or lapsed.
type requestOfModel struct {
	state         approval.State
	content       int  // of the object when it was asked for
	reason, newer bool // the second reason; the second key of ana
	byCy          bool
}

// model is what a sequence leads to, by the rules alone.
type model struct {
	requests      [12]requestOfModel // oldest first
	n             int
	content       int
	reason, newer bool
	noRole        bool
	sent          int
}

// anas are ana with her key and with the one that replaces it: the second is the same login name and another key, and
// another name too, so that nothing proves her to be the one who asked.
var anas = [2]api.Actor{ana, {Name: "ana two", Role: api.Operator, Via: "ssh", Key: "SHA256:ana two", Login: "ana"}}

// attempt sends the act once: it spends an approval, waits, or asks.
func (m *model) attempt() {
	decided, void, filed := false, false, -1
	for i := m.n - 1; i >= 0; i-- { // newest first
		r := &m.requests[i]
		if r.newer != m.newer {
			continue
		}
		same := r.content == m.content
		exact := same && r.reason == m.reason
		switch {
		case r.state == approval.Approved && m.noRole && !r.byCy:
			r.state = approval.Lapsed
			decided = decided || exact || !same
		case (r.state == approval.Open || r.state == approval.Approved) && !same:
			r.state, void = approval.Void, true
		case !exact || decided:
		case r.state == approval.Approved:
			r.state, decided = approval.Spent, true
			m.sent++
		case r.state == approval.Open, r.state == approval.Denied:
			decided = true
		}
	}
	if !decided && !void {
		filed = m.n
		m.requests[filed] = requestOfModel{state: approval.Open, content: m.content, reason: m.reason, newer: m.newer}
		m.n++
	}
}

// open is the oldest request that waits, -1 for none: the one that is decided.
func (m *model) open() int {
	for i := range m.n {
		if m.requests[i].state == approval.Open {
			return i
		}
	}
	return -1
}

// apply does a step by the rules. The winner of both is reported by whether the approval won.
func (m *model) apply(s step, approvalWon bool) {
	i := m.open()
	switch s {
	case doAsk:
		m.attempt()
	case doTwice:
		before := m.sent
		if m.attempt(); m.sent == before { // else the outcome of the first is awaited
			m.attempt()
		}
	case doObject:
		m.content++
	case doReason:
		m.reason = !m.reason
	case doRole:
		m.noRole = !m.noRole
	case doKey:
		m.newer = !m.newer
	case doApprove, doDeny:
		if i >= 0 && !m.noRole {
			m.requests[i].state = map[step]approval.State{doApprove: approval.Approved, doDeny: approval.Denied}[s]
		}
	case doBoth:
		if i < 0 {
			return
		}
		m.requests[i].state, m.requests[i].byCy = approval.Denied, true
		if approvalWon {
			m.requests[i].state, m.requests[i].byCy = approval.Approved, false
		}
	}
}

// rig is the real thing on a store; each sequence has an object of its own.
type rig struct {
	t    *testing.T
	f    *fixture
	svc  [2]*approval.Service
	item string
	m    model
	ids  []string
	sent int
	left []string   // approvals that were used, and not settled
	mu   sync.Mutex // guards sent and left
}

func (r *rig) attempt(svc *approval.Service) {
	a := act
	a.Item, a.Seen, a.Reason = r.item, fmt.Sprint(r.m.content), fmt.Sprint(r.m.reason)
	who := anas[0]
	if r.m.newer {
		who = anas[1]
	}
	id, err := svc.Check(as(who), who, a)
	if err != nil {
		if api.AsError(err).Kind != api.Refused {
			r.t.Error(err)
		}
		return
	}
	r.mu.Lock()
	defer r.mu.Unlock()
	r.sent++
	r.left = append(r.left, id)
}

// settle says that what was sent is done.
func (r *rig) settle() {
	for _, id := range r.left {
		if err := r.svc[0].Settle(context.Background(), id, api.Outcome{Verdict: api.Done}); err != nil {
			r.t.Error(err)
		}
	}
	r.left = nil
}

// own are the requests of this sequence, oldest first.
func (r *rig) own() []approval.Request {
	all, err := r.svc[0].List(as(bo))
	if err != nil {
		r.t.Fatal(err)
	}
	byID := map[string]approval.Request{}
	for i := len(all) - 1; i >= 0; i-- {
		q := all[i]
		if q.Act.Item != r.item {
			continue
		}
		if byID[q.ID] = q; !strings.Contains(strings.Join(r.ids, " "), q.ID) {
			r.ids = append(r.ids, q.ID)
		}
	}
	var out []approval.Request
	for _, id := range r.ids {
		out = append(out, byID[id])
	}
	return out
}

// do takes a step for real, then in the model, and compares.
func (r *rig) do(s step, path []step) {
	r.f.now = r.f.now.Add(time.Millisecond) // the order of requests is that of their times
	before, won := r.own(), false
	bos := bo
	if r.m.noRole {
		bos.Role = api.Viewer
		r.f.today["bo"] = api.Viewer
	} else {
		delete(r.f.today, "bo")
	}
	decide := func(who api.Actor, f func(context.Context, string, string, string) (approval.Request, error)) error {
		if i := r.m.open(); i >= 0 {
			_, err := f(as(who), before[i].ID, before[i].Digest, "")
			return err
		}
		return context.Canceled
	}
	switch s {
	case doAsk:
		r.attempt(r.svc[0])
	case doTwice:
		var group sync.WaitGroup
		for _, svc := range r.svc {
			group.Go(func() { r.attempt(svc) })
		}
		group.Wait()
	case doApprove:
		_ = decide(bos, r.svc[0].Approve)
	case doDeny:
		_ = decide(bos, r.svc[0].Deny)
	case doBoth:
		if r.m.noRole {
			delete(r.f.today, "bo")
			r.m.noRole = false
		}
		var group sync.WaitGroup
		var yes, no error
		group.Go(func() { yes = decide(bo, r.svc[0].Approve) })
		group.Go(func() { no = decide(overSSH("cy"), r.svc[1].Deny) })
		group.Wait()
		if won = yes == nil; r.m.open() >= 0 && (yes == nil) == (no == nil) {
			r.t.Fatalf("%v: both decided, or nobody: %v, %v", path, yes, no)
		}
	}
	r.settle()
	r.m.apply(s, won)
	after := r.own()
	if r.sent != r.m.sent || len(after) != r.m.n {
		r.t.Fatalf("%v: sent %d times with %d requests, want %d and %d", path, r.sent, len(after), r.m.sent, r.m.n)
	}
	for i, q := range after {
		if q.State != r.m.requests[i].state {
			r.t.Fatalf("%v: request %d is %s, want %s", path, i, q.State, r.m.requests[i].state)
		}
	}
}

// thinned are at most so many of the paths, evenly.
func thinned(paths [][]step, most int) [][]step {
	var out [][]step
	for i, p := range paths {
		if len(paths) <= most || i*most/len(paths) != (i+1)*most/len(paths) {
			out = append(out, p)
		}
	}
	return out
}

// TestEverySequence: all sequences of up to six steps, two processes at once and approve against deny among them, lead
// where the rules say: nothing is sent that another person did not approve to the letter, and nothing twice. Where two
// sequences lead to the same state of the model, the steps after it are tried behind one of them; on a database behind
// an
// even choice of those.
func TestEverySequence(t *testing.T) {
	racedetector.Skip(t)
	stores := map[string]func(t *testing.T, now func() time.Time) func() approval.Store{
		"memory": func(_ *testing.T, now func() time.Time) func() approval.Store {
			m := &memory{clock: now}
			return func() approval.Store { return m }
		}}
	for _, e := range []store.Engine{store.SQLite, store.Postgres} {
		stores[e.String()] = func(t *testing.T, now func() time.Time) func() approval.Store {
			url := storetest.URL(t, e)
			return func() approval.Store { return journal.NewApprovals(storetest.OpenAt(t, url, now).Core) }
		}
	}
	for name, open := range stores {
		t.Run(name, func(t *testing.T) {
			most := math.MaxInt // paths that are followed of each length
			if name != "memory" {
				most = 8
			}
			if name != "memory" && os.Getenv("OPDECK_TEST_LONG") == "1" {
				most = 20
			}
			f := &fixture{trail: &trail{}, today: map[string]api.Role{}, now: time.Date(2026, 11, 21, 9, 0, 0, 0, time.UTC)}
			f.open = open(t, func() time.Time { return f.now })
			st := [2]approval.Store{f.open(), f.open()}
			seen := map[model]bool{}
			tried, level := 0, [][]step{nil}
			for range 6 {
				var next [][]step
				for _, path := range level {
					for s := range steps {
						f.today = map[string]api.Role{}
						f.now = f.now.Add(2 * approval.Lifetime)
						tried++
						scope := fmt.Sprint(tried)
						r := &rig{t: t, f: f, item: scope}
						if m, is := st[0].(*memory); is {
							m.list, m.by = nil, nil
						}
						for i := range r.svc {
							r.svc[i] = f.serviceOn(st[i], service, scope)
						}
						whole := append(append([]step{}, path...), s)
						for _, each := range whole {
							r.do(each, whole)
						}
						if !seen[r.m] {
							seen[r.m] = true
							next = append(next, whole)
						}
					}
				}
				level = thinned(next, most)
			}
			t.Logf("%d sequences, %d states", tried, len(seen))
		})
	}
}
