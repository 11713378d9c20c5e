package compliance

import (
	"context"
	"strings"
	"time"

	tea "github.com/charmbracelet/bubbletea"

	"opdeck/api"
	"opdeck/api/secret"
	"opdeck/internal/act"
	"opdeck/internal/domain/journey"
	"opdeck/internal/format"
	"opdeck/internal/present"
	"opdeck/ui"
	"opdeck/ui/draw"
	"opdeck/ui/keymap"
	"opdeck/ui/widget"
)

// ShareForm is the form for a customer's share token, a tea.Model that a dialog of the console
// runs. It hides the typed token, requests the question with the customer's id and kind,
// sends the token once, and shows the result.
type ShareForm struct {
	*ui.Form
	shareOf
	env   *ui.Env
	asked time.Time // when it was opened: a token issued then lives 20 minutes; zero: forget it
}

// shareOf is the customer that a token is for, and the screen behind the form.
type shareOf struct {
	id       string
	customer api.Customer
	unclear  bool // a token was sent before and its outcome is unknown

	journeys *journey.Service
	off      func() string  // why no token can be presented now, "" when it can
	started  func()         // a token is on its way
	ended    func() tea.Cmd // its answer came
}

func newShareForm(env *ui.Env, of shareOf) *ShareForm {
	f := &ShareForm{env: env, shareOf: of, asked: env.Now()}
	f.Form = ui.NewForm(env, ui.Ask{Title: act.ComplianceShare.Words.Title, Verb: "Continue", Intro: f.intro(),
		Fields: []widget.Field{{Name: api.FieldToken, Label: "Token", Secret: true, Max: 4096, Check: checkToken}},
		Submit: f.submit})
	return f
}

// Update implements ui.Model.
func (f *ShareForm) Update(msg tea.Msg) (tea.Model, tea.Cmd) {
	_, cmd := f.Form.Update(msg)
	return f, cmd
}

// intro says whose token is taken, and how long it lives.
func (f *ShareForm) intro() []string {
	kind := "The customer's type is not known."
	switch f.customer.Type {
	case api.Individual:
		kind = "INDIVIDUAL: one share token contains the verified data of the customer."
	case api.Corporate:
		kind = "CORPORATE: one share token contains the verified data of the company and its beneficiaries."
	}
	out := []string{draw.Cut(present.CustomerName(f.id, f.customer.DisplayName()), 80) + ", " + kind,
		"A token works once and is valid for about 20 minutes: one issued now expires at " +
			format.Clock(f.lapses(), f.env.Zone()) + ".",
		"What you paste is not shown, stored or logged."}
	if risk := present.ShareRisk(f.customer); risk != "" {
		out = append(out, risk)
	}
	if f.env.About.Environment == ui.Sandbox {
		out = append(out, demoTokens(f.customer.Type == api.Corporate))
	}
	return out
}

// lapses is when a token ends that was issued when the form was opened; zero: nobody waits
// for that. There is no form before the first token.
func (f *ShareForm) lapses() time.Time {
	if f == nil || f.asked.IsZero() {
		return time.Time{}
	}
	return f.asked.Add(api.ShareTokenLife)
}

// submit asks with the customer's id and kind.
func (f *ShareForm) submit(v ui.Values) (ui.Action, tea.Cmd) {
	token, err := api.CheckShareToken(v.Secret(0).Reveal())
	if err != nil {
		return ui.Explain{Title: act.ComplianceShare.Words.Title, Lines: []string{api.AsError(err).Public}}, nil
	}
	if why := f.off(); why != "" { // it changed while the token was typed
		return ui.Explain{Title: act.ComplianceShare.Words.Title, Lines: []string{why, "No token was sent."}}, nil
	}
	risk := present.ShareRisk(f.customer)
	if f.unclear {
		risk = strings.TrimSpace(risk + " An earlier token was sent and its outcome is unknown. Use a new token, never " +
			"the same one.")
	}
	return ui.Asking(act.ComplianceShare, subject(f.id, f.customer),
		ui.Confirm{ID: f.id, Facts: asked(f.env, f.id, f.customer),
			Risk: risk, Yes: func(ui.Seen) tea.Cmd { return f.present(token) }}), nil
}

// present sends the token.
func (f *ShareForm) present(token secret.Value) tea.Cmd {
	f.started()
	journeys, id := f.journeys, f.id
	return f.env.Write(func(ctx context.Context) (ui.Then, ui.Notify) {
		res, err := journeys.Share(ctx, id, token)
		notice := ui.EndedElsewhere("The token was not accepted", "The token was applied.", err)
		if err == nil && !res.Applied {
			notice = ui.Notify{Level: ui.Error, Text: "The token was not applied: " + res.Message.Line(300)}
		}
		next, lost := journeys.After(ctx, id)
		return func() (ui.Action, tea.Cmd) { return f.outcome(res, err, next, lost), f.ended() }, notice
	})
}

// outcome says what came of a token, and forgets when it was asked for once it cannot be
// presented again. next is the journey's next step, unless it was lost.
func (f *ShareForm) outcome(res api.ShareResult, err error, next journey.Next, lost error) ui.Action {
	keys := f.env.Keys.Compliance
	switch {
	case err != nil:
		if api.KindOf(err) == api.UnknownOutcome {
			f.asked = time.Time{}
		}
		return ui.Failure("Applying the share token", err)
	case !res.Applied:
		return ui.Explain{Title: "The token was not applied", Lines: []string{res.Message.Line(400),
			"Nothing was changed. Try again with a corrected token" + press(f.env, keys.Share) + "."}}
	}
	f.asked = time.Time{}
	done := ui.Notify{Level: ui.Success, Text: "Applied."}
	if lost == nil {
		done.Text += " " + next.Sentence(keyOf(f.env))
	}
	return done
}

// demoTokens says what the built-in service takes for a token.
func demoTokens(corporate bool) string {
	kind := "individual"
	if corporate {
		kind = "corporate"
	}
	return "Built-in service: type demo-" + kind + "-ok-1, demo-" + kind + "-outstanding-1 or demo-" + kind +
		"-rejected-1. Each works once; with another ending it is a different token."
}

func checkToken(v string) error {
	if _, err := api.CheckShareToken(v); err != nil {
		return &api.Error{Kind: api.Usage, Public: api.AsError(err).Public}
	}
	return nil
}

// press names the key of an act in a sentence.
func press(env *ui.Env, k keymap.Key) string { return " (" + env.Way(k) + ")" }

// asked is what a question shows below the customer's id.
func asked(env *ui.Env, id string, c api.Customer) []widget.Pair {
	return env.Pairs(present.AskedCustomer(id, c), nil)
}

// subject is what a question about the customer is filled with.
func subject(id string, c api.Customer) act.Object {
	return act.Object{Item: draw.Cut(present.CustomerName(id, c.DisplayName()), 60), ID: id, Kind: "customer"}
}
