package index

import (
	"cmp"
	"context"
	"log/slog"
	"strings"
	"sync"
	"time"

	"opdeck/api"
	"opdeck/api/limit"
)

// Listed is one page of the service's list.
type Listed struct {
	Items    []api.Operation
	PageSize int       // from the answer; 0: not reported
	Total    int64     // from the answer; -1: not reported
	After    api.After // what it says about the next page
	Sent     time.Time // the store's time at which the request was sent
}

// PageRef identifies a page of the list: its number from 0 and, if pages name the next one, the previous page's
// api.After.Next.
type PageRef struct {
	Page int
	Next string
}

// Lister reads from the service with background priority: it waits for spare budget.
type Lister interface {
	// ListPage reads one page of the list.
	ListPage(ctx context.Context, at PageRef, size int) (Listed, error)
	// Operation reads one operation; sent is the store's time of the request.
	Operation(ctx context.Context, opid string) (op api.Operation, sent time.Time, err error)
}

// SyncOptions configure the sync. Zero values mean the defaults.
type SyncOptions struct {
	Owner string // this process, unique; required
	// Mark marks this process until it ends and returns its name; ok is false if that is not possible. Gone reports that
	// a marked process has ended; false when in doubt. Both nil: the lease of an ended process must expire.
	Mark      func() (name string, ok bool)
	Gone      func(name string) bool
	PageSize  int           // of news and of the first page: 100 ([service] list_page_size)
	MaxSize   int           // the largest page that the rolling pass asks for: 1000 ([index] max_page_size)
	MaxAge    time.Duration // how old news may be ([index] max_age): 60 s
	PerMinute int           // recommended calls a minute for lists: 12
	Lease     time.Duration // 20 s: how long other instances wait for one that may be dead
	Log       *slog.Logger
}

const (
	maxPause   = 5 * time.Minute
	owedInARow = 5  // single reads before a page is read
	passAges   = 15 // a complete index is read again within this many max_age, if the budget allows it
	passShare  = 3  // with at most this part of the recommended calls
)

// Syncer fills an index in the background. One instance works for all: the holder of a lease in the store; the others
// wait and take over when it expires. If two work at once, the store refuses the progress of one.
type Syncer struct {
	index *Index
	from  Lister
	opt   SyncOptions

	name   string        // of this process in the lease; "": not determined yet
	pause  time.Duration // after an error; doubles
	leased time.Time     // until then the lease is certainly ours; the store's time
	owed   int           // consecutive single reads
	large  int           // consecutive failures of a large page

	derived bool // no row is of an earlier build
}

// NewSyncer returns a syncer; Run starts it.
func NewSyncer(x *Index, from Lister, opt SyncOptions) *Syncer {
	opt.PageSize, opt.PerMinute = cmp.Or(opt.PageSize, 100), cmp.Or(opt.PerMinute, 12)
	opt.MaxSize = max(opt.MaxSize, opt.PageSize)
	opt.MaxAge, opt.Lease = cmp.Or(opt.MaxAge, time.Minute), cmp.Or(opt.Lease, 20*time.Second)
	opt.Log = cmp.Or(opt.Log, slog.New(slog.DiscardHandler))
	return &Syncer{index: x, from: from, opt: opt}
}

// Run syncs until ctx ends.
func (s *Syncer) Run(ctx context.Context) error {
	defer s.Release(ctx)
	for {
		wait, err := s.Step(ctx)
		if ctx.Err() != nil {
			return ctx.Err()
		}
		if err != nil {
			if err := limit.Sleep(ctx, s.backOff(ctx, err)); err != nil {
				return err
			}
			continue
		}
		s.pause = 0
		if err := s.idle(ctx, wait); err != nil {
			return err
		}
	}
}

// idle waits for d, or until a change of the index makes a read due.
func (s *Syncer) idle(ctx context.Context, d time.Duration) error {
	changes, stop := s.index.Changes()
	defer stop()
	end := time.NewTimer(d)
	defer end.Stop()
	for d > 0 {
		select {
		case <-ctx.Done():
			return ctx.Err()
		case <-end.C:
			return nil
		case <-changes:
			now, err := s.index.store.Now(ctx)
			if err != nil {
				continue
			}
			if owed, err := s.index.store.Owed(ctx, now, 1); err == nil && len(owed) > 0 {
				return nil
			}
		}
	}
	return ctx.Err()
}

