package index

import (
	"context"

	"opdeck/api"
)

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
