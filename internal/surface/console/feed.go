package console

import (
	"cmp"
	"context"
	"math"
	"reflect"
	"slices"
	"strconv"
	"strings"
	"sync"
	"sync/atomic"
	"time"

	tea "github.com/charmbracelet/bubbletea"

	"opdeck/api"
	"opdeck/api/elapsed"
	"opdeck/api/limit"
	"opdeck/api/session"
	"opdeck/api/untrusted"
	"opdeck/internal/act/remedy"
	"opdeck/internal/app"
	"opdeck/internal/domain/approval"
	"opdeck/internal/domain/followup"
	"opdeck/internal/domain/index"
	"opdeck/internal/domain/presence"
	"opdeck/internal/domain/verdict"
	"opdeck/internal/store"
	"opdeck/ui"
	"opdeck/views/limits"
	"opdeck/views/sessions"
)

const (
	pollEvery = time.Second             // for writes to the store
	readEvery = time.Minute             // of the store, for what changes by time; half of session.aliveFor
	readHere  = presence.Expiry * 2 / 3 // on an operation or a customer, so that others keep seeing it
	maxNews   = 512                     // waiting to be drawn
)

// feed collects news for one console: calls of this process as they happen, and the shared state of session and
// budgets, which it polls and passes on when changed.
type feed struct {
	ctx     context.Context
	app     *app.App
	reads   *readings // of the consoles of this process
	people  *people
	stops   []func()
	hasNews chan struct{} // holds one token: there is news

	written <-chan struct{} // signals writes to the store
	watches bool            // written works; else poll
	moved   chan struct{}   // holds one token: the person went to another place

	mu      sync.Mutex
	waiting map[string]any // guarded by mu: latest news by key
	order   []string       // guarded by mu

	sync atomic.Pointer[string] // a line about the background sync; nil while idle

	session   ui.SessionFacts // as passed on last; used by read only
	connected []presence.Place
	verdict   verdictFeed
	newsCount int           // numbers news that must not replace each other
	stamp     store.Version // of the store at the last read
	seen      store.Version // of the store now: what other consoles read of it since need not be read again
	readAt    time.Time
	polled    time.Time
	moving    bool          // the session changes every second
	failing   bool          // the store could not be read
	counting  time.Duration // until the budgets change; 0: they do not
	status    session.Status
	usage     []limit.Usage
	listed    time.Time // time of the last request for all rows of the list; used by read only
}

// newFeed returns the feed of a console that shares with others of its process; shared is nil for the only one.
func newFeed(ctx context.Context, a *app.App, people *people, shared *Shared) *feed {
	reads := newReadings(0)
	if shared != nil {
		reads = shared.readings
	}
	f := &feed{ctx: ctx, app: a, reads: reads, people: people, hasNews: make(chan struct{}, 1),
		moved:   make(chan struct{}, 1),
		waiting: map[string]any{}}
	watching, unwatch := context.WithCancel(ctx)
	f.written, f.watches = a.Store.Watch(watching)
	people.onMove = f.pollSoon
	f.stops = []func(){
		unwatch,
		a.OnCall(func(c api.Call) { f.put("call "+c.ID, callFacts(c, app.ServiceHost(a.Context), a.Now())) }),
		a.OnOperation(ctx, func(op api.Operation) { f.changed(op, "service") }),
		a.Follow.OnSettled(f.settled),
	}
	changes, stop := a.Index.Changes()
	done, ended := make(chan struct{}), make(chan struct{})
	f.stops = append(f.stops, stop, func() { close(done); <-ended })
	go func() {
		defer close(ended)
		if !people.greeted {
			for i, r := range people.reminders(ctx) {
				f.put("reminder "+strconv.Itoa(i), r)
			}
		}
		for {
			select {
			case <-changes:
				f.put("index", ui.Changed{Kind: ui.KindOperations})
			case <-done:
				return
			}
		}
	}()
	return f
}

// progress is the line about the background sync at the last read.
func (f *feed) progress() (string, bool) {
	if line := f.sync.Load(); line != nil {
		return *line, true
	}
	return "", false
}

func (f *feed) close() {
	for _, stop := range f.stops {
		stop()
	}
}

