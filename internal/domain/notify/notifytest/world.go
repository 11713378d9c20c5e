package notifytest

import (
	"cmp"
	"fmt"
	"math/rand/v2"
	"slices"
	"sync"
	"time"

	"opdeck/api/reach"
	"opdeck/internal/domain/notify"
	"opdeck/internal/domain/verdict"
)

// spell is a time in which something is wrong, with breaks that are shorter than notify.Quiet or in which nothing is
// known.
type spell struct {
	what   string // "service", "audit", "feed", "index"
	from   time.Time
	to     time.Time
	flaps  bool // it is good for 20 s in each minute
	hidden bool // nothing is known of it in its middle third
}

// World is what is so at each time of a simulation.
type World struct {
	From, To time.Time
	spells   []spell
	requests []notify.Request
	asked    []time.Time // of requests
	doubts   []notify.InDoubt
	settled  []time.Time // of doubts
	rows     []spell     // of the view

	mu       sync.Mutex
	verdicts map[[4][2]bool]verdict.Verdict // guarded by mu: by what is wrong, and what is known
}

// NewWorld makes a world of some days with about n things of each kind.
func NewWorld(seed uint64, from time.Time, days, n int) *World {
	r := rand.New(rand.NewPCG(seed, 1))
	w := &World{verdicts: map[[4][2]bool]verdict.Verdict{}, From: from, To: from.Add(time.Duration(days) * 24 * time.Hour)}
	whole := w.To.Sub(from) - 12*time.Hour
	for i, what := range []string{"service", "audit", "feed", "index", "view"} {
		at := from.Add(time.Duration(i+1) * time.Hour)
		for range n {
			// At least three hours from one to the next, so that none counts as the same again.
			at = at.Add(3*time.Hour + time.Duration(r.Int64N(int64(max(whole/time.Duration(n)-4*time.Hour, time.Hour)))))
			s := spell{what: what, from: at, to: at.Add(3*time.Minute + time.Duration(r.Int64N(int64(40*time.Minute)))),
				flaps: r.IntN(3) == 0, hidden: r.IntN(3) == 0}
			if at = s.to; at.After(w.To.Add(-6 * time.Hour)) {
				break
			}
			if what == "view" {
				w.rows = append(w.rows, s)
			} else {
				w.spells = append(w.spells, s)
			}
		}
	}
	for i := range n {
		at := from.Add(time.Hour + time.Duration(r.Int64N(int64(whole))))
		q := notify.Request{ID: fmt.Sprint("r", i), Act: "document.remove", Object: "operation", ObjectID: "op1",
			Requester: "ana", Expires: at.Add(30 * time.Minute), Decided: at.Add(30 * time.Minute), Lapsed: true}
		if r.IntN(3) > 0 {
			q.Decider, q.Denied, q.Lapsed = "ben", r.IntN(2) == 0, false
			q.Decided = at.Add(5*time.Minute + time.Duration(r.Int64N(int64(20*time.Minute))))
		}
		w.requests, w.asked = append(w.requests, q), append(w.asked, at)
		sent := from.Add(time.Hour + time.Duration(r.Int64N(int64(whole))))
		w.doubts = append(w.doubts, notify.InDoubt{Ref: fmt.Sprint("w", i), Act: "document.remove", Object: "operation",
			ObjectID: "op1", Sent: sent})
		lasts := time.Duration(r.Int64N(int64(after - time.Minute)))
		if r.IntN(2) == 0 {
			lasts += after + 5*time.Minute
		}
		w.settled = append(w.settled, sent.Add(lasts))
	}
	return w
}

// Changes are the times at which something changes, in order.
func (w *World) Changes() (out []time.Time) {
	for _, s := range slices.Concat(w.spells, w.rows) {
		out = append(out, s.from, s.to)
	}
	for i, q := range w.requests {
		out = append(out, w.asked[i], q.Decided)
	}
	for i, d := range w.doubts {
		out = append(out, d.Sent.Add(after), w.settled[i])
	}
	slices.SortFunc(out, time.Time.Compare)
	return out
}

// is reports whether a spell shows at a time, and whether anything is known of it.
func (s spell) is(at time.Time) (wrong, known bool) {
	if at.Before(s.from) || !at.Before(s.to) {
		return false, true
	}
	third := s.to.Sub(s.from) / 3
	if s.hidden && at.After(s.from.Add(third)) && at.Before(s.to.Add(-third)) {
		return false, false
	}
	if in := at.Sub(s.from) % time.Minute; s.flaps && in >= 40*time.Second {
		return false, true
	}
	return true, true
}

// state is whether something is wrong at a time, and whether that is known.
func (w *World) state(list []spell, what string, at time.Time) (wrong, known bool) {
	known = true
	for _, s := range list {
		if s.what != what {
			continue
		}
		is, k := s.is(at)
		wrong, known = wrong || is, known && k
	}
	return wrong, known
}

