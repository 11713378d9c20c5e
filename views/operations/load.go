package operations

import (
	"cmp"
	"context"

	tea "github.com/charmbracelet/bubbletea"

	"opdeck/api"
	"opdeck/api/endpoint"
	"opdeck/internal/domain/index"
	"opdeck/internal/domain/index/filter"
	"opdeck/internal/domain/servicefilter"
	"opdeck/ui"
)

// window is the list read again.
type window struct {
	index.Window
	total   int
	base    int
	counted bool            // total is how many there are; else it is still to be counted
	fresh   index.Freshness // of the index as a whole, from the same state as the rows
}

// load reads rows around anchor ("": from the beginning), and how many there are.
func (s loader) load(anchor string) tea.Cmd { return s.loadWith(anchor, nil) }

// asked is the filter with the zone in which it reads days.
func (s loader) asked() string { return s.Filter.Shown.String() + " " + s.env.Zone().String() }

// loadWith is load with the columns that the person chose, which come together with
// the rows: the list is not drawn in columns that change at once.
func (s loader) loadWith(anchor string, recall func(context.Context) (map[string][]string, error)) tea.Cmd {
	if s.restart { // the rows of another order or filter begin at their top
		anchor = ""
	}
	s.More.Stop()
	s.counts.Stop()
	s.misses.Stop()
	s.lost = ""
	s.loaded = s.asked()
	q := index.Query{Filter: s.Filter.Shown, Sort: s.sort, Anchor: anchor, Before: readAhead, After: readAhead}
	ix, whole := s.index, s.whole
	s.whole = false
	if anchor == "" {
		q.Before, q.After = 0, first
	}
	return s.env.Read(s.Loads, func(ctx context.Context) ui.Then {
		var chosen map[string][]string
		if recall != nil {
			if all, err := recall(ctx); err == nil {
				chosen = all
			}
		}
		w, err := read(ctx, ix, q, whole)
		return func() (ui.Action, tea.Cmd) {
			if chosen != nil {
				s.columns().recalled(chosen)
			}
			return nil, s.onWindow(w, err)
		}
	})
}

// count counts the rows: that may take longer than to find the first of them.
func (s loader) count() tea.Cmd {
	ix, f := s.index, s.Filter.Shown
	return s.env.Read(s.counts, func(ctx context.Context) ui.Then {
		var n, version int64
		err := ix.Consistent(ctx, func(ix Index) (err error) {
			if n, err = ix.Count(ctx, f); err == nil {
				var fresh index.Freshness
				fresh, err = ix.Freshness(ctx)
				version = fresh.Version
			}
			return err
		})
		return func() (ui.Action, tea.Cmd) {
			if s.Failed(err) {
				return nil, nil
			}
			return nil, s.onCount(int(n), version)
		}
	})
}

// judge reads how many rows the filter cannot judge, and the notes that it finds rows by, once for each filter.
func (s loader) judge() tea.Cmd {
	s.judges.Stop()
	s.judged, s.lacks, s.noted = s.loaded, index.Unreported{}, nil
	ix, f := s.index, s.Filter.Shown
	if len(f.Needs()) == 0 && len(filter.NotedTexts(f)) == 0 {
		return nil
	}
	return s.env.Read(s.judges, func(ctx context.Context) ui.Then {
		lacks, err := ix.Unreported(ctx, f)
		noted, failed := ix.Noted(ctx, f)
		return func() (ui.Action, tea.Cmd) {
			if !s.Failed(cmp.Or(err, failed)) {
				s.lacks, s.noted = lacks, noted
				s.Changed()
			}
			return nil, nil
		}
	})
}

// onCount shows how many rows there are; when the index has changed since they were
// read both are read again, together.
func (s loader) onCount(n int, version int64) tea.Cmd {
	if version != s.fresh.Version {
		s.whole = true
		return s.load(s.Table.SelectedID())
	}
	s.rows.total = max(n, s.rows.base+len(s.rows.recs))
	s.Changed()
	return s.ReadOn()
}

// read reads rows and how old they are from one state of the index; whole: with
// how many there are.
func read(ctx context.Context, ix Index, q index.Query, whole bool) (w window, err error) {
	err = ix.Consistent(ctx, func(ix Index) error {
		w = window{}
		return w.read(ctx, ix, q, whole)
	})
	return w, err
}

func (m *window) read(ctx context.Context, ix Index, q index.Query, whole bool) error {
	if q.Anchor != "" {
		place, err := ix.Place(ctx, q.Filter, q.Sort, q.Anchor)
		if err != nil || !place.In {
			q.Anchor = ""
		} else {
			m.total, m.base, m.counted = int(place.Total), int(place.Before), true
		}
	}
	if q.Anchor == "" && !q.FromEnd {
		q.Before, q.After = 0, max(q.After, first)
	}
	w, err := ix.Window(ctx, q)
	if err != nil {
		return err
	}
	switch {
	case q.Anchor != "" && w.AnchorAt >= 0:
		m.base -= w.AnchorAt
	case !q.FromEnd && !whole:
		m.base, m.total, m.counted = 0, len(w.Rows), !w.More && q.Skip == 0
	default:
		n, err := ix.Count(ctx, q.Filter)
		if err != nil {
			return err
		}
		if m.total, m.counted = int(n), true; q.FromEnd {
			m.base = max(int(n)-len(w.Rows), 0)
		}
	}
	m.Window = w
	m.fresh, err = ix.Freshness(ctx)
	return err
}

