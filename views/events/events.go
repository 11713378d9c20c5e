package events

import (
	"context"
	"strings"
	"time"

	tea "github.com/charmbracelet/bubbletea"

	"opdeck/api"
	"opdeck/api/hook"
	"opdeck/internal/domain/eventfilter"
	"opdeck/internal/domain/receiver"
	"opdeck/ui"
	"opdeck/ui/draw"
	"opdeck/ui/keymap"
	"opdeck/ui/widget"
)

// Inbox is the stored deliveries; every receiver.Inbox has these methods.
type Inbox interface {
	List(ctx context.Context, f receiver.Filter) ([]receiver.Stored, error)
	LastSeq(ctx context.Context) (int64, error)
	Counts(ctx context.Context) ([]receiver.Count, error)
	Times(ctx context.Context, limit int) ([]time.Time, error)
	Attempts(ctx context.Context, key string) ([]receiver.Attempt, error)
}

// Client does what else this screen asks for.
type Client interface {
	// NextEvents waits for events behind seq, of any process, and returns at
	// least one, oldest first; it ends with ctx.
	NextEvents(ctx context.Context, seq int64) ([]receiver.Stored, error)
	// EventCodes is what all processes have learnt about numeric codes.
	EventCodes(ctx context.Context) ([]hook.Meaning, error)
	// EventTrouble is what waits to be merged and what was not accepted.
	EventTrouble(ctx context.Context) (receiver.Trouble, error)
	// RejectedEvents are the last deliveries that were not accepted, newest first.
	RejectedEvents(ctx context.Context) ([]receiver.Rejection, error)
	// ReplayEvent puts a stored event through the receiver again (target ""), or
	// sends it to a URL. The error says that it could not be tried or kept.
	ReplayEvent(ctx context.Context, key, target string) (receiver.Attempt, error)
	Hooks(ctx context.Context) (api.HookSettings, error)
	SetHooks(ctx context.Context, h api.HookSettings) error
}

// Config is what does not change while the console runs.
type Config struct {
	Listen string // [webhooks] listen; empty: no receiver here
	Path   string // [webhooks] path
	Verify string // [webhooks] verify
}

// Screen implements ui.Screen.
type Screen struct {
	env    *ui.Env
	inbox  Inbox
	client Client
	cfg    Config
	me     api.Actor
	keys   keymap.Events

	loads  *ui.Loads // the newest events, counts, codes, rhythm
	more   *ui.Loads // older events
	stream *ui.Loads // the one wait for the next event
	tries  *ui.Loads // replays of the event on the page
	hooks  *ui.Loads // the service's settings
	denied *ui.Loads // the deliveries that were not accepted
	watch  *ui.Loads // how many of these there are, and what waits

	filter eventfilter.Expr
	text   string // of the filter as typed
	rows   *rows
	seq    int64 // newest event that the stream brought, or stood at when it began
	older  int64 // Seq below which older events may be; 0: none
	counts map[receiver.Status]int64
	bad    receiver.Trouble
	times  []time.Time
	rhythm receiver.Rhythm
	at     time.Time
	err    *api.Error
	mute   *api.Error // why the live feed stopped
	inited bool
	follow bool
	doing  string

	bar   *widget.FilterBar
	page  *page
	table *widget.Table
	w, h  int
}

// New makes the screen. start is a filter to begin with, as it is typed.
func New(env *ui.Env, inbox Inbox, client Client, cfg Config, start string) *Screen {
	s := &Screen{env: env, inbox: inbox, client: client, cfg: cfg, me: api.ActorOf(env.Ctx), keys: env.Keys.Events, rows: newRows(env), follow: true,
		counts: map[receiver.Status]int64{}, loads: env.Loads(), more: env.Loads(), stream: env.Loads(), tries: env.Loads(), hooks: env.Loads(), denied: env.Loads(), watch: env.Loads(),
		table: widget.NewTable(env.Theme, env.Keys, false, columns(0)...)}
	s.table.Apart()
	if f, bad := parse(env.Ctx, start); bad == nil {
		s.filter, s.text = f, start
	}
	s.settle()
	return s
}

// Init implements ui.Screen.
func (s *Screen) Init() tea.Cmd { return s.load() }

// Update implements ui.Screen.
func (s *Screen) Update(msg tea.Msg) (ui.Action, tea.Cmd) {
	switch msg := msg.(type) {
	case loadedMsg:
		return nil, s.loaded(msg)
	case olderMsg:
		s.tookOlder(msg)
	case arrivedMsg:
		return nil, s.arrived(msg)
	case triesMsg:
		if s.tries.Current(msg.Ticket) && s.page != nil && s.page.key == msg.key {
			s.page.tries, s.page.triesErr = msg.list, api.AsError(msg.err)
		}
	case hooksMsg:
		s.gotHooks(msg)
	case rejectedMsg:
		s.gotRejected(msg)
	case troubleMsg:
		s.gotTrouble(msg)
	case ui.FeedFacts:
		return nil, s.loadTrouble()
	case replayedMsg:
		return s.replayed(msg)
	case setMsg:
		return s.set(msg)
	case ui.DisplayChanged:
		s.settle()
	case keymap.Press:
		return s.key(msg)
	}
	return nil, nil
}

