package events

import (
	"context"
	"errors"
	"slices"
	"strconv"
	"strings"
	"time"

	tea "github.com/charmbracelet/bubbletea"

	"opdeck/api"
	"opdeck/api/endpoint"
	"opdeck/api/hook"
	"opdeck/api/secret"
	"opdeck/api/untrusted"
	"opdeck/internal/act"
	"opdeck/internal/act/remedy"
	"opdeck/internal/domain/mask"
	"opdeck/internal/domain/receiver"
	"opdeck/internal/format"
	"opdeck/internal/present"
	"opdeck/ui"
	"opdeck/ui/draw"
	"opdeck/ui/keymap"
	"opdeck/ui/list"
	"opdeck/ui/theme"
	"opdeck/ui/widget"
)

type pageKind int

const (
	eventPage pageKind = iota
	codesPage
	rejectedPage
	settingsPage
)

// page is what the page over the list shows.
type page struct {
	kind pageKind
	at   time.Time  // when it was read
	err  *api.Error // of that read

	item     item
	rejected []receiver.Rejection // newest first
	hooks    *api.HookSettings
}

// is reports whether a page of this kind is open.
func (p *page) is(kind pageKind) bool { return p != nil && p.kind == kind }

// pages are the pages above the list, with their reads and writes: an event, the codes, the rejected deliveries and
// the service's settings.
type pages struct {
	list   *list.List[receiver.Stored]
	env    *ui.Env
	inbox  receiver.Inbox
	feed   Feed
	caller endpoint.Caller
	cfg    Config
	me     api.Actor

	page  *page // nil: none is open
	codes hook.Meanings
	bad   receiver.Trouble

	hooks   *ui.Requests // the service's settings
	rejects *ui.Requests // the rejected deliveries
}

// stop ends the reads of a page.
func (s *pages) stop() {
	s.hooks.Stop()
	s.rejects.Stop()
}

func (s *pages) open(p *page, crumb string, fill func(w int) []string) {
	s.stop()
	s.page = p
	s.list.Open(p.item.Key, crumb, fill)
}

// show opens an event.
func (s *pages) show(it item) {
	p := &page{item: it}
	s.open(p, "Event "+draw.ID(it.Key, 13), func(w int) []string { return s.eventLines(p, w) })
}

const maxBody = 2000 // lines of a body on its page

// eventLines draws all of an event: how it came, what it says, and its body.
func (s *pages) eventLines(p *page, w int) []string {
	th, o, it := s.env.Theme, s.env.Present(), p.item
	trust, says := present.Trust(it.Stored)
	text := widget.NewText(th, w)
	text.Add(th.Title.Render(draw.Cut(present.EventType(it.Type), max(w-16, 1))) + "  " +
		th.Tone(trust.Tone).Render(trust.Cell(o).Text))
	text.Say(trust.Tone, says)
	if what := present.EventChange(it, s.codes); it.Good {
		text.Add(th.Dim.Render("change  ") + th.Tone(what.Tone).Render(draw.Cut(what.Text, max(w-8, 1))))
	}
	text.Gap()
	text.Pairs(s.env.Headed(present.EventFacts(o, it, s.codes)))
	for i, issue := range present.EventIssues(it) {
		if i == 0 {
			text.Section("Parts that cannot be used")
		}
		text.Cut(issue.Tone, issue.Line(o))
	}
	text.Section("Body as received")
	if it.Sensitive() && s.env.Masked() {
		text.Cut(theme.Dim, "It may contain account numbers; M reveals it for 30 s.")
	} else {
		text.JSON(mask.JSONIf(it.Raw, s.env.Masked()), maxBody, "cut here; "+s.env.Keys.Item.Raw.Help().Key+" shows more")
	}
	return text.Lines
}

// codeLines is the page of numeric codes: the word that the same operations have over REST, and one of them.
func (s *pages) codeLines(w int) []string {
	th, out := s.env.Theme, widget.NewText(s.env.Theme, w)
	out.Title("Numeric codes and their meaning")
	out.Gap()
	out.Say(theme.Dim, "Webhooks send type, status and payment type of an operation as numbers, and the service does "+
		"not publish what they mean. This is what the same operations say over REST at the same updatedAt. Nothing is "+
		"guessed: if a code has two words, its meaning is not known.")
	if len(s.codes) == 0 {
		out.Gap()
		out.Say(theme.Plain, "No code is known yet: opdeck needs a webhook and a read of the same operation.")
	}
	last := hook.Field("")
	for _, c := range s.codes {
		if c.Field != last {
			last = c.Field
			out.Section(line(string(c.Field), 60))
		}
		tone, sign := theme.Good, th.Signs.Good
		if s.codes.Word(c.Field, c.Code) == "" {
			tone, sign = theme.Warn, th.Signs.Warn
		}
		out.Add(th.Tone(tone).Render(sign+" "+draw.Fit(strconv.FormatInt(c.Code, 10), 4)+" "+draw.Fit(c.Word.Line(64), 20)) +
			"  " + th.Dim.Render(draw.Cut("operation "+c.OPID.Line(64), max(out.Room()-29, 0))))
	}
	return out.Lines
}

