package audittrail

import (
	"context"
	"time"

	tea "github.com/charmbracelet/bubbletea"

	"opdeck/api"
	"opdeck/internal/act/remedy"
	"opdeck/internal/domain/audit"
	"opdeck/internal/domain/auditfilter"
	"opdeck/ui"
	"opdeck/ui/theme"
	"opdeck/ui/widget"
)

const (
	pageSize = 200
	maxRows  = 20_000 // kept; a filter narrows further
)

// find reads one page of what the filter selects, from before on.
func find(ctx context.Context, log Log, f auditfilter.Expr, before int64, now time.Time) (auditfilter.Found, error) {
	return auditfilter.Find(ctx, log, audit.Query{Before: before, Limit: pageSize}, f, now)
}

type loadedMsg struct {
	ui.Ticket
	found  auditfilter.Found
	open   []audit.Entry
	health audit.Health
	at     time.Time
	err    error
}

// load reads the newest records and what is unsettled.
func (s *Screen) load() tea.Cmd {
	t, ctx := s.loads.Next(s.env.Ctx)
	s.more.Stop()
	log, f, now := s.log, s.filter, s.env.Now
	s.settle()
	return func() tea.Msg {
		m := loadedMsg{Ticket: t, health: log.Health(), at: now()}
		if m.found, m.err = find(ctx, log, f, 0, m.at); m.err == nil {
			m.open, m.err = log.Unsettled(ctx)
		}
		return m
	}
}

func (s *Screen) loaded(msg loadedMsg) {
	if !s.loads.Current(msg.Ticket) {
		return
	}
	s.inited, s.health = true, msg.health
	if s.err = api.AsError(msg.err); msg.err == nil {
		s.rows.open, s.rows.list = msg.open, msg.found.Entries
		s.next, s.seen, s.at, s.newer = msg.found.Next, msg.found.Seen, msg.at, false
	}
	s.settle()
}

type olderMsg struct {
	ui.Ticket
	found auditfilter.Found
	err   error
}

// reach reads older records when the cursor comes near the last one.
func (s *Screen) reach() tea.Cmd {
	_, to := s.table.Visible()
	if s.next == 0 || s.loads.Busy() || s.more.Busy() || to+pageSize/4 < s.rows.Len() || s.rows.Len() >= maxRows {
		return nil
	}
	t, ctx := s.more.Next(s.env.Ctx)
	log, f, before, at := s.log, s.filter, s.next, s.at
	return func() tea.Msg {
		got, err := find(ctx, log, f, before, at)
		return olderMsg{t, got, err}
	}
}

func (s *Screen) older(msg olderMsg) {
	if !s.more.Current(msg.Ticket) {
		return
	}
	if s.err = api.AsError(msg.err); msg.err == nil {
		s.rows.list = append(s.rows.list, msg.found.Entries...)
		s.next = msg.found.Next
		s.seen += msg.found.Seen
	}
	s.settle()
}

type doubtsMsg struct {
	ui.Ticket
	open []audit.Entry
	err  error
}

// loadDoubts reads what is unsettled; unlike the list it leaves no record.
func (s *Screen) loadDoubts() tea.Cmd {
	t, ctx := s.doubts.Next(s.env.Ctx)
	log := s.log
	return func() tea.Msg {
		open, err := log.Unsettled(ctx)
		return doubtsMsg{t, open, err}
	}
}

// settle gives the table what it needs from the state.
func (s *Screen) settle() {
	s.rows.index()
	s.table.SetSource(s.rows)
	n := widget.Notice{Text: "The trail holds no record yet."}
	switch {
	case s.err != nil:
		n = widget.Notice{Tone: theme.Bad, Text: s.err.Public, Hint: remedy.Screen(s.err) + " " + s.env.Keys.Global.Reload.Help().Key + " tries again."}
	case !s.inited || s.loads.Busy():
		n = widget.Notice{Text: "Reading the audit trail …"}
	case s.text != "" && s.next != 0:
		n = widget.Notice{Text: "No record matches among those read so far.", Hint: s.env.Keys.Nav.Down.Help().Key + " reads older ones, " + s.env.Keys.List.Filter.Help().Key + " changes the filter, " + s.env.Keys.Global.Back.Help().Key + " clears it"}
	case s.text != "":
		n = widget.Notice{Text: "No record matches the filter.", Hint: s.env.Keys.List.Filter.Help().Key + " changes it, " + s.env.Keys.Global.Back.Help().Key + " clears it"}
	}
	s.table.SetNotice(n)
}
