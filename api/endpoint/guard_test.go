package endpoint_test

import (
	"testing"

	"opdeck/api"
	"opdeck/api/endpoint"
	"opdeck/api/secret"
)

// TestEveryDoorPassesTheGuardOfHooks: an address that anyone can read and a guessable secret are refused for every
// caller; an unchanged setting passes.
func TestEveryDoorPassesTheGuardOfHooks(t *testing.T) {
	good := api.HookSettings{Enabled: true, HookURL: "https://h.example", JWTSecret: secret.New(hookSecret)}
	with := func(change func(*api.HookSettings)) api.HookSettings {
		h := good
		change(&h)
		return h
	}
	old := api.HookSettings{HookURL: "http://foreign.example", JWTSecret: secret.New("s")}
	for name, c := range map[string]struct {
		h     api.HookSettings
		field string // "": it passes
	}{
		"good":            {good, ""},
		"loopback":        {with(func(h *api.HookSettings) { h.HookURL = "http://127.0.0.1:3000/h" }), ""},
		"nowhere":         {with(func(h *api.HookSettings) { h.HookURL = "" }), ""},
		"plain http":      {with(func(h *api.HookSettings) { h.HookURL = "http://foreign.example/h" }), api.FieldURL},
		"with a password": {with(func(h *api.HookSettings) { h.HookURL = "https://u:p@h.example" }), api.FieldURL},
		"another scheme":  {with(func(h *api.HookSettings) { h.HookURL = "ftp://h.example" }), api.FieldURL},
		"one letter":      {with(func(h *api.HookSettings) { h.JWTSecret = secret.New("x") }), api.FieldSecret},
		"a placeholder": {with(func(h *api.HookSettings) { h.JWTSecret = secret.New("changemechangemechangemechangeme") }),
			api.FieldSecret},
		"all as it was": {api.HookSettings{Enabled: true, HookURL: old.HookURL, JWTSecret: old.JWTSecret, Was: &old}, ""},
		"secret as it was": {api.HookSettings{HookURL: "http://other.example", JWTSecret: old.JWTSecret, Was: &old},
			api.FieldURL},
	} {
		w := &contrary{answer: reaction{status: 200, proper: true}, reads: "new", kind: api.ActSetHooks}
		client, _, _ := clientOf(t, w, "https://service.invalid")
		_, err := endpoint.Do(api.WithActor(t.Context(), api.Actor{Name: "ana", Role: api.Admin}), client, endpoint.SetHooks,
			c.h)
		switch e := api.AsError(err); {
		case c.field == "" && err != nil, c.field != "" && (e == nil || e.Field != c.field || !e.Unsent || w.sent != 0):
			t.Errorf("%s: sent %d times, %v", name, w.sent, err)
		}
	}
}

// TestEveryDoorPassesTheGuardOfShares: what cannot be a token is not presented.
func TestEveryDoorPassesTheGuardOfShares(t *testing.T) {
	for _, token := range []string{"", "short", "with white space", "tok\x1ben-12345"} {
		w := &contrary{answer: reaction{status: 200, proper: true}, reads: "new", kind: api.ActShare}
		client, _, _ := clientOf(t, w, "https://service.invalid")
		ctx := api.WithActor(t.Context(), api.Actor{Name: "ana", Role: api.Admin})
		_, err := endpoint.Do(ctx, client, endpoint.Share, endpoint.ShareToken{CUID: theCustomer, Token: secret.New(token)})
		if e := api.AsError(err); e == nil || e.Field != api.FieldToken || !e.Unsent || w.sent != 0 {
			t.Errorf("%q: sent %d times, %v", token, w.sent, err)
		}
	}
}

// TestNoMaskedValueIsSentBack: a body that was read masked is refused, however its dots are written and however deep.
func TestNoMaskedValueIsSentBack(t *testing.T) {
	for body, passes := range map[string]bool{
		`{"individual":{"email":"ana@example.com"}}`:                                  true,
		`{"individual":{"email":"a••••@example.com"}}`:                                false,
		`{"individual":{"more":[{"passport":"\u2022\u2022\u2022\u202267"}]}}`:         false,
		`{"individual":{"email":"ana@example.com"},"notes":{"accountNumber":"••••"}}`: false,
	} {
		w := &contrary{answer: reaction{status: 200, proper: true}, reads: "new", kind: api.ActSetApplication}
		client, _, _ := clientOf(t, w, "https://service.invalid")
		ctx := api.WithActor(t.Context(), api.Actor{Name: "ana", Role: api.Admin})
		_, err := endpoint.Do(ctx, client, endpoint.SetApplication, endpoint.NewApplication{CUID: theCustomer, Body: []byte(body)})
		if e := api.AsError(err); !passes && (e == nil || e.Kind != api.Usage || !e.Unsent || w.sent != 0) || passes && w.sent != 1 {
			t.Errorf("%s: sent %d times, %v", body, w.sent, err)
		}
	}
}
