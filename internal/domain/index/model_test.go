package index_test

import (
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"os"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"

	"opdeck/api"
	"opdeck/internal/domain/index"
	"opdeck/internal/e2e/racedetector"
	"opdeck/internal/store"
	"opdeck/internal/store/opindex"
	"opdeck/internal/store/storetest"
)

// TestHistories runs random histories of a service and of those who read it:
// changes with and without word of them, removals, insertions anywhere, bursts,
// webhooks early and late, strangers who read pages, processes that die between any
// two steps, clocks that step. At every moment what the index says of itself must
// be true; once the service rests, the index must equal it after a bounded number
// of calls. A tenth of them on PostgreSQL too. OPDECK_TEST_LONG=1 runs 200 of them,
// OPDECK_HISTORY only that one.
func TestHistories(t *testing.T) {
	racedetector.Skip(t)
	n := 30
	if os.Getenv("OPDECK_TEST_LONG") == "1" {
		n = 200
	}
	first := uint64(1)
	one, err := strconv.ParseUint(os.Getenv("OPDECK_HISTORY"), 10, 64)
	if err == nil {
		first, n = one, 1
	}
	t.Run("SQLite", func(t *testing.T) { histories(t, "memory", first, n) })
	t.Run("PostgreSQL", func(t *testing.T) { histories(t, storetest.URL(t, store.Postgres), first, max(n/10, 1)) })
}

// histories runs n histories in one store, one after the other.
func histories(t *testing.T, url string, first uint64, n int) {
	var w *world
	s := storetest.OpenAt(t, url, func() time.Time {
		if w == nil {
			return epoch
		}
		return w.storeNow()
	})
	var all figures
	for seed := first; seed < first+uint64(n); seed++ {
		w = newWorld(t, s, seed)
		w.live()
		w.settle()
		all.add(w.figures)
		if t.Failed() {
			t.Fatalf("history %d (OPDECK_HISTORY=%d)\n%s", seed, seed, strings.Join(w.log, "\n"))
		}
	}
	t.Logf("%d histories: %+v", n, all)
}

type figures struct{ Calls, Answers, Kills, Gone, Complete, Quiet, MostQuiet int }

func (f *figures) add(o figures) {
	f.Calls, f.Answers, f.Kills, f.Gone, f.Complete, f.Quiet = f.Calls+o.Calls, f.Answers+o.Answers, f.Kills+o.Kills, f.Gone+o.Gone, f.Complete+o.Complete, f.Quiet+o.Quiet
	f.MostQuiet = max(f.MostQuiet, o.Quiet)
}

// state is one content of an operation and how long the service had it; end is
// zero while it has it still.
type state struct {
	op         api.Operation
	from, till time.Duration
}

const always = time.Duration(1<<62 - 1)

// world is a service, an index, and those who use both. Time is a number that only
// the history moves.
type world struct {
	t    *testing.T
	r    *rand.Rand
	seed uint64
	log  []string

	at    time.Duration // that has really passed
	store time.Duration // the store's clock is ahead of that
	host  time.Duration // the host's clock is ahead of that

	order   index.Order
	list    []string // of the service, in its order
	past    map[string][]state
	next    int
	cap     int  // most rows of a page; 0: as asked
	refuses bool // a larger page is refused, not cut
	fixed   int  // rows of every page, whatever is asked; 0: as asked
	silent  bool // no total
	fromOne bool // page 0 is page 1

	x       *index.Index
	syncers [2]*index.Syncer
	born    int
	deep    int
	calls   int
	die     string // where the process that makes the next step ends
	figures figures
}

var epoch = time.Date(2026, 1, 1, 0, 0, 0, 0, time.UTC)

