package endpoint

import (
	"bytes"
	"cmp"
	"context"
	"encoding/json"
	"net/http"
	"strconv"
	"strings"

	"opdeck/api"
	"opdeck/api/limit"
	"opdeck/api/secret"
	"opdeck/api/untrusted"
)

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
	Class: limit.General, Need: api.MayCompliance,
	OwnToken: true}, Write{Number: "201", Doing: "The share", Rule: api.WriteRule{Flag: "applied",
	Statuses: []int{http.StatusConflict, http.StatusForbidden}, Refused: shareRefused, Advice: api.DiscardToken}},
	Proof{Past: "applied", Shows: "says that the token was applied",
		Shown: func(_ api.Probe, body api.Object, answer bool) bool { return answer && body.Says("applied", true) }},
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
		e.Rule = api.RuleShared
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
	case out.Status == http.StatusConflict:
		out.Kind, out.Rule = api.Refused, api.RuleShared
		out.Public = "A share token was already applied to this customer; it cannot be shared again."
		out.Remedy = api.Remedy{Kind: api.MakeLink}
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
	Rule: api.WriteRule{Again: true, Advice: api.MakeAnother}},
	Proof{Past: "created", Shows: "contains an address",
		Shown: func(_ api.Probe, body api.Object, answer bool) bool { _, ok := linkIn(body); return answer && ok }},
	writing[string, api.Link]{
		ids: one,
		plan: func(_ context.Context, _ *Wire, cuid string) (plan, error) {
			return plan{Object: "customer", ID: cuid, Summary: "Create a verification link for customer " + cuid,
				Probe: api.Probe{CUID: cuid}}, nil
		},
		result: func(_ context.Context, _ *Wire, _ string, _ api.Request, a api.Answer) (api.Link, error) {
			body := api.ObjectOf(a.Body)
			l := api.Link{Raw: a.Body}
			l.TTL, _ = strconv.ParseInt(body.Find("ttlInSeconds"), 10, 64)
			l.URL, _ = linkIn(body)
			return l, nil
		},
		lend: func(ids []string, body Content) (string, error) { return ids[0], body.nothing() },
		answer: func(l api.Link) (json.RawMessage, error) {
			return sentOr(l.Raw, map[string]any{"url": l.URL, "ttlInSeconds": l.TTL})
		},
	})

// linkIn finds a usable address.
func linkIn(body api.Object) (untrusted.Text, bool) {
	for _, o := range body.Inside() {
		u := text(o.First("url"))
		if (strings.HasPrefix(string(u), "https://") || strings.HasPrefix(string(u), "http://")) && !u.Flags().Suspicious() {
			return u, true
		}
	}
	return "", false
}
