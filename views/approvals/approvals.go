// Package approvals is the screen of writes that wait for a second person: the requester,
// the exact request, and the keys that approve or deny it after a question.
package approvals

import (
	"context"
	"encoding/json"
	"slices"
	"strings"
	"time"

	tea "github.com/charmbracelet/bubbletea"

	"opdeck/api"
	"opdeck/api/untrusted"
	"opdeck/internal/act"
	"opdeck/internal/act/remedy"
	"opdeck/internal/domain/approval"
	"opdeck/internal/domain/index/filter"
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

// Kind is the kind of this place, and of the ui.Changed that says that requests
// changed, here or elsewhere. The place's ID is a request's, or empty.
const Kind = "approvals"

// Backend stores decisions of the person in ctx; *approval.Service has these methods.
type Backend interface {
	List(ctx context.Context, states ...approval.State) ([]approval.Request, error)
	Approve(ctx context.Context, id, digest, comment string) (approval.Request, error)
	Deny(ctx context.Context, id, digest, comment string) (approval.Request, error)
}

// Badge returns the header's mark for n waiting requests, "" for none.
func Badge(n int) string {
	switch {
	case n <= 0:
		return ""
	case n == 1:
		return "1 approval waits"
	}
	return format.Count(n) + " approvals wait"
}

// Screen implements ui.Screen.
type Screen struct {
	*list.List[approval.Request]
	env     *ui.Env
	backend Backend
	me      api.Actor
	keys    keymap.Audit
	rows    *list.Rows[approval.Request]
	asking  string // the request that a question is open about
}

// New returns the screen. id opens one request; "" lists all.
func New(env *ui.Env, backend Backend, id string) *Screen {
	s := &Screen{env: env, backend: backend, me: api.ActorOf(env.Ctx), keys: env.Keys.Audit}
	s.rows = list.NewRows(func(r approval.Request) string { return r.ID }, s.row)
	s.List = list.New(env, s, s.rows, list.Spec[approval.Request]{Title: "Approvals", Signs: legend(),
		Place: ui.Place{Kind: Kind, ID: id}, Origin: "store",
		Reading: "Reading the requests …", None: "No request matches the filter.",
		Columns:  func(int) []field.Layout { return list.ColumnsOf(columns) },
		Language: language(env.Now), Example: "state:open person:ana write:document.remove",
		Preview: func(r approval.Request, w int) []string { return s.lines(r, w, false) }})
	return s
}

// Reload implements list.Screen.
func (s *Screen) Reload() tea.Cmd {
	backend, now := s.backend, s.env.Now
	return s.env.Read(s.Loads, func(ctx context.Context) ui.Then {
		list, err := backend.List(ctx)
		at := now()
		return func() (ui.Action, tea.Cmd) { return s.onLoaded(list, at, err), nil }
	})
}

// Answer implements list.Screen.
func (s *Screen) Answer(msg tea.Msg) (ui.Action, tea.Cmd) {
	switch msg := msg.(type) {
	case ui.Changed:
		if msg.Kind == Kind {
			return nil, s.Reload()
		}
	case ui.Shown:
		return nil, s.Reload()
	}
	return nil, nil
}

func (s *Screen) onLoaded(all []approval.Request, at time.Time, err error) ui.Action {
	first := !s.Loaded
	if s.Failed(err) {
		return nil
	}
	s.At = at
	s.rows.Set(ordered(all, s.env.Now()))
	s.Changed()
	if id := s.Place().ID; first && id != "" && s.Table.Cursor.Select(id) {
		s.show(id)
	}
	return s.withdraw(all)
}

// withdraw closes the question about a request that waits no longer.
func (s *Screen) withdraw(now []approval.Request) ui.Action {
	waits := func(r approval.Request) bool { return r.ID == s.asking && state(r, s.env.Now()) == approval.Open }
	if s.asking == "" || slices.ContainsFunc(now, waits) {
		return nil
	}
	id := s.asking
	s.asking = ""
	return ui.Withdraw{ID: id, Why: "Request " + line(id, 20) + " is no longer open: it was decided or has lapsed."}
}

// OwnKey implements list.Screen. During a search in a request's text the deciding
// keys go to the search.
func (s *Screen) OwnKey(msg keymap.Press) (ui.Action, tea.Cmd, bool) {
	k := s.env.Keys
	r, on := s.current()
	switch {
	case !on:
	case !s.Page.Seeking() && s.keys.Approve.Match(msg):
		return s.askApprove(r), nil, true
	case !s.Page.Seeking() && s.keys.Deny.Match(msg):
		return s.askReason(r), nil, true
	case s.Page == nil && s.env.Keys.Approvals.Details.Match(msg):
		s.show(r.ID)
		return nil, nil, true
	case k.List.Open.Match(msg) && !s.Page.Seeking():
		return openObject(r), nil, true
	}
	return nil, nil, false
}

// openObject opens what the request is about; esc comes back.
func openObject(r approval.Request) ui.Action {
	switch r.Act.Object {
	case "operation":
		return ui.Open{Place: ui.Place{Kind: ui.KindOperation, ID: r.Act.ID}}
	case "customer":
		return ui.Open{Place: ui.Place{Kind: ui.KindCompliance, ID: r.Act.ID}}
	}
	return ui.Notify{Level: ui.Denied, Text: "This request is not about an operation or a customer."}
}

// Item implements list.Screen: the request with its act, as it is stored.
func (s *Screen) Item() ui.Item {
	r, on := s.current()
	if !on {
		return ui.Item{}
	}
	b, _ := json.Marshal(r) // of texts and times
	return ui.Item{ID: r.ID, IDWhat: "the request's id", JSON: b, JSONWhat: "the request as JSON", Title: "Request " +
		line(r.ID, 20)}
}

// current is the request on the page, else the one under the cursor.
func (s *Screen) current() (approval.Request, bool) { return s.rows.Find(s.ItemID()) }

// Empty implements list.Screen.
func (s *Screen) Empty() widget.Notice {
	return s.NoRows(widget.Notice{Text: "No approval was requested.",
		Hint: "With approval = \"second_person\" in the config, each write becomes a request here."}, "")
}

// Refresh implements list.Screen: it switches the deciding keys on or off for the current
// request, which may also expire.
func (s *Screen) Refresh() {
	why := "No request is selected."
	if r, on := s.current(); on {
		why = s.why(r)
	}
	s.keys.Approve.Set(why)
	s.keys.Deny.Set(why)
}

// own reports whether the person here asked.
func (s *Screen) own(r approval.Request) bool { return approval.IsRequester(s.me, r) }

// why says why this person cannot decide about r; "" when they can. The backend
// decides again.
func (s *Screen) why(r approval.Request) string {
	st, bars := state(r, s.env.Now()), approval.WhyNotSecond(s.me, r.Requester)
	switch {
	case s.Doing != "":
		return "A decision is being sent."
	case s.own(r):
		return "You cannot decide your own request: ask a colleague. Without a decision it lapses."
	case bars != nil:
		return bars.Public + " " + remedy.Screen(bars)
	case !s.me.Role.May(api.MayApprove):
		return s.me.Role.WhyNot(api.MayApprove)
	case st != approval.Open:
		return "This request is no longer open: it is " + string(st) + "."
	}
	return ""
}

// NextChange implements list.Screen: ages, and the time that requests have left.
func (s *Screen) NextChange(now time.Time) time.Time {
	next := s.rows.Ages(0, s.rows.Len(), now, func(r approval.Request) time.Time { return r.Created })
	for _, r := range s.rows.All() {
		if r.Waits() {
			_, u := format.Until(r.Expires, now)
			next = ui.Sooner(next, u)
		}
	}
	return next
}

// HeadLines implements list.Screen: the number of waiting requests, and who must decide.
func (s *Screen) HeadLines() []string {
	th, open, mine := s.env.Theme, 0, 0
	for _, r := range s.rows.All() {
		if state(r, s.env.Now()) == approval.Open {
			if open++; s.own(r) {
				mine++
			}
		}
	}
	head := ""
	if !s.At.IsZero() {
		head = th.Dim.Render("No approval waits")
	}
	if open > 0 {
		head = th.Warn.Render(th.Signs.Wait + " " + Badge(open))
	}
	if mine > 0 {
		head += th.Dim.Render(", " + format.Count(mine) + " of them requested by you")
	}
	return s.Head(head, "")
}

// HelpKeys implements list.Screen.
func (s *Screen) HelpKeys() []keymap.Key {
	k := s.env.Keys
	decide := []keymap.Key{k.List.Open, s.keys.Approve, s.keys.Deny}
	switch {
	case s.Page != nil:
		return append(decide, k.Viewer.Search, k.Viewer.Next, k.Global.Reload)
	case s.rows.Len() == 0:
		return nil
	}
	return append(decide, k.Approvals.Details)
}

// Subject implements ui.SubjectOf.
func (s *Screen) Subject(kind string) string {
	r, on := s.current()
	if on && (kind == ui.KindOperation && r.Act.Object == "operation" || kind == ui.KindCompliance &&
		r.Act.Object == "customer") {
		return r.Act.ID
	}
	return ""
}

// askApprove is the one question before an approval. It binds to the request's
// digest: what is approved is what is in it.
func (s *Screen) askApprove(r approval.Request) ui.Action {
	s.asking = r.ID
	return ui.Asking(act.ApprovalApprove, act.Object{ID: r.ID}, ui.Confirm{ID: r.ID,
		Ask:   present.RequestQuestion(r, true),
		Facts: s.env.Pairs(present.Decision(s.env.Present(), r, ""), nil), Risk: act.Consequence(r.Act.Kind),
		Yes: s.decide(r, approval.Approved, ""), No: s.unasked})
}

// askReason asks why, then once more whether.
func (s *Screen) askReason(r approval.Request) ui.Action {
	return ui.Ask{Title: "Deny: " + present.RequestTitle(r.Act), Verb: "Continue",
		Intro: []string{line(r.Requester.Name, 40) + " sees the reason."},
		Fields: []widget.Field{widget.Note("Reason", "why it should not be done",
			"give a reason: the requester sees nothing else")},
		Submit: func(v ui.Values) (ui.Action, tea.Cmd) {
			reason := strings.TrimSpace(v.Text(0))
			s.asking = r.ID
			return ui.Asking(act.ApprovalDeny, act.Object{ID: r.ID}, ui.Confirm{ID: r.ID,
					Ask:   present.RequestQuestion(r, false),
					Facts: s.env.Pairs(present.Decision(s.env.Present(), r, reason), nil), Yes: s.decide(r, approval.Denied, reason),
					No: s.unasked}),
				nil
		}}
}

func (s *Screen) unasked() ui.Action {
	s.asking = ""
	return nil
}

// decide sends the decision. The notice names request and person, because the screen may be
// closed by then.
func (s *Screen) decide(r approval.Request, to approval.State, comment string) func(ui.Seen) tea.Cmd {
	return func(ui.Seen) tea.Cmd {
		s.asking, s.Doing = "", "deciding"
		act, failed, who := s.backend.Approve, "The approval", line(r.Requester.Name, 40)
		if to == approval.Denied {
			act, failed = s.backend.Deny, "The denial"
		}
		zone := s.env.Zone()
		return s.env.Write(func(ctx context.Context) (ui.Then, ui.Notify) {
			decided, err := act(ctx, r.ID, r.Digest, comment)
			done := "Denied. " + who + " sees the reason."
			if to == approval.Approved {
				done = "Approved. " + who + " can send it once, until " + format.Clock(decided.Expires, zone) + "."
			}
			return func() (ui.Action, tea.Cmd) {
				s.Doing = ""
				return ui.Ended(failed, done, err), s.Reload()
			}, ui.EndedElsewhere("Request "+line(r.ID, 20)+" was not decided", done, err)
		})
	}
}

// language is the filter language over requests; now says which have lapsed.
func language(now func() time.Time) *filter.Table[approval.Request] {
	type request = approval.Request
	one := func(f func(request) string) func(request) []string {
		return func(r request) []string { return []string{f(r)} }
	}
	return filter.NewTable(
		filter.Field[request]{Name: "state", Kind: filter.Code, Help: "its state", Example: "state:open",
			Strings: one(func(r request) string { return string(state(r, now())) })},
		filter.Field[request]{Name: "person", Kind: filter.Text, Help: "who requested approval", Example: "person:ana",
			Strings: one(func(r request) string { return r.Requester.Name })},
		filter.Field[request]{Name: "write", Aliases: []string{"act"}, Kind: filter.Text, Help: "the requested write",
			Example: "write:document.remove",
			Strings: one(func(r request) string { return string(r.Act.Kind) })},
		filter.Field[request]{Name: "object", Kind: filter.Code, Help: "the type of object", Example: "object:customer",
			Strings: one(func(r request) string { return r.Act.Object })},
		filter.Field[request]{Name: "id", Kind: filter.Ident, Help: "the object's identifier, or its beginning",
			Example: "id:5b55db86",
			Strings: one(func(r request) string { return r.Act.ID })},
		filter.Field[request]{Name: "asked", Kind: filter.Time, Help: "when approval was requested", Example: "asked<2h",
			Time: func(r request) time.Time { return r.Created }},
		filter.Field[request]{Kind: filter.Free, Help: "contained in any of these fields or in a reason",
			Example: `"free text"`,
			Strings: func(r request) []string {
				return []string{r.ID, string(state(r, now())), r.Requester.Name, string(r.Act.Kind), r.Act.Object, r.Act.ID,
					r.Act.Item, r.Act.Name, r.Act.Reason, r.Comment}
			}})
}

// show opens one request, by id: what is said of it follows the list.
func (s *Screen) show(id string) {
	s.Open(id, "Request "+draw.ID(id, 13), func(w int) []string {
		r, ok := s.rows.Find(id)
		if !ok {
			return []string{s.env.Theme.Dim.Render(draw.Cut("This request is no longer among the newest. "+
				s.env.Keys.Global.Back.Help().Key+" goes back.", w))}
		}
		return s.lines(r, w, true)
	})
}

// lines draws a request: its state, what a second person decides by, and exactly what would be sent; details: also
// who asks, who decided, and the digests.
func (s *Screen) lines(r approval.Request, w int, details bool) []string {
	th, now := s.env.Theme, s.env.Now()
	st := state(r, now)
	mark, means := present.RequestState(s.env.Present(), r)
	out := widget.NewText(th, w)
	out.Title("Request " + line(r.ID, 20) + ": " + present.RequestTitle(r.Act))
	head := th.Tone(mark.Tone).Render(th.SignOf(mark.Sign)+" "+mark.Word) + th.Dim.Render("  "+means)
	if r.Waits() && now.Before(r.Expires) {
		left, _ := format.Until(r.Expires, now)
		head += th.Warn.Render("  lapses in " + left)
	}
	out.Add("", head)
	if why := s.why(r); why != "" && st == approval.Open {
		out.Say(theme.Warn, th.Signs.Off+" "+why)
	} else if st == approval.Open {
		out.Cut(theme.Dim, s.keys.Approve.Help().Key+" approves, "+s.keys.Deny.Help().Key+" denies; both ask first.")
	}
	out.Section("What it changes")
	out.Say(theme.Plain, act.Consequence(r.Act.Kind))
	out.Gap()
	out.Pairs(s.env.Pairs(present.Judged(s.env.Present(), r), nil))
	out.Section("Exactly what is sent")
	out.Say(theme.Strong, line(r.Act.Method, 10)+" "+line(r.Act.Path, 400))
	if len(r.Act.Body) == 0 {
		out.Say(theme.Dim, "no body")
	}
	out.JSON(r.Act.Body, 200, "cut here; "+s.env.Keys.Item.Raw.Help().Key+" shows all of it")
	if !details {
		return out.Lines
	}
	out.Gap()
	out.Pairs(s.env.Headed(present.RequestDetails(s.env.Present(), r)[1:])) // what is sent is above
	return out.Lines
}

var columns = present.Named(present.RequestColumns, "state", "asked by", "asks to", "amount", "customer",
	"about", "reason", "asked", "time left")

const askedBy = 1 // of the columns

// ordered puts those that wait first, each part newest first.
func ordered(list []approval.Request, now time.Time) []approval.Request {
	list = slices.Clone(list)
	slices.SortStableFunc(list, func(a, b approval.Request) int {
		if x, y := state(a, now) == approval.Open, state(b, now) == approval.Open; x != y {
			if x {
				return -1
			}
			return 1
		}
		return b.Created.Compare(a.Created)
	})
	return list
}

// row draws one request.
func (s *Screen) row(q approval.Request) widget.Row {
	out := list.RowOf(s.env.Present(), q.ID, columns, q)
	if s.own(q) {
		out.Cells[askedBy] += " (you)"
	}
	for _, text := range []string{q.Requester.Name, q.Act.ID, q.Act.Item, q.Act.Name, q.Act.Reason} {
		if untrusted.Text(text).Flags().Suspicious() {
			out.Sign, out.Tone = s.env.Theme.Signs.Warn, theme.Warn
		}
	}
	return out
}

// state is the state of a request at now.
func state(r approval.Request, now time.Time) approval.State { return r.AsOf(now).State }

// legend is what the help says of the signs in a row.
func legend() []list.Sign {
	out := []list.Sign{list.Warning("a text in it contains hidden or unsafe characters")}
	for _, st := range []approval.State{approval.Open, approval.Approved, approval.Denied, approval.Spent,
		approval.Lapsed, approval.Void} {
		mark, means := present.RequestState(present.Options{}, approval.Request{State: st, Expires: time.Unix(1, 0)})
		out = append(out, list.Sign{Sign: func(th *theme.Theme) string { return th.SignOf(mark.Sign) },
			Says: mark.Word + ": " + means})
	}
	return out
}

func line(s string, max int) string { return untrusted.Text(s).Line(max) }
