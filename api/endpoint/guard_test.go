package endpoint_test

import (
	"slices"
	"strings"
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

// TestOfAnotherTypeIsNotRead: settings of another type are not read, so that no write sends them back as off.
func TestOfAnotherTypeIsNotRead(t *testing.T) {
	client, calls := against(t, map[string]said{"GET /v2/hook/get": {body: `{"enabled":"true","hookUrl":"https://h.example",` +
		`"jwtSecret":"` + hookSecret + `","hookOperation":1,"hookCustomer":false,"hookDepositAccount":true,` +
		`"hookCounterparty":false}`}}, api.Service{})
	ctx := api.WithActor(t.Context(), api.Actor{Name: "ana", Role: api.Admin})
	h, err := endpoint.Do(ctx, client, endpoint.GetHooks, struct{}{})
	if err != nil || h.Unreported != "enabled,hookOperation," {
		t.Fatalf("%q, %v", h.Unreported, err)
	}
	h.HookCustomer = true
	if _, err = endpoint.Do(ctx, client, endpoint.SetHooks, h); api.KindOf(err) != api.Refused || len(calls.calls) != 1 {
		t.Errorf("%v, %v", err, calls.calls)
	}
}

// TestARecordOfAnotherOperation: what answers with another operation guards no write and is not shown.
func TestARecordOfAnotherOperation(t *testing.T) {
	const asked, other = "62387cd9-6926-45b3-bf48-8a53f850c0b8", "7ece719f-f66b-4f3f-a5ed-70775268c4fc"
	client, calls := against(t, map[string]said{"GET /v2/billing/operation/" + asked: {body: `{"opid":"` + other +
		`","status":"PENDING","documents":[{"guid":"doc-1","isLock":false}]}`}}, api.Service{})
	ctx := api.WithActor(t.Context(), api.Actor{Name: "ana", Role: api.Admin})
	if o, err := endpoint.Do(ctx, client, endpoint.GetOperation, asked); err == nil {
		t.Errorf("shown: %s", o.OPID)
	}
	_, err := endpoint.Do(ctx, client, endpoint.RemoveDocument, api.RemoveDocument{OPID: asked, GUID: "doc-1", Force: true})
	if err == nil || slices.ContainsFunc(calls.calls, func(c string) bool { return !strings.HasPrefix(c, "GET ") }) {
		t.Errorf("%v, %v", err, calls.calls)
	}
}

// TestADocumentListedTwice: a document that one of its entries calls locked is locked.
func TestADocumentListedTwice(t *testing.T) {
	const opid = "62387cd9-6926-45b3-bf48-8a53f850c0b8"
	client, calls := against(t, map[string]said{"GET /v2/billing/operation/" + opid: {body: `{"opid":"` + opid +
		`","status":"PENDING","documents":[{"guid":"doc-1","isLock":false},{"guid":"doc-1","isLock":true}]}`}}, api.Service{})
	ctx := api.WithActor(t.Context(), api.Actor{Name: "ana", Role: api.Admin})
	_, err := endpoint.Do(ctx, client, endpoint.RemoveDocument, api.RemoveDocument{OPID: opid, GUID: "doc-1", Force: true})
	if e := api.AsError(err); e == nil || e.Rule != api.RuleLocked || len(calls.calls) != 1 {
		t.Errorf("%v, %v", err, calls.calls)
	}
}