// loadRejected reads the rejected deliveries.
func (s *pages) loadRejected() tea.Cmd {
	p := s.page
	return ui.Reading(s.env, s.rejects, s.feed.Rejected, func(rejected []receiver.Rejection, at time.Time, err error) {
		if p.err = api.AsError(err); err == nil {
			p.rejected, p.at = rejected, at
		}
	})
}

const maxRejectedBody = 12 // lines of a body on the page

// rejectedLines returns the page of rejected deliveries: the counts by reason with
// what to do, then the last ones.
func (s *pages) rejectedLines(w int) []string {
	th, p := s.env.Theme, s.page
	out := widget.NewText(th, w)
	switch {
	case p.err != nil:
		s.unread(out)
	case p.at.IsZero():
		out.Say(theme.Dim, "Reading them …")
	case len(s.bad.Rejected) == 0:
		out.Say(theme.Dim, "No delivery was rejected.")
	}
	for _, c := range s.bad.Rejected {
		tone, sign := theme.Warn, th.Signs.Warn
		if c.Stray() || c.Passing() {
			tone, sign = theme.Dim, th.Signs.Sep
		}
		out.Say(tone, sign+" "+format.Plural(int(c.N), "delivery", "deliveries")+" rejected ("+line(c.Reason, 40)+
			"), the last at "+
			format.Time(c.Last, s.env.Zone())+" from "+line(string(c.Source), 64))
		out.Under(theme.Plain, line(c.Detail, 400))
	}
	if len(p.rejected) > 0 {
		head := "Last rejected delivery"
		if n := len(p.rejected); n > 1 {
			head = "Last " + strconv.Itoa(n) + " rejected deliveries, newest first"
		}
		out.Title(head)
	}
	for _, x := range p.rejected {
		s.rejectedOne(out, x)
	}
	return out.Lines
}

// unread returns why the page could not be read.
func (s *pages) unread(out *widget.Text) {
	err := s.page.err
	out.Say(theme.Bad, s.env.Theme.Signs.Bad+" "+err.Public+" "+remedy.Screen(err)+" "+s.env.Keys.Global.Reload.Help().Key+
		" tries again.")
}

// rejectedOne draws one delivery with its stored parts.
func (s *pages) rejectedOne(out *widget.Text, x receiver.Rejection) {
	out.Section(present.RejectedAt(s.env.Present(), x))
	if slices.ContainsFunc(s.bad.Rejected, func(c receiver.RejectCount) bool { return c.Detail == x.Detail }) {
		x.Detail = "" // it is above
	}
	out.Pairs(s.env.Pairs(present.Rejected(x), nil))
	switch {
	case len(x.Body) == 0:
		return
	case s.env.Masked():
		out.Under(theme.Dim, "The body may contain account numbers; M reveals it for 30 s.")
		return
	}
	body, whole := format.JSON(x.Body, maxRejectedBody)
	for _, l := range body {
		out.Add("  " + l)
	}
	if !whole || int64(len(x.Body)) < x.Size {
		out.Under(theme.Dim, "… cut here; opdeck event show "+x.Key()+" shows what is kept")
	}
}

// loadHooks reads the service's settings: one general call.
func (s *pages) loadHooks() tea.Cmd {
	p := s.page
	caller := s.caller
	read := func(ctx context.Context) (api.HookSettings, error) {
		return endpoint.Do(ctx, caller, endpoint.GetHooks, struct{}{})
	}
	return ui.Reading(s.env, s.hooks, read, func(h api.HookSettings, at time.Time, err error) {
		if p.err = api.AsError(err); err == nil {
			p.hooks, p.at = &h, at
		}
	})
}

// change handles enter on the page of the settings.
func (s *pages) change() keymap.Key {
	k := s.env.Keys.Hooks.Change
	switch {
	case !k.Enabled():
	case !s.me.Role.May(api.MayHooks):
		k.Off(s.me.Role.WhyNot(api.MayHooks))
	case s.page == nil || s.page.hooks == nil:
		k.Off("The settings have not been read yet.")
	case s.list.Doing != "":
		k.Off("Wait: " + s.list.Doing + ".")
	}
	return k
}

