package api

import (
	"context"
	"net/http"
	"slices"
	"strings"

	"github.com/google/uuid"

	"opdeck/api/secret"
)

// hookMembers are the members of the settings, as the service's page has them.
var hookMembers = []string{"enabled", "hookUrl", "jwtSecret", "hookCustomer", "hookOperation", "hookDepositAccount",
	"hookCounterparty"}

var hooksPath = []string{"/v2/hook/get"}

// Hooks reads the webhook settings (GET /v2/hook/get; a general call).
func (c *Client) Hooks(ctx context.Context) (HookSettings, error) {
	r := request{op: "read webhook settings", parts: hooksPath, ownToken: true}
	a, err := c.get(ctx, r)
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
	came := object(raw)
	for _, member := range hookMembers {
		if !came.has(member) {
			wire.Untold += member + ","
		}
	}
	return wire.HookSettings, nil
}

// The write of this file.
const ActSetHooks ActKind = "hook.set"

var _ = declare(ActSetHooks, rule{need: MayHooks, again: true, number: "301", doing: "Setting the webhooks",
	ownToken: true, look: lookAt("check webhook settings", func(Probe) []string { return hooksPath }),
	shown: func(p Probe, body fields, answer bool) bool {
		return answer && body.says("success", true) || p.hooked(body, answer)
	}})

// SetHooks writes the webhook settings (POST /v2/hook/set; a general call). It writes all
// of them, so that it refuses when one was not told and nobody said what it shall be.
func (c *Client) SetHooks(ctx context.Context, h HookSettings) error {
	const op = "set webhook settings"
	if h.Untold != "" {
		return &Error{Op: op, Kind: Refused, Public: "The service did not tell " + strings.ReplaceAll(strings.TrimSuffix(h.Untold, ","), ",", ", ") + ", and writing the settings would change that, too. Nothing was sent.",
			Remedy: Remedy{Kind: SayEach}}
	}
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
		probe: Probe{Salt: salt, Leaves: hookLeaves(salt, h.JWTSecret.Reveal(), object(jsonBody(h)))}})
	return err
}

// hooked reports whether webhook settings are as they were sent. In a read the
// secret must be there too: it may be all that was changed.
func (p Probe) hooked(body fields, answer bool) bool {
	for _, o := range body.inside() {
		if o.Member("hookUrl").Kind() == 0 {
			continue
		}
		sent := p.Leaves
		if o.Member("jwtSecret").Kind() == 0 && answer {
			sent = slices.DeleteFunc(slices.Clone(sent), func(l string) bool { return strings.HasPrefix(l, secretLeaf) })
		}
		if within(sent, hookLeaves(p.Salt, o.text("jwtSecret"), o)) {
			return true
		}
	}
	return false
}

// secretLeaf marks the digest of the webhook secret among the leaves.
const secretLeaf = "secret:"

func hookLeaves(salt, jwtSecret string, h fields) []string {
	var out []string
	for _, k := range []string{"enabled", "hookurl", "hookcustomer", "hookoperation", "hookdepositaccount", "hookcounterparty"} {
		out = append(out, leaf(salt, k, h.text(k)))
	}
	return append(out, secretLeaf+leaf(salt, "secret", jwtSecret))
}
