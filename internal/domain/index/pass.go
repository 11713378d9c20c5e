package index

import (
	"context"
	"time"

	"opdeck/api"
)

var zero time.Time

// readPass reads the next page of the rolling pass, until one is not full: that
// the rows held are as many as the total proves nothing.
func (s *Syncer) readPass(ctx context.Context, p *Progress) error {
	n, size := p.Pass.Page, s.size(*p)
	page, err := s.from.ListPage(ctx, n, size)
	if err != nil {
		if p.smaller(s, size, err) {
			return s.commit(ctx, *p, Batch{})
		}
		return err
	}
	s.large = 0
	p.take(s, page, n, size)
	return s.commit(ctx, *p, Batch{Entries: entries(page)})
}

// size is what the next page is asked for with: the size that pages were seen to
// have, or at the beginning of a pass the largest one that was not tried yet.
func (s *Syncer) size(p Progress) int {
	switch {
	case p.PageSize == 0 && p.Start > 0:
		return p.Start
	case p.PageSize == 0:
		return s.opt.PageSize
	case !p.probing(s):
		return p.PageSize
	case p.Probe > 0:
		return p.Probe
	}
	return s.opt.MaxSize
}

// probing reports that a larger page is to be tried.
func (p Progress) probing(s *Syncer) bool {
	atStart := p.Pass.Page == 0
	return !p.Tried && atStart && p.PageSize > 0 && p.PageSize < s.opt.MaxSize &&
		(p.Total < 0 || p.Total > int64(p.PageSize))
}

// smaller records that the service does not answer for pages of this size, and
// reports whether smaller ones are to be tried at once. A service that
// does not answer at all gets a second try.
func (p *Progress) smaller(s *Syncer, size int, err error) bool {
	e := api.AsError(err)
	switch {
	case e.Kind == api.Refused && e.Rule != api.RuleForbidden, e.Kind == api.Usage, e.Kind == api.NotFound:
	case (e.Kind == api.Unavailable || e.Kind == api.Internal) && p.PageSize > 0:
		if s.large++; s.large < 2 {
			return false
		}
	default:
		return false
	}
	switch {
	case p.PageSize == 0 && size > leastSize: // the first page
		p.Start = max(size/2, leastSize)
	case p.PageSize == 0 || size <= p.NewsSize:
		return false
	default:
		s.large = 0
		p.Pass = Pass{At: p.Pass.At}
		p.PageSize = p.NewsSize
		p.refusedSize(size)
	}
	return true
}

// leastSize is the smallest page that is asked for where larger ones are refused.
const leastSize = 10

// refusedSize chooses what to try after a page as large as size was not given.
func (p *Progress) refusedSize(size int) {
	p.Probe = size / 2
	p.Tried = p.Probe <= p.PageSize
}

// fit is how many rows pages have that are asked for with size: the service may
// send fewer or more.
func (p Progress) fit(page Listed, n, size int) int {
	rows := len(page.Items)
	switch {
	case rows == size || rows == 0:
		return size
	case rows > size:
		return rows
	case page.Total >= 0 && int64(n)*int64(size)+int64(rows) < page.Total: // short, and not the last one
		return rows
	case page.Total < 0 && n == 0 && page.PageSize != size: // perhaps
		return rows
	}
	return size
}

// take moves the pass on behind page n, which was asked for with size.
func (p *Progress) take(s *Syncer, page Listed, n, size int) {
	rows := len(page.Items)
	first, probed, fit := p.PageSize == 0, p.probing(s), p.fit(page, n, size)
	if p.Pass.Started.IsZero() {
		p.Pass = Pass{Started: page.Sent, Total: -1}
	}
	t := &p.Pass
	was := t.Total
	follows := n == t.Page && t.Pages > 0 && page.Total == was
	t.Pages, t.Read, t.At = t.Pages+1, t.Read+int64(rows), page.Sent
	p.Total, t.Total = page.Total, page.Total
	if again := p.learn(s, size, fit, first, probed, n); again {
		return
	}
	p.noteOrder(page.Items, follows)
	t.Top = max(t.Top, p.Order.top(page.Items, page.Sent))
	if first && p.Last.Started.IsZero() && p.Order.Sorted() && !p.Order.backwards() { // it is the first page of news, too
		p.News = News{By: p.Order, At: page.Sent, Mark: t.Top}
	}
	if t.Page = 0; first && p.probing(s) {
		return // again, with a larger page
	}
	t.Page = n + 1
	p.repeated(digest(page.Items), n, rows, page.Total == was)
	switch gone := int(was - page.Total); {
	case was >= 0 && page.Total >= 0 && gone > 0: // rows behind moved forward, perhaps onto pages that are read
		t.Disturbed = true
		t.Page = max(0, (n-p.Offset)*p.PageSize-gone) / p.PageSize
	case rows < p.PageSize:
		t.Listed = true
	}
}