func newWorld(t *testing.T, s *store.Store, seed uint64) *world {
	w := &world{t: t, r: rand.New(rand.NewPCG(seed, 7)), seed: seed, past: map[string][]state{}}
	w.order = []index.Order{index.NewestFirst, index.NewestFirst, index.OldestFirst, index.OrderNone}[w.r.IntN(4)]
	switch w.r.IntN(6) {
	case 0:
		w.cap = 2 + w.r.IntN(4)
	case 1:
		w.cap, w.refuses = 3+w.r.IntN(8), true
	case 2:
		w.fixed = 2 + w.r.IntN(6)
	}
	w.silent, w.fromOne = w.r.IntN(8) == 0, w.r.IntN(8) == 0
	rows, err := opindex.New(context.Background(), s.Bulk, "https://a.test", strconv.FormatUint(seed, 10))
	if err != nil {
		t.Fatal(err)
	}
	w.x = index.New(mortal{rows, w}, index.Memory, func() time.Time { return epoch.Add(w.at + w.host) })
	for range w.r.IntN(25) {
		w.insert(w.at - time.Duration(w.r.IntN(100))*time.Hour)
	}
	w.reborn(0)
	w.reborn(1)
	w.note("order %s, cap %d, refuses %v, fixed %d, silent %v, from one %v, %d rows", w.order, w.cap, w.refuses, w.fixed, w.silent, w.fromOne, len(w.list))
	return w
}

func (w *world) note(format string, args ...any) {
	w.log = append(w.log, fmt.Sprintf("%v ", w.at)+fmt.Sprintf(format, args...))
}

func (w *world) storeNow() time.Time { return epoch.Add(w.at + w.store) }

func (w *world) reborn(i int) {
	w.born++
	w.syncers[i] = index.NewSyncer(w.x, lists{w}, index.SyncOptions{Owner: fmt.Sprint("p", w.born), PageSize: 3, MaxSize: 12, MaxAge: time.Minute})
}

// mortal is a store before and behind whose commits a process may end.
type mortal struct {
	*opindex.Store
	w *world
}

var errDead = errors.New("the process has ended")

func (m mortal) Put(ctx context.Context, b index.Batch) (index.Merged, error) {
	if m.w.die == "before" && m.w.deep == 0 {
		return index.Merged{}, errDead
	}
	out, err := m.Store.Put(ctx, b)
	if m.w.die == "behind" && m.w.deep == 0 && err == nil {
		return out, errDead
	}
	return out, err
}

// made is a record as the service has it.
func made1(id, status string, created, updated time.Time) api.Operation {
	raw := fmt.Sprintf(`{"opid":%q,"status":%q,"type":"WITHDRAW","paymentType":"SWIFT","isVisible":true,"createdAt":%q,"updatedAt":%q,"sourceAmount":{"sum":{"currencyCode":"EUR","units":"%d"}},"documents":[]}`,
		id, status, created.Format(time.RFC3339Nano), updated.Format(time.RFC3339Nano), len(status))
	var o api.Operation
	if err := o.UnmarshalJSON([]byte(raw)); err != nil {
		panic(err)
	}
	return o
}

func (w *world) insert(created time.Duration) string {
	w.next++
	id := fmt.Sprintf("op-%03d", w.next)
	at := epoch.Add(created)
	w.past[id] = []state{{op: made1(id, "s0", at, at), from: w.at, till: always}}
	w.place(id)
	return id
}

// place puts an operation where the service's order has it.
func (w *world) place(id string) {
	key := func(id string) time.Time { return w.past[id][0].op.CreatedAt.Time }
	i := w.r.IntN(len(w.list) + 1)
	switch w.order {
	case index.NewestFirst:
		for i = 0; i < len(w.list) && key(w.list[i]).After(key(id)); i++ {
		}
	case index.OldestFirst:
		for i = len(w.list); i > 0 && key(w.list[i-1]).After(key(id)); i-- {
		}
	}
	w.list = slices.Insert(w.list, i, id)
}

func (w *world) current(id string) api.Operation {
	p := w.past[id]
	return p[len(p)-1].op
}

