package events

import (
	"context"
	"slices"
	"time"

	tea "github.com/charmbracelet/bubbletea"

	"opdeck/api"
	"opdeck/api/endpoint"
	"opdeck/api/hook"
	"opdeck/internal/domain/eventfilter"
	"opdeck/internal/domain/receiver"
	"opdeck/internal/present"
	"opdeck/ui"
	"opdeck/ui/keymap"
	"opdeck/ui/list"
	"opdeck/ui/widget"
)

// Inbox has the stored deliveries; every receiver.Inbox has these methods.
type Inbox interface {
	List(ctx context.Context, f receiver.Filter) ([]receiver.Stored, error)
	LastSeq(ctx context.Context) (int64, error)
	Counts(ctx context.Context) ([]receiver.Count, error)
	Attempts(ctx context.Context, key string) ([]receiver.Attempt, error)
}

// Feed has the incoming events and their processing; its methods cost no call.
type Feed interface {
	// Next waits for events after seq, of any process, and returns at least one, oldest
	// first; it ends when ctx ends.
	Next(ctx context.Context, seq int64) ([]receiver.Stored, error)
	// Codes returns the learnt meanings of numeric codes, of all processes.
	Codes(ctx context.Context) ([]hook.Meaning, error)
	// Trouble counts the events that are not merged and the rejected deliveries.
	Trouble(ctx context.Context) (receiver.Trouble, error)
	// Rejected returns the last rejected deliveries, newest first.
	Rejected(ctx context.Context) ([]receiver.Rejection, error)
	// Replay sends a stored event through the receiver again. The error means that its
	// result could not be stored.
	Replay(ctx context.Context, key string) (receiver.Attempt, error)
}

// Config has settings that do not change while the console runs.
type Config struct {
	Listen string // [webhooks] listen; "": no receiver on this host
	Verify string // [webhooks] verify
}

// Screen implements ui.Screen.
type Screen struct {
	*list.List[receiver.Stored]
	env   *ui.Env
	inbox Inbox
	feed  Feed
	cfg   Config
	keys  keymap.Events
	rows  *list.Rows[item] // newest last
	pages *pages

	stream *ui.Requests // the one wait for the next event

	seq    int64 // the newest event of the stream, or its position at the start
	older  int64 // Seq below which older events may be; 0: none
	counts map[receiver.Status]int64
	cells  []present.Column[item] // for codes
	broken *api.Error             // why the live feed stopped
	follow bool
}

// New returns the screen. start is the text of its first filter.
func New(env *ui.Env, inbox Inbox, feed Feed, caller endpoint.Caller, cfg Config, start string) *Screen {
	s := &Screen{env: env, inbox: inbox, feed: feed, cfg: cfg, keys: env.Keys.Events, follow: true,
		cells: present.EventColumns(nil), counts: map[receiver.Status]int64{}, stream: env.Requests()}
	s.pages = &pages{env: env, inbox: inbox, feed: feed, caller: caller, cfg: cfg, me: api.ActorOf(env.Ctx),
		replays: env.Requests(), hooks: env.Requests(), rejects: env.Requests()}
	s.rows = list.NewRows(func(it item) string { return it.Key }, s.row)
	s.List = list.New(env, s, s.rows, list.Spec[receiver.Stored]{Title: "Events", Signs: legend(),
		Place: ui.Place{Kind: ui.KindEvents}, Origin: "inbox",
		Reading: "Reading the inbox …", None: "No event matches the filter.",
		Further: "No match among the events read so far.",
		Columns: s.columns, Language: eventfilter.Table(), Example: "type:operation -status:verified id:7f3a received<2h",
		Start:   start,
		Records: s.newestFirst, Beside: func(w int) []string {
			if it, on := s.rows.Find(s.Table.Cursor.SelectedID()); on {
				return s.pages.eventLines(&page{item: it}, w)
			}
			return nil
		}})
	s.pages.list = s.List
	return s
}

func (s *Screen) newestFirst(yield func(receiver.Stored) bool) {
	for _, it := range slices.Backward(s.rows.All()) {
		if !yield(it.Stored) {
			return
		}
	}
}

