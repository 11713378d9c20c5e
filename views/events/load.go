package events

import (
	"context"
	"errors"
	"time"

	tea "github.com/charmbracelet/bubbletea"

	"opdeck/api"
	"opdeck/api/hook"
	"opdeck/internal/act/remedy"
	"opdeck/internal/domain/eventfilter"
	"opdeck/internal/domain/receiver"
	"opdeck/ui"
	"opdeck/ui/theme"
	"opdeck/ui/widget"
)

const (
	pageSize = 300
	maxPages = 20   // looked through in one go for words
	maxRows  = 5000 // kept
	pauses   = 500  // deliveries that the rhythm is learnt from
)

// find reads the newest events that the filter chooses, newest first, and says
// below which Seq there may be more (0: none). Not all of a filter is the inbox's
// to choose by: pages are looked through until one is full.
func find(ctx context.Context, inbox Inbox, f eventfilter.Expr, now time.Time, before int64) ([]receiver.Stored, int64, error) {
	var out []receiver.Stored
	q := eventfilter.Narrow(f, now)
	q.Before, q.Limit = before, pageSize
	for range maxPages {
		got, err := inbox.List(ctx, q)
		if err != nil {
			return nil, 0, err
		}
		for _, e := range got {
			if f.Match(e, now) {
				out = append(out, e)
			}
		}
		if len(got) < pageSize {
			return out, 0, nil
		}
		if q.Before = got[len(got)-1].Seq; len(out) >= pageSize {
			break
		}
	}
	return out, q.Before, nil
}

type loadedMsg struct {
	ui.Ticket
	list   []receiver.Stored // newest first
	older  int64
	seq    int64
	counts []receiver.Count
	times  []time.Time
	codes  []hook.Meaning
	bad    receiver.Trouble
	at     time.Time
	err    error
}

// load reads the newest events and what is known of all.
func (s *Screen) load() tea.Cmd {
	t, ctx := s.loads.Next(s.env.Ctx)
	s.more.Stop()
	inbox, client, f, now := s.inbox, s.client, s.filter, s.env.Now
	s.settle()
	return func() tea.Msg {
		m := loadedMsg{Ticket: t, at: now()}
		steps := []func() error{
			func() (err error) { m.seq, err = inbox.LastSeq(ctx); return }, // first: what comes meanwhile comes by the stream too
			func() (err error) { m.list, m.older, err = find(ctx, inbox, f, m.at, 0); return },
			func() (err error) { m.counts, err = inbox.Counts(ctx); return },
			func() (err error) { m.times, err = inbox.Times(ctx, pauses); return },
			func() (err error) { m.codes, err = client.EventCodes(ctx); return },
			func() (err error) { m.bad, err = client.EventTrouble(ctx); return },
		}
		for _, step := range steps {
			if m.err = step(); m.err != nil {
				break
			}
		}
		return m
	}
}

func (s *Screen) loaded(msg loadedMsg) tea.Cmd {
	if !s.loads.Current(msg.Ticket) {
		return nil
	}
	s.inited = true
	if s.err = api.AsError(msg.err); msg.err != nil {
		s.settle()
		return nil
	}
	s.at, s.older, s.times, s.bad = msg.at, msg.older, msg.times, msg.bad
	s.counts = map[receiver.Status]int64{}
	for _, c := range msg.counts {
		s.counts[c.Status] += c.N
	}
	s.rows.learn(msg.codes)
	s.rows.set(msg.list)
	s.rhythm = receiver.Judge(s.times, s.env.Now())
	s.settle()
	if s.stream.Busy() {
		return nil // one wait for the stream
	}
	s.seq, s.mute = max(s.seq, msg.seq), nil
	return s.wait()
}

type arrivedMsg struct {
	ui.Ticket
	list []receiver.Stored // oldest first
	bad  *receiver.Trouble // as it is now; nil: not known
	err  error
}

