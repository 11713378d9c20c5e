package audittrail

import (
	"context"
	"slices"
	"time"

	tea "github.com/charmbracelet/bubbletea"

	"opdeck/internal/domain/audit"
	"opdeck/internal/domain/auditfilter"
	"opdeck/ui"
)

const (
	pageSize = 200
	maxRows  = 20_000 // kept; a filter narrows further
)

// find reads one page of what the filter selects, from before on (0: the newest).
func find(ctx context.Context, log Log, f auditfilter.Expr, now time.Time, before int64) (auditfilter.Found, error) {
	return auditfilter.Find(ctx, log, audit.Query{Before: before, Limit: pageSize}, f, now)
}

// Reload implements list.Screen: it reads the newest records and the unsettled writes.
func (s *Screen) Reload() tea.Cmd {
	s.More.Stop()
	log, f, now := s.log, s.selection(), s.env.Now
	return s.env.Read(s.Loads, func(ctx context.Context) ui.Then {
		health, at := log.Health(), now()
		found, err := find(ctx, log, f, at, 0)
		var open []audit.Entry
		if err == nil {
			open, err = log.Unsettled(ctx)
		}
		return func() (ui.Action, tea.Cmd) {
			s.health = health
			if !s.Failed(err) {
				s.next, s.archived, s.At, s.newer = found.Next, found.Archived, at, false
				s.set(open, found.Entries)
			}
			return nil, nil
		}
	})
}

// ReadOn implements list.Screen: it reads older records when the cursor comes near
// the last one.
func (s *Screen) ReadOn() tea.Cmd {
	_, to := s.Table.Cursor.Visible()
	if s.next == 0 || s.Loads.Busy() || s.More.Busy() || to+pageSize/4 < s.rows.Len() || len(s.rows.All()) >= maxRows {
		return nil
	}
	log, f, now, before := s.log, s.selection(), s.env.Now(), s.next
	return s.env.Read(s.More, func(ctx context.Context) ui.Then {
		found, err := find(ctx, log, f, now, before)
		return func() (ui.Action, tea.Cmd) {
			if !s.Failed(err) {
				s.next, s.archived = found.Next, found.Archived
				s.set(s.open, append(slices.Collect(s.records), found.Entries...))
			}
			return nil, nil
		}
	})
}

// loadUnsettled reads what is unsettled; unlike the list it leaves no record.
func (s *Screen) loadUnsettled() tea.Cmd {
	return ui.Reading(s.env, s.unsettledLoads, s.log.Unsettled, func(open []audit.Entry, _ time.Time, err error) {
		if err == nil {
			s.set(open, slices.Collect(s.records))
		}
	})
}
