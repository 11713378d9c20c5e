package events

import (
	"context"
	"errors"
	"time"

	tea "github.com/charmbracelet/bubbletea"

	"opdeck/api"
	"opdeck/api/hook"
	"opdeck/internal/domain/eventfilter"
	"opdeck/internal/domain/receiver"
	"opdeck/internal/present"
	"opdeck/ui"
)

const (
	pageSize = 300
	maxPages = 20   // pages that one search for words reads
	maxRows  = 5000 // rows that the screen keeps
)

// loaded is the result of one read of the inbox.
type loaded struct {
	list   []receiver.Stored // newest first
	older  int64
	seq    int64
	counts []receiver.Count
	codes  []hook.Meaning
	bad    receiver.Trouble
	at     time.Time
}

// Reload implements list.Screen: it reads the newest events and the counts of
// all.
func (s *Screen) Reload() tea.Cmd {
	s.More.Stop()
	inbox, feed, f, now := s.inbox, s.feed, s.Filter.Applied, s.env.Now
	read := s.env.Read(s.Loads, func(ctx context.Context) ui.Then {
		m := loaded{at: now()}
		steps := []func() error{
			// first, because the stream also returns events that arrive during the read
			func() (err error) { m.seq, err = inbox.LastSeq(ctx); return },
			func() (err error) {
				m.list, m.older, err = eventfilter.Find(ctx, inbox.List, f, m.at, 0, pageSize, maxPages)
				return
			},
			func() (err error) { m.counts, err = inbox.Counts(ctx); return },
			func() (err error) { m.codes, err = feed.Codes(ctx); return },
			func() (err error) { m.bad, err = feed.Trouble(ctx); return },
		}
		for _, step := range steps {
			if err := step(); err != nil {
				return func() (ui.Action, tea.Cmd) { s.Failed(err); return nil, nil }
			}
		}
		return func() (ui.Action, tea.Cmd) { return nil, s.onLoaded(m) }
	})
	return tea.Batch(s.env.ReadVerdict(), read)
}

func (s *Screen) onLoaded(msg loaded) tea.Cmd {
	s.Failed(nil)
	s.At, s.older, s.pages.bad = msg.at, msg.older, msg.bad
	s.counts = map[receiver.Status]int64{}
	for _, c := range msg.counts {
		s.counts[c.Status] += c.N
	}
	s.pages.codes, s.cells = msg.codes, present.EventColumns(msg.codes)
	s.rows.Set(older(nil, msg.list))
	s.rows.Partial = s.older != 0
	s.changed()
	if s.stream.Busy() {
		return nil // one wait for the stream
	}
	s.seq, s.broken = max(s.seq, msg.seq), nil
	return s.wait()
}

// arrived are new events.
type arrived struct {
	list []receiver.Stored // oldest first
	bad  *receiver.Trouble // as it is now; nil: not known
}

// wait waits for the next events; there is one such wait at a time.
func (s *Screen) wait() tea.Cmd {
	feed, seq := s.feed, s.seq
	return s.env.Read(s.stream, func(ctx context.Context) ui.Then {
		var m arrived
		var err error
		if m.list, err = feed.Next(ctx, seq); err != nil {
			return func() (ui.Action, tea.Cmd) {
				if !errors.Is(err, context.Canceled) {
					s.broken = api.AsError(err)
				}
				return nil, nil
			}
		}
		if bad, err := feed.Trouble(ctx); err == nil {
			m.bad = &bad
		}
		return func() (ui.Action, tea.Cmd) { return nil, s.onArrived(m) }
	})
}

func (s *Screen) onArrived(msg arrived) tea.Cmd {
	if msg.bad != nil {
		s.pages.bad = *msg.bad
	}
	if len(msg.list) == 0 {
		return s.wait()
	}
	now := s.env.Now()
	var mine []receiver.Stored
	for _, e := range msg.list {
		s.seq = max(s.seq, e.Seq)
		s.counts[e.Status]++
		if s.Filter.Applied.Match(e, now) {
			mine = append(mine, e)
		}
	}
	all, dropped := newer(s.rows.All(), mine)
	if dropped {
		s.older = all[0].Seq
	}
	s.rows.Set(all)
	s.At = now
	s.changed()
	return s.wait()
}

// ReadOn implements list.Screen: it reads older events when the cursor comes near
// the first one; a cursor that leaves the last one no longer follows new events.
func (s *Screen) ReadOn() tea.Cmd {
	if n := s.rows.Len(); n > 0 {
		s.follow = s.follow && s.Table.Cursor.At() == n-1
	}
	from, _ := s.Table.Cursor.Visible()
	if s.older == 0 || s.Loads.Busy() || s.More.Busy() || from > pageSize/4 || len(s.rows.All()) >= maxRows {
		return nil
	}
	inbox, f, now, before := s.inbox, s.Filter.Applied, s.env.Now(), s.older
	return s.env.Read(s.More, func(ctx context.Context) ui.Then {
		got, next, err := eventfilter.Find(ctx, inbox.List, f, now, before, pageSize, maxPages)
		return func() (ui.Action, tea.Cmd) {
			if !s.Failed(err) {
				s.rows.Set(older(s.rows.All(), got))
				s.older = next
				s.changed()
			}
			return nil, nil
		}
	})
}
