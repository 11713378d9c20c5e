package endpoint

import (
	"bytes"
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"net"
	"net/http"
	"net/url"
	"regexp"
	"slices"
	"strconv"
	"strings"

	"github.com/google/uuid"

	"opdeck/api"
	"opdeck/api/hook"
	"opdeck/api/limit"
	"opdeck/api/secret"
	"opdeck/api/untrusted"
)

var customerCalls = []*Route{ListCustomers.Route, GetCustomer.Route, GetApplication.Route, SetApplication.Route,
	Finalize.Route}

const customerPath = "/v2/customer/{cuid}"

// ListCustomers reads one page of customers (one customer call).
var ListCustomers = read(Route{Kind: "customer.list", Op: "list customers", Path: "/v2/customer", Class: limit.Customer,
	Need:  api.MayRead,
	Query: paged(asked("customerId", "customerName")...), Lent: Lending{Reads: true}},
	reading[api.CustomerQuery, api.Page[api.Customer]]{
		query: func(s api.Service, q api.CustomerQuery) queryValues {
			return page(s, q.Page, q.Size, "customerId", q.CUID, "customerName", q.Name)
		},
		next: func(q api.CustomerQuery) string { return q.Next },
		read: list[api.CustomerQuery, api.Customer](api.CustomerRecord)})

// GetCustomer reads one customer: by GET; by POST if the service does not accept GET, because its page prints POST
// beside a name that reads like GET. It costs one customer call once the working form is known, two before.
var GetCustomer = Endpoint[string, api.Customer]{&Route{Kind: "customer.get", Op: "read customer",
	Method: http.MethodGet, Path: customerPath,
	Class: limit.Customer, Need: api.MayRead, Lent: Lending{Reads: true}}, readCustomer}

func readCustomer(ctx context.Context, w *Wire, cuid string) (api.Customer, error) {
	if w.customerByPost.Load() {
		return w.customerBy(ctx, http.MethodPost, cuid)
	}
	got, err := w.customerBy(ctx, http.MethodGet, cuid)
	notTaken := []int{http.StatusMethodNotAllowed, http.StatusNotImplemented}
	if e := api.AsError(err); e == nil || !slices.Contains(notTaken, e.Status) {
		return got, err
	}
	got, err = w.customerBy(ctx, http.MethodPost, cuid)
	w.customerByPost.Store(err == nil)
	return got, err
}

func (w *Wire) customerBy(ctx context.Context, method, cuid string) (out api.Customer, err error) {
	r, err := (&Route{Op: "read customer", Path: customerPath, Class: limit.Customer}).request(cuid)
	if err != nil {
		return out, err
	}
	r.Method = method
	_, err = w.client.Read(ctx, r, func(a api.Answer) (err error) {
		out, err = recordOf[api.Customer](r, a, api.CustomerRecord)
		return err
	})
	return out, err
}

const applicationPath = customerPath + "/application"

// GetApplication reads a customer's application (one customer call). If there is none yet, the error is api.NotFound,
// whatever the status.
var GetApplication = read(Route{Kind: "customer.application", Op: "read application", Path: applicationPath,
	Class: limit.Customer, Need: api.MayRead,
	Lent: Lending{Reads: true}}, reading[string, api.Application]{
	ids: one,
	read: func(_ context.Context, _ *Wire, r api.Request, a api.Answer, _ string) (api.Application, error) {
		return applicationIn(r, a)
	}})

// applicationIn decodes an application from an answer: bare, under item or in another object. One without an
// individual or corporate part keeps only its JSON; one whose part is no object is not read.
func applicationIn(r api.Request, a api.Answer) (api.Application, error) {
	body, err := a.JSON(r)
	if err != nil {
		return api.Application{}, err
	}
	v, ok := api.ApplicationRecord.Find(body)
	if !ok {
		if err := api.SaidNo(r, a, body, "application"); err != nil {
			if e := api.AsError(err); e.Rule == api.RuleApplication {
				e.Kind = api.NotFound
			}
			return api.Application{}, err
		}
		if v = body; v.Member("item").Kind() != 0 {
			v = v.Member("item")
		}
	}
	var app api.Application
	if err := api.ReadRecord(v.Raw(), &app); err != nil {
		return api.Application{}, api.NotUnderstood(r, a, err)
	}
	app.Raw = v.Raw()
	for _, part := range []*json.RawMessage{&app.Individual, &app.Corporate} {
		if len(*part) > 0 && string(*part) != "null" && (*part)[0] != '{' {
			*part, app.Unread = nil, true
		}
	}
	return app, nil
}