func (f *feed) changed(op api.Operation, origin string) {
	id := string(op.OPID)
	f.put("operation "+id, ui.Changed{Kind: ui.KindOperation, ID: id, Object: op, Origin: origin})
}

// settled reports an outcome that was found after it had been reported as unknown: to the person of the write, and to
// every screen with its object.
func (f *feed) settled(s followup.Settled) {
	if approval.SameName(s.Row.Who, f.people.who.Name) {
		kind := ui.Warning
		if s.Outcome.Verdict == api.Seen {
			kind = ui.Success
		}
		text := strings.TrimSpace(s.Sentence() + " " + remedy.Screen(&api.Error{Remedy: s.Advice()}))
		f.put("settled "+s.Row.Ref, ui.Toast{Level: kind, Text: untrusted.Text(text).Line(300)})
	}
	switch s.Row.Object {
	case "operation":
		f.put("index", ui.Changed{Kind: ui.KindOperations})
	case "customer":
		if r, err := f.app.Journeys.Store.Journey(context.WithoutCancel(f.ctx), s.Row.ID); err == nil {
			f.put("customer "+s.Row.ID, ui.Changed{Kind: ui.KindCompliance, ID: s.Row.ID, Object: r})
		}
	}
	f.put("audit", ui.Changed{Kind: ui.KindAudit, Object: s})
}

// announced is ctx with the service's announcements as news.
func (f *feed) announced(ctx context.Context) context.Context {
	return api.WithAnnouncements(ctx, func(op, said string) {
		f.put("announced "+op, ui.Toast{Level: ui.Warning, Text: api.Announcement(op, said)})
	})
}

// put keeps the latest news of a key until the console takes it.
func (f *feed) put(key string, msg any) {
	f.mu.Lock()
	if _, there := f.waiting[key]; !there {
		if len(f.order) >= maxNews {
			delete(f.waiting, f.order[0])
			f.order = f.order[1:]
		}
		f.order = append(f.order, key)
	}
	f.waiting[key] = msg
	f.mu.Unlock()
	select {
	case f.hasNews <- struct{}{}:
	default:
	}
}

func (f *feed) take() ui.BatchMsg {
	f.mu.Lock()
	defer f.mu.Unlock()
	var out ui.BatchMsg
	for _, k := range f.order {
		out = append(out, f.waiting[k])
	}
	f.order, f.waiting = nil, map[string]any{}
	return out
}

// pollSoon makes the feed poll within pollEvery.
func (f *feed) pollSoon() {
	select {
	case f.moved <- struct{}{}:
	default:
	}
}

// first is next after the first rows.
func (f *feed) first() tea.Msg {
	if limit.Sleep(f.ctx, factsFirst) != nil {
		return nil
	}
	return f.next()
}

// next waits for news; it is one of the shell's feeds. If the system reports writes, it sleeps until there is one, or
// until time changes something.
func (f *feed) next() tea.Msg {
	if !f.failing || f.app.Now().Sub(f.polled) >= pollEvery { // each failure is news
		f.poll()
	}
	timer := time.NewTimer(f.pause())
	defer timer.Stop()
	soon := func() { timer.Reset(max(pollEvery-f.app.Now().Sub(f.polled), 0)) }
	for {
		if news := f.take(); len(news) > 0 {
			return ui.StreamMsg{Msg: news, Next: f.next}
		}
		select {
		case <-f.hasNews:
		case <-f.written:
			stamp, versioned := f.app.Store.Version(context.WithoutCancel(f.ctx))
			if f.seen = stamp; versioned && f.known(stamp) {
				break
			}
			f.changes() // rows must not wait for the poll
			soon()
		case <-f.moved:
			soon()
		case <-timer.C:
			f.poll()
			timer.Reset(f.pause())
		case <-f.ctx.Done():
			return nil
		}
	}
}

// changes only asks the index whether it changed: one small read.
func (f *feed) changes() {
	ctx := context.WithoutCancel(f.ctx)
	_, _, _ = f.reads.polled.read(f.app, f.seen, func() (bool, error) { return f.app.Index.Poll(ctx) })
}