func (w *world) has(id string) bool { return slices.Contains(w.list, id) }

func (w *world) any() (string, bool) {
	if len(w.list) == 0 {
		return "", false
	}
	return w.list[w.r.IntN(len(w.list))], true
}

// change gives an operation another state; with word of it updatedAt moves.
func (w *world) change(id string, word bool) {
	p := w.past[id]
	was := p[len(p)-1].op
	updated := was.UpdatedAt.Time
	if word {
		updated = epoch.Add(w.at)
	}
	p[len(p)-1].till = w.at
	w.past[id] = append(p, state{made1(id, fmt.Sprint("s", len(p)), was.CreatedAt.Time, updated), w.at, always})
}

func (w *world) remove(id string) {
	w.list = slices.DeleteFunc(w.list, func(o string) bool { return o == id })
	p := w.past[id]
	p[len(p)-1].till = w.at
}

// page is the service's answer.
func (w *world) page(n, size int) (index.Listed, error) {
	if w.cap > 0 && size > w.cap {
		if w.refuses {
			return index.Listed{}, &api.Error{Kind: api.Refused, Status: 400, Public: "The service refused this (400)."}
		}
		size = w.cap
	}
	if w.fixed > 0 {
		size = w.fixed
	}
	if w.fromOne {
		n = max(n-1, 0)
	}
	out := index.Listed{Total: int64(len(w.list))}
	if w.silent {
		out.Total = -1
	}
	for _, id := range w.list[min(n*size, len(w.list)):min((n+1)*size, len(w.list))] {
		out.Items = append(out.Items, w.current(id))
	}
	return out, nil
}

// lists is the service as the sync reaches it: things happen while a request is
// sent, before it is answered, and before its answer arrives.
type lists struct{ w *world }

func (l lists) ListPage(_ context.Context, at index.PageRef, size int) (index.Listed, error) {
	n, w := at.Page, l.w
	if w.die == "call" && w.deep == 0 {
		return index.Listed{}, errDead
	}
	w.calls++
	sent := w.storeNow()
	w.meanwhile()
	p, err := w.page(n, size)
	p.Sent = sent
	w.meanwhile()
	w.note("page %d of %d: %d rows of %d, %v", n, size, len(p.Items), p.Total, err)
	return p, err
}

func (l lists) Operation(_ context.Context, id string) (api.Operation, time.Time, error) {
	w := l.w
	if w.die == "call" && w.deep == 0 {
		return api.Operation{}, time.Time{}, errDead
	}
	w.calls++
	sent := w.storeNow()
	w.meanwhile()
	w.note("read %s", id)
	if !w.has(id) {
		return api.Operation{}, sent, &api.Error{Kind: api.NotFound, Rule: api.RuleOperationUnknown, Public: "The service has no such operation."}
	}
	op := w.current(id)
	w.meanwhile()
	return op, sent, nil
}

// meanwhile lets something happen within a call.
func (w *world) meanwhile() {
	if w.deep > 0 || w.calls < 0 || w.r.IntN(4) > 0 {
		return
	}
	w.deep++
	w.act(true)
	w.deep--
}

// live is the history.
func (w *world) live() {
	for range 30 + w.r.IntN(50) {
		w.act(false)
		if w.r.IntN(2) == 0 {
			w.check()
		}
		if w.t.Failed() {
			return
		}
	}
}