// NewApplication replaces a customer's application.
type NewApplication struct {
	CUID string
	Body json.RawMessage // holds either individual or corporate
}

// SetApplication replaces a customer's application (one customer call). The service has announced that it will
// deprecate this call (spec, Versioning rule 3) in favour of the compliance link.
var SetApplication = write(Route{Kind: api.ActSetApplication, Op: "set application", Method: http.MethodPost,
	Path: applicationPath, Class: limit.Customer,
	Need: api.MayCompliance}, Write{Number: "204", Doing: "Setting the application",
	WriteRule: api.WriteRule{Opposite: api.ActSetApplication, Past: "set", Shows: saysSo, Shown: isSet},
	Look:      lookAtApplication("contains what was sent", isSet, nil),
	Readable:  func(p api.Probe) bool { return len(p.Leaves) > 0 }},
	writing[NewApplication, api.Result]{
		ids:    func(in NewApplication) []string { return one(in.CUID) },
		plan:   planApplication,
		result: result[NewApplication],
		lend: func(ids []string, body Content) (NewApplication, error) {
			return NewApplication{ids[0], body.Bytes}, body.json(new(json.RawMessage))
		},
		answer: resultAnswer,
	})

func planApplication(_ context.Context, _ *Wire, in NewApplication) (plan, error) {
	var app api.Application
	if err := json.Unmarshal(in.Body, &app); err != nil || (app.Individual == nil) == (app.Corporate == nil) {
		return plan{}, &api.Error{Op: "set application", Kind: api.Usage, Err: err,
			Public: "The application must be a JSON object with either individual or corporate."}
	}
	salt := uuid.NewString()
	return plan{Object: "customer", ID: in.CUID, Body: in.Body, Shows: in.Body,
		Summary: "Set the application of customer " + in.CUID,
		Probe:   api.Probe{CUID: in.CUID, Salt: salt, Leaves: leavesOf(api.ParseJSON(in.Body), "", salt)}}, nil
}

func isSet(p api.Probe, body api.Object, answer bool) bool {
	return saysDone(p, body, answer) || holds(p, body)
}

func lookAtApplication(shows string, shown api.Shown, silent func(api.Object) bool) func(context.Context, *Wire,
	api.Probe) (api.Observation, error) {
	return lookAt(GetApplication.Route, "check application", "the application read", shows, shown, silent,
		func(p api.Probe) []string { return one(p.CUID) })
}

// Finalize submits the application for review (no body; spec, Share rule 7; one customer call). It reads the
// application first, so that the trail and an approval are bound to its content; it continues if that read fails.
var Finalize = write(Route{Kind: api.ActFinalize, Op: "finalize application", Method: http.MethodPatch,
	Path: applicationPath, Class: limit.Customer,
	Need: api.MayCompliance}, Write{Number: "203", Doing: "Finalizing",
	WriteRule: api.WriteRule{Past: "finalized", Shows: saysSo, Shown: isSubmitted},
	Look:      lookAtApplication("says that it was submitted", isSubmitted, hasNoStatus)}, writing[string, api.Result]{
	ids: one,
	plan: func(ctx context.Context, w *Wire, cuid string) (plan, error) {
		var before api.Application
		if !api.IsDryRun(ctx) {
			before, _ = Do(ctx, w, GetApplication, cuid)
		}
		return plan{Object: "customer", ID: cuid, Seen: api.HashHex(before.Raw),
			Summary: "Finalize the application of customer " + cuid,
			Probe:   api.Probe{CUID: cuid, Was: isSubmitted(api.Probe{}, api.ObjectOf(before.Raw), false)}}, nil
	},
	result: result[string],
	lend:   func(ids []string, body Content) (string, error) { return ids[0], body.nothing() },
	answer: resultAnswer,
})

func isSubmitted(p api.Probe, body api.Object, answer bool) bool {
	return saysDone(p, body, answer) || slices.ContainsFunc(body.Inside(), func(o api.Object) bool {
		return api.Submitted(untrusted.Text(o.First("status")))
	})
}

// hasNoStatus reports whether an application tells no status, as the service's documents show it.
func hasNoStatus(body api.Object) bool {
	return !slices.ContainsFunc(body.Inside(), func(o api.Object) bool { return o.Has("status") })
}

var complianceCalls = []*Route{Share.Route, MakeLink.Route}

const compliancePath = "/v2/compliance/{cuid}"

// ShareToken is a token of the verification provider for a customer.
type ShareToken struct {
	CUID  string
	Token secret.Value
}

