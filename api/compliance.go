package api

import (
	"context"
	"encoding/json"
	"net/http"
	"strings"
	"time"
	"unicode"

	"opdeck/api/secret"
	"opdeck/api/text"
)

// ShareTokenLife is how long a share token lives (spec, Limits rule 4).
const ShareTokenLife = 20 * time.Minute

// CheckShareToken looks at a pasted token before anything is sent: white space
// at the ends is dropped, anything odd inside is refused with a reason that does
// not show the token. It cannot tell whether the token is valid.
func CheckShareToken(s string) (secret.Value, error) {
	const op = "share"
	s = strings.TrimSpace(s)
	bad := func(why string) (secret.Value, error) {
		return secret.Value{}, &Error{Op: op, Kind: Usage, Public: "This does not look like a share token: " + why + ".",
			Hint: "Copy it again from the verification provider; nothing was sent."}
	}
	switch {
	case s == "":
		return bad("it is empty")
	case len(s) > 4096:
		return bad("it is longer than 4,096 characters")
	case len(s) < 8:
		return bad("it is shorter than 8 characters")
	}
	for _, r := range s {
		if unicode.IsSpace(r) {
			return bad("there is white space inside")
		}
		if r < 0x21 || r > 0x7e {
			return bad("it holds a character that tokens do not have")
		}
	}
	return secret.New(s), nil
}

// Share presents a share token once
// (POST /v2/compliance/{customerId}/share; a general call, and a customer call
// before it to see what the application holds). A token is never presented
// twice: if the answer is lost, the application is read again, and a change of
// it says that the token was applied.
func (c *Client) Share(ctx context.Context, cuid string, token secret.Value) (ShareResult, error) {
	const op = "share"
	if err := CheckID("customer id", cuid); err != nil {
		return ShareResult{}, err
	}
	before, err := c.applicationDigest(ctx, cuid)
	if err != nil {
		return ShareResult{}, err
	}
	field := c.opt.Service.ShareTokenField
	req := request{op: op, method: http.MethodPost, parts: []string{"/v2/compliance", ":" + cuid, "/share"},
		body: jsonBody(map[string]string{field: token.Reveal()}), content: "application/json"}
	act := newAct(ActShare, req, "customer", cuid, map[string]string{field: secret.Dots})
	act.SecretDigest = HashHex([]byte("share:" + token.Reveal()))
	act.Summary = "Share verified data with customer " + cuid
	a, err := c.send(ctx, write{act: act, req: req, settle: func(ctx context.Context) (Verdict, error) {
		return c.applicationChanged(ctx, cuid, before)
	}})
	if err != nil {
		return ShareResult{}, shareError(err)
	}
	if a.status == 0 {
		return ShareResult{Applied: true, Message: "The answer was lost; the application now holds the shared data."}, nil
	}
	res := ShareResult{Raw: a.body}
	if err := c.decode(req, a, &res); err != nil {
		return ShareResult{}, err
	}
	res.Raw = a.body
	return res, nil
}

// applicationDigest is what the application holds now; the digest of nothing
// when there is none yet.
func (c *Client) applicationDigest(ctx context.Context, cuid string) (string, error) {
	if dry(ctx) {
		return "", nil
	}
	app, err := c.readApplication(ctx, "read application", cuid)
	if err != nil && KindOf(err) != NotFound {
		return "", err
	}
	return HashHex(app.Raw), nil
}

// shareError words what 409 and 403 mean here (spec, Share rules 5 and 6).
func shareError(err error) error {
	e := AsError(err)
	out := *e
	switch {
	case e.Status == http.StatusConflict:
		out.Kind, out.Rule = Refused, RuleShared
		out.Public = "A share token was already applied to this customer; it cannot be shared again."
		out.Hint = "Nothing is lost: look at the application and finalize it."
	case e.Status == http.StatusForbidden:
		out.Kind, out.Rule = Refused, RuleBaaS
		out.Public = "Your account is on the BaaS verification program, where verified data cannot be shared."
		out.Hint = "Use the compliance link instead: the customer gives the documents there."
	case e.Kind == Unavailable && e.RequestID != "" && e.Status == 0:
		out.Hint = "The token may be used up all the same: ask for a new one rather than presenting it again."
	}
	return &out
}

