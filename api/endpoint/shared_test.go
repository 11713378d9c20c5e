package endpoint_test

import (
	"net/http"
	"strings"
	"testing"

	"opdeck/api"
	"opdeck/api/endpoint"
	"opdeck/api/secret"
)

// TestWhatARefusedShareMeans: a 409 means that a token was applied if it has no words or says so, and nothing else;
// whatever the service says is quoted; a body that it does not understand leads to the name of the token's member.
func TestWhatARefusedShareMeans(t *testing.T) {
	for _, c := range []struct {
		status       int
		body, quoted string
		rule         api.Rule
		names        string
	}{
		{409, ``, "", api.RuleShared, ""},
		{409, `{"error":"A share token was already applied"}`, "already applied", api.RuleShared, ""},
		{409, `{"error":"Another request for this customer is in progress"}`, "in progress", "", ""},
		{409, `{"message":"This token is being applied"}`, "being applied", "", ""},
		{400, `{"error":"shareToken is required"}`, "shareToken is required", "", "share_token_field"},
		{422, `{"error":"shareToken is required"}`, "shareToken is required", "", "share_token_field"},
		{403, `{"error":"Not for partners"}`, "Not for partners", api.RuleBaaS, ""},
	} {
		client, _, _ := clientOf(t, &contrary{kind: api.ActShare, answer: reaction{status: c.status, body: c.body}},
			"https://service.invalid")
		_, err := endpoint.Do(api.WithActor(t.Context(), api.Actor{Name: "ana", Role: api.Admin}), client, endpoint.Share,
			endpoint.ShareToken{CUID: theCustomer, Token: secret.New("share-token-1")})
		e := api.AsError(err)
		if e == nil || e.Kind != api.Refused || e.Rule != c.rule || !strings.Contains(e.Public, c.quoted) ||
			strings.Join(e.Remedy.Names, ",") != c.names {
			t.Errorf("%d %s: %+v", c.status, c.body, e)
		}
	}
}

// told is an operation in one answer.
type told string

func (o told) RoundTrip(r *http.Request) (*http.Response, error) {
	if r.Method != http.MethodGet {
		panic("sent " + r.Method)
	}
	return reply(r, http.StatusOK, "", string(o), nil, false), nil
}

// TestNothingIsAttachedBlindly: a document is attached only where it is known that it is not attached, also by a
// service that gives links ids of their own.
func TestNothingIsAttachedBlindly(t *testing.T) {
	for body, rule := range map[string]api.Rule{
		`{"item":{"opid":"op-1","status":"PENDING"}}`:                                                   "",
		`{"item":{"opid":"op-1","status":"PENDING","documents":null}}`:                                  "",
		`{"item":{"opid":"op-1","status":"PENDING","documents":["x"]}}`:                                 "",
		`{"item":{"opid":"op-1","status":"PENDING","documents":[{"guid":"doc-1"}]}}`:                    api.RuleAttached,
		`{"item":{"opid":"op-1","status":"PENDING","documents":[{"guid":"l-1","documentId":"doc-1"}]}}`: api.RuleAttached,
	} {
		client, tr, _ := clientOf(t, told(body), "https://service.invalid")
		_, err := endpoint.Do(api.WithActor(t.Context(), api.Actor{Name: "ana", Role: api.Admin}), client,
			endpoint.AttachDocument, endpoint.Attachment{OPID: theOp, GUID: theDoc})
		if e := api.AsError(err); e == nil || e.Kind != api.Refused || !e.Unsent || e.Rule != rule || len(tr.intents) > 0 {
			t.Errorf("%s: %+v", body, e)
		}
	}
}