func (s *Screen) key(msg keymap.Press) (ui.Action, tea.Cmd) {
	switch {
	case s.bar != nil:
		return s.typing(msg)
	case s.page != nil && s.page.view.Searching():
		s.page.view.Update(msg)
		return nil, nil
	}
	k := s.env.Keys
	switch {
	case k.Global.Reload.Match(msg):
		if s.page != nil && s.page.settings {
			return nil, s.loadHooks()
		}
		if s.page != nil && s.page.rejects {
			return nil, tea.Batch(s.load(), s.loadRejected())
		}
		return nil, s.load()
	case s.keys.Rejected.Match(msg):
		s.open(&page{rejects: true, fill: s.rejectedLines})
		return nil, tea.Batch(s.load(), s.loadRejected())
	case s.keys.Codes.Match(msg):
		s.open(&page{fill: s.codeLines})
		return nil, s.load()
	case s.keys.Settings.Match(msg):
		s.open(&page{settings: true, fill: s.settingLines})
		return nil, s.loadHooks()
	}
	if it, on := s.current(); on {
		if a, cmd, ok := s.itemKey(msg, it); ok {
			return a, cmd
		}
	}
	if s.page != nil {
		return s.pageKey(msg)
	}
	return s.listKey(msg)
}

// itemKey is a key about the event under the cursor or on the page.
func (s *Screen) itemKey(msg keymap.Press, it item) (ui.Action, tea.Cmd, bool) {
	k := s.env.Keys
	switch {
	case s.keys.Replay.Match(msg):
		return s.askReplay(it), nil, true
	case s.keys.Operation.Match(msg):
		return ui.Open{Place: ui.Place{Kind: ui.KindOperation, ID: string(it.ObjectID)}}, nil, true
	case k.Item.CopyID.Match(msg):
		return ui.Copy{Text: it.Key, What: "the event's id"}, nil, true
	case k.Item.Raw.Match(msg), k.Item.CopyJSON.Match(msg):
		return s.raw(it, k.Item.Raw.Match(msg)), nil, true
	case s.page == nil && k.List.Open.Match(msg):
		return nil, s.show(it), true
	}
	return nil, nil, false
}

// raw is the body as it came, unless it holds what is masked.
func (s *Screen) raw(it item, view bool) ui.Action {
	if s.env.Masked() && it.sensitive() {
		return ui.Notify{Kind: ui.Refused, Text: "The body holds account numbers: M reveals masked values first."}
	}
	if view {
		return ui.Raw{Title: "Event " + line(it.Key, 80), JSON: it.Raw}
	}
	return ui.Copy{Text: string(it.Raw), What: "the event's body"}
}

func (s *Screen) pageKey(msg keymap.Press) (ui.Action, tea.Cmd) {
	k := s.env.Keys
	switch {
	case k.Global.Back.Match(msg), k.Global.Quit.Match(msg):
		if !s.page.view.Clear() {
			s.page = nil
			s.tries.Stop()
			s.hooks.Stop()
			s.denied.Stop()
			s.settle()
		}
		return ui.Handled{}, nil
	case s.page.settings && s.change().Match(msg):
		return s.askSettings(), nil
	}
	s.page.view.Update(msg)
	return nil, nil
}

func (s *Screen) listKey(msg keymap.Press) (ui.Action, tea.Cmd) {
	k := s.env.Keys
	switch {
	case k.List.Filter.Match(msg):
		s.bar = s.newBar(s.text)
		return nil, nil
	case k.Global.Back.Match(msg), k.Global.Quit.Match(msg):
		if s.text == "" {
			return nil, nil
		}
		s.filter, s.text = eventfilter.Expr{}, ""
		return ui.Handled{}, s.load()
	case s.keys.Follow.Match(msg):
		s.follow = !s.follow
		s.settle()
		return nil, nil
	}
	s.table.Update(msg)
	if n := s.rows.Len(); n > 0 {
		s.follow = s.follow && s.table.Cursor() == n-1 // scrolling up stops it
	}
	s.switchKeys()
	return nil, s.reach()
}

// current is the event on the page, else the one under the cursor.
func (s *Screen) current() (item, bool) {
	if s.page != nil {
		return s.page.item, s.page.key != ""
	}
	return s.rows.item(s.table.SelectedID())
}

// switchKeys turns keys on or off for the present event.
func (s *Screen) switchKeys() {
	it, on := s.current()
	why, op := "", ""
	switch {
	case !on:
		why, op = "No event is under the cursor.", "No event is under the cursor."
	case it.Object != hook.ObjectOperation || it.ObjectID == "":
		op = "This event is not about an operation."
	}
	if on && s.doing != "" {
		why = "One thing at a time: " + s.doing + "."
	}
	s.keys.Replay.Set(why)
	s.keys.Operation.Set(op)
}