func (w *world) act(within bool) {
	ctx := context.Background()
	w.at += time.Duration(1+w.r.IntN(900)) * time.Millisecond
	switch k := w.r.IntN(26); {
	case k < 2:
		w.note("insert %s", w.insert(w.at))
	case k == 2:
		w.note("insert dated back %s", w.insert(w.at-time.Duration(w.r.IntN(90))*time.Hour))
	case k == 3:
		n := 3 + w.r.IntN(12)
		w.note("burst of %d", n)
		for range n {
			w.insert(w.at)
			w.at += time.Duration(w.r.IntN(2)) * time.Millisecond
		}
	case k < 6:
		if id, ok := w.any(); ok {
			word := w.r.IntN(2) == 0
			w.note("change %s, updatedAt %v", id, word)
			w.change(id, word)
		}
	case k < 8:
		for range 1 + w.r.IntN(3) {
			if id, ok := w.any(); ok {
				w.note("remove %s", id)
				w.remove(id)
			}
		}
	case k == 8:
		w.comeBack()
	case k < 11:
		p, err := w.page(w.r.IntN(2), 1+w.r.IntN(6))
		if err == nil {
			w.note("a stranger reads %d rows", len(p.Items))
			w.merge(w.x.Page(ctx, p.Items, epoch.Add(w.at+w.host)))
		}
	case k < 14:
		w.hook(ctx)
	case k == 14:
		if id, ok := w.any(); ok {
			w.note("a person reads %s", id)
			w.merge(w.x.Read(ctx, w.current(id), epoch.Add(w.at+w.host)))
		}
	case k == 15:
		w.at += time.Duration(w.r.IntN(1200)) * time.Second
	case k == 16 && w.r.IntN(4) == 0:
		w.host += []time.Duration{-time.Hour, time.Hour, 40 * time.Second, -40 * time.Second}[w.r.IntN(4)]
		w.note("the host's clock is %v ahead", w.host)
	case k == 17 && w.r.IntN(8) == 0 && !within:
		w.store += []time.Duration{-time.Hour, time.Hour}[w.r.IntN(2)]
		w.note("the store's clock is %v ahead", w.store)
	default:
		w.step(within)
	}
}

func (w *world) merge(_ index.Merged, err error) {
	if err != nil && !errors.Is(err, errDead) {
		w.t.Errorf("%v", err)
	}
}

func (w *world) comeBack() {
	for id := range w.past {
		if !w.has(id) {
			w.note("%s comes back", id)
			p := w.past[id]
			w.past[id] = append(p, state{p[len(p)-1].op, w.at, always})
			w.place(id)
			return
		}
	}
}

// hook delivers word of a state, mostly the present one.
func (w *world) hook(ctx context.Context) {
	if w.next == 0 {
		return
	}
	id := fmt.Sprintf("op-%03d", 1+w.r.IntN(w.next))
	if w.r.IntN(12) == 0 {
		w.note("a hint about %s", id)
		if err := w.x.Owe(ctx, id); err != nil {
			w.t.Error(err)
		}
		return
	}
	p := w.past[id]
	s := p[len(p)-1]
	if w.r.IntN(3) == 0 {
		s = p[w.r.IntN(len(p))]
	}
	w.note("webhook: %s is %s", id, s.op.Status)
	w.merge(w.x.Event(ctx, index.Event{OPID: id, Status: string(s.op.Status), Type: "WITHDRAW", PaymentType: "SWIFT",
		Created: s.op.CreatedAt.Time, Updated: s.op.UpdatedAt.Time, Seen: epoch.Add(w.at + w.host)}))
}

// step lets one of the syncers work; it may end within.
func (w *world) step(within bool) {
	i := w.r.IntN(2)
	if !within {
		w.die = ""
		if w.r.IntN(6) == 0 {
			w.die = []string{"call", "before", "behind"}[w.r.IntN(3)]
		}
	}
	wait, err := w.syncers[i].Step(context.Background())
	if !within && w.die != "" {
		if errors.Is(err, errDead) {
			w.note("p%d ends: %s", i, w.die)
			w.figures.Kills++
			w.reborn(i)
			err = nil
		}
		w.die = ""
	}
	if err != nil && !errors.Is(err, errDead) {
		w.t.Errorf("step: %v", err)
	}
	if wait > 0 && w.r.IntN(3) > 0 && !within {
		w.at += wait
	}
}