// Share sends a share token (one general call). A token is never sent twice. No read proves the outcome: the service
// does not document what a share changes, and the application may change for other reasons. A rejected token is a
// result with Applied false, not an error.
var Share = write(Route{Kind: api.ActShare, Op: "share", Method: http.MethodPost, Path: compliancePath + "/share",
	Class: limit.General, Need: api.MayCompliance}, Write{Number: "201", Doing: "The share",
	WriteRule: api.WriteRule{Flag: "applied",
		Statuses: []int{http.StatusConflict, http.StatusForbidden}, Refused: shareRefused, Advice: api.DiscardToken,
		Past: "applied", Shows: "says that the token was applied",
		Shown: func(_ api.Probe, body api.Object, answer bool) bool { return answer && body.Says("applied", true) }}},
	writing[ShareToken, api.ShareResult]{
		ids: func(in ShareToken) []string { return one(in.CUID) },
		plan: func(_ context.Context, w *Wire, in ShareToken) (plan, error) {
			field := w.client.Service().ShareTokenField
			return plan{Object: "customer", ID: in.CUID, Body: jsonBody(map[string]string{field: in.Token.Reveal()}),
				Shows: map[string]string{field: secret.Dots}, Token: in.Token,
				Secret: w.client.SecretDigest("share", in.Token), Summary: "Share verified data with customer " + in.CUID,
				Probe: api.Probe{CUID: in.CUID}, Guard: func() error {
					_, err := api.CheckShareToken(in.Token.Reveal())
					return err
				}}, nil
		},
		result: func(_ context.Context, _ *Wire, _ ShareToken, _ api.Request, a api.Answer) (api.ShareResult, error) {
			return shareResult(a.Body), nil
		},
		failed: shareFailed,
		lend:   lendShare,
		answer: func(r api.ShareResult) (json.RawMessage, error) { return sentOr(r.Raw, r) },
	})

func lendShare(ids []string, body Content) (ShareToken, error) {
	in := map[string]string{}
	if err := body.json(&in); err != nil {
		return ShareToken{}, err
	}
	given, ok := in[body.ShareField]
	if !ok || len(in) != 1 {
		return ShareToken{}, wrong("The body must be a JSON object with "+body.ShareField+" and nothing else.", nil)
	}
	token, err := api.CheckShareToken(given)
	return ShareToken{ids[0], token}, err
}

// shareResult decodes the answer for an applied token. If the outstanding sets are missing, there are none; in an
// unreadable shape they are not known.
func shareResult(b []byte) api.ShareResult {
	res := api.ShareResult{Applied: true, Outstanding: []api.OutstandingSet{}, Raw: b}
	res.Message = api.Quote(api.ObjectOf(b).Find("message"), maxMessage)
	for _, o := range api.ObjectOf(b).Inside() {
		if o.Has("outstanding") && json.Unmarshal(o.Member("outstanding").Raw(), &res.Outstanding) != nil {
			res.Outstanding = nil
		}
	}
	return res
}

// alreadyShared matches the words of a 409 that mean what the documents say of it (spec, Share rule 5). One without
// words means that too; one with others ("Another request is in progress") is a refusal, and no share was applied.
var alreadyShared = regexp.MustCompile(`(?i)\balready\b.*\b(applied|shared|used)\b|\b(applied|shared)\b.*\balready\b`)

// shareRefused words the three refusals of a share (spec, Share rules 4 to 6).
func shareRefused(e *api.Error, words string, body api.Object, a api.Answer) bool {
	switch {
	case body.Says("applied", false) && a.Status != http.StatusConflict && a.Status != http.StatusForbidden:
		e.Kind, e.Rule, e.Field, e.Remedy = api.Refused, api.RuleRejected, api.FieldToken, api.Remedy{Kind: api.CorrectToken}
		e.Public = cmp.Or(words, "The service gave no reason.")
	// an HTML page comes from a proxy
	case a.Status == http.StatusForbidden && (body.Exists() || len(bytes.TrimSpace(a.Body)) == 0):
		e.Rule = api.RuleBaaS
	case a.Status == http.StatusConflict:
		if e.Rule == "" && (words == "" || alreadyShared.MatchString(words)) {
			e.Rule = api.RuleShared
		}
	default:
		return false
	}
	return true
}

