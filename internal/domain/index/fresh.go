package index

import (
	"bytes"
	"cmp"
	"context"
	"errors"
	"fmt"
	"strings"
	"time"

	"opdeck/api"
	"opdeck/api/endpoint"
	"opdeck/api/evidence"
	"opdeck/api/limit"
	"opdeck/internal/format"
)

// Freshness is the age of the index's answers, in this host's time.
type Freshness struct {
	Sights
	// AsOf is the age of an answer from the whole index, such as a total: the oldest read of a row, and no newer than
	// the last complete read of new operations. Zero: not known.
	AsOf time.Time
	// Complete: a pass over the list showed all of it, and nothing shows a gap since. Why has the evidence, WholeAt the
	// time of which that is true: operations that arrived later may be missing.
	Complete bool
	WholeAt  time.Time
	Why      evidence.Conclusion
	Total    int64 // operations by the service's last answer; -1: not known
	Owed     int   // operations whose single read is due, at most 1,000
	Version  int64 // of the index: answers of two versions may contradict
	Progress Progress
	MaxAge   time.Duration // how old WholeAt may be to be called now
}

// Answer is rows with their total number and their age, all from one state of the index.
type Answer struct {
	Window Window
	Total  int64
	Fresh  Freshness
}

// Consistent runs fn with an index whose answers all come from one state.
func (x *Index) Consistent(ctx context.Context, fn func(*Index) error) error {
	by, err := x.shift(ctx)
	if err != nil {
		return err
	}
	return x.store.Snapshot(ctx, func(s Store) error {
		return fn(&Index{store: s, mode: x.mode, Beside: x.Beside, MaxAge: x.MaxAge,
			clock: clock{store: s, now: x.now, ahead: &by}})
	})
}

// Freshness returns the age of the index's answers.
func (x *Index) Freshness(ctx context.Context) (f Freshness, err error) {
	err = x.Consistent(ctx, func(x *Index) error {
		f, err = x.freshness(ctx)
		return err
	})
	return f, err
}

func (x *Index) freshness(ctx context.Context) (f Freshness, err error) {
	now, err := x.store.Now(ctx)
	if err != nil {
		return f, err
	}
	if f.Progress, err = LoadProgress(ctx, x.store); err != nil {
		return f, err
	}
	if f.Sights, err = x.store.Sights(ctx); err != nil {
		return f, err
	}
	owed, err := x.store.Owed(ctx, now, 1000)
	if err != nil {
		return f, err
	}
	if f.Version, err = x.Version(ctx); err != nil {
		return f, err
	}
	by, err := x.shift(ctx)
	f.Progress.Last.Whole = f.Progress.Last.Whole || f.Progress.proves(f.Rows) // an earlier build did not note it
	p := f.Progress
	f.Owed, f.Total, f.MaxAge = len(owed), p.Total, x.MaxAge
	why, need := p.whole(f.Sights, now)
	f.Why, f.Complete = why.Held(need, "not complete")
	evidence.Note(ctx, f.Why)
	if f.Complete {
		f.WholeAt = x.local(p.wholeAt(), by)
	}
	if at := f.asOf(p, now); !at.IsZero() {
		f.AsOf = x.local(at, by)
	}
	f.Oldest, f.Newest = x.local(f.Oldest, by), x.local(f.Newest, by)
	return f, err
}

// asOf is in the store's time. It is unknown if a row was never read, or read by a clock that was set back since.
func (f Freshness) asOf(p Progress, now time.Time) time.Time {
	at := p.News.At
	if p.Last.Started.After(at) {
		at = p.Last.Started
	}
	switch {
	case f.Unseen > 0 || f.Newest.After(now) || p.afterClock(now):
		return time.Time{}
	case f.Rows == 0, f.Oldest.IsZero():
		return at
	case at.IsZero() || f.Oldest.Before(at): // before the first read of new operations it is as old as the rows
		return f.Oldest
	}
	return at
}

// Answer reads rows, their total number, and their age.
func (x *Index) Answer(ctx context.Context, q Query, now time.Time) (a Answer, err error) {
	err = x.Consistent(ctx, func(x *Index) error {
		if a.Window, err = x.Window(ctx, q, now); err != nil {
			return err
		}
		if a.Total, err = x.Count(ctx, q.Filter, now); err != nil {
			return err
		}
		a.Fresh, err = x.Freshness(ctx)
		return err
	})
	return a, err
}