// pause is how long next need not poll without writes.
func (f *feed) pause() time.Duration {
	switch {
	case !f.watches || f.moving || f.failing:
		return pollEvery
	case f.counting > 0: // calls that expire together are shown together
		return min(max(f.counting+pollEvery/2, 2*pollEvery), f.rest(), f.verdictDue())
	}
	return min(f.rest(), f.verdictDue())
}

// rest is the longest time between reads of the store without events.
func (f *feed) rest() time.Duration {
	if _, ok := objectOf(f.people.at.Place); ok {
		return readHere
	}
	return readEvery
}

// poll reads the store if something may have changed: it was written to, the person went to another place, values
// change by time, or the last read is long ago. A store without versions is read every time.
func (f *feed) poll() {
	stamp, versioned := f.app.Store.Version(context.WithoutCancel(f.ctx))
	now := f.app.Now()
	age := now.Sub(f.readAt)
	f.polled, f.seen = now, stamp
	if versioned && f.known(stamp) && !f.moving && !f.people.placeChanged() && age >= 0 && age < f.rest() {
		if f.counting > 0 {
			f.readUsage(context.WithoutCancel(f.ctx))
		}
		f.readVerdict(false)
		return
	}
	f.stamp, f.readAt = stamp, now
	if versioned { // a local file answers at once; a cancellable context costs a goroutine per query
		f.read(context.WithoutCancel(f.ctx))
		return
	}
	ctx, cancel := context.WithTimeout(f.ctx, 3*time.Second)
	defer cancel()
	f.read(ctx)
}

// known reports whether the store is unchanged since the last read, except for this process's heartbeat.
func (f *feed) known(stamp store.Version) bool {
	if stamp != f.stamp && stamp == f.app.Store.OwnWrites(f.stamp) {
		f.stamp = stamp
	}
	return stamp == f.stamp
}

// read reads session, budgets and index and puts the changes since the last time.
func (f *feed) read(ctx context.Context) {
	f.moving = false
	// Changes arrive through Changes, at every console.
	if _, _, err := f.reads.polled.read(f.app, f.seen, func() (bool, error) { return f.app.Index.Poll(ctx) }); err != nil {
		f.app.Log.Warn("index", "err", err)
	}
	st, _, err := f.reads.status.read(f.app, f.seen, func() (session.Status, error) {
		return f.app.SharedSession().Status(ctx)
	})
	if f.failing = err != nil; f.failing {
		f.unreadable(api.AsError(err))
	} else if f.moving = st.Holder != nil || st.LoginWait > 0 || st.RefreshWait > 0; !same(st, f.status) {
		f.status = st
		f.put("status", sessions.News{Status: st})
		if facts := sessionFacts(st); facts != f.session {
			f.session = facts
			f.put("session", facts)
		}
	}
	for _, n := range f.people.refresh(ctx) {
		f.newsCount++
		f.put("people "+strconv.Itoa(f.newsCount), n)
	}
	f.readConnected(ctx)
	line, _, _ := f.reads.sync.read(f.app, f.seen, func() (*string, error) {
		if line, ok := f.app.Mirror().Progress(ctx); ok {
			return &line, nil
		}
		return nil, nil
	})
	f.sync.Store(line)
	f.confirm(ctx)
	f.readUsage(ctx)
	f.readVerdict(true)
}

// readConnected passes on who is connected, to a person who looks at the session.
func (f *feed) readConnected(ctx context.Context) {
	if kind := f.people.at.Place.Kind; kind != ui.KindSession && kind != ui.KindOnCall {
		return
	}
	list, err := (&backend{app: f.app, feed: f}).session().Connected(ctx)
	same := func(a, b presence.Place) bool {
		return a.Console == b.Console && a.Object == b.Object && a.ID == b.ID && a.Dialog == b.Dialog
	}
	if err == nil && !slices.EqualFunc(list, f.connected, same) {
		f.connected = list
		f.put("connected", sessions.People{Connected: list})
	}
}

// unreadable passes on that the store cannot be read to the screens with its data.
func (f *feed) unreadable(err *api.Error) {
	f.status, f.session, f.usage = session.Status{}, ui.SessionFacts{}, nil // passed on again once readable
	f.put("session", ui.SessionFacts{State: "unknown"})
	f.put("status", sessions.News{Err: err})
	f.put("usage", limits.News{Err: err})
	f.put("index", ui.Changed{Kind: ui.KindOperations})
	f.verdict.at = time.Time{} // the reason is due at once
}

