package index

import (
	"context"
	"fmt"
	"time"

	"opdeck/api"
	"opdeck/api/untrusted"
)

var zero time.Time

// readPass reads the next page of the rolling pass, until one is not full: an equal number of rows and total proves
// nothing.
func (s *Syncer) readPass(ctx context.Context, p *Progress, held int64) error {
	n, size := p.Pass.Page, s.size(*p)
	page, err := s.from.ListPage(ctx, PageRef{n, p.Pass.Next}, size)
	if err != nil {
		if p.smaller(s, size, err) {
			return s.commit(ctx, *p, Batch{})
		}
		return err
	}
	s.large, p.Had = 0, held
	p.take(s, page, n, size)
	return s.commit(ctx, *p, Batch{Entries: entries(page)})
}

// size is the size to request for the next page: the one that pages had, or, at the start of a pass, the largest one
// not tried yet.
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

// probing reports whether to try a larger page.
func (p Progress) probing(s *Syncer) bool {
	atStart := p.Pass.Page == 0
	return !p.Tried && atStart && p.PageSize > 0 && p.PageSize < s.opt.MaxSize &&
		(p.Total < 0 || p.Total > int64(p.PageSize))
}

// smaller records that the service does not answer requests for pages of this size, and reports whether to try
// smaller ones at once. A service that does not answer at all gets a second try.
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

// leastSize is the smallest page size to try.
const leastSize = 10

// refusedSize chooses the next size after a page of this size failed.
func (p *Progress) refusedSize(size int) {
	p.Probe = size / 2
	p.Tried = p.Probe <= p.PageSize
}

// fit is the actual size of pages requested with size: the service may send fewer or more rows.
func (p Progress) fit(page Listed, n, size int) int {
	rows := len(page.Items)
	switch {
	case rows == size || rows == 0:
		return size
	case p.Chained && n > 0: // it may have any size
		return size
	case rows > size:
		return rows
	case page.Total >= 0 && n == 0 && int64(rows) < page.Total:
		return rows
	case page.Total < 0 && n == 0 && page.PageSize != size: // perhaps
		return rows
	}
	return size
}

// take advances the pass after page n, requested with size.
func (p *Progress) take(s *Syncer, page Listed, n, size int) {
	rows := len(page.Items)
	if beyond := int64(n-p.Offset) * int64(size); p.Pass.NoTotal || rows > 0 && !p.Chained && page.Total >= 0 &&
		n > p.Offset && page.Total <= beyond && digest(page.Items) != p.Pass.Ids {
		p.Pass.NoTotal, p.Pass.Total, page.Total = true, -1, -1
	}
	p.Chained = p.Chained || n == 0 && page.chains() && page.Total < 0
	first, probed, fit := p.PageSize == 0, p.probing(s), p.fit(page, n, size)
	if p.Pass.Started.IsZero() {
		p.Pass = Pass{Started: page.Sent, Total: -1, First: page.Total}
	}
	t := &p.Pass
	was := t.Total
	follows := n == t.Page && t.Pages > 0 && page.Total == was
	t.Pages, t.Read, t.At = t.Pages+1, t.Read+int64(rows), page.Sent
	p.Total, t.Total = page.Total, page.Total
	if again := p.learn(s, page, size, fit, first, probed, n); again {
		return
	}
	p.noteOrder(page.Items, follows)
	t.Top = max(t.Top, p.Order.top(page.Items, page.Sent))
	if first && p.Last.Started.IsZero() && p.Order.Sorted() && !p.Order.backwards() { // it is the first page of news, too
		p.News = News{By: p.Order, At: page.Sent, Mark: t.Top}
	}
	if t.Page = 0; first && p.probing(s) {
		return // read it again with a larger size
	}
	t.Page = n + 1
	if p.repeated(page, n, page.Total == was) {
		return
	}
	if rows == 0 && page.Total >= 0 && page.Total < was { // rows left the list, or it is the total of the page
		if t.Emptied++; t.Emptied > mostEmptied {
			t.NoTotal, t.Total, p.Total, page.Total, was = true, -1, -1, -1, -1
		}
	}
	if gone := int(was - page.Total); was >= 0 && page.Total >= 0 && gone > 0 { // later rows moved forward
		if t.Disturbed = true; !p.Chained { // perhaps onto pages already read
			t.Page = max(0, (n-p.Offset)*p.PageSize-gone) / p.PageSize
			return
		}
	}
	p.end(page)
}