// backOff records the error for all to see and returns how long to pause.
func (s *Syncer) backOff(ctx context.Context, err error) time.Duration {
	s.pause = min(max(2*s.pause, 5*time.Second), maxPause)
	e := api.AsError(err)
	s.pause = max(s.pause, min(e.RetryAfter, maxPause))
	s.opt.Log.Warn("index sync", "kind", string(e.Kind), "pause", s.pause)
	if p, err := LoadProgress(ctx, s.index.store); err == nil && p.Trouble != e.Public {
		p.Trouble = e.Public
		_ = p.save(ctx, s.index.store) // for display only; the next step writes again
	}
	return s.pause
}

// job is a due piece of work.
type job int

const (
	nothing job = iota
	single      // a single read that is due
	news        // the list's growing end
	page        // the next page of the pass
	verify      // one row that the pass did not show
	derive      // rows of an earlier build, without a call
)

// Step does one piece of work, with at most one call, and returns how long nothing is due.
func (s *Syncer) Step(ctx context.Context) (wait time.Duration, err error) {
	_, wait, err = s.step(ctx)
	return wait, err
}

func (s *Syncer) step(ctx context.Context) (did job, wait time.Duration, err error) {
	now, err := s.now(ctx)
	if err != nil {
		return nothing, 0, err
	}
	p, held, what, wait, err := s.plan(ctx, now)
	if err != nil || what == nothing { // write nothing: that would wake all watchers of the store
		return nothing, wait, err
	}
	if mine, err := s.lease(ctx, now); err != nil || !mine {
		return nothing, min(s.opt.Lease/2, max(s.opt.MaxAge, time.Second)), err
	}
	defer s.keep(ctx)()
	switch what {
	case single:
		s.owed++
		return what, 0, s.readOwed(ctx, now)
	case news:
		err = s.readNews(ctx, &p, held)
	case page:
		err = s.readPass(ctx, &p, held)
	case verify:
		err = s.verifyNext(ctx, &p, held)
	case derive:
		return what, time.Second, s.index.store.Derive(ctx)
	}
	s.owed = 0
	return what, 0, err
}

// Round does what is due now, for a single command: news, the rest of an unfinished pass, and one page or read of
// lower priority. It makes at most calls calls, and none while another instance syncs.
func (s *Syncer) Round(ctx context.Context, calls int) error {
	s.owed = owedInARow // single reads come last
	patient := false
	for range calls {
		now, err := s.now(ctx)
		if err != nil {
			return err
		}
		p, held, what, _, err := s.plan(ctx, now)
		if err != nil || what == nothing {
			return err
		}
		if what == single || what != news && p.settled(held) {
			if patient {
				return nil
			}
			patient = true
		}
		if did, _, err := s.step(ctx); err != nil || did == nothing {
			return err
		}
	}
	return nil
}

// settled reports whether only the passing of time makes the next page of the pass due.
func (p Progress) settled(held int64) bool {
	return p.proven() && p.PageSize > 0 && !p.differs(held) && !p.Hurry.After(p.Last.Started)
}

// now is the store's time. If a read is ahead of it, the clock was set back, and the ages of all reads are unknown.
func (s *Syncer) now(ctx context.Context) (time.Time, error) {
	now, err := s.index.store.Now(ctx)
	if err != nil {
		return now, err
	}
	seen, err := s.index.store.Sights(ctx)
	if err != nil {
		return now, err
	}
	p, err := LoadProgress(ctx, s.index.store)
	if err != nil || !seen.Newest.After(now) && !p.afterClock(now) {
		return now, err
	}
	if err := s.index.store.ForgetSights(ctx); err != nil {
		return now, err
	}
	p.News = News{By: p.News.By, Mark: p.News.Mark}
	p.Pass, p.Last, p.Hurry, p.NewsAfter = Pass{}, Done{}, time.Time{}, time.Time{}
	return now, p.save(ctx, s.index.store)
}

