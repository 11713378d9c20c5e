package api

import (
	"context"
	"encoding/json"
	"net/http"
	"strconv"
	"strings"
	"time"
	"unicode"

	"github.com/google/uuid"

	"opdeck/api/secret"
	"opdeck/api/untrusted"
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
// (POST /v2/compliance/{customerId}/share; a general call). A token is never
// presented twice. No read proves what became of it: no document says what a
// share changes, and the application may change for other reasons. A token that
// was rejected comes back as a result that is not Applied.
func (c *Client) Share(ctx context.Context, cuid string, token secret.Value) (ShareResult, error) {
	const op = "share"
	if err := CheckID("customer id", cuid); err != nil {
		return ShareResult{}, err
	}
	field := c.opt.Service.ShareTokenField
	req := request{op: op, method: http.MethodPost, parts: []string{"/v2/compliance", ":" + cuid, "/share"},
		body: jsonBody(map[string]string{field: token.Reveal()}), content: "application/json"}
	act := newAct(ActShare, req, "customer", cuid, map[string]string{field: secret.Dots})
	act.SecretDigest = HashHex([]byte("share:" + token.Reveal()))
	act.Summary = "Share verified data with customer " + cuid
	a, err := c.send(ctx, write{act: act, req: req, probe: Probe{CUID: cuid}})
	if e := AsError(err); e != nil && e.Rule == RuleRejected {
		return ShareResult{Message: untrusted.Text(e.Public), Raw: a.body}, nil
	}
	if err != nil {
		return ShareResult{}, shareError(err)
	}
	return shareResult(a.body), nil
}

// shareResult reads the answer of a token that was applied. Sets that are
// outstanding may be absent, which means none; in a shape that cannot be read
// they are not known.
func shareResult(b []byte) ShareResult {
	res := ShareResult{Applied: true, Outstanding: []OutstandingSet{}, Raw: b}
	for _, o := range replyOf(b).inside() {
		if m := wordOf(o["message"]); m != "" && res.Message == "" {
			res.Message = untrusted.Text(m)
		}
		raw, there := o["outstanding"]
		if there && string(raw) != "null" && json.Unmarshal(raw, &res.Outstanding) != nil {
			res.Outstanding = nil
		}
	}
	return res
}

// shareError words what 409 and 403 mean here (spec, Share rules 5 and 6).
func shareError(err error) error {
	out := *AsError(err)
	switch {
	case out.Kind == UnknownOutcome || out.Kind == AuthFailed:
	case out.Status == http.StatusConflict:
		out.Kind, out.Rule = Refused, RuleShared
		out.Public = "A share token was already applied to this customer; it cannot be shared again."
		out.Hint = "Which document sets are outstanding was told in the answer to that share. Where it was not seen, a link shows the customer what is missing."
	case out.Rule == RuleBaaS:
		out.Kind = Refused
		out.Public = strings.TrimSpace("The service forbids the share (403), which it documents for accounts on the BaaS verification program. " + serviceSaid(out.Err))
		out.Hint = "Use the compliance link instead: the customer gives the documents there. If this is no such account, try again."
	}
	return &out
}

// serviceSaid is what the service said, as Classify keeps it.
func serviceSaid(err error) string {
	if err == nil {
		return ""
	}
	if s, ok := strings.CutPrefix(err.Error(), "service: "); ok {
		return "It says: " + s
	}
	return ""
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
	a, err := c.send(ctx, write{act: act, req: req, probe: Probe{CUID: cuid}})
	if err != nil {
		return Link{}, err
	}
	l := Link{Raw: a.body}
	for _, o := range replyOf(a.body).inside() {
		if l.TTL == 0 {
			l.TTL, _ = strconv.ParseInt(wordOf(o["ttlinseconds"]), 10, 64)
		}
	}
	l.URL, _ = linkIn(replyOf(a.body))
	return l, nil
}

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
	salt := uuid.NewString()
	_, err := c.send(ctx, write{act: act, req: req,
		probe: Probe{Salt: salt, Leaves: hookLeaves(salt, h.JWTSecret.Reveal(), replyOf(jsonBody(h)))}})
	return err
}