// unknownNext is the Note about a list that continues without saying how to request the rest.
func (l Listed) unknownNext() string {
	return fmt.Sprintf("The service's list has more pages (“%s”), but opdeck does not know how to ask for the next "+
		"page: set "+
		"cursor_name and cursor_field of [service].", untrusted.Text(l.After.Key).Line(60))
}

// chains reports whether a page names the next one by anything but its number.
func (l Listed) chains() bool { return l.After.Next != "" && !l.After.ByNumber }

// end decides whether a page is the last one, and whether the service proved that. A page that is not full is the
// last only if a total says so or no later page has a row. The first total counts once another page shows that it is
// not that of a page.
func (p *Progress) end(page Listed) {
	t, rows, more := &p.Pass, len(page.Items), page.After.More
	left := page.Total - int64(t.Page-1-p.Offset)*int64(p.PageSize) - int64(rows) // after this page, by the total
	p.Counted = p.Counted || page.Total > 0 && (rows == 0 || left > 0 && t.Page > 1)
	switch {
	case p.Chained && page.chains() && more != api.NoMore:
		t.Next = page.After.Next
	case more == api.MoreFollows && (p.Chained || rows == 0): // and does not say how to request it
		t.Listed, t.Stuck = true, page.unknownNext()
	case p.Chained, rows == 0, more == api.NoMore && left <= 0:
		t.Listed, t.End = true, true
	case rows < p.PageSize && page.Total >= 0 && more != api.MoreFollows:
		t.Short = left > 0
		t.Listed = !t.Short && p.Counted
	}
}

// learn takes the page size from the answer, and reports whether the pass starts again with another one.
func (p *Progress) learn(s *Syncer, page Listed, size, fit int, first, probed bool, n int) (again bool) {
	rows := len(page.Items)
	at := p.Pass.At
	switch {
	case first:
		p.PageSize, p.NewsSize = fit, min(fit, s.opt.PageSize)
		if fit > size { // the service ignores the size
			p.NewsSize = fit
		}
	case probed && fit < p.PageSize: // a larger page returns fewer rows than a smaller one
		p.refusedSize(size)
		again = true
	case probed:
		p.PageSize, p.NewsSize, p.Tried = fit, max(p.NewsSize, min(fit, s.opt.PageSize)), true
	case fit != size && n == 0:
		p.PageSize, p.NewsSize = fit, min(fit, p.NewsSize)
	case fit != size || p.Pass.Short && rows > 0: // during the pass
		if again = p.Resized < mostResized; again {
			*p = p.resized()
		}
	}
	if again {
		p.Pass = Pass{At: at}
	}
	return again
}

// mostEmptied is how often an empty page with a smaller total sets a pass back until its total is that of the page.
const mostEmptied = 2

// mostResized is how often the page size may change before pages count as variable.
const mostResized = 3

// resized is p for a service whose page size changed: a middle page does not show the new size, so it is learnt again
// from the first.
func (p Progress) resized() Progress {
	p.PageSize, p.NewsSize, p.Tried, p.Probe, p.Resized = 0, 0, false, 0, p.Resized+1
	p.Pass, p.News.Began = Pass{At: p.Pass.At}, zero
	return p
}

