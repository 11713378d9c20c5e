package events

import (
	"context"
	"errors"
	"strings"
	"time"

	tea "github.com/charmbracelet/bubbletea"

	"opdeck/api"
	"opdeck/api/endpoint"
	"opdeck/api/secret"
	"opdeck/api/untrusted"
	"opdeck/internal/act"
	"opdeck/internal/present"
	"opdeck/ui"
	"opdeck/ui/keymap"
	"opdeck/ui/theme"
	"opdeck/ui/widget"
)

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
	return ui.Asking(act.HookSet, act.Object{}, ui.Confirm{ID: "webhook-settings", Facts: facts,
		Yes: func(ui.Seen) tea.Cmd {
			s.list.Doing = "writing the settings"
			caller, env := s.caller, s.env
			return s.env.Write(func(ctx context.Context) (ui.Then, ui.Notify) {
				_, err := endpoint.Do(ctx, caller, endpoint.SetHooks, h)
				done := env.Proven(endpoint.HookObject, "The service has the new webhook settings.")
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