// wait waits for the next events; there is one such wait at a time.
func (s *Screen) wait() tea.Cmd {
	t, ctx := s.stream.Next(s.env.Ctx)
	client, seq := s.client, s.seq
	return func() tea.Msg {
		m := arrivedMsg{Ticket: t}
		if m.list, m.err = client.NextEvents(ctx, seq); m.err == nil {
			if bad, err := client.EventTrouble(ctx); err == nil {
				m.bad = &bad
			}
		}
		return m
	}
}

func (s *Screen) arrived(msg arrivedMsg) tea.Cmd {
	if !s.stream.Current(msg.Ticket) {
		return nil
	}
	if msg.err != nil {
		if !errors.Is(msg.err, context.Canceled) {
			s.mute = api.AsError(msg.err)
		}
		return nil
	}
	if msg.bad != nil {
		s.bad = *msg.bad
	}
	if len(msg.list) == 0 {
		return s.wait()
	}
	var mine []receiver.Stored
	for _, e := range msg.list {
		s.seq = max(s.seq, e.Seq)
		s.counts[e.Status]++
		if e.Status != receiver.Quarantined && e.Source != receiver.Manual {
			s.times = append(s.times, e.ReceivedAt)
		}
		if s.filter.Match(e, s.env.Now()) {
			mine = append(mine, e)
		}
	}
	if n := len(s.times) - pauses; n > 0 {
		s.times = s.times[n:] // the order does not matter to the rhythm
	}
	if dropped := s.rows.add(mine); dropped > 0 {
		s.older = s.rows.list[0].Seq
	}
	now := s.env.Now()
	s.rhythm, s.at = receiver.Judge(s.times, now), now
	s.settle()
	return s.wait()
}

type olderMsg struct {
	ui.Ticket
	list  []receiver.Stored
	older int64
	err   error
}

// reach reads older events when the cursor comes near the first one.
func (s *Screen) reach() tea.Cmd {
	from, _ := s.table.Visible()
	if s.older == 0 || s.loads.Busy() || s.more.Busy() || from > pageSize/4 || s.rows.Len() >= maxRows {
		return nil
	}
	t, ctx := s.more.Next(s.env.Ctx)
	inbox, f, now, before := s.inbox, s.filter, s.env.Now(), s.older
	return func() tea.Msg {
		list, older, err := find(ctx, inbox, f, now, before)
		return olderMsg{t, list, older, err}
	}
}

func (s *Screen) tookOlder(msg olderMsg) {
	if !s.more.Current(msg.Ticket) {
		return
	}
	if s.err = api.AsError(msg.err); msg.err == nil {
		s.rows.before(msg.list)
		s.older = msg.older
	}
	s.settle()
}

// settle gives the table what it needs from the state.
func (s *Screen) settle() {
	s.table.SetSource(s.rows)
	if n := s.rows.Len(); s.follow && n > 0 {
		s.table.Select(s.rows.list[n-1].Key)
	}
	n := widget.Notice{Text: "No event has come yet.", Hint: "Each change at the service sends one here; " + s.keys.Settings.Help().Key + " shows where it sends them"}
	switch {
	case s.err != nil:
		n = widget.Notice{Tone: theme.Bad, Text: s.err.Public, Hint: remedy.Screen(s.err) + " " + s.env.Keys.Global.Reload.Help().Key + " tries again."}
	case !s.inited || s.loads.Busy():
		n = widget.Notice{Text: "Reading the inbox …"}
	case s.text != "" && s.older != 0:
		n = widget.Notice{Text: "No event matches among those read so far.", Hint: s.env.Keys.Nav.Up.Help().Key + " reads older ones, " + s.env.Keys.List.Filter.Help().Key + " changes the filter, " + s.env.Keys.Global.Back.Help().Key + " clears it"}
	case s.text != "":
		n = widget.Notice{Text: "No event matches the filter.", Hint: s.env.Keys.List.Filter.Help().Key + " changes it, " + s.env.Keys.Global.Back.Help().Key + " clears it"}
	}
	s.table.SetNotice(n)
	s.switchKeys()
}