// afterClock reports whether p has a time after now: the clock was set back since.
func (p Progress) afterClock(now time.Time) bool { return p.latest().After(now) }

// latest is the latest time in p.
func (p Progress) latest() (at time.Time) {
	for _, t := range []time.Time{p.News.At, p.News.Began, p.Pass.Started, p.Pass.At, p.Last.Started, p.Last.Finished,
		p.Hurry, p.NewsAfter} {
		if t.After(at) {
			at = t
		}
	}
	return at
}

// answer is the answer to a single read. If it has its id in other letters, the service has none under the asked one.
func answer(id string, op api.Operation, sent time.Time) Batch {
	b := Batch{Entries: []Entry{{Op: op, Origin: Read, Seen: sent}}}
	if own := string(op.OPID); own != id && strings.EqualFold(own, id) {
		b.Gone = []Gone{{OPID: id, At: sent}}
	}
	return b
}

// readOwed reads one operation whose single read is due.
func (s *Syncer) readOwed(ctx context.Context, now time.Time) error {
	opids, err := s.index.store.Owed(ctx, now, 1)
	if err != nil || len(opids) == 0 {
		return err
	}
	id := opids[0]
	op, sent, err := s.from.Operation(ctx, id)
	if err == nil {
		if string(op.OPID) != id { // an odd answer: what was asked for stays as it is
			err = s.index.store.Postpone(ctx, id, now.Add(24*time.Hour))
		}
		if err == nil {
			_, err = s.index.commit(ctx, answer(id, op, sent))
		}
		return err
	}
	if k := api.KindOf(err); k != api.NotFound && k != api.Refused {
		return err
	}
	if api.KindOf(err) == api.NotFound && s.unlisted(ctx, id) { // announced but not listed, or gone already
		_, err := s.index.commit(ctx, Batch{Gone: []Gone{{OPID: id, At: now}}})
		return err
	}
	return s.index.store.Postpone(ctx, id, now.Add(24*time.Hour)) // the pass decides whether it is gone
}

func (s *Syncer) unlisted(ctx context.Context, id string) bool {
	rec, err := s.index.store.Get(ctx, id)
	return err == ErrNone || err == nil && !rec.Gone.IsZero()
}

// commit writes rows and progress in one transaction. If another instance has changed the progress, the rows are kept
// and the progress is not: the next step reads it.
func (s *Syncer) commit(ctx context.Context, p Progress, b Batch) error {
	p.Trouble = ""
	swap, err := p.swap()
	if err != nil {
		return err
	}
	b.Swap = swap
	m, err := s.index.commit(ctx, b)
	if err == nil && !m.Swapped {
		s.leased = time.Time{}
	}
	if err != nil || p.Last.Whole || p.Last.Started.IsZero() {
		return err
	}
	return s.concludeWhole(ctx)
}

// concludeWhole notes that the last pass showed the whole list, once the numbers right after an answer prove it.
func (s *Syncer) concludeWhole(ctx context.Context) error {
	p, err := LoadProgress(ctx, s.index.store)
	if err != nil {
		return err
	}
	seen, err := s.index.store.Sights(ctx)
	if err != nil || !p.proves(seen.Rows) {
		return err
	}
	p.Last.Whole = true
	return p.save(ctx, s.index.store)
}

// entries converts the rows of a page.
func entries(page Listed) []Entry {
	out := make([]Entry, len(page.Items))
	for i, o := range page.Items {
		out[i] = Entry{Op: o, Origin: List, Seen: page.Sent}
	}
	return out
}

