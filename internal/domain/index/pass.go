package index

import (
	"context"
	"encoding/json"
	"fmt"
	"strings"
	"time"

	"opdeck/api"
	"opdeck/api/untrusted"
	"opdeck/internal/domain/index/filter"
	"opdeck/internal/format"
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
	b := Batch{}
	switch e := api.AsError(err); {
	case err == nil:
		b = answer(id, op, sent)
	case e.Kind == api.NotFound && (e.Rule == api.RuleOperationUnknown || e.Err != nil || fewer):
		b.Gone = []Gone{{OPID: id, At: now}}
	case e.Kind != api.NotFound && e.Kind != api.Refused:
		return b, err
	}
	b.Asked = []string{id}
	return b, nil
}

// pagesRepeat is the Note about a list without pages.
const pagesRepeat = "The service returns the same page for every page number, so the rest of its list cannot be " +
	"read. [service] paging, page_name and cursor_name say how it asks for a page."

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

// PassTime is the number of pages of a pass and its duration at the current rate, with the pauses between them.
func (s *Syncer) PassTime(p Progress, held int64) (pages int, took time.Duration) {
	pages = p.pages(held)
	gap := s.gap(p, held)
	if !p.settled(held) {
		gap = time.Minute * 3 / time.Duration(2*s.opt.PerMinute) // background work gets two thirds of the calls
	}
	return pages, time.Duration(pages) * gap
}

// Progress is the state of the sync and what it knows of the service's list. It is stored in the transaction of its
// rows, so that any instance can show and continue it, and a crash leaves no gap. All times are the store's.
type Progress struct {
	Version int `json:"version"`

	// What the answers showed of the list.
	Total    int64  `json:"total"`             // operations by the service's last answer; -1: not reported
	Had      int64  `json:"had,omitempty"`     // rows in the list when that answer was asked for: it counts them, too
	Order    Order  `json:"order,omitempty"`   // reassessed with every page
	Offset   int    `json:"offset,omitempty"`  // 1 if page 1 equals page 0: the service counts from 1
	PageSize int    `json:"page_size"`         // rows of a page of the rolling pass; 0: not known yet
	NewsSize int    `json:"news_size"`         // rows of a page of news
	Start    int    `json:"start,omitempty"`   // size of the first page if the usual one is refused
	Probe    int    `json:"probe,omitempty"`   // the larger size to try next
	Tried    bool   `json:"tried,omitempty"`   // larger sizes were tried
	Counted  bool   `json:"counted,omitempty"` // the total proved to be the list's, not a page's
	Resized  int    `json:"resized,omitempty"` // changes of the page size since the last pass
	Chained  bool   `json:"chained,omitempty"` // each page names the next one, page numbers do not work
	Note     string `json:"note,omitempty"`    // what keeps the index from being complete, a sentence
	// Stuck is the start of the pass that found Note.
	Stuck time.Time `json:"stuck,omitzero"`

	Pass Pass `json:"pass"`
	Last Done `json:"last"`
	News News `json:"news"`

	NewsAfter time.Time `json:"look,omitzero"`     // a person waits for news read after this
	Hurry     time.Time `json:"hurry,omitzero"`    // a person waits for a pass that began after this
	Trouble   string    `json:"trouble,omitempty"` // why the sync is paused, a sentence

	text string // as it was read
}