func (s *pages) settingLines(w int) []string {
	p, out := s.page, widget.NewText(s.env.Theme, w)
	out.Title("The service's webhook settings")
	out.Gap()
	switch {
	case p.err != nil:
		s.unread(out)
	case p.hooks == nil:
		out.Say(theme.Dim, "Reading them from the service …")
	}
	if p.hooks == nil {
		return out.Lines
	}
	listen := "nothing: [webhooks] listen is empty"
	if s.cfg.Listen != "" {
		listen = line(s.cfg.Listen, 200) + ", verify = " + line(s.cfg.Verify, 40)
	}
	out.Pairs(s.env.Headed([]present.Section{{Title: "At the service", Facts: present.HookSettings(*p.hooks)},
		{Title: "Here", Facts: []present.Fact{{Label: "listening at", Value: listen, Long: true}}}}))
	out.Gap()
	why := "enter changes them; you confirm first."
	if off := s.change().Why(); off != "" {
		why = off
	}
	out.Say(theme.Dim, why+" They apply to everyone who uses this machine account.")
	return out.Lines
}

// askSettings is the form; the secret is asked for and never shown.
func (s *pages) askSettings() ui.Action {
	old := *s.page.hooks
	hint := "leave empty to keep the current one"
	if old.JWTSecret.Empty() {
		hint = "the service has no secret; without one, deliveries cannot be verified"
	}
	word := func(label, member string, b bool) widget.Field {
		f := widget.Field{Label: label + " (on or off)", Value: present.OnOff(old, "", member, b).Value, Max: 3,
			Check: checkOnOff}
		if !old.Knows(member) {
			f.Value, f.Hint = "", "not reported by the service: enter on or off"
		}
		return f
	}
	return ui.Ask{Title: "Change the webhook settings", Verb: "continue",
		Intro: []string{"Nothing is sent until you confirm."},
		Fields: []widget.Field{word("Webhooks", "enabled", old.Enabled),
			{Name: api.FieldURL, Label: "Sent to", Value: string(old.HookURL), Max: 2000, Check: checkHookURL},
			{Name: api.FieldSecret, Label: "New secret", Secret: true, Hint: hint, Max: 1000, Check: checkSecret},
			word("Operations", "hookOperation", old.HookOperation), word("Customers", "hookCustomer", old.HookCustomer),
			word("Accounts", "hookDepositAccount", old.HookDepositAccount), word("Counterparties", "hookCounterparty",
				old.HookCounterparty)},
		Submit: func(v ui.Values) (ui.Action, tea.Cmd) {
			is := func(i int) bool { return strings.EqualFold(v.Text(i), "on") }
			h := api.HookSettings{Enabled: is(0), HookURL: untrusted.Text(v.Text(1)), JWTSecret: old.JWTSecret, Was: old.Was,
				HookOperation: is(3), HookCustomer: is(4), HookDepositAccount: is(5), HookCounterparty: is(6)}
			fresh := !v.Secret(2).Empty()
			if fresh {
				h.JWTSecret = v.Secret(2)
			} else if !old.Knows("jwtSecret") {
				h.Unreported = "jwtSecret,"
			}
			return s.confirmSettings(old, h, fresh), nil
		}}
}

func checkOnOff(v string) error {
	if !strings.EqualFold(v, "on") && !strings.EqualFold(v, "off") {
		return errors.New("on or off")
	}
	return nil
}

func checkHookURL(v string) error { return inField(endpoint.CheckHookURL(v)) }

func checkSecret(v string) error {
	if v == "" {
		return nil // it stays
	}
	return inField(endpoint.CheckHookSecret(secret.New(v)))
}

// inField is an error without the act, which the form's title names.
func inField(err error) error {
	if err == nil {
		return nil
	}
	return &api.Error{Kind: api.Usage, Public: api.AsError(err).Public}
}

// confirmSettings asks with what was and what would be.
func (s *pages) confirmSettings(old, h api.HookSettings, fresh bool) ui.Action {
	was, is := s.env.Pairs(present.HookSettings(old), nil), s.env.Pairs(present.HookSettings(h), nil)
	var facts []widget.Pair
	before := map[string]string{}
	for _, p := range was {
		before[p.Label] = p.Value
	}
	for _, p := range is {
		if p.Label == "secret" {
			p.Value = "stays"
			if fresh {
				p.Value = "a new one"
			}
		} else if b, ok := before[p.Label]; ok && b != p.Value {
			p.Value = b + " → " + p.Value
		}
		p.Long = true
		facts = append(facts, p)
	}
	return ui.Asking(act.HookSet, act.Object{}, ui.Confirm{ID: endpoint.HookObject, Facts: facts,
		Yes: func(ui.Seen) tea.Cmd {
			s.list.Doing = "writing the settings"
			caller, env := s.caller, s.env
			return s.env.Write(func(ctx context.Context) (ui.Then, ui.Notify) {
				_, err := endpoint.Do(ctx, caller, endpoint.SetHooks, h)
				done := env.Proven(endpoint.HookObject, "", "The service has the new webhook settings.")
				return func() (ui.Action, tea.Cmd) {
					s.list.Doing = ""
					if !s.page.is(settingsPage) {
						return ui.Ended("The change of the settings", done, err), nil
					}
					// what is there is what the service says
					return ui.Ended("The change of the settings", done, err), s.loadHooks()
				}, ui.EndedElsewhere("The webhook settings", done, err)
			})
		}})
}