// learn takes the size of pages from the answer, and reports whether the pass
// begins again with another one.
func (p *Progress) learn(s *Syncer, size, fit int, first, probed bool, n int) (again bool) {
	at := p.Pass.At
	switch {
	case first:
		p.PageSize, p.NewsSize = fit, min(fit, s.opt.PageSize)
		if fit > size { // the service ignores the size
			p.NewsSize = fit
		}
	case probed && fit < p.PageSize: // so large a page gets less than a smaller one
		p.refusedSize(size)
		again = true
	case probed:
		p.PageSize, p.NewsSize, p.Tried = fit, max(p.NewsSize, min(fit, s.opt.PageSize)), true
	case fit != size && n == 0:
		p.PageSize, p.NewsSize = fit, min(fit, p.NewsSize)
	case fit != size: // under the pass
		*p = p.resized()
		again = true
	}
	if again {
		p.Pass = Pass{At: at}
	}
	return again
}

// resized is p for a service whose pages turned out to have another size: a page
// in the middle does not tell which, so that it is learnt again from the first.
func (p Progress) resized() Progress {
	p.PageSize, p.NewsSize, p.Tried, p.Probe = 0, 0, false, 0
	p.Pass, p.News.Began = Pass{At: p.Pass.At}, zero
	return p
}

// repeated looks for pages that come again: a list that counts its pages from 1,
// one that answers with its last page for all behind it, or one without pages.
func (p *Progress) repeated(ids string, n, rows int, still bool) {
	t := &p.Pass
	same := rows > 0 && ids == t.Ids && still
	if n == 1 {
		p.Offset = 0
		if same {
			p.Offset = 1
		}
	}
	switch {
	case !same:
		t.Repeats = 0
	case n > 1 && t.Repeats == 0, p.Total < 0 && t.Repeats > 0: // the last page
		t.Listed = true
	case t.Repeats > 0:
		t.Listed, t.Stuck = true, true
	default:
		t.Repeats++
	}
	t.Ids = ids
}

// noteOrder takes a page as evidence of the order.
func (p *Progress) noteOrder(rows []api.Operation, follows bool) {
	p.Pass.Seen.observe(rows, follows)
	p.Order = p.Pass.Seen.decide(p.Order)
}

// verifyNext asks for one operation that no page of the pass has shown, or ends the
// pass. What the service does not have leaves the list.
func (s *Syncer) verifyNext(ctx context.Context, p *Progress, held int64) error {
	left, err := s.index.store.Candidates(ctx, p.Pass.Started, 1)
	if err != nil {
		return err
	}
	if len(left) == 0 || p.Pass.Asked >= p.asks(held) {
		now, err := s.index.store.Now(ctx)
		if err != nil {
			return err
		}
		p.endPass(held, now, len(left) == 0)
		return s.commit(ctx, *p, Batch{})
	}
	b, err := s.ask(ctx, left[0], p.off(held) && held > p.Total)
	if err != nil {
		return err
	}
	p.Pass.Asked++
	p.Pass.Gone += len(b.Gone)
	return s.commit(ctx, *p, b)
}

// asks is how many single reads a pass may end with. A pass during which rows left
// the list has skipped some: another pass finds them for less.
func (p Progress) asks(held int64) int {
	if p.Pass.Disturbed {
		return p.pages(held)
	}
	return max(100, 2*p.pages(held))
}

// ask reads one operation that no page has shown. A service that does not have it
// says so in its own words; where it only answers 404, its total must agree.
func (s *Syncer) ask(ctx context.Context, id string, fewer bool) (Batch, error) {
	now, err := s.index.store.Now(ctx)
	if err != nil {
		return Batch{}, err
	}
	op, sent, err := s.from.Operation(ctx, id)
	b := Batch{Asked: []string{id}}
	switch e := api.AsError(err); {
	case err == nil:
		b.Entries = []Entry{{Op: op, Origin: Read, Seen: sent}}
	case e.Kind == api.NotFound && (e.Rule == api.RuleOperationUnknown || e.Err != nil || fewer):
		b.Gone = []Gone{{OPID: id, At: now}}
	case e.Kind != api.NotFound && e.Kind != api.Refused:
		return b, err
	}
	return b, nil
}

// pagesRepeat is the Note about a list without pages.
const pagesRepeat = "The service answers with the same page for every page number, so that the rest of its list " +
	"cannot be read."

// endPass ends the pass; whole says that nothing is left that it did not show. If
// something is, the next pass begins at once.
func (p *Progress) endPass(held int64, now time.Time, whole bool) {
	t, same := p.Pass, 0
	p.Pass, p.Note = Pass{At: t.At}, ""
	switch {
	case t.Stuck:
		p.Note = pagesRepeat
		return
	case !whole:
		if t.Started.After(p.Hurry) {
			p.Hurry = t.Started
		}
		return
	}
	if p.Last.Held == held && p.Last.Total == p.Total && t.Gone == 0 {
		same = p.Last.Same + 1
	}
	even := 0
	if held == p.Total {
		even = p.Last.Even + 1
	}
	p.Last = Done{Started: t.Started, Finished: now, Pages: t.Pages, Held: held, Total: p.Total, Same: same, Even: even}
	switch {
	case p.Order.Sorted() && (p.Order != p.News.By || p.News.Mark == 0):
		p.News = News{By: p.Order, At: t.Started, Mark: t.Top}
	case !p.Order.Sorted() || p.short():
		p.News = News{By: p.Order, At: t.Started, Mark: t.Top}
	}
}