// whole concludes whether the rows held are all of the service's list: a pass that ended showed all, and no later
// answer shows a gap. Operations that arrive later do not change that. now is the store's time.
func (p Progress) whole(s Sights, now time.Time) (evidence.Conclusion, evidence.Need) {
	c := evidence.Conclusion{Kind: evidence.Complete, Says: "complete", Open: p.open(s.Rows)}
	need := evidence.Need{Routes: []string{listRoute()}, Covers: evidence.Whole,
		Now: evidence.Moment{At: now, By: evidence.Store}}
	if at := p.latest(); at.After(now) { // the clock was set back since then
		need.Steps = []evidence.Moment{{At: at, By: evidence.Store}}
	}
	if p.Last.Started.IsZero() {
		return c, need
	}
	e := evidence.Evidence{Read: "the pass over " + format.Plural(p.Last.Pages, "page", "pages"), Route: listRoute(),
		Seen:  evidence.Moment{At: p.Last.Started, By: evidence.Store},
		Shows: "showed " + format.Plural(int(p.Last.Held), "operation", "operations")}
	if p.Last.Whole {
		e.Covers = evidence.Whole
		if p.Last.Total >= 0 {
			e.Shows += " of a total of " + format.Count(int(p.Last.Total))
		} else if p.Last.End {
			e.Shows += " and the end of the list"
		}
	}
	c.Rests = append(c.Rests, e)
	return c, need
}

// open is what is known to be missing, for people; "": nothing.
func (p Progress) open(held int64) string {
	if why := p.gap(held); why != "" {
		return why
	}
	switch {
	case p.Last.Started.IsZero():
		return "no pass over all pages has ended"
	case p.hasNews() && p.News.Total > held:
		return "the service counts " + format.Plural(int(p.News.Total), "operation", "operations")
	case !p.Last.Whole:
		return "the service counts " + format.Plural(int(p.Total), "operation", "operations")
	}
	return ""
}

// gap is what is missing beyond what the numbers of operations say.
func (p Progress) gap(held int64) string {
	switch {
	case p.Note != "":
		return p.Note
	case p.Last.Started.IsZero():
		return ""
	case !p.News.Began.IsZero() && !p.News.Seek:
		return "the newest page does not reach a known operation, so the pages behind it are read"
	case p.Last.Whole:
		return ""
	case !p.proven() && p.Total < 0:
		return "a second pass is needed, since the service reports no total"
	case !p.proven():
		return "a second pass is needed, since the service's list has no order"
	case p.off(held) && !p.differs(held): // another pass would not change that
		return fmt.Sprintf("the service reports a total of %s, its pages show %s", format.Count(int(p.Total)),
			format.Count(int(held)))
	}
	return ""
}

// wholeAt is when the list was last known to be here as a whole: what the service listed then is in the index.
func (p Progress) wholeAt() time.Time {
	if p.hasNews() && p.News.At.After(p.Last.Started) {
		return p.News.At
	}
	return p.Last.Started
}

// Says is how much of the service's list the index holds, and how old that is, for people, in zone (nil: UTC):
// "519 operations, newest now, all read 02:09" or "read so far: 519 of about 1,200". now is this host's time.
func (f Freshness) Says(now time.Time, zone *time.Location) string {
	if !f.Complete {
		return f.readSoFar()
	}
	late := f.Late(now, zone)
	out := format.Plural(int(f.Rows), "operation", "operations") + cmp.Or(late, ", newest now")
	if f.AsOf.IsZero() || late != "" && moment(f.AsOf, now, zone) == moment(f.WholeAt, now, zone) {
		return out
	}
	return out + ", all read " + moment(f.AsOf, now, zone)
}

// LateFrom is the time from which an index that is complete is so as of an earlier time; zero: it is not complete.
func (f Freshness) LateFrom() time.Time {
	if !f.Complete {
		return time.Time{}
	}
	return f.WholeAt.Add(f.MaxAge + 1)
}

// Late is ", complete as of 02:05" for an index that is complete, but not now; else "".
func (f Freshness) Late(now time.Time, zone *time.Location) string {
	if !f.Complete || now.Before(f.LateFrom()) {
		return ""
	}
	return ", complete as of " + moment(f.WholeAt, now, zone)
}

func (f Freshness) readSoFar() string {
	why := f.Progress.gap(f.Rows)
	if f.Rows == 0 && why == "" {
		return "nothing was read yet"
	}
	out := "read so far: " + format.Plural(int(f.Rows), "operation", "operations")
	if f.Rows < f.Total {
		out = "read so far: " + format.Count(int(f.Rows)) + " of about " + format.Count(int(f.Total))
	}
	if why != "" {
		out += "; " + strings.TrimSuffix(why, ".")
	}
	return out
}