// confirm tells the list that news or a complete pass were read again without changes: its rows are newer than shown.
func (f *feed) confirm(ctx context.Context) {
	at, _, err := f.reads.read.read(f.app, f.seen, func() (time.Time, error) {
		p, err := index.LoadProgress(ctx, f.app.Index.Unmasked())
		if p.Last.Finished.After(p.News.At) {
			return p.Last.Finished, err
		}
		return p.News.At, err
	})
	if err != nil || at.Equal(f.listed) {
		return
	}
	if !f.listed.IsZero() {
		f.put("index", ui.Changed{Kind: ui.KindOperations})
	}
	f.listed = at
}

// readUsage reads the budgets; while calls of the last minute expire, they change without writes.
func (f *feed) readUsage(ctx context.Context) {
	usage, now, err := f.reads.usage.read(f.app, f.seen, func() ([]limit.Usage, error) { return f.app.Limits.Usage(ctx) })
	f.counting = 0
	for _, u := range usage {
		if u.Changes > 0 && (f.counting == 0 || u.Changes < f.counting) {
			f.counting = u.Changes
		}
	}
	if err != nil || reflect.DeepEqual(rounded(usage), rounded(f.usage)) {
		return
	}
	f.usage = usage
	f.put("usage", limits.News{Usage: usage, At: now})
	for _, u := range usage {
		f.put("budget "+string(u.Class), budgetFacts(u, now))
	}
}

// same compares two states, ignoring times left and ages.
func same(a, b session.Status) bool { return reflect.DeepEqual(still(a), still(b)) }

func still(s session.Status) session.Status {
	s.AsOf, s.Ahead = time.Time{}, s.Ahead.Round(time.Second)
	s.Access.Remaining, s.Refresh.Remaining = 0, 0
	s.LoginWait, s.RefreshWait = s.LoginWait.Round(time.Second), s.RefreshWait.Round(time.Second)
	s.Access.ExpiresAt, s.Refresh.ExpiresAt = s.Access.ExpiresAt.Round(time.Second), s.Refresh.ExpiresAt.Round(time.Second)
	s.NextRotation = s.NextRotation.Round(time.Second)
	s.Seen = slices.Clone(s.Seen)
	for i := range s.Seen {
		s.Seen[i].Ago = s.Seen[i].Ago.Round(10 * time.Second)
		s.Seen[i].SeenAt, s.Seen[i].Started = time.Time{}, time.Time{} // Started is estimated again at each read
	}
	return s
}

func rounded(u []limit.Usage) []limit.Usage {
	u = slices.Clone(u)
	for i := range u {
		u[i].NextSlot = float64(int(u[i].NextSlot))
		u[i].Blocked = u[i].Blocked.Round(time.Second)
		u[i].At = 0
		u[i].Changes, u[i].Goes, u[i].Ahead = 0, 0, nil
		u[i].Full, u[i].Refused = min(u[i].Full, 1), min(u[i].Refused, 1) // only whether
	}
	return u
}

func sessionFacts(st session.Status) ui.SessionFacts {
	state := st.State
	if st.Access.Dead && state == "doubtful" {
		state = "revoked"
	}
	return ui.SessionFacts{State: state, AccessUntil: st.Access.ExpiresAt.Add(-st.Ahead).Round(time.Second)}
}

func budgetFacts(u limit.Usage, now time.Time) ui.BudgetFacts {
	b := ui.BudgetFacts{Class: string(u.Class), Room: u.Room, Limit: u.Recommended, Throttled: u.Throttled}
	if u.Goes > 0 {
		b.Goes = now.Add(u.Goes)
	}
	if u.NextSlot > 0 {
		b.NextSlot = now.Add(time.Duration(u.NextSlot * float64(time.Second)))
	}
	for _, d := range u.Ahead {
		b.Ahead = append(b.Ahead, now.Add(d))
	}
	return b
}