// Pass is the current rolling pass over all pages.
type Pass struct {
	Started   time.Time `json:"started,omitzero"` // when its first request was sent; zero: not yet
	Page      int       `json:"page"`             // the next one
	Next      string    `json:"next,omitempty"`   // next page by the last one, in a chained list
	Pages     int       `json:"pages"`            // read
	Read      int64     `json:"read"`             // rows
	At        time.Time `json:"at,omitzero"`      // when its last request was sent
	Total     int64     `json:"total"`            // by its last page
	First     int64     `json:"first,omitempty"`  // the total by its first page
	Ids       string    `json:"ids,omitempty"`    // digest of the identifiers on its last page
	Repeats   int       `json:"repeats,omitempty"`
	Stuck     string    `json:"stuck,omitempty"`     // why it cannot continue, a sentence
	End       bool      `json:"end,omitempty"`       // the service showed the end of the list
	NoTotal   bool      `json:"no_total,omitempty"`  // a page had rows beyond the total, so it is not the list's
	Short     bool      `json:"short,omitempty"`     // its last page was not full, but more should follow by the total
	Emptied   int       `json:"emptied,omitempty"`   // empty pages with a smaller total than the page before
	Disturbed bool      `json:"disturbed,omitempty"` // rows left the list during the pass
	Listed    bool      `json:"listed,omitempty"`    // all pages are read; the remaining rows are read one by one
	Asked     int       `json:"asked,omitempty"`     // single reads so far
	Gone      int       `json:"gone,omitempty"`      // of them: no longer at the service
	Top       int64     `json:"top,omitempty"`       // newest key of its rows
	Seen      Signs     `json:"evidence"`
}

// Done is the last pass that read every page and then every row that no page had shown.
type Done struct {
	Started  time.Time `json:"started,omitzero"`
	Finished time.Time `json:"finished,omitzero"`
	Pages    int       `json:"pages"`
	Held     int64     `json:"held"`  // rows in the list at its end
	Total    int64     `json:"total"` // by the service at its end
	Same     int       `json:"same"`  // earlier passes in a row with the same two numbers
	Even     int       `json:"even"`  // passes in a row, including it, with Held equal to Total
	End      bool      `json:"end"`   // the service showed the end of the list
	// Whole: what it showed was all of the list, as far as the news and the numbers can prove it. Operations that
	// arrive later do not change that.
	Whole bool `json:"whole,omitempty"`
}

// News is how far the list's growing end has been read.
type News struct {
	At   time.Time `json:"at,omitzero"` // when the first request of the last complete read was sent
	Mark int64     `json:"mark"`        // it read down to this key; 0: never
	By   Order     `json:"by,omitempty"`

	Began time.Time `json:"began,omitzero"` // start of the current read; zero: none
	Page  int       `json:"page"`           // the next one
	Next  string    `json:"next,omitempty"` // next page by the last one, in a chained list
	Size  int       `json:"size"`
	Seek  bool      `json:"seek,omitempty"` // the last page is not found yet
	Top   int64     `json:"top,omitempty"`  // newest key so far, the next mark
	Total int64     `json:"total"`          // by its last page
}

const (
	progressVersion = 2
	progressName    = "sync"
	leaseName       = "sync"
)

// LoadProgress reads the shared progress.
func LoadProgress(ctx context.Context, s Store) (Progress, error) {
	v, err := s.Meta(ctx, progressName)
	if err != nil {
		return Progress{}, err
	}
	p := Progress{text: v}
	if v != "" && (json.Unmarshal([]byte(v), &p) != nil || p.Version != progressVersion) {
		p = Progress{text: v} // in another program's format: start again
	}
	if p.Version == 0 {
		p.Version, p.Total = progressVersion, -1
	}
	return p, nil
}

// swap is the change from the progress that was read to p.
func (p Progress) swap() (*Swap, error) {
	b, err := json.Marshal(p)
	if err != nil {
		return nil, fmt.Errorf("index: %w", err)
	}
	return &Swap{Name: progressName, Old: p.text, New: string(b)}, nil
}

// save writes p unless another process has changed it.
func (p Progress) save(ctx context.Context, s Store) error {
	swap, err := p.swap()
	if err == nil {
		_, err = s.Put(ctx, Batch{Swap: swap})
	}
	return err
}

// pages is the number of pages of a pass, at least 1.
func (p Progress) pages(held int64) int {
	rows := max(p.Total, held)
	if p.PageSize <= 0 {
		return 1
	}
	return int(max((rows+int64(p.PageSize)-1)/int64(p.PageSize), 1))
}

// differs reports whether the index holds another number of rows than the service reports, and another pass may
// change that: it has fewer, or had more when the service counted. Later arrivals make no difference.
func (p Progress) differs(held int64) bool {
	return p.off(held) && !(p.Last.Same > 0 && p.beyond(held) == p.Last.Held-p.Last.Total)
}