// moment is a time of day, with its date unless that is today's.
func moment(t, now time.Time, zone *time.Location) string {
	if format.Date(t, zone) == format.Date(now, zone) {
		return format.ClockOrDay(t, now, zone)
	}
	return format.Minute(t, zone)
}

// gone concludes that the service does not have the operation, from the single read that said so. That read is no
// older than any sight of the row. Times are the store's.
func (r Record) gone(opid string, now time.Time) (evidence.Conclusion, evidence.Need) {
	c := evidence.Conclusion{Kind: evidence.Gone, Says: "gone", Object: opid, Rests: []evidence.Evidence{{
		Read: "the operation read", Route: readRoute(), Object: opid,
		Seen: evidence.Moment{At: r.Gone, By: evidence.Store}, Covers: evidence.Whole,
		Shows: "was answered with: no such operation"}}}
	need := evidence.Need{Routes: []string{readRoute()}, Object: opid, Covers: evidence.Whole,
		Now: evidence.Moment{At: now, By: evidence.Store}}
	if !r.Seen.IsZero() {
		need.After = []evidence.Moment{{At: r.Seen.Add(-time.Microsecond), By: evidence.Store}}
	}
	return c, need
}

// whole concludes whether the pages that a comparison read are all of the list.
func (c Comparison) whole(p Progress) (evidence.Conclusion, evidence.Need) {
	e := evidence.Evidence{Read: "the comparison over " + format.Plural(p.Pass.Pages, "page", "pages"),
		Route: listRoute(), Seen: evidence.Moment{At: p.Pass.Started, By: evidence.Store},
		Shows: "showed " + format.Plural(int(c.Compared), "operation", "operations")}
	if c.Total >= 0 {
		e.Shows += " of a total of " + format.Count(int(c.Total))
	}
	if c.Compared == c.Total || p.Pass.End && c.Compared > c.Total {
		e.Covers = evidence.Whole
	}
	return evidence.Conclusion{Kind: evidence.Complete, Says: "the pages are all", Rests: []evidence.Evidence{e},
		Open: c.Note}, evidence.Need{Routes: []string{listRoute()}, Covers: evidence.Whole}
}

// listRoute is the route whose pages show the list.
func listRoute() string { return "GET " + endpoint.ListOperations.Template() }

// readRoute is the route that shows one operation.
func readRoute() string { return "GET " + endpoint.GetOperation.Template() }

// Comparison lists the differences between index and service before the repair.
type Comparison struct {
	Compared  int64    `json:"compared"`  // operations in the service's list
	Missing   []string `json:"missing"`   // at the service, not in the index
	Different []string `json:"different"` // with different content
	Phantom   []string `json:"phantom"`   // in the index, not at the service
	Unlisted  []string `json:"unlisted"`  // at the service, but on no page of its list
	Total     int64    `json:"total"`     // reported by the service; -1: not reported
	Whole     bool     `json:"whole"`     // the pages are proven to be the whole list
	Note      string   `json:"note"`      // why they are not, a sentence; may be ""
}

// Differs reports whether there are differences.
func (c Comparison) Differs() bool {
	return len(c.Missing)+len(c.Different)+len(c.Phantom) > 0 || c.Total >= 0 && c.Compared != c.Total
}

// Verify reads the whole list from the service and compares each page before merging it; it reads one by one what no
// page has shown. It calls progress after each call. Differences that another instance repairs first are not
// reported.
func (s *Syncer) Verify(ctx context.Context, progress func(done, total int64)) (Comparison, error) {
	var c Comparison
	p, err := LoadProgress(ctx, s.index.store)
	if err != nil {
		return c, err
	}
	found := map[string]bool{}
	p.Pass, p.Note = Pass{}, ""
	for !p.Pass.Listed {
		if p.Pass.Pages == 0 {
			clear(found)
		}
		page, err := s.pageOf(ctx, &p)
		if err != nil {
			return c, err
		}
		if err := s.compare(ctx, page, found, &c); err != nil {
			return c, err
		}
		if _, err := s.index.commit(ctx, Batch{Entries: entries(page)}); err != nil {
			return c, err
		}
		c.Compared, c.Total = int64(len(found)), p.Total
		progress(c.Compared, p.Total)
	}
	c.Note = p.Pass.Stuck
	why, need := c.whole(p)
	why, c.Whole = why.Held(need, "nothing proves that the pages are all")
	evidence.Note(ctx, why)
	return c, s.phantoms(ctx, p.Pass.Started, found, &c)
}