// readNews reads the next page of the list's growing end. A read of the news ends when a page reaches below the mark
// of the previous one; rows that were merged otherwise meanwhile, by webhooks or other readers, do not count. A list
// sorted newest first is read from the first page on, one sorted oldest first from the last page back, so that
// removed rows never hide a new one.
func (s *Syncer) readNews(ctx context.Context, p *Progress, held int64) error {
	n := &p.News
	if n.Began.IsZero() || n.By != p.Order {
		s.beginNews(p)
	}
	page, err := s.from.ListPage(ctx, PageRef{n.Page, n.Next}, n.Size)
	if err != nil {
		return err
	}
	began := n.Began.IsZero()
	if began {
		n.Began = page.Sent
	}
	rows := len(page.Items)
	was := n.Total
	p.Total, n.Total, p.Had = page.Total, page.Total, held
	missing := rows == 0 && n.Page > 0 && page.Total > int64(n.Page)*int64(n.Size)
	if fit := p.fit(page, n.Page, n.Size); (fit != n.Size || missing) && p.Resized < mostResized { // they changed
		*p = p.resized()
		return s.commit(ctx, *p, Batch{Entries: entries(page)})
	}
	p.noteOrder(page.Items, false)
	if n.By != p.Order { // contradicted: the pass sets the next mark
		*n = News{By: p.Order}
		return s.commit(ctx, *p, Batch{Entries: entries(page)})
	}
	n.Top = max(n.Top, n.By.top(page.Items, page.Sent))
	switch {
	case n.By.backwards() && was >= 0 && n.Total > was && !n.Seek: // rows moved back, perhaps onto pages already read
		n.Page += int(n.Total-was+int64(n.Size)-1) / n.Size
	case n.By.backwards():
		p.backwards(page.Items)
	case was >= 0 && n.Total >= 0 && n.Total < was && !began && !p.Chained: // rows moved forward, likewise
		n.Page = max(0, n.Page-int(was-n.Total+int64(n.Size)-1)/n.Size)
	case rows == 0 || rows < n.Size && page.Total >= 0 && !p.Chained || n.Mark == 0 ||
		reaches(n.By, page.Items[rows-1], n.Mark):
		n.finish()
	case p.Chained && page.After.Next == "":
		n.finish()
	case p.Chained:
		n.Page, n.Next = n.Page+1, page.After.Next
	case n.Size < p.PageSize: // many new rows: continue with large pages
		n.Page, n.Size = (n.Page+1)*n.Size/p.PageSize, p.PageSize
	default:
		n.Page++
	}
	return s.commit(ctx, *p, Batch{Entries: entries(page)})
}

// beginNews starts at the growing end.
func (s *Syncer) beginNews(p *Progress) {
	n := &p.News
	if n.By != p.Order {
		*n = News{By: p.Order}
	}
	n.Began, n.Page, n.Next, n.Size, n.Seek, n.Top, n.Total = zero, 0, "", p.NewsSize, false, 0, -1
	if n.By.backwards() { // in pages of the pass, whose size the first page showed
		n.Size = p.PageSize
		n.Page, n.Seek = p.lastPage(n.Size), true
	}
}

// lastPage is the number of the last page of that size, as far as known.
func (p Progress) lastPage(size int) int {
	rows := p.Total
	if rows < 0 {
		rows = p.Last.Held
	}
	return p.Offset + int(max(rows-1, 0))/size
}

// backwards merges a page of a list that grows at its end.
func (p *Progress) backwards(rows []api.Operation) {
	n := &p.News
	if n.Seek {
		last := p.lastPage(n.Size)
		switch {
		case len(rows) == 0 && n.Page > 0:
			n.Page--
			if p.Total >= 0 {
				n.Page = min(n.Page, last)
			} else {
				n.Seek = false
			}
			return
		case p.Total >= 0 && n.Page < last:
			n.Page = last
			return
		case p.Total < 0 && len(rows) == n.Size:
			n.Page++
			return
		}
		n.Seek = false
	}
	if len(rows) == 0 || n.Page <= 0 || n.Mark == 0 || reaches(n.By, rows[0], n.Mark) {
		n.finish()
		return
	}
	n.Page--
}

// reaches reports whether a row, the last of a page in reading direction, is older than the mark; a row with the
// mark's own key may be new.
func reaches(o Order, op api.Operation, mark int64) bool {
	k, ok := o.key(op)
	return ok && k < mark
}

func (n *News) finish() {
	n.At, n.Began, n.Page, n.Next = n.Began, zero, 0, ""
	if n.Top != 0 {
		n.Mark = n.Top
	}
}

// Lease says which process syncs for all.
type Lease struct {
	Owner string    // "" if none ever did
	Until time.Time // the store's time; zero after Release
}

// marked is the prefix of the owner of a lease whose process is marked.
const marked = "alive:"

