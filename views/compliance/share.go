package compliance

import (
	"time"

	tea "github.com/charmbracelet/bubbletea"

	"opdeck/api"
	"opdeck/api/secret"
	"opdeck/api/untrusted"
	"opdeck/internal/act"
	"opdeck/ui"
	"opdeck/ui/draw"
	"opdeck/ui/keymap"
	"opdeck/ui/widget"
)

// ShareForm is the form for a customer's share token as a program of its own: it
// takes the token unseen, asks with the customer's id and kind, presents the token
// and tells what came of it.
type ShareForm = ui.Program

// NewShareForm makes the form for a customer; the token is presented once.
func NewShareForm(o ui.Options, journeys Journeys, c api.Customer) ShareForm {
	return ui.Alone(o, ui.Place{Kind: "share", ID: string(c.CUID)},
		func(env *ui.Env) ui.Screen { return newSharePage(env, journeys, c) })
}

// share is the form's dialogs and what they send; the customer's screen and
// ShareForm use it.
type share struct {
	env      *ui.Env
	journeys Journeys
	id       string
	customer api.Customer
	unclear  bool          // a token was sent before and its outcome is not known
	off      func() string // why no token can be presented now, "" when it can
	started  func()        // a token is on its way
	asked    time.Time     // when the form was opened: a token issued then lives 20 minutes
}

// ask takes the token unseen, then asks with the customer's id and kind.
func (f *share) ask() ui.Action {
	f.asked = f.env.Now()
	kind := "The customer's kind is not known."
	switch f.customer.Type {
	case api.Individual:
		kind = "INDIVIDUAL: one token carries the customer's own verified profile."
	case api.Corporate:
		kind = "CORPORATE: one token carries the company with its verified beneficiaries."
	}
	intro := []string{draw.Cut(name(f.id, f.customer), 80) + ", " + kind,
		"A token works once and lives about 20 minutes: one issued just now lapses at " +
			draw.Clock(f.asked.Add(api.ShareTokenLife), f.env.Zone()) + ".",
		"What you paste is not shown, kept or logged."}
	if f.env.About.Environment == ui.Sandbox {
		intro = append(intro, demoTokens(f.customer.Type == api.Corporate))
	}
	return ui.Ask{Title: "Share token", Verb: "Go on", Intro: intro,
		Fields: []widget.Field{{Name: api.FieldToken, Label: "Token", Secret: true, Max: 4096, Check: checkToken}},
		Submit: func(v ui.Values) (ui.Action, tea.Cmd) {
			token, err := api.CheckShareToken(v.Secret(0).Reveal())
			if err != nil {
				return ui.Explain{Title: "Share token", Lines: []string{api.AsError(err).Public}}, nil
			}
			if why := f.off(); why != "" { // it changed while the token was typed
				return ui.Explain{Title: "Share token", Lines: []string{why, "The token was not presented."}}, nil
			}
			return f.confirm(token), nil
		}}
}

func (f *share) confirm(token secret.Value) ui.Action {
	risk := ""
	if f.unclear {
		risk = "An earlier token was sent and its outcome is not known: present a new one, never the same."
	}
	return ui.Asking(act.ComplianceShare, subject(f.id, f.customer), ui.Confirm{ID: f.id, Facts: facts(f.id, f.customer),
		Risk: risk,
		Yes: func(ui.Seen) tea.Cmd {
			f.started()
			t, ctx, journeys, id := f.env.Ticket(), f.env.Root, f.journeys, f.id
			return func() tea.Msg {
				res, err := journeys.Share(ctx, id, token)
				return sharedMsg{t, res, err}
			}
		}})
}

// demoTokens says what the built-in service takes for a token.
func demoTokens(corporate bool) string {
	kind := "individual"
	if corporate {
		kind = "corporate"
	}
	return "Built-in service: type demo-" + kind + "-ok-1, demo-" + kind + "-outstanding-1 or demo-" + kind +
		"-rejected-1. Each works once; another ending makes another token."
}

func checkToken(v string) error {
	if _, err := api.CheckShareToken(v); err != nil {
		return &api.Error{Kind: api.Usage, Public: api.AsError(err).Public}
	}
	return nil
}

type sharedMsg struct {
	ui.Ticket
	res api.ShareResult
	err error
}

// Outcome implements ui.Outcome.
func (m sharedMsg) Outcome() ui.Notify {
	if m.err == nil && !m.res.Applied {
		return ui.Notify{Level: ui.Error, Text: "The token was not applied: " + m.res.Message.Line(300)}
	}
	return ui.EndedElsewhere("The token did not go through", "The token was applied.", m.err)
}