// Link makes a short-lived, single-use address for the customer
// (GET /v2/compliance/{customerId}/web_sdk_link; a general call).
func (c *Client) Link(ctx context.Context, cuid string) (Link, error) {
	const op = "compliance link"
	if err := CheckID("customer id", cuid); err != nil {
		return Link{}, err
	}
	req := request{op: op, method: http.MethodGet, parts: []string{"/v2/compliance", ":" + cuid, "/web_sdk_link"}}
	act := newAct(ActLink, req, "customer", cuid, nil)
	act.Summary = "Make a verification link for customer " + cuid
	a, err := c.send(ctx, write{act: act, req: req, settle: linkLost})
	if err != nil {
		return Link{}, err
	}
	var body struct {
		URL text.Untrusted `json:"url"`
		TTL json.Number    `json:"ttlInSeconds"`
	}
	if err := c.decode(req, a, &body); err != nil {
		return Link{}, err
	}
	ttl, _ := body.TTL.Int64()
	l := Link{URL: body.URL, TTL: ttl, Raw: a.body}
	if !strings.HasPrefix(string(l.URL), "https://") && !strings.HasPrefix(string(l.URL), "http://") || l.URL.Flags().Suspicious() {
		return Link{}, &Error{Op: op, Kind: Internal, RequestID: a.id, Public: "The service's answer holds no usable link."}
	}
	return l, nil
}

// linkLost: a link whose address nobody saw harms nobody and lapses by itself,
// so for our purpose it was not made.
func linkLost(context.Context) (Verdict, error) { return Failed, nil }

// Hooks reads the webhook settings (GET /v2/hook/get; a general call).
func (c *Client) Hooks(ctx context.Context) (HookSettings, error) {
	r := request{op: "read webhook settings", parts: []string{"/v2/hook/get"}}
	a, err := c.get(ctx, r, nil)
	if err != nil {
		return HookSettings{}, err
	}
	raw, err := c.one(r, a, hooksThing)
	if err != nil {
		return HookSettings{}, err
	}
	return hooksOf(raw, a.id)
}

func hooksOf(raw []byte, id string) (HookSettings, error) {
	var wire struct {
		HookSettings
		Secret string `json:"jwtSecret"`
	}
	if err := readRecord(raw, &wire); err != nil {
		return HookSettings{}, &Error{Op: "read webhook settings", Kind: Internal, RequestID: id,
			Public: "The service's answer could not be understood."}
	}
	wire.JWTSecret = secret.New(wire.Secret)
	return wire.HookSettings, nil
}

// SetHooks writes the webhook settings (POST /v2/hook/set; a general call).
func (c *Client) SetHooks(ctx context.Context, h HookSettings) error {
	const op = "set webhook settings"
	type wire struct {
		HookSettings
		Secret string `json:"jwtSecret"`
	}
	type body struct {
		Parameters wire `json:"parameters"`
	}
	req := request{op: op, method: http.MethodPost, parts: []string{"/v2/hook/set"},
		body: jsonBody(body{wire{h, h.JWTSecret.Reveal()}}), content: "application/json"}
	act := newAct(ActSetHooks, req, "hooks", "settings", body{wire{h, h.JWTSecret.String()}})
	act.SecretDigest = HashHex([]byte("hook:" + h.JWTSecret.Reveal()))
	act.Summary = "Set the service's webhook settings"
	_, err := c.send(ctx, write{act: act, req: req, settle: func(ctx context.Context) (Verdict, error) {
		now, err := c.Hooks(ctx)
		switch {
		case err != nil:
			return Unclear, err
		case sameHooks(now, h):
			return Done, nil
		}
		return Failed, nil
	}})
	return err
}

func sameHooks(a, b HookSettings) bool {
	secrets := a.JWTSecret.Equal(b.JWTSecret)
	a.JWTSecret, b.JWTSecret = secret.Value{}, secret.Value{}
	return secrets && a.Enabled == b.Enabled && a.HookURL == b.HookURL && a.HookCustomer == b.HookCustomer &&
		a.HookOperation == b.HookOperation && a.HookDepositAccount == b.HookDepositAccount && a.HookCounterparty == b.HookCounterparty
}
