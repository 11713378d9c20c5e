package endpoint

import (
	"context"
	"encoding/json"
	"errors"
	"net"
	"net/http"
	"net/url"
	"slices"
	"strings"

	"github.com/google/uuid"

	"opdeck/api"
	"opdeck/api/hook"
	"opdeck/api/limit"
	"opdeck/api/secret"
)

var hookCalls = []*Route{GetHooks.Route, SetHooks.Route}

// hookWire holds the settings on the wire, with the secret; nil: not known, which only a dry run shows.
type hookWire struct {
	api.HookSettings
	Secret string `json:"jwtSecret"`
}

// HookObject is the id of the webhook settings as the object of an act.
const HookObject = "settings"

// GetHooks reads the webhook settings (a general call).
var GetHooks = read(Route{Kind: "hook.get", Op: "read webhook settings", Path: "/v2/hook/get", Class: limit.General,
	Need: api.MayRead, OwnToken: true, Open: true,
	Lent: Lending{Instead: "The answer contains the webhook signing secret. Use opdeck hook get, which leaves it out."}},
	reading[struct{}, api.HookSettings]{read: readHooks})

func readHooks(_ context.Context, _ *Wire, r api.Request, a api.Answer, _ struct{}) (api.HookSettings, error) {
	raw, err := api.RecordIn(r, a, api.HooksRecord)
	if err != nil {
		return api.HookSettings{}, err
	}
	var wire hookWire
	if err := api.ReadRecord(raw, &wire); err != nil {
		return api.HookSettings{}, &api.Error{Op: r.Op, Kind: api.Internal, RequestID: a.RequestID,
			Public: "The service's answer could not be understood."}
	}
	wire.JWTSecret = secret.New(wire.Secret)
	came := api.ObjectOf(raw)
	for _, member := range api.HookMembers {
		if !came.Has(member) {
			wire.Unreported += member + ","
		}
	}
	was := wire.HookSettings
	wire.Was = &was
	return wire.HookSettings, nil
}

// SetHooks writes the webhook settings (one general call). The call replaces all of them, so it is refused if one was
// neither read nor given.
var SetHooks = write(Route{Kind: api.ActSetHooks, Op: "set webhook settings", Method: http.MethodPost,
	Path: "/v2/hook/set", Class: limit.General,
	Need: api.MayHooks, OwnToken: true, Open: true}, Write{Number: "301", Doing: "Setting the webhooks",
	Opposite: api.ActSetHooks},
	Proof{Past: "set", Shows: saysSo, Shown: isHooked, Look: lookAt(GetHooks.Route, "check webhook settings",
		"the settings read", "contain what was sent", isHooked,
		func(api.Probe) []string { return nil })},
	writing[api.HookSettings, api.Result]{
		ids:    func(api.HookSettings) []string { return nil },
		plan:   planHooks,
		result: result[api.HookSettings],
		lend:   lendHooks,
		answer: resultAnswer,
	})

func planHooks(ctx context.Context, w *Wire, h api.HookSettings) (plan, error) {
	if h.Unreported != "" && !api.IsDryRun(ctx) {
		return plan{}, &api.Error{Op: "set webhook settings", Kind: api.Refused, Remedy: api.Remedy{Kind: api.SayEach},
			Public: "The service did not report " + strings.ReplaceAll(strings.TrimSuffix(h.Unreported, ","), ",", ", ") +
				", so writing the settings could change them. Nothing was sent."}
	}
	type body struct {
		Parameters any `json:"parameters"`
	}
	salt := uuid.NewString()
	return plan{Object: "hooks", ID: HookObject, Body: jsonBody(body{hookWire{h, h.JWTSecret.Reveal()}}),
		Shows:  body{shownHooks(h)},
		Secret: w.client.SecretDigest("hook", h.JWTSecret), Summary: "Set the service's webhook settings",
		Guard: func() error { return maySetHooks(h) },
		Probe: api.Probe{Salt: salt, Leaves: hookLeaves(salt, h.JWTSecret.Reveal(), api.ObjectOf(jsonBody(h)))}}, nil
}

