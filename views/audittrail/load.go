package audittrail

import (
	"context"
	"time"

	tea "github.com/charmbracelet/bubbletea"

	"opdeck/internal/domain/audit"
	"opdeck/internal/domain/index/filter"
	"opdeck/ui"
)

const (
	pageSize = 200
	maxPages = 25     // pages looked through in one go for what the store cannot select
	maxRows  = 20_000 // kept; a filter narrows further
)

// find reads the newest records before a number (0: of all) that the filter lets
// through, and says where older ones begin (0: there are none). Not all of a filter
// is the store's to select: pages are looked through until one is full.
func find(ctx context.Context, log Log, f filter.Expr[audit.Entry], now time.Time, before int64) (out []audit.Entry, next int64, err error) {
	q := narrow(f, now)
	q.Before, q.Limit = before, pageSize
	for range maxPages {
		p, err := log.Find(ctx, q)
		if err != nil {
			return nil, 0, err
		}
		for _, e := range p.Entries {
			if f.Match(e, now) {
				out = append(out, e)
			}
		}
		if q.Before = p.Next; p.Next == 0 || len(out) >= pageSize {
			break
		}
	}
	return out, q.Before, nil
}

type loadedMsg struct {
	ui.Ticket
	entries []audit.Entry
	next    int64
	open    []audit.Entry
	health  audit.Health
	at      time.Time
	err     error
}

// Reload implements list.Screen: it reads the newest records and what is unsettled.
func (s *Screen) Reload() tea.Cmd {
	t, ctx := s.Loads.Next(s.env.Ctx)
	s.More.Stop()
	log, f, now := s.log, s.Applied, s.env.Now
	return func() tea.Msg {
		m := loadedMsg{Ticket: t, health: log.Health(), at: now()}
		if m.entries, m.next, m.err = find(ctx, log, f, m.at, 0); m.err == nil {
			m.open, m.err = log.Unsettled(ctx)
		}
		return m
	}
}

func (s *Screen) onLoaded(msg loadedMsg) {
	if !s.Loads.Current(msg.Ticket) {
		return
	}
	s.health = msg.health
	if !s.Failed(msg.err) {
		s.next, s.At, s.newer = msg.next, msg.at, false
		s.set(msg.open, msg.entries)
	}
}

type olderMsg struct {
	ui.Ticket
	entries []audit.Entry
	next    int64
	err     error
}

// ReadOn implements list.Screen: it reads older records when the cursor comes near
// the last one.
func (s *Screen) ReadOn() tea.Cmd {
	_, to := s.Table.Visible()
	if s.next == 0 || s.Loads.Busy() || s.More.Busy() || to+pageSize/4 < s.rows.Len() || len(s.rows.All()) >= maxRows {
		return nil
	}
	t, ctx := s.More.Next(s.env.Ctx)
	log, f, now, before := s.log, s.Applied, s.env.Now(), s.next
	return func() tea.Msg {
		entries, next, err := find(ctx, log, f, now, before)
		return olderMsg{t, entries, next, err}
	}
}

func (s *Screen) onOlder(msg olderMsg) {
	if s.More.Current(msg.Ticket) && !s.Failed(msg.err) {
		s.next = msg.next
		s.set(s.open, append(s.entries(), msg.entries...))
	}
}

type unsettledMsg struct {
	ui.Ticket
	open []audit.Entry
	err  error
}

// loadUnsettled reads what is unsettled; unlike the list it leaves no record.
func (s *Screen) loadUnsettled() tea.Cmd {
	t, ctx := s.unsettledLoads.Next(s.env.Ctx)
	log := s.log
	return func() tea.Msg {
		open, err := log.Unsettled(ctx)
		return unsettledMsg{t, open, err}
	}
}
