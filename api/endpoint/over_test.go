package endpoint_test

import (
	"context"
	"errors"
	"io"
	"net/http"
	"strings"
	"testing"
	"time"

	"opdeck/api"
	"opdeck/api/endpoint"
	"opdeck/api/limit"
	"opdeck/api/secret"
	"opdeck/api/session"
)

// threeTries is a session that gives a new token after each 401, and in the end err.
type threeTries struct{ err error }

func (s threeTries) Do(ctx context.Context, _ limit.Class, send api.Send) error {
	for range 3 {
		status, _, err := send(ctx, secret.New("t"))
		if status != http.StatusUnauthorized {
			return err
		}
	}
	return s.err
}

// sequence answers each request with the next line, the last one for ever.
type sequence struct {
	answers []string // "403 {…}"
	sent    int
}

func (s *sequence) RoundTrip(r *http.Request) (*http.Response, error) {
	line := s.answers[min(s.sent, len(s.answers)-1)]
	s.sent++
	code := map[string]int{"200": 200, "401": 401, "403": 403, "500": 500}[line[:3]]
	return &http.Response{StatusCode: code, Header: http.Header{"Content-Type": {"application/json"}},
		Body: io.NopCloser(strings.NewReader(line[4:])), Request: r}, nil
}

func overClient(t *testing.T, s api.Session, wire *sequence) *endpoint.Wire {
	t.Helper()
	c, err := endpoint.New(api.Options{BaseURL: "https://stage.example.com", Transport: wire, Session: s,
		Gate: &api.Gate{}, Timeout: time.Second, Now: time.Now})
	if err != nil {
		t.Fatal(err)
	}
	return c
}

// TestTokenIsOverInWords: a call whose token is over is sent again whatever the
// status; a route that goes on with the same words is a refusal, and costs no
// second login.
func TestTokenIsOverInWords(t *testing.T) {
	const good = `200 {"item":{"opid":"op-1","documents":[]}}`
	for _, dead := range []string{`403 {"error":"Unauthorized"}`, `500 {"error":"Token revoked. Please log in again"}`,
		`200 {"error":"jwt expired"}`} {
		wire := &sequence{answers: []string{dead, good}}
		op, err := endpoint.Do(context.Background(), overClient(t, threeTries{}, wire), endpoint.GetOperation, "op-1")
		if err != nil || op.OPID != "op-1" || wire.sent != 2 {
			t.Errorf("%s: %v after %d requests", dead, err, wire.sent)
		}
	}
	wire := &sequence{answers: []string{`403 {"error":"Unauthorized"}`}}
	c := overClient(t, threeTries{}, wire)
	for i, want := range []int{3, 4, 5} {
		_, err := endpoint.Do(context.Background(), c, endpoint.GetOperation, "op-1")
		if e := api.AsError(err); e == nil || e.Kind != api.Refused || wire.sent != want {
			t.Errorf("call %d: %v after %d requests, want %d", i, err, wire.sent, want)
		}
	}
}

// TestSessionTellsWhy: what the session knows is told rather than the refused call.
func TestSessionTellsWhy(t *testing.T) {
	why := &api.Error{Kind: api.AuthFailed, Public: "The service refuses this login and password.",
		Err: &session.Error{Kind: session.CredentialsRefused}}
	wire := &sequence{answers: []string{`401 {"error":"Unauthorized"}`}}
	_, err := endpoint.Do(context.Background(), overClient(t, threeTries{err: why}, wire), endpoint.GetOperation, "op-1")
	if e := api.AsError(err); e == nil || e.Public != why.Public {
		t.Errorf("%v", err)
	}
	plain := errors.Join(&api.Error{Kind: api.AuthFailed, Public: "x", Err: &session.Error{Kind: session.Unauthorized}})
	_, err = endpoint.Do(context.Background(), overClient(t, threeTries{err: plain}, wire), endpoint.GetOperation, "op-1")
	if e := api.AsError(err); e == nil || !strings.Contains(e.Public, "Unauthorized") {
		t.Errorf("%v", err)
	}
}