// pageOf reads the next page of a separate pass.
func (s *Syncer) pageOf(ctx context.Context, p *Progress) (Listed, error) {
	for {
		n, size := p.Pass.Page, s.size(*p)
		page, err := s.from.ListPage(ctx, PageRef{n, p.Pass.Next}, size)
		if err == nil {
			p.take(s, page, n, size)
			return page, nil
		}
		if !p.smaller(s, size, err) {
			return page, err
		}
	}
}

func (s *Syncer) compare(ctx context.Context, page Listed, found map[string]bool, c *Comparison) error {
	for _, op := range page.Items {
		id := string(op.OPID)
		if id == "" || found[id] {
			continue
		}
		found[id] = true
		rec, err := s.index.store.Get(ctx, id)
		switch {
		case errors.Is(err, ErrNone) || err == nil && !rec.Gone.IsZero():
			c.Missing = append(c.Missing, id)
		case err != nil:
			return err
		case rec.Seen.Before(page.Sent) && !bytes.Equal(rec.Op.Raw, op.Raw):
			c.Different = append(c.Different, id)
		}
	}
	return nil
}

// phantoms reads the rows that no page has shown.
func (s *Syncer) phantoms(ctx context.Context, since time.Time, found map[string]bool, c *Comparison) error {
	for {
		left, err := s.index.store.Candidates(ctx, since, 1)
		if err != nil || len(left) == 0 {
			return err
		}
		b, err := s.ask(ctx, left[0], c.Total >= 0 && c.Compared == c.Total)
		if err != nil {
			return err
		}
		switch {
		case found[left[0]]: // a page had it, with an older state
		case len(b.Gone) > 0:
			c.Phantom = append(c.Phantom, left[0])
		default:
			c.Unlisted = append(c.Unlisted, left[0])
		}
		if _, err := s.index.commit(ctx, b); err != nil {
			return err
		}
	}
}

// RequestNews makes the syncing instance read news now.
func (s *Syncer) RequestNews(ctx context.Context) error {
	_, err := s.request(ctx, func(p *Progress, now time.Time) { p.NewsAfter = now })
	return err
}

// Through syncs, without pauses for other work, until a complete pass that began after the call has ended and the
// counts agree; if another instance syncs, it makes that one do it. It calls progress about once a second. It
// returns an error after a few consecutive failures, and if the list cannot be read to its end.
func (s *Syncer) Through(ctx context.Context, progress func(Freshness)) error {
	since, err := s.request(ctx, func(p *Progress, now time.Time) { p.Hurry = now })
	if err != nil {
		return err
	}
	failed := 0
	for {
		did, wait, err := s.step(ctx)
		if err != nil {
			if failed++; failed > 3 || ctx.Err() != nil || !transient(err) {
				return err
			}
			wait = s.backOff(ctx, err)
		} else if did != nothing {
			failed = 0
		}
		f, err := s.index.Freshness(ctx)
		if err != nil {
			return err
		}
		progress(f)
		switch p := f.Progress; {
		case !p.Last.Started.Before(since) && p.settled(f.Rows):
			return nil
		case p.Note != "" && !p.Stuck.Before(since):
			return &api.Error{Op: "index sync", Kind: api.Unavailable, Public: p.Note,
				Remedy: api.Remedy{Kind: api.CompareAnswers}}
		}
		if err := limit.Sleep(ctx, min(wait, time.Second)); err != nil {
			return err
		}
	}
}

func transient(err error) bool {
	k := api.KindOf(err)
	return k == api.Unavailable || k == api.RateLimited
}

// request changes the progress, even while other instances work, and returns the store's time.
func (s *Syncer) request(ctx context.Context, change func(p *Progress, now time.Time)) (time.Time, error) {
	for {
		now, err := s.now(ctx)
		if err != nil {
			return now, err
		}
		p, err := LoadProgress(ctx, s.index.store)
		if err != nil {
			return now, err
		}
		change(&p, now)
		swap, err := p.swap()
		if err != nil {
			return now, err
		}
		if m, err := s.index.commit(ctx, Batch{Swap: swap}); err != nil || m.Swapped {
			return now, err
		}
	}
}

// Rebuild deletes all rows of the index and the progress of the sync. It keeps the history and what people have seen.
func (x *Index) Rebuild(ctx context.Context) error {
	if err := x.store.Reset(ctx, progressName); err != nil {
		return err
	}
	_, err := x.Poll(ctx)
	return err
}