// Answer implements list.Screen.
func (s *Screen) Answer(msg tea.Msg) (ui.Action, tea.Cmd) {
	switch msg.(type) {
	case ui.Shown:
		return nil, s.env.ReadVerdict()
	case ui.VerdictFacts:
		s.Changed()
	}
	return nil, nil
}

// Filtered implements list.Screen. During typing the filter applies to the events that were
// read; enter searches the whole inbox.
func (s *Screen) Filtered(live bool) tea.Cmd {
	s.rows.Narrow(func(it item) bool { return s.Filter.Shown.Match(it.Stored, s.env.Now()) })
	s.changed()
	if live {
		return nil
	}
	return s.Reload()
}

// changed shows changed rows; if the cursor follows the newest event, it goes to that.
func (s *Screen) changed() {
	s.Changed()
	if n := s.rows.Len(); s.follow && n > 0 {
		s.Table.Cursor.Select(s.rows.Shown()[n-1].Key)
	}
}

// OwnKey implements list.Screen.
func (s *Screen) OwnKey(msg keymap.Press) (ui.Action, tea.Cmd, bool) {
	k := s.env.Keys
	switch {
	case s.pages.page.is(settingsPage) && k.Global.Reload.Match(msg):
		return nil, s.pages.loadHooks(), true
	case s.pages.page.is(rejectedPage) && k.Global.Reload.Match(msg):
		return nil, tea.Batch(s.Reload(), s.pages.loadRejected()), true
	case s.keys.Rejected.Match(msg):
		s.pages.open(&page{kind: rejectedPage}, "Rejected deliveries", s.pages.rejectedLines)
		return nil, tea.Batch(s.Reload(), s.pages.loadRejected()), true
	case s.keys.Codes.Match(msg):
		s.pages.open(&page{kind: codesPage}, "Codes", s.pages.codeLines)
		return nil, s.Reload(), true
	case s.keys.Settings.Match(msg):
		s.pages.open(&page{kind: settingsPage}, "Settings", s.pages.settingLines)
		return nil, s.pages.loadHooks(), true
	case s.pages.page.is(settingsPage) && s.pages.change().Match(msg):
		return s.pages.askSettings(), nil, true
	case s.Page == nil && s.keys.Follow.Match(msg):
		s.follow = !s.follow
		s.changed()
		return nil, nil, true
	}
	if it, on := s.rows.Find(s.ItemID()); on {
		return s.itemKey(msg, it)
	}
	return nil, nil, false
}

// itemKey handles a key for the event under the cursor or on the page.
func (s *Screen) itemKey(msg keymap.Press, it item) (ui.Action, tea.Cmd, bool) {
	k := s.env.Keys
	switch {
	case s.keys.Replay.Match(msg):
		return s.pages.askReplay(it), nil, true
	case s.keys.Operation.Match(msg):
		return ui.Open{Place: ui.Place{Kind: ui.KindOperation, ID: string(it.ObjectID)}}, nil, true
	case s.Page == nil && k.List.Open.Match(msg):
		return nil, s.pages.show(it), true
	}
	return nil, nil, false
}

// Item implements list.Screen: the body as received, unless it contains masked values.
func (s *Screen) Item() ui.Item {
	it, on := s.rows.Find(s.ItemID())
	if !on {
		return ui.Item{}
	}
	out := ui.Item{ID: it.Key, IDWhat: "the event's id", JSON: it.Raw, JSONWhat: "the event's body",
		Title: "Event " + line(it.Key, 80)}
	if s.env.Masked() && it.Sensitive() {
		out.NoJSON = "The body may contain account numbers. Press M to reveal masked values first."
	}
	return out
}

// Refresh implements list.Screen: it ends the reads of a closed page, and switches keys on or off
// for the current event.
func (s *Screen) Refresh() {
	if s.Page == nil && s.pages.page != nil {
		s.pages.page = nil
		s.pages.stop()
		s.changed()
	}
	it, on := s.rows.Find(s.ItemID())
	replay, operation := "", ""
	switch {
	case !on:
		replay, operation = "No event is selected.", "No event is selected."
	case it.Object != hook.ObjectOperation || it.ObjectID == "":
		operation = "This event is not about an operation."
	}
	if on && s.Doing != "" {
		replay = "Wait: " + s.Doing + "."
	}
	s.keys.Replay.Set(replay)
	s.keys.Operation.Set(operation)
}