// maySetHooks is opdeck's own guard: it refuses a guessable secret and an address that can be read on the way.
// Unchanged settings pass.
func maySetHooks(h api.HookSettings) error {
	if h.Was == nil || h.Was.HookURL != h.HookURL {
		if err := CheckHookURL(string(h.HookURL)); err != nil {
			return err
		}
	}
	if h.Was == nil || !h.Was.JWTSecret.Equal(h.JWTSecret) {
		return CheckHookSecret(h.JWTSecret)
	}
	return nil
}

// CheckHookURL returns an error unless webhooks may go to the address: https, plain http to a loopback address, or ""
// for none.
func CheckHookURL(address string) error {
	bad := func(why string) error {
		return &api.Error{Op: "set webhook settings", Kind: api.Usage, Field: api.FieldURL, Unsent: true, Public: why}
	}
	if address == "" {
		return nil
	}
	u, err := url.Parse(address)
	switch {
	case err != nil || u.Host == "" || u.User != nil:
		return bad("The webhook address must be like https://hooks.example.com/hooks, without user or password.")
	case u.Scheme == "https":
		return nil
	}
	if ip := net.ParseIP(u.Hostname()); u.Scheme != "http" || ip == nil || !ip.IsLoopback() {
		return bad("The webhook address must be https; plain http is for loopback addresses only.")
	}
	return nil
}

// CheckHookSecret returns an error unless our own receiver would accept the secret.
func CheckHookSecret(v secret.Value) error {
	_, err := hook.NewVerifier(hook.VerifyJWT, "", hook.Secrets{Now: v})
	if err == nil {
		return nil
	}
	why := "it is not usable"
	if bad := (*hook.SecretError)(nil); errors.As(err, &bad) {
		why = bad.Why
	}
	return &api.Error{Op: "set webhook settings", Kind: api.Usage, Field: api.FieldSecret, Unsent: true, Err: err,
		Public: "This webhook secret cannot be used: " + why + "."}
}

// shownHooks returns the settings with dots for the secret; unknown ones are null.
func shownHooks(h api.HookSettings) any {
	all := hookWire{h, h.JWTSecret.String()}
	if h.Unreported == "" {
		return all
	}
	out := map[string]json.RawMessage{}
	for name, v := range api.ObjectOf(jsonBody(all)).Members() {
		if out[name] = v.Raw(); !h.Knows(name) {
			out[name] = json.RawMessage("null")
		}
	}
	return out
}

func lendHooks(_ []string, body Content) (api.HookSettings, error) {
	var in struct {
		Parameters hookWire `json:"parameters"`
	}
	if err := body.json(&in); err != nil {
		return api.HookSettings{}, err
	}
	var given struct {
		Parameters map[string]json.RawMessage `json:"parameters"`
	}
	if err := body.json(&given); err != nil {
		return api.HookSettings{}, err
	}
	for _, name := range api.HookMembers { // a missing member would be switched off
		if v := given.Parameters[name]; v == nil || string(v) == "null" || string(v) == `""` {
			return api.HookSettings{}, wrong("The body must contain parameters with all settings; "+name+" is missing.", nil)
		}
	}
	h := in.Parameters.HookSettings
	h.JWTSecret = secret.New(in.Parameters.Secret)
	return h, nil
}

// isHooked reports whether the webhook settings are as sent. A read must show the secret too: it may be the only
// change.
func isHooked(p api.Probe, body api.Object, answer bool) bool {
	if saysDone(p, body, answer) {
		return true
	}
	for _, o := range body.Inside() {
		if o.Member("hookUrl").Kind() == 0 {
			continue
		}
		sent := p.Leaves
		if o.Member("jwtSecret").Kind() == 0 && answer {
			sent = slices.DeleteFunc(slices.Clone(sent), func(l string) bool { return strings.HasPrefix(l, secretLeaf) })
		}
		if within(sent, hookLeaves(p.Salt, o.First("jwtSecret"), o)) {
			return true
		}
	}
	return false
}

// secretLeaf marks the digest of the webhook secret among the leaves.
const secretLeaf = "secret:"

func hookLeaves(salt, jwtSecret string, h api.Object) []string {
	var out []string
	for _, k := range []string{"enabled", "hookurl", "hookcustomer", "hookoperation", "hookdepositaccount",
		"hookcounterparty"} {
		out = append(out, leaf(salt, k, h.First(k)))
	}
	return append(out, secretLeaf+leaf(salt, "secret", jwtSecret))
}