// callFacts is a line of the activity list for a call to service that enters its phase now. It words a failure like the
// finding and the notice about it.
func callFacts(c api.Call, service string, now time.Time) ui.CallFacts {
	f := ui.CallFacts{ID: c.ID, What: c.Op, Class: string(c.Class), Write: c.Write, Background: c.Background, At: c.At,
		Note: cmp.Or(verdict.Says(service, c.Fault), c.Error), Moved: c.Moved, Size: c.Size}
	switch {
	case c.Phase == api.CallWaits:
		f.Phase = ui.CallWaits
	case c.Phase == api.CallRuns:
		f.Phase, f.At = ui.CallRuns, now
		if !c.Ran.IsZero() {
			f.At = c.Ran
		}
	case c.Kind == "":
		f.Phase, f.At = ui.CallDone, c.At.Add(c.Took)
		f.Note = "answer " + strconv.Itoa(c.Status) + ", " + elapsed.Text(c.Took)
	case c.Write && c.Status == 0:
		f.Phase, f.At = ui.CallUnknown, c.At.Add(c.Took)
	default:
		f.Phase, f.At = ui.CallFailed, c.At.Add(c.Took)
	}
	return f
}

const (
	verdictEvery = 2 * time.Second // while the person is at a place that shows it, after the store changed
	// verdictCalm is for such a place while the system reports writes and there is none: disk, ports and certificates
	// change without one, and a reading takes 5 ms of CPU.
	verdictCalm = 10 * time.Second
	verdictRest = 5 * time.Second // the least time between two reads elsewhere, after the store changed
	verdictTime = 3 * time.Second // of a read; then the store does not answer. More than store.DB.Free takes
)

// What is shown is read again before it lapses.
const _ = uint64(ui.VerdictHolds - verdictCalm - verdictTime)

// verdictFeed is the verdict as passed on last.
type verdictFeed struct {
	at   time.Time // of the last read; zero: none
	owed bool      // the store has changed since
	soon bool      // plain mode polls at each prompt: what has changed is read at once
	sent verdict.Verdict
}

// conclude reads the verdict, without a call to the service.
func conclude(ctx context.Context, a *app.App) verdict.Verdict {
	ctx, cancel := context.WithTimeout(ctx, verdictTime)
	defer cancel()
	return app.Verdict(ctx, a)
}

// showsVerdict reports whether the screen of a place prints parts of the verdict.
func showsVerdict(p ui.Place) bool {
	return slices.Contains([]string{ui.KindOnCall, ui.KindSession, ui.KindLimits, ui.KindEvents}, p.Kind)
}

// verdictDue is how long the verdict need not be read.
func (f *feed) verdictDue() time.Duration {
	age := f.app.Now().Sub(f.verdict.at)
	switch {
	case f.verdict.at.IsZero():
		return 0
	case showsVerdict(f.people.at.Place) && f.watches && !f.verdict.owed:
		return max(verdictCalm-age, 0)
	case showsVerdict(f.people.at.Place):
		return max(verdictEvery-age, 0)
	case f.verdict.owed && f.verdict.soon:
		return 0
	case f.verdict.owed:
		return max(verdictRest-age, 0)
	}
	return math.MaxInt64
}

// readVerdict reads the verdict if it is due; changed: the store may have changed.
func (f *feed) readVerdict(changed bool) {
	f.verdict.owed = f.verdict.owed || changed
	if f.verdictDue() > 0 {
		return
	}
	v, at, _ := f.reads.verdict.read(f.app, f.seen, func() (verdict.Verdict, error) {
		return conclude(context.WithoutCancel(f.ctx), f.app), nil
	})
	shown := showsVerdict(f.people.at.Place)
	if shown || f.verdict.at.IsZero() || !sameVerdict(v, f.verdict.sent) {
		f.put("verdict", ui.VerdictFacts{Verdict: v, Read: at})
	}
	f.verdict.at, f.verdict.owed, f.verdict.sent = at, false, v
}

// sameVerdict reports whether two verdicts print the same, except for their evidence.
func sameVerdict(a, b verdict.Verdict) bool {
	return slices.EqualFunc(a.Findings, b.Findings, func(x, y verdict.Finding) bool {
		return x.Cause == y.Cause && x.Sentence == y.Sentence && x.Since.Equal(y.Since)
	}) && !slices.ContainsFunc(verdict.Parts(), func(p verdict.Part) bool { return a.Of(p) != b.Of(p) })
}