// repeated detects repeated pages: a list that counts pages from 1, one that returns its last page for all later
// ones, one with cursors, or one without pages. again: the pass starts again or has ended.
func (p *Progress) repeated(page Listed, n int, still bool) (again bool) {
	t, ids, rows := &p.Pass, digest(page.Items), len(page.Items)
	same := rows > 0 && ids == t.Ids && still
	if n == 1 {
		p.Offset = 0
		if same {
			p.Offset = 1
		}
	}
	t.Ids = ids
	switch {
	case !same:
		t.Repeats = 0
		return false
	case page.chains() && !p.Chained:
		p.Chained, p.Offset, p.Pass = true, 0, Pass{At: t.At}
		return true
	case p.Chained || page.After.More == api.MoreFollows && page.After.Next == "" && t.Repeats > 0:
		t.Listed, t.Stuck = true, page.unknownNext()
	case page.Total >= 0 && n == 1 && int64(rows) == page.Total && page.After.More != api.MoreFollows:
		t.Listed = true // all rows are on one page, whatever its number
	case n > 1 && t.Repeats == 0 && (page.Total >= 0 || rows < p.PageSize): // the last page, returned for all later ones
		t.Listed, t.End = true, page.Total < 0
	case t.Repeats > 0, n > 1:
		t.Listed, t.Stuck = true, pagesRepeat
	default:
		t.Repeats++
		return false
	}
	return true
}

// noteOrder adds a page to the evidence of the order.
func (p *Progress) noteOrder(rows []api.Operation, follows bool) {
	p.Pass.Seen.observe(rows, follows)
	p.Order = p.Pass.Seen.decide(p.Order)
}

// verifyNext reads one operation that no page of the pass has shown, or ends the pass. Operations that the service no
// longer has leave the list.
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
	gone := len(b.Gone)
	p.Pass.Asked++
	p.Pass.Gone += gone
	p.Had -= int64(gone)
	p.News.Total -= int64(gone) // the service no longer counts it
	return s.commit(ctx, *p, b)
}

// asks bounds the single reads at the end of a pass. If rows left the list during the pass, it skipped some: another
// pass finds them with fewer calls.
func (p Progress) asks(held int64) int {
	if p.Pass.Disturbed {
		return p.pages(held)
	}
	return max(100, 2*p.pages(held))
}

// ask reads one operation that no page has shown. If the service does not have it, it must say so in its own words;
// after a bare 404, its total must agree.
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
const pagesRepeat = "The service returns the same page for every page number, so the rest of its list cannot be " +
	"read. opdeck doctor --deep tries other names for the page and prints the settings."

// endPass ends the pass; done: it left nothing unread. Otherwise the next pass starts at once.
func (p *Progress) endPass(held int64, now time.Time, done bool) {
	t, same := p.Pass, 0
	p.Pass, p.Note, p.Resized = Pass{At: t.At}, "", 0
	switch {
	case t.Stuck != "":
		p.Note, p.Stuck = t.Stuck, t.Started
		return
	case !done:
		if t.Started.After(p.Hurry) {
			p.Hurry = t.Started
		}
		return
	}
	whole := p.Last.Whole && held >= t.First // what has arrived since it began is news
	if p.Total >= 0 {
		held = p.Total + p.beyond(held)
	}
	if !p.Last.Started.IsZero() && p.Last.Held-p.Last.Total == held-p.Total &&
		(p.Total >= 0) == (p.Last.Total >= 0) && t.Gone == 0 {
		same = p.Last.Same + 1
	}
	even := 0
	if held == p.Total {
		even = p.Last.Even + 1
	}
	p.Last = Done{Started: t.Started, Finished: now, Pages: t.Pages, Held: held, Total: p.Total, Same: same, Even: even,
		End: t.End, Whole: whole}
	switch {
	case p.Order.Sorted() && (p.Order != p.News.By || p.News.Mark == 0):
		p.News = News{By: p.Order, At: t.Started, Mark: t.Top}
	case !p.Order.Sorted() || p.short():
		p.News = News{By: p.Order, At: t.Started, Mark: t.Top}
	}
}