// NextChange implements list.Screen: ages on screen, and the end of the verdict.
func (s *Screen) NextChange(now time.Time) time.Time {
	from, to := s.Table.Cursor.Visible()
	return ui.Sooner(s.env.VerdictEnds(now),
		s.rows.Ages(from, to, now, func(it item) time.Time { return it.ReceivedAt }))
}

// Empty implements list.Screen.
func (s *Screen) Empty() widget.Notice {
	on := ""
	if s.older != 0 {
		on = s.env.Keys.Nav.Up.Help().Key
	}
	return s.NoRows(widget.Notice{Text: "No event has been received yet.",
		Hint: "The service sends one for each change; " + s.keys.Settings.Help().Key + " shows where it sends them"}, on)
}

// HelpKeys implements list.Screen.
func (s *Screen) HelpKeys() []keymap.Key {
	k := s.env.Keys
	search := []keymap.Key{k.Viewer.Search, k.Viewer.Next, k.Viewer.Prev}
	var out []keymap.Key
	switch {
	case s.pages.page.is(settingsPage):
		out = append([]keymap.Key{s.pages.change(), k.Global.Reload}, search...)
	case s.pages.page.is(eventPage):
		out = append(append([]keymap.Key{s.keys.Replay, s.keys.Operation}, search...), s.keys.Codes, s.keys.Rejected,
			s.keys.Settings)
		out = append(out, keymap.All(k.Item)...)
	case s.Page != nil:
		other := s.keys.Rejected
		if s.pages.page.is(rejectedPage) {
			other = s.keys.Codes
		}
		out = append([]keymap.Key{other, k.Global.Reload, s.keys.Settings}, search...)
	case s.cfg.Listen == "": // nothing comes by itself: where the service sends is what matters
		settings := s.keys.Settings
		settings.SetHelp(settings.Help().Key, "where it sends")
		settings.Extra = false
		follow, narrow := s.followKeys().Follow, k.List.Filter
		follow.Extra, narrow.Extra = s.rows.Len() == 0, len(s.rows.All()) == 0 && s.Filter.Text == ""
		out = append([]keymap.Key{settings, k.List.Open, narrow, follow, s.keys.Replay, s.keys.Codes, s.keys.Rejected,
			s.keys.Operation, k.Global.Reload}, keymap.All(k.Item)...)
	default:
		out = append([]keymap.Key{k.List.Open, k.List.Filter}, append(keymap.All(s.followKeys()), k.Global.Reload)...)
		out = append(out, keymap.All(k.Item)...)
	}
	return append(out, keymap.All(k.Nav)...)
}

// followKeys are the keys of the list: the one that follows also stops it.
func (s *Screen) followKeys() keymap.Events {
	keys := s.keys
	if s.follow {
		keys.Follow.SetHelp(keys.Follow.Help().Key, "stop following")
	}
	return keys
}

// Source implements ui.Screen.
func (s *Screen) Source() ui.Source {
	src := s.List.Source()
	src.Loading = src.Loading || s.pages.hooks.Busy() || s.pages.rejects.Busy()
	if s.pages.page.is(settingsPage) {
		src = ui.Source{Origin: "service", At: s.pages.page.at, Class: "general", Loading: s.pages.hooks.Busy(),
			Problem: src.Problem}
	}
	if src.Problem == "" && s.broken != nil {
		src.Problem = "live updates stopped"
	}
	return src
}

// Subject implements ui.SubjectOf.
func (s *Screen) Subject(kind string) string {
	it, on := s.rows.Find(s.ItemID())
	switch {
	case on && kind == ui.KindOperation && it.Object == hook.ObjectOperation:
		return string(it.ObjectID)
	case on && kind == ui.KindCompliance:
		return string(it.CUID)
	}
	return ""
}