// verdictAt is what a verdict concludes at a time.
func (w *World) verdictAt(at time.Time) verdict.Verdict {
	var is [4][2]bool
	for i, what := range []string{"service", "audit", "feed", "index"} {
		is[i][0], is[i][1] = w.state(w.spells, what, at)
	}
	w.mu.Lock()
	defer w.mu.Unlock()
	v, have := w.verdicts[is]
	if !have {
		v = verdict.Conclude(factsOf(is, at))
		w.verdicts[is] = v
	}
	v.At = at
	return v
}

// factsOf are the facts about service, audit, feed and index: whether each is wrong, and known.
func factsOf(is [4][2]bool, at time.Time) verdict.Facts {
	const holds = time.Hour
	f := verdict.Facts{Now: at, Service: "pay.example.com", Store: verdict.Known(verdict.Store{State: verdict.StoreGood,
		Engine: "SQLite"}, "a read", at, holds)}
	if wrong, known := is[0][0], is[0][1]; known {
		c := verdict.Call{Class: "general", Route: "GET /a", Good: at}
		if wrong {
			c.Good, c.Failed, c.Since, c.Fault = time.Time{}, at, at, reach.Fault{Class: reach.NoPort}
		}
		f.Calls = []verdict.Fact[verdict.Call]{verdict.Known(c, "a call", at, holds)}
	}
	if wrong, known := is[1][0], is[1][1]; known {
		f.Audit = verdict.Known(verdict.Audit{Writable: !wrong}, "the trail", at, holds)
	}
	if wrong, known := is[2][0], is[2][1]; known {
		f.Feed = verdict.Known(verdict.Feed{Expected: true, Last: at.Add(-time.Minute), Stalled: wrong}, "the inbox", at,
			holds)
	}
	if wrong, known := is[3][0], is[3][1]; known {
		i := verdict.Index{Whole: true, AsOf: at, Due: time.Minute}
		if wrong {
			i.AsOf = at.Add(-time.Hour)
		}
		f.Index = verdict.Known(i, "the index", at, holds)
	}
	return f
}

// At is what can be observed at a time.
func (w *World) At(at time.Time) notify.Observation {
	o := notify.Observation{Context: "stage", Verdict: w.verdictAt(at), RequestsKnown: true, DoubtsKnown: true,
		Views: map[string]notify.Rows{}}
	if some, known := w.state(w.rows, "view", at); known {
		rows := notify.Rows{Sure: true}
		if some {
			rows.Count = 3
		}
		o.Views["v"] = rows
	}
	for i, q := range w.requests {
		if at.Before(w.asked[i]) || at.Sub(w.asked[i]) > 24*time.Hour {
			continue
		}
		if at.Before(q.Decided) {
			q.Decider, q.Denied, q.Lapsed = "", false, false
		}
		o.Requests = append(o.Requests, q)
	}
	for i, d := range w.doubts {
		if !at.Before(d.Sent) && at.Before(w.settled[i]) {
			o.Doubts = append(o.Doubts, d)
		}
	}
	return o
}

const after = 15 * time.Minute // Rules' After

// Rules are those of a simulation: together they have every kind.
func Rules() []notify.Rule {
	return []notify.Rule{
		{Name: "a", On: []notify.Kind{notify.Cause, notify.End, notify.Approval}, Min: verdict.Warning},
		{Name: "b", On: []notify.Kind{notify.Decision, notify.Doubt, notify.View}, Min: verdict.Warning, After: after,
			View: "v", When: notify.Matches},
	}
}

// Wanted counts the notices that each rule must send, by rule and kind: computed from the spells alone.
func (w *World) Wanted(every time.Duration) map[string]int {
	out := map[string]int{"a approval": len(w.requests), "b decision": len(w.requests), "b view": len(w.rows)}
	for i, d := range w.doubts {
		if w.settled[i].Sub(d.Sent) > after {
			out["b doubt"]++
		}
	}
	// The part that is wrong and comes first in the order of causes is the first cause.
	rank := map[string]int{"service": 0, "audit": 1, "feed": 2, "index": 3}
	critical := map[string]bool{"service": true, "audit": true}
	for _, s := range w.spells {
		first := false
		for at := s.from; at.Before(s.to) && !first; at = at.Add(every) {
			if is, known := s.is(at); !is || !known {
				continue
			}
			first = !slices.ContainsFunc(w.spells, func(o spell) bool {
				is, known := o.is(at)
				above := critical[o.what] && !critical[s.what] || critical[o.what] == critical[s.what] &&
					cmp.Less(rank[o.what], rank[s.what])
				return is && known && above
			})
		}
		if first {
			out["a cause"]++
			out["a end"]++
		}
	}
	return out
}
