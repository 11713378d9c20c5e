package compliance

import (
	"time"

	tea "github.com/charmbracelet/bubbletea"

	"opdeck/api"
	"opdeck/api/secret"
	"opdeck/ui"
	"opdeck/ui/draw"
	"opdeck/ui/widget"
)

// askShare takes the token unseen, then asks with the customer's id and kind.
func (s *Screen) askShare() ui.Action {
	s.asked = s.env.Now()
	kind := "The customer's kind is not known."
	switch s.j.Customer.Type {
	case api.Individual:
		kind = "INDIVIDUAL: one token carries the customer's own verified profile."
	case api.Corporate:
		kind = "CORPORATE: one token carries the company with its verified beneficiaries."
	}
	intro := []string{draw.Cut(s.name(), 80) + ", " + kind,
		"A token works once and lives about 20 minutes: one issued just now lapses at " + draw.Clock(s.asked.Add(api.ShareTokenLife), s.env.Zone()) + ".",
		"What you paste is not shown, kept or logged."}
	if s.env.About.Ground == ui.Sandbox {
		intro = append(intro, demoTokens(s.j.Customer.Type == api.Corporate))
	}
	return ui.Ask{Title: "Share token", Verb: "Go on", Intro: intro,
		Fields: []widget.Field{{Label: "Token", Secret: true, Max: 4096, Check: checkToken}},
		Submit: func(v ui.Values) (ui.Action, tea.Cmd) {
			token, err := api.CheckShareToken(v.Secret(0).Reveal())
			if err != nil {
				return ui.Explain{Title: "Share token", Lines: []string{api.AsError(err).Public}}, nil
			}
			if why := s.keys.Share.Why(); why != "" { // it changed while the token was typed
				return ui.Explain{Title: "Share token", Lines: []string{why, "The token was not presented."}}, nil
			}
			risk := "Once applied, the customer cannot be shared again."
			if s.j.Record.Unclear {
				risk = "An earlier token was sent and its outcome is not known: present a new one, never the same. " + risk
			}
			return ui.Confirm{ID: s.id, Title: "Share verified data", Verb: "Share", Facts: s.facts(),
				Ask:  "Present this token for " + draw.Cut(s.name(), 60) + "?",
				Risk: risk,
				Yes:  func(ui.Seen) tea.Cmd { return s.share(token) }}, nil
		}}
}

// demoTokens says what the built-in service takes for a token.
func demoTokens(corporate bool) string {
	kind := "individual"
	if corporate {
		kind = "corporate"
	}
	return "Built-in service: type demo-" + kind + "-ok-1, demo-" + kind + "-outstanding-1 or demo-" + kind + "-rejected-1. Each works once; another ending makes another token."
}

func checkToken(v string) error {
	if _, err := api.CheckShareToken(v); err != nil {
		return &api.Error{Kind: api.Usage, Public: api.AsError(err).Public}
	}
	return nil
}

func (s *Screen) share(token secret.Value) tea.Cmd {
	s.doing = "presenting the token"
	s.settle()
	t, ctx, client, id := s.env.Ticket(), s.env.Root, s.client, s.id
	return func() tea.Msg {
		res, err := client.Share(ctx, id, token)
		return sharedMsg{t, res, err}
	}
}

func (s *Screen) shared(msg sharedMsg) (ui.Action, tea.Cmd) {
	again := s.again()
	if api.KindOf(msg.err) == api.UnknownOutcome {
		s.asked = time.Time{} // that token is not presented again
	}
	switch {
	case msg.err != nil:
		return ui.Failure("Share", msg.err), again
	case !msg.res.Applied:
		return ui.Explain{Title: "The token was not applied", Lines: []string{msg.res.Message.Line(400),
			"Nothing was changed. It can be tried again with a corrected token" + press(s.keys.Share) + "."}}, again
	}
	s.asked = time.Time{}
	told := "Applied. "
	if msg.res.Outstanding == nil {
		told += "What is outstanding is not known: make a link" + press(s.keys.Link) + " to find out."
	} else if n := len(msg.res.Outstanding); n > 0 {
		told += draw.Plural(n, "document set is", "document sets are") + " outstanding: make a link" + press(s.keys.Link) + " for the customer."
	} else {
		told += "Finalize the application" + press(s.keys.Finalize) + "."
	}
	return ui.Notify{Kind: ui.Done, Text: told}, again
}