func (p Progress) off(held int64) bool { return p.Total >= 0 && p.beyond(held) != 0 }

// beyond is how many rows more than the service counted are held, or fewer. Rows that arrived since it counted are
// not among them.
func (p Progress) beyond(held int64) int64 {
	switch {
	case p.Had > p.Total:
		return p.Had - p.Total
	case held < p.Total:
		return held - p.Total
	}
	return 0
}

// proves reports whether the last pass showed the whole list, by the numbers of now.
func (p Progress) proves(held int64) bool {
	counted := p.Total >= 0 && p.beyond(held) == 0
	return p.proven() && (counted || p.Last.End && held > p.Total)
}

// proven reports whether a pass can show the whole list, or enough of them agree.
func (p Progress) proven() bool { return !p.Last.Started.IsZero() && (p.once() || p.twice()) }

// once reports whether one pass can show the whole list. If the service reports no total, or its list is unsorted,
// rows may have moved unnoticed onto pages already read; then it takes two passes in a row.
func (p Progress) once() bool { return p.Total >= 0 && (p.Order.Sorted() || p.short()) }

// twice reports whether two passes in a row were equal, or their numbers matched.
func (p Progress) twice() bool { return p.Last.Same > 0 || p.Total >= 0 && p.Last.Even > 1 }

// ETA estimates the time left of the first pass from its pace; ok is false if it cannot be estimated, as in the first
// minute, which spends its calls at once and then waits.
func (p Progress) ETA(now time.Time) (left time.Duration, ok bool) {
	took := now.Sub(p.Pass.Started)
	if p.Pass.Started.IsZero() || p.Pass.Read == 0 || p.Total <= p.Pass.Read || took < time.Minute {
		return 0, false
	}
	return time.Duration(float64(took) / float64(p.Pass.Read) * float64(p.Total-p.Pass.Read)), true
}

// Unreported is how many rows a filter cannot judge because they lack the value of a field: they match neither the
// filter nor its negation.
type Unreported struct {
	Fields []string // each is lacked by some of the rows
	Rows   int64    // 0: the filter judges all
	Page   bool     // of one page of the service; else of the index
}

// String says so to people, "" for no rows.
func (u Unreported) String() string {
	if u.Rows == 0 {
		return ""
	}
	in := "in the index"
	if u.Page {
		in = "on this page"
	}
	has, match := "have", "they match."
	if u.Rows == 1 {
		has, match = "has", "it matches."
	}
	last := len(u.Fields) - 1
	fields := u.Fields[last]
	if last > 0 {
		fields = strings.Join(u.Fields[:last], ", ") + " or " + fields
	}
	return format.Plural(int(u.Rows), "operation", "operations") + " " + in + " " + has + " no value for " + fields +
		", so it is not known whether " + match
}

// unreported is Unreported by what count counts.
func unreported(f filter.OperationExpr, count func(filter.OperationExpr) (int64, error)) (u Unreported, err error) {
	for _, name := range f.Needs() {
		n, err := count(f.Unknown(name))
		if err != nil {
			return u, err
		}
		if n > 0 {
			u.Fields, u.Rows = append(u.Fields, name), n
		}
	}
	if len(u.Fields) > 1 { // a row may lack several
		u.Rows, err = count(f.Unknown(u.Fields...))
	}
	return u, err
}

// Unreported counts the rows that the filter cannot judge.
func (x *Index) Unreported(ctx context.Context, f filter.OperationExpr, now time.Time) (Unreported, error) {
	return unreported(f, func(f filter.OperationExpr) (int64, error) { return x.Count(ctx, f, now) })
}

// UnreportedOn is Unreported for a page of the service.
func UnreportedOn(page []api.Operation, f filter.OperationExpr, now time.Time) Unreported {
	u, _ := unreported(f, func(f filter.OperationExpr) (n int64, _ error) { // counting does not fail
		for _, o := range page {
			if f.Match(o, now) {
				n++
			}
		}
		return n, nil
	})
	u.Page = true
	return u
}