// onShared says what came of a token, and forgets when it was asked for once it
// cannot be presented again.
func (f *share) onShared(msg sharedMsg) ui.Action {
	keys := f.env.Keys.Compliance
	switch {
	case msg.err != nil:
		if api.KindOf(msg.err) == api.UnknownOutcome {
			f.asked = time.Time{}
		}
		return ui.Failure("Share", msg.err)
	case !msg.res.Applied:
		return ui.Explain{Title: "The token was not applied", Lines: []string{msg.res.Message.Line(400),
			"Nothing was changed. It can be tried again with a corrected token" + press(keys.Share) + "."}}
	}
	f.asked = time.Time{}
	return ui.Notify{Level: ui.Success, Text: "Applied. " + whatNext(msg.res, keys)}
}

// whatNext says what is to be done after a token was applied.
func whatNext(res api.ShareResult, keys keymap.Compliance) string {
	switch n := len(res.Outstanding); {
	case res.Outstanding == nil:
		return "What is outstanding is not known: make a link" + press(keys.Link) + " to find out."
	case n > 0:
		return draw.Plural(n, "document set is", "document sets are") + " outstanding: make a link" + press(keys.Link) +
			" for the customer."
	}
	return "Finalize the application" + press(keys.Finalize) + "."
}

// press names the key of an act in a sentence.
func press(k keymap.Key) string { return " (" + k.Help().Key + ")" }

// name is what the customer is called here: by the record, else by the id.
func name(id string, c api.Customer) string {
	if n := c.FullName().Line(200); n != "" {
		return n
	}
	return "Customer " + untrusted.Text(id).Line(64)
}

// facts are what a question shows below the customer's id.
func facts(id string, c api.Customer) []widget.Pair {
	return []widget.Pair{{Label: "customer", Value: name(id, c), Long: true},
		{Label: "kind", Value: known(c.Type)}, {Label: "status", Value: known(c.Status)}}
}

func known(u untrusted.Text) string {
	if u == "" {
		return "not known"
	}
	return u.Line(30)
}

// sharePage is what stands behind the dialogs of a ShareForm; it implements
// ui.Screen.
type sharePage struct {
	ui.Page
	env  *ui.Env
	form share
	keys keymap.Compliance
	told string // what came of the token
}

func newSharePage(env *ui.Env, journeys Journeys, c api.Customer) *sharePage {
	s := &sharePage{env: env, keys: env.Keys.Compliance}
	s.form = share{env: env, journeys: journeys, id: string(c.CUID), customer: c,
		off: func() string { return s.keys.Share.Why() }, started: func() { s.keys.Share.Set("A token is on its way.") }}
	s.Page = ui.NewPage(env, s, "", "")
	return s
}

// openMsg opens the form at the start.
type openMsg struct{ ui.Ticket }

// Reload implements ui.PageScreen: nothing is read, the form opens.
func (s *sharePage) Reload() tea.Cmd {
	t := s.env.Ticket()
	return func() tea.Msg { return openMsg{t} }
}

// Answer implements ui.PageScreen.
func (s *sharePage) Answer(msg tea.Msg) (ui.Action, tea.Cmd) {
	switch msg := msg.(type) {
	case openMsg:
		if s.keys.Share.Enabled() {
			return s.form.ask(), nil
		}
	case sharedMsg:
		s.keys.Share.Set("")
		switch {
		case msg.err == nil && msg.res.Applied:
			s.told = "The token was applied: a customer is shared once."
			s.keys.Share.Set(s.told)
		case api.KindOf(msg.err) == api.UnknownOutcome:
			s.told, s.form.unclear = "A token was sent, and its outcome is not known.", true
		default:
			s.told = "The token was not applied."
		}
		return s.form.onShared(msg), nil
	}
	return nil, nil
}

// OwnKey implements ui.PageScreen.
func (s *sharePage) OwnKey(p keymap.Press) (ui.Action, tea.Cmd, bool) {
	if s.keys.Share.Match(p) {
		return s.form.ask(), nil, true
	}
	return nil, nil, s.env.Keys.Global.Reload.Match(p) // there is nothing to read
}

// Content implements ui.Contenter.
func (s *sharePage) Content() ui.Content {
	th := s.env.Theme
	out := widget.Pairs(th, append([]widget.Pair{{Label: "id", Value: untrusted.Text(s.form.id).Line(64)}},
		facts(s.form.id, s.form.customer)...), s.W)
	if s.told != "" {
		out = append(out, "", th.Strong.Render(s.told))
	}
	return ui.Content{Lines: out}
}

// Keys implements ui.Screen.
func (s *sharePage) Keys() []keymap.Key { return []keymap.Key{s.keys.Share} }

// Title implements ui.Screen.
func (s *sharePage) Title() string { return "Share token" }

// Place implements ui.Screen.
func (s *sharePage) Place() ui.Place { return ui.Place{Kind: "share", ID: s.form.id} }

// subject is what a question about the customer is filled with.
func subject(id string, c api.Customer) act.Object {
	return act.Object{Item: draw.Cut(name(id, c), 60), ID: id, Kind: "customer"}
}
