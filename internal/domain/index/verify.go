package index

import (
	"bytes"
	"context"
	"errors"
	"time"

	"opdeck/api"
	"opdeck/api/evidence"
	"opdeck/api/limit"
)

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