func (s loader) onWindow(w window, err error) tea.Cmd {
	if !s.Failed(err) {
		s.rows.set(w.total, max(w.base, 0), w.Rows)
		s.fresh = w.fresh
		s.partial = len(w.Rows) == 0 && !w.fresh.Complete
	}
	if s.listed != s.loaded {
		s.listed = s.loaded
		s.Table.Other()
	}
	if s.restart {
		s.restart = false
		s.Table.Restart()
	}
	s.Changed()
	var next tea.Cmd
	switch {
	case s.stale:
		s.stale = false
		next = s.load(s.Table.SelectedID())
	case err == nil && !w.counted:
		next = s.count()
	}
	if err == nil && w.total == 0 && !s.Filter.Shown.Empty() {
		next = tea.Batch(next, s.missing())
	}
	if err == nil && s.judged != s.loaded {
		next = tea.Batch(next, s.judge())
	}
	return tea.Batch(next, s.ReadOn(), s.sums().refreshPanel())
}

// ReadOn implements list.Screen: it reads on when the cursor comes near the edge of what is held.
func (s *Screen) ReadOn() tea.Cmd {
	from, to := s.Table.Visible()
	r := s.rows
	end := r.base + len(r.recs)
	near := readAhead / 3
	switch {
	case s.Loads.Busy() || s.More.Busy() || len(r.recs) == 0:
		return nil
	case from >= end+readAhead || to <= r.base-readAhead: // a jump: to an end, or far
		return s.loader().jump(from)
	case to+near > end && end < r.total:
		return s.loader().extend(string(r.recs[len(r.recs)-1].Op.OPID), max(to-end, 0)+readAhead, false)
	case from-near < r.base && r.base > 0:
		return s.loader().extend(string(r.recs[0].Op.OPID), max(r.base-from, 0)+readAhead, true)
	}
	return nil
}

func (s loader) extend(anchor string, n int, before bool) tea.Cmd {
	ix, q := s.index, index.Query{Filter: s.Filter.Shown, Sort: s.sort, Anchor: anchor}
	if before {
		q.Before = n
	} else {
		q.After = n
	}
	draw := s.rows.draft()
	return s.env.Read(s.More, func(ctx context.Context) ui.Then {
		w, err := ix.Window(ctx, q)
		recs := without(w, before)
		drawn := draw(recs)
		return func() (ui.Action, tea.Cmd) {
			if s.Failed(err) {
				return nil, nil
			}
			s.rows.add(recs, drawn, before)
			s.Changed()
			return nil, s.ReadOn()
		}
	})
}

// without drops the anchor from a window that extends what is held.
func without(w index.Window, before bool) []index.Record {
	if w.AnchorAt < 0 || len(w.Rows) == 0 {
		return w.Rows
	}
	if before {
		return w.Rows[:w.AnchorAt]
	}
	return w.Rows[w.AnchorAt+1:]
}

// jump reads around a far place: the beginning or the end by its edge, anything
// else by skipping.
func (s loader) jump(from int) tea.Cmd {
	ix, q, total := s.index, index.Query{Filter: s.Filter.Shown, Sort: s.sort, After: 2 * readAhead}, s.rows.total
	switch {
	case from >= total-2*readAhead:
		q.FromEnd, q.After, q.Before = true, 0, 2*readAhead
	case from > readAhead:
		q.Skip = from - readAhead
	}
	return s.env.Read(s.More, func(ctx context.Context) ui.Then {
		w, err := read(ctx, ix, q, false)
		w.base += q.Skip
		return func() (ui.Action, tea.Cmd) {
			if s.Failed(err) {
				return nil, nil
			}
			if !w.counted {
				w.total = max(w.total, s.rows.total)
			}
			s.rows.set(w.total, w.base, w.Rows)
			s.Changed()
			return nil, s.ReadOn()
		}
	})
}

// live reads the newest page from the service, of the customer or account that the
// filter names: one billing call, two where it is not clear what a value is.
func (s loader) live() tea.Cmd { return s.ask(func(context.Context) bool { return true }) }

// lacking asks the service for what the filter names while the index does not hold
// everything; nil when the service has no filter for it.
func (s loader) lacking() tea.Cmd {
	if len(servicefilter.Questions(s.Filter.Shown)) == 0 {
		return nil
	}
	ix := s.index
	return s.ask(func(ctx context.Context) bool {
		fresh, err := ix.Freshness(ctx)
		return err == nil && !fresh.Complete
	})
}

// ask reads from the service, if it is needed; the index takes what comes.
func (s loader) ask(needed func(context.Context) bool) tea.Cmd {
	caller, f, now := s.caller, s.Filter.Shown, s.env.Now
	return s.env.Read(s.lives, func(ctx context.Context) ui.Then {
		if !needed(ctx) {
			return func() (ui.Action, tea.Cmd) { return nil, nil }
		}
		ans, err := servicefilter.Ask(ctx, caller, f, 0, 0, now())
		if err == nil && ans.Asked == "" {
			_, err = endpoint.Do(ctx, caller, endpoint.ListOperations, api.OperationQuery{})
		}
		return func() (ui.Action, tea.Cmd) {
			switch {
			case s.Failed(err):
				return ui.Notify{Level: ui.Error, Text: s.Err.Public}, nil
			case ans.Asked != "":
				return ui.Notify{Level: ui.Info, Text: ans.Summary()}, s.load(s.Table.SelectedID())
			}
			return nil, s.load(s.Table.SelectedID())
		}
	})
}