// shareFailed returns the result of a rejected token and words the meaning of 409 and 403 here (spec, Share rules 5
// and 6).
func shareFailed(a api.Answer, err error) (api.ShareResult, error) {
	e := api.AsError(err)
	if e.Rule == api.RuleRejected {
		return api.ShareResult{Message: untrusted.Text(e.Public), Raw: a.Body}, nil
	}
	out := *e
	switch {
	case out.Kind == api.UnknownOutcome || out.Kind == api.AuthFailed:
	case out.Rule == api.RuleShared:
		out.Kind = api.Refused
		out.Public = "A share token was already applied to this customer; it cannot be shared again."
		out.Quote(string(out.Said))
		out.Remedy = api.Remedy{Kind: api.MakeLink}
	case (out.Status == http.StatusBadRequest || out.Status == http.StatusUnprocessableEntity) && out.Rule == "":
		out.Remedy = api.Remedy{Kind: api.FixSettings, ID: "[service]", Names: []string{"share_token_field"}}
	case out.Rule == api.RuleBaaS:
		out.Kind = api.Refused
		out.Public = "The service refused the share token (403). By its documents it does so for accounts on the " +
			"BaaS verification program."
		out.Quote(string(out.Said))
		out.Remedy = api.Remedy{Kind: api.UseLink}
	}
	return api.ShareResult{}, &out
}

// MakeLink creates a short-lived, single-use address for the customer (one general call): a GET that has an effect.
var MakeLink = write(Route{Kind: api.ActLink, Op: "compliance link", Method: http.MethodGet,
	Path: compliancePath + "/web_sdk_link", Class: limit.General,
	Need: api.MayCompliance}, Write{Number: "202", Doing: "The link",
	WriteRule: api.WriteRule{Again: true, Advice: api.MakeAnother, Past: "created", Shows: "contains an address",
		Shown: func(p api.Probe, body api.Object, answer bool) bool {
			_, ok := linkIn(body, p.IDField)
			return answer && ok
		}}},
	writing[string, api.Link]{
		ids: one,
		plan: func(_ context.Context, w *Wire, cuid string) (plan, error) {
			return plan{Object: "customer", ID: cuid, Summary: "Create a verification link for customer " + cuid,
				Probe: api.Probe{CUID: cuid, IDField: w.client.Service().LinkField}}, nil
		},
		result: func(_ context.Context, w *Wire, _ string, _ api.Request, a api.Answer) (api.Link, error) {
			body := api.ObjectOf(a.Body)
			l := api.Link{Raw: a.Body}
			l.TTL, _ = strconv.ParseInt(body.Find("ttlInSeconds"), 10, 64)
			l.URL, _ = linkIn(body, w.client.Service().LinkField)
			return l, nil
		},
		failed: linkFailed,
		lend:   func(ids []string, body Content) (string, error) { return ids[0], body.nothing() },
		answer: func(l api.Link) (json.RawMessage, error) {
			return sentOr(l.Raw, map[string]any{"url": l.URL, "ttlInSeconds": l.TTL})
		},
	})

// linkFailed names what came in place of an address.
func linkFailed(a api.Answer, err error) (api.Link, error) {
	out := *api.AsError(err)
	if v := api.ParseJSON(a.Body); out.Kind == api.UnknownOutcome && v.Kind() != 0 {
		out.Say(out.Public + " It contains " + v.Keys() + ". [service] link_field names the one with the address.")
	}
	return api.Link{}, &out
}

// linkIn finds a usable address, under the configured name or the one of the service's page.
func linkIn(body api.Object, field string) (untrusted.Text, bool) {
	names := []string{"url"}
	if field != "" {
		names = append([]string{field}, names...)
	}
	u := text(body.Find(names...))
	ok := strings.HasPrefix(string(u), "https://") || strings.HasPrefix(string(u), "http://")
	return u, ok && !u.Flags().Suspicious()
}

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
	Need: api.MayRead, Open: true,
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
	for _, member := range api.HookMembers {
		told := api.HasFlag
		if member == "hookUrl" || member == "jwtSecret" {
			told = api.HasText
		}
		if !told(raw, member) {
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
	Need: api.MayHooks, Open: true}, Write{Number: "301", Doing: "Setting the webhooks",
	WriteRule: api.WriteRule{Opposite: api.ActSetHooks, Past: "set", Shows: saysSo, Shown: isHooked},
	Look: lookAt(GetHooks.Route, "check webhook settings",
		"the settings read", "contain what was sent", isHooked, nil,
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
	for _, name := range api.HookMembers {
		if name != "jwtSecret" {
			out = append(out, leaf(salt, strings.ToLower(name), h.First(name))) // the label that stores hold
		}
	}
	return append(out, secretLeaf+leaf(salt, "secret", jwtSecret))
}
