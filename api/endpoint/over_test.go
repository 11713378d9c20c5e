package endpoint_test

import (
	"context"
	"errors"
	"io"
	"net/http"
	"strings"
	"testing"
	"testing/iotest"
	"time"

	"opdeck/api"
	"opdeck/api/endpoint"
	"opdeck/api/secret"
	"opdeck/api/session"
	"opdeck/internal/sandbox"
)

// threeTries is a session that gives a new token after each 401, and in the end err.
type threeTries struct{ err error }

func (s threeTries) Do(ctx context.Context, _ session.Route, send api.Send) error {
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
	coding  string   // their Content-Encoding
	whole   int64    // their Content-Length, -1 for none, if they are cut off
	sent    int
}

func (s *sequence) RoundTrip(r *http.Request) (*http.Response, error) {
	line := s.answers[min(s.sent, len(s.answers)-1)]
	s.sent++
	code := map[string]int{"200": 200, "401": 401, "403": 403, "500": 500}[line[:3]]
	body, whole := io.Reader(strings.NewReader(line[4:])), int64(len(line)-4)
	if s.whole != 0 {
		body, whole = io.MultiReader(body, iotest.ErrReader(io.ErrUnexpectedEOF)), s.whole
	}
	return &http.Response{StatusCode: code, Header: http.Header{"Content-Type": {"application/json"},
		"Content-Encoding": {s.coding}}, ContentLength: whole, Body: io.NopCloser(body), Request: r}, nil
}

func overClient(t *testing.T, s threeTries, wire *sequence) *endpoint.Wire {
	t.Helper()
	c, err := endpoint.New(api.Options{BaseURL: "https://stage.example.com", Transport: wire, Session: s.Do,
		Gate: &api.Gate{}, Timeout: time.Second, Now: time.Now})
	if err != nil {
		t.Fatal(err)
	}
	return c
}

// TestAnAnswerThatIsNotReadIsNamed: it is not taken for silence.
func TestAnAnswerThatIsNotReadIsNamed(t *testing.T) {
	for want, wire := range map[string]sequence{`Content-Encoding "br"`: {coding: "br"},
		"cannot be unpacked":            {coding: "gzip"},
		"cut off after 4 of 2048 bytes": {whole: 2048}, "cut off after 4 bytes": {whole: -1}} {
		wire.answers = []string{"200 \x1f\x8b{}"}
		c := overClient(t, threeTries{}, &wire)
		_, err := endpoint.Do(t.Context(), c, endpoint.GetOperation, "op-1")
		if e := api.AsError(err); e == nil || e.Kind != api.Unavailable || !strings.Contains(e.Public, want) {
			t.Errorf("%s: %v", want, err)
		}
	}
}

// TestTokenIsOverInWords: a call whose token is over by the documented message is sent again whatever the status.
func TestTokenIsOverInWords(t *testing.T) {
	const good = `200 {"item":{"opid":"op-1","documents":[]}}`
	for _, dead := range []string{`403 {"error":"Token revoked. Please log in again"}`,
		`500 {"error":"Token revoked. Please log in again"}`,
		`200 {"success":false,"message":"Token revoked. Please log in again"}`} {
		wire := &sequence{answers: []string{dead, good}}
		op, err := endpoint.Do(context.Background(), overClient(t, threeTries{}, wire), endpoint.GetOperation, "op-1")
		if err != nil || op.OPID != "op-1" || wire.sent != 2 {
			t.Errorf("%s: %v after %d requests", dead, err, wire.sent)
		}
	}
}

// TestRouteRefusesTheSession: a route that refuses the session in any way, while others
// accept it, is not authorised. It costs no login and no other call.
func TestRouteRefusesTheSession(t *testing.T) {
	for name, answer := range map[string]string{"status": "401",
		"words":         "403/=Token%20revoked.%20Please%20log%20in%20again",
		"a good status": "200/=Token%20revoked.%20Please%20log%20in%20again"} {
		t.Run(name, func(t *testing.T) {
			r := newRig(t, false, sandbox.Options{})
			op := r.pick(open)
			r.fault("status=tree:" + answer + ",status=remove:" + answer)
			for range 8 {
				_, err := endpoint.Do(r.ctx, r.client, endpoint.GetOperationTree, string(op.OPID))
				if e := api.AsError(err); e == nil || e.Kind != api.Refused || e.Remedy.Kind == api.Login {
					t.Fatalf("%+v", e)
				}
				if _, err := endpoint.Do(r.ctx, r.client, endpoint.GetOperation, string(op.OPID)); err != nil {
					t.Fatal(err)
				}
			}
			doc := api.RemoveDocument{OPID: string(op.OPID), GUID: string(op.Documents[0].GUID), Seen: &op}
			_, err := endpoint.Do(r.ctx, r.client, endpoint.RemoveDocument, doc)
			if e := api.AsError(err); e == nil || e.Kind != api.Refused || e.Remedy.Kind == api.Login {
				t.Errorf("%+v", e)
			}
			if st, err := r.svc.Stats(r.ctx); err != nil || st.Logins != 1 || st.Refreshes != 0 {
				t.Errorf("%d logins, %d refreshes", st.Logins, st.Refreshes)
			}
		})
	}
}

// TestSessionErrorHasTheReason: the error gives the session's reason rather than the refused call.
func TestSessionErrorHasTheReason(t *testing.T) {
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
