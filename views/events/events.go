// Package events is the screen of the service's webhooks: the events, their changes
// and verification, and the state of the feed.
package events

import (
	"context"
	"errors"
	"slices"
	"strings"
	"time"

	tea "github.com/charmbracelet/bubbletea"

	"opdeck/api"
	"opdeck/api/endpoint"
	"opdeck/api/hook"
	"opdeck/api/untrusted"
	"opdeck/internal/act"
	"opdeck/internal/domain/eventfilter"
	"opdeck/internal/domain/receiver"
	"opdeck/internal/domain/verdict"
	"opdeck/internal/field"
	"opdeck/internal/format"
	"opdeck/internal/present"
	"opdeck/ui"
	"opdeck/ui/draw"
	"opdeck/ui/keymap"
	"opdeck/ui/list"
	"opdeck/ui/theme"
	"opdeck/ui/widget"
)

// Feed has the incoming events and their processing; its methods cost no call.
type Feed interface {
	// Next waits for events after seq, of any process, and returns at least one, oldest
	// first; it ends when ctx ends.
	Next(ctx context.Context, seq int64) ([]receiver.Stored, error)
	// Codes returns the words of numeric codes.
	Codes(ctx context.Context) (hook.Meanings, error)
	// Trouble counts the events that are not merged and the rejected deliveries.
	Trouble(ctx context.Context) (receiver.Trouble, error)
	// Rejected returns the last rejected deliveries, newest first.
	Rejected(ctx context.Context) ([]receiver.Rejection, error)
	// Replay sends a stored event through the receiver and the index again.
	Replay(ctx context.Context, key string) error
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
	inbox receiver.Inbox
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
func New(env *ui.Env, inbox receiver.Inbox, feed Feed, caller endpoint.Caller, cfg Config, start string) *Screen {
	s := &Screen{env: env, inbox: inbox, feed: feed, cfg: cfg, keys: env.Keys.Events, follow: true,
		cells: present.EventColumns(nil), counts: map[receiver.Status]int64{}, stream: env.Requests()}
	s.pages = &pages{env: env, inbox: inbox, feed: feed, caller: caller, cfg: cfg, me: api.ActorOf(env.Ctx),
		hooks: env.Requests(), rejects: env.Requests()}
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
		s.pages.show(it)
		return nil, nil, true
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
	switch {
	case s.pages.page.is(settingsPage):
		return []keymap.Key{s.pages.change(), k.Global.Reload}
	case s.pages.page.is(eventPage):
		return []keymap.Key{s.keys.Replay, s.keys.Operation, k.Viewer.Search, s.keys.Codes, s.keys.Rejected, s.keys.Settings}
	case s.pages.page.is(rejectedPage):
		return []keymap.Key{s.keys.Codes, k.Global.Reload, s.keys.Settings}
	case s.Page != nil:
		return []keymap.Key{s.keys.Rejected, k.Global.Reload, s.keys.Settings}
	case s.cfg.Listen != "":
		return append([]keymap.Key{k.List.Open, k.List.Filter}, keymap.All(s.followKeys())...)
	}
	settings := s.keys.Settings // nothing comes by itself: where the service sends is what matters
	settings.SetHelp(settings.Help().Key, "where it sends")
	settings.Extra = false
	follow, narrow := s.followKeys().Follow, k.List.Filter
	follow.Extra, narrow.Extra = s.rows.Len() == 0, len(s.rows.All()) == 0 && s.Filter.Text == ""
	return []keymap.Key{settings, k.List.Open, narrow, follow, s.keys.Replay, s.keys.Codes, s.keys.Rejected,
		s.keys.Operation}
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

// HeadLines implements list.Screen: what is shown, and why it may be less than there is.
func (s *Screen) HeadLines() []string {
	w, h := s.W, s.H
	warnings := s.warnings(w)
	if s.Loaded && s.Err == nil && len(s.rows.All()) == 0 && s.Filter.Text == "" && s.cfg.Listen == "" &&
		len(s.findings()) == 0 {
		return s.switchOn(w, h)
	}
	return append(s.Head(s.following(), ""), warnings...)
}

// unreceived says that this host receives no webhooks.
const unreceived = "No receiver is configured"

// following returns the number of events, and of those that need attention.
func (s *Screen) following() string {
	th := s.env.Theme
	head := th.Strong.Render(format.Plural(s.rows.Len(), "event", "events"))
	if s.older != 0 {
		head += th.Dim.Render(", older ones above")
	}
	switch {
	case s.follow:
		head += th.Good.Render("  " + th.Signs.Down + " following")
	default:
		head += th.Dim.Render("  " + th.Signs.Off + " not following; " + s.keys.Follow.Help().Key + " follows")
	}
	for _, x := range []struct {
		st   receiver.Status
		sign string
	}{{receiver.Quarantined, th.Signs.Locked}, {receiver.Conflict, th.Signs.Bad}} {
		if n := s.counts[x.st]; n > 0 {
			head += th.Bad.Render("  " + x.sign + " " + format.Count(int(n)) + " " + string(x.st))
		}
	}
	return head
}

// unheard says that this host receives nothing, and what to do; in a small window with a
// shorter reason. key shows the settings.
func unheard(key string, w int) string {
	cure := " " + key + " shows the webhook settings."
	return draw.Fitting(w, "This console runs no receiver ([webhooks] listen is empty); the events come from other "+
		"processes."+cure,
		"This console runs no receiver; the events come from other processes."+cure,
		"No receiver here: set [webhooks] listen."+cure, "No receiver here."+cure,
		"No receiver here; "+key+" shows more.")
}

// findings are those about webhooks, and, where they are received, about the server.
func (s *Screen) findings() []verdict.Finding {
	v := s.env.Verdict()
	if v.Off(verdict.PartFeed) {
		return v.In(verdict.PartFeed)
	}
	return append(v.In(verdict.PartFeed), v.In(verdict.PartServe)...)
}

// warnings returns the reasons why events may be missing.
func (s *Screen) warnings(w int) []string {
	th := s.env.Theme
	var out []string
	for _, f := range s.findings() {
		n, _ := s.pages.bad.Refusals()
		if f.Cause == verdict.RejectedWebhooks && n > 0 && !th.Linear { // the page has the rest
			out = append(out, th.Warn.Render(draw.Cut(th.Signs.Warn+" "+format.Plural(int(n), "delivery", "deliveries")+
				" rejected, "+s.keys.Rejected.Help().Key+" shows why", w)))
			continue
		}
		out = append(out, s.env.Sentence(present.FindingStep(s.env.Present(), f), w)...)
	}
	if s.broken != nil {
		out = append(out, th.Warn.Render(draw.Cut(th.Signs.Warn+" Live updates stopped: "+line(s.broken.Public, 200)+
			" r restarts it.", w)))
	}
	if s.cfg.Listen == "" && len(s.rows.All()) > 0 {
		out = append(out, th.Dim.Render(unheard(s.keys.Settings.Help().Key, w)))
	}
	return out
}

// switchOn returns the page for a host without a receiver and without events; it omits
// paragraphs that do not fit.
func (s *Screen) switchOn(w, h int) []string {
	th := s.env.Theme
	title, settings := th.Title.Render(draw.Cut(unreceived, w)),
		s.keys.Settings.Help().Key+" shows and changes the webhook settings."
	page := func(lines ...string) (out []string) {
		for _, l := range lines {
			if strings.HasPrefix(l, " ") { // of the config
				out = append(out, th.Accent.Render(l))
			} else {
				out = append(out, draw.Wrap(l, max(w, 1))...)
			}
		}
		return out
	}
	for _, out := range [][]string{
		page(title, "", "The service sends a webhook for each change. To receive webhooks, add to the config:", "",
			"  [webhooks]", `  listen = "127.0.0.1:8788"  # where to listen`, `  path = "/hooks"`,
			`  verify = "jwt"             # how a delivery proves its origin`, `  secret_env = "OPDECK_HOOK_SECRET"`, "",
			"and restart. If other hosts send to the receiver, it needs TLS or a proxy in front of it. Without a console: "+
				"opdeck serve", "",
			settings+" "+s.env.Keys.Global.Reload.Help().Key+" checks for events from other processes."),
		page(title, "Add to the config and restart:", "  [webhooks]", `  listen = "127.0.0.1:8788"`, `  verify = "jwt"`,
			`  secret_env = "OPDECK_HOOK_SECRET"`, settings),
	} {
		if len(out) <= h && !slices.ContainsFunc(out, func(l string) bool { return draw.Width(l) > w }) {
			return draw.Lay(out, w, h)
		}
	}
	return []string{th.Dim.Render(th.Signs.Off + " " + unreceived)}
}

func (s *pages) askReplay(it item) ui.Action {
	return ui.Asking(act.EventReplay, act.Object{ID: it.Key}, ui.Confirm{ID: it.Key, Ask: "Process this event again?",
		Risk:  "Every listener here receives it once more. No second row is created.",
		Facts: s.env.Pairs(present.AskedReplay(s.env.Present(), it), nil),
		Yes: func(ui.Seen) tea.Cmd {
			s.list.Doing = "replaying"
			feed, key := s.feed, it.Key
			return s.env.Write(func(ctx context.Context) (ui.Then, ui.Notify) {
				err := feed.Replay(ctx, key)
				const done = "The event was processed again."
				return func() (ui.Action, tea.Cmd) {
					s.list.Doing = ""
					return ui.Ended("The replay", done, err), nil
				}, ui.EndedElsewhere("The replay", done, err)
			})
		}})
}

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
	codes  hook.Meanings
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

// columns of the list in a window of w cells; how far an event can be trusted is
// in view wherever it is drawn at all.
func (s *Screen) columns(w int) []field.Layout {
	out := list.ColumnsOf(s.cells)
	if object, age := &out[2], &out[4]; w < 44 { // no room for the object, only for the age
		object.HidePriority, age.HidePriority = age.HidePriority, object.HidePriority
	}
	if w < 34 {
		out[3].Min, out[5].Min = 6, 10
	}
	return out
}

// item is a row.
type item = present.Event

// older puts older events, newest first, in front of those that are held.
func older(held []item, list []receiver.Stored) []item {
	all := make([]item, 0, len(list)+len(held))
	for _, s := range slices.Backward(list) {
		all = append(all, present.EventOf(s))
	}
	return linked(append(all, held...))
}

// newer appends events, oldest first; dropped: the oldest had to go.
func newer(held []item, list []receiver.Stored) (all []item, dropped bool) {
	all = slices.Clone(held)
	for _, s := range list {
		all = append(all, present.EventOf(s))
	}
	all = linked(all)
	if n := len(all) - maxRows; n > 0 {
		return all[n:], true
	}
	return all, false
}

// linked removes duplicate events, and stores with each the previous state of its
// object.
func linked(all []item) []item {
	met, newest := map[string]bool{}, map[string]*hook.Event{}
	out := all[:0]
	for _, it := range all {
		if met[it.Key] {
			continue
		}
		met[it.Key] = true
		it.Before, it.Late = nil, false
		if it.Good && it.Status != receiver.Conflict {
			id := string(it.Object) + " " + string(it.ObjectID)
			known := newest[id]
			if it.Late = known != nil && it.Said.UpdatedAt.Given && it.Said.UpdatedAt.Compare(known.UpdatedAt) < 0; !it.Late {
				event := it.Said.Event
				it.Before, newest[id] = known, &event
			}
		}
		out = append(out, it)
	}
	return out
}

// row draws one event.
func (s *Screen) row(it item) widget.Row {
	th, o := s.env.Theme, s.env.Present()
	out := list.RowOf(o, it.Key, s.cells, it)
	switch trust, _ := present.Trust(it.Stored); {
	case it.Alarming() && !it.Retry.Waiting():
		out.Sign, out.Tone = th.SignOf(trust.Sign), trust.Tone
	case it.Retry.Waiting(), it.Late, len(it.Said.Issues) > 0:
		out.Sign, out.Tone = th.Signs.Warn, theme.Warn
	}
	return out
}

// legend explains the signs of a row in the help.
func legend() []list.Sign {
	out := []list.Sign{list.Warning("at the start of a row: late, partly unreadable, or not merged yet")}
	for _, e := range []receiver.Record{{Status: receiver.Conflict}, {Status: receiver.Quarantined}, {},
		{Verdict: hook.Verdict{Authenticated: true, Bound: true}}, {Verdict: hook.Verdict{Authenticated: true}}} {
		trust, says := present.Trust(receiver.Stored{Record: e})
		out = append(out, list.Sign{Sign: func(th *theme.Theme) string { return th.SignOf(trust.Sign) },
			Says: trust.Word + ": " + says})
	}
	return out
}

func line(s string, max int) string { return untrusted.Text(s).Line(max) }
