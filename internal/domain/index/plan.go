package index

import (
	"context"
	"time"
)

// plan returns the due job, from reads of the store only: single reads, then news, then the pass, then
// rows of an earlier build.
func (s *Syncer) plan(ctx context.Context, now time.Time) (p Progress, held int64, what job, wait time.Duration,
	err error) {
	if p, err = LoadProgress(ctx, s.index.store); err != nil {
		return p, 0, nothing, 0, err
	}
	seen, err := s.index.store.Sights(ctx)
	if err != nil {
		return p, 0, nothing, 0, err
	}
	held = seen.Rows
	owed, err := s.index.store.Owed(ctx, now, 1)
	if err != nil {
		return p, held, nothing, 0, err
	}
	forNews, forPass := s.newsDue(p, now), s.passDue(p, held, now)
	switch {
	case len(owed) > 0 && (s.owed < owedInARow || forNews > 0 && forPass > 0):
		return p, held, single, 0, nil
	case forNews <= 0:
		return p, held, news, 0, nil
	case forPass <= 0 && p.Pass.Listed:
		return p, held, verify, 0, nil
	case forPass <= 0:
		return p, held, page, 0, nil
	}
	if !s.derived {
		if s.derived, err = s.index.store.Derived(ctx); err != nil || !s.derived {
			return p, held, derive, 0, err
		}
	}
	return p, held, nothing, min(forNews, forPass, s.opt.Lease/2), nil
}

// never is longer than any other wait.
const never = 24 * time.Hour

// newsDue is how long the news remain current; never if they have no place in the list.
func (s *Syncer) newsDue(p Progress, now time.Time) time.Duration {
	switch {
	case !p.hasNews():
		return never
	case !p.News.Began.IsZero(), p.NewsAfter.After(p.News.At), p.Hurry.After(p.News.At):
		return 0
	}
	return s.opt.MaxAge - now.Sub(p.News.At)
}

// hasNews reports whether new operations are at one end of the list. An index that was complete before the order was
// known waits for the mark set at the end of a pass, since rows in between may have been missed.
func (p Progress) hasNews() bool {
	marked := p.News.Mark != 0 && p.News.By == p.Order
	reached := p.Order.Sorted() && !(p.Chained && p.Order.backwards())
	return reached && p.NewsSize > 0 && !p.short() && (marked || p.Last.Started.IsZero())
}

// short reports whether the whole list is one page of news, and so a pass.
func (p Progress) short() bool { return p.Total >= 0 && p.Total <= int64(p.NewsSize) }

// passDue is how long until the next page of the pass, or the next single read that completes it.
func (s *Syncer) passDue(p Progress, held int64, now time.Time) time.Duration {
	if p.Pass.Listed || p.Note == "" && !p.settled(held) {
		return 0
	}
	gap := s.gap(p, held)
	at := p.Pass.At
	if at.IsZero() {
		at = p.Last.Finished
	}
	return gap - now.Sub(at)
}

// gap is the pause of a settled sync between two pages of the pass.
func (s *Syncer) gap(p Progress, held int64) time.Duration {
	round := passAges * s.opt.MaxAge
	if !p.hasNews() { // the pass finds new operations
		round = s.opt.MaxAge
	}
	gap := round / time.Duration(p.pages(held))
	if !p.short() {
		gap = max(gap, passShare*time.Minute/time.Duration(s.opt.PerMinute))
	}
	return gap
}

// PassTime is the number of pages of a pass and its duration at the current rate.
func (s *Syncer) PassTime(p Progress, held int64) (pages int, took time.Duration) {
	pages = p.pages(held)
	gap := s.gap(p, held)
	if !p.settled(held) {
		gap = time.Minute * 3 / time.Duration(2*s.opt.PerMinute) // background work gets two thirds of the calls
	}
	return pages, time.Duration(pages) * gap
}