// Counts implements ui.Counter: ages on screen, and the moment from which the
// silence is unusual.
func (s *Screen) Counts(now time.Time) time.Time {
	var next time.Time
	from, to := s.table.Visible()
	for i := from; i < to; i++ {
		_, t := draw.Ago(s.rows.list[i].ReceivedAt, now)
		next = ui.Sooner(next, t)
	}
	if deaf := s.rhythm.Last.Add(s.rhythm.Limit); s.rhythm.Known && deaf.After(now) {
		next = ui.Sooner(next, deaf.Add(time.Second))
	}
	return next
}

// View implements ui.Screen.
func (s *Screen) View() string {
	if s.page != nil {
		return strings.Join(s.page.draw(s.w, s.h), "\n")
	}
	if s.bar == nil && s.inited && s.err == nil && s.rows.Len() == 0 && s.text == "" && s.cfg.Listen == "" && len(s.troubles()) == 0 {
		return strings.Join(draw.Lay(s.switchOn(s.w), s.w, s.h), "\n")
	}
	top := s.above()
	if len(top) > s.h/2 {
		top = top[:s.h/2]
	}
	s.table.SetSize(s.w, max(s.h-len(top), 1))
	return strings.Join(draw.Lay(append(top, s.table.Lines()...), s.w, s.h), "\n")
}

// SetSize implements ui.Screen.
func (s *Screen) SetSize(w, h int) {
	s.w, s.h = w, h
	s.table.SetColumns(columns(w)...)
}

// Help implements ui.Screen.
func (s *Screen) Keys() []keymap.Key {
	k := s.env.Keys
	_, on := s.current()
	var list []keymap.Key
	switch {
	case s.bar != nil:
		return widget.FilterKeys(k)
	case s.page != nil && s.page.view.Seeking():
		return s.page.view.Hints()
	case s.page != nil && s.page.settings:
		list = []keymap.Key{s.change(), k.Global.Reload, k.Viewer.Search, k.Viewer.Next, k.Viewer.Prev}
	case s.page != nil && !on:
		list = []keymap.Key{k.Viewer.Search, k.Viewer.Next, k.Viewer.Prev, k.Global.Reload, s.keys.Rejected, s.keys.Settings}
	case s.page != nil:
		list = append([]keymap.Key{s.keys.Replay, s.keys.Operation, k.Viewer.Search, k.Viewer.Next, k.Viewer.Prev, s.keys.Codes, s.keys.Rejected, s.keys.Settings}, keymap.All(k.Item)...)
	case s.cfg.Listen == "": // nothing comes by itself: where the service sends is what matters
		settings := s.keys.Settings
		settings.SetHelp(settings.Help().Key, "where it sends")
		settings.Extra = false
		list = []keymap.Key{settings, k.Global.Reload, s.keys.Codes, s.keys.Rejected, k.List.Filter}
		if s.rows.Len() > 0 {
			list = append([]keymap.Key{k.List.Open, k.List.Filter, s.keys.Follow, s.keys.Replay, s.keys.Codes, s.keys.Rejected, s.keys.Operation, settings, k.Global.Reload}, keymap.All(k.Item)...)
		}
	default:
		list = append([]keymap.Key{k.List.Open, k.List.Filter}, append(keymap.All(s.keys), k.Global.Reload)...)
		list = append(list, keymap.All(k.Item)...)
	}
	return append(list, keymap.All(k.Nav)...)
}

// Editing implements ui.Screen.
func (s *Screen) Editing() bool { return s.bar != nil || s.page != nil && s.page.view.Searching() }

// Unsaved implements ui.Keeper.
func (s *Screen) Unsaved() string {
	if s.bar != nil && s.bar.Value() != s.text {
		return "The filter you typed."
	}
	return ""
}

// Title implements ui.Screen.
func (s *Screen) Title() string { return "Events" }

// Place implements ui.Screen.
func (s *Screen) Place() ui.Place { return ui.Place{Kind: ui.KindEvents} }

// Source implements ui.Screen.
func (s *Screen) Source() ui.Source {
	src := ui.Source{Origin: "inbox", At: s.at, Loading: s.loads.Busy() || s.more.Busy() || s.hooks.Busy() || s.denied.Busy()}
	if s.page != nil && s.page.settings {
		src = ui.Source{Origin: "service", At: s.page.hooksAt, Class: "general", Loading: s.hooks.Busy()}
	}
	switch {
	case s.err != nil:
		src.Problem = s.err.Public
	case s.mute != nil:
		src.Problem = "the live feed stopped"
	}
	return src
}

// Subject implements ui.Subjecter.
func (s *Screen) Subject(kind string) string {
	it, on := s.current()
	switch {
	case on && kind == ui.KindOperation && it.Object == hook.ObjectOperation:
		return string(it.ObjectID)
	case on && kind == ui.KindCompliance:
		return string(it.CUID)
	}
	return ""
}