// ended reports whether the process with the lease was marked and has ended.
func (l Lease) ended(gone func(string) bool) bool {
	name, is := strings.CutPrefix(l.Owner, marked)
	return is && gone != nil && gone(name)
}

// running reports whether a process syncs at now. A marked one does while it lives, even between two pages.
func (l Lease) running(gone func(string) bool, now time.Time) bool {
	if l.Until.IsZero() || l.ended(gone) {
		return false
	}
	return now.Before(l.Until) || strings.HasPrefix(l.Owner, marked) && gone != nil
}

// Running reports whether a process syncs now; only then does an unfinished pass continue.
func (x *Index) Running(ctx context.Context, gone func(string) bool) (bool, error) {
	now, err := x.store.Now(ctx)
	if err != nil {
		return false, err
	}
	l, err := x.store.Leased(ctx, leaseName)
	return l.running(gone, now), err
}

// owner is this process's name in the lease.
func (s *Syncer) owner() string {
	if s.name == "" {
		s.name = s.opt.Owner
		if s.opt.Mark != nil {
			if name, ok := s.opt.Mark(); ok {
				s.name = marked + name
			}
		}
	}
	return s.name
}

// lease takes or renews the lease. It takes that of an ended process at once.
func (s *Syncer) lease(ctx context.Context, now time.Time) (bool, error) {
	if left := s.leased.Sub(now); left > s.opt.Lease/2 && left <= s.opt.Lease {
		return true, nil
	}
	have, err := s.index.store.Leased(ctx, leaseName)
	if err != nil {
		return false, err
	}
	over := ""
	switch held := have.Until.After(now) && !have.Until.After(now.Add(s.opt.Lease)); {
	case !held, have.Owner == s.owner():
	case have.ended(s.opt.Gone):
		over = have.Owner
	default:
		return false, nil
	}
	mine, err := s.index.store.Lease(ctx, leaseName, s.owner(), over, now, s.opt.Lease)
	if mine {
		s.leased = now.Add(s.opt.Lease)
	}
	return mine, err
}

// keep renews the lease until stop is called, since a call may wait long for its budget.
func (s *Syncer) keep(ctx context.Context) (stop func()) {
	ctx, cancel := context.WithCancel(ctx)
	ended := make(chan struct{})
	owner, every := s.owner(), s.opt.Lease/3
	go func() {
		defer close(ended)
		t := time.NewTicker(every)
		defer t.Stop()
		for {
			select {
			case <-ctx.Done():
				return
			case <-t.C:
				if now, err := s.index.store.Now(ctx); err == nil {
					_, _ = s.index.store.Lease(ctx, leaseName, owner, "", now, s.opt.Lease) // the next tick tries again
				}
			}
		}
	}()
	return func() { cancel(); <-ended }
}

// Release returns the lease, even after ctx has ended.
func (s *Syncer) Release(ctx context.Context) {
	end, cancel := context.WithTimeout(context.WithoutCancel(ctx), 2*time.Second)
	defer cancel()
	s.leased = time.Time{}
	_ = s.index.store.Release(end, leaseName, s.owner()) // else it expires
}

// subscribers receive the index's version after each change.
type subscribers struct {
	mu      sync.Mutex
	subs    map[chan int64]struct{} // guarded by mu
	version int64                   // guarded by mu; last one sent
}

// Changes returns a channel that receives the index's version after changes: those of this process at once, others
// when Watch detects them. It holds the newest version only. stop ends the subscription.
func (s *subscribers) Changes() (changes <-chan int64, stop func()) {
	c := make(chan int64, 1)
	s.mu.Lock()
	if s.subs == nil {
		s.subs = map[chan int64]struct{}{}
	}
	s.subs[c] = struct{}{}
	s.mu.Unlock()
	return c, func() {
		s.mu.Lock()
		delete(s.subs, c)
		s.mu.Unlock()
	}
}

// announce sends a version unless it was sent last, and reports whether it did.
func (s *subscribers) announce(version int64) bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	if version == s.version {
		return false
	}
	s.version = version
	for c := range s.subs {
		select {
		case <-c: // drop the older version
		default:
		}
		c <- version
	}
	return true
}
