package session

import (
	"net/http"
	"strings"
	"testing"

	"opdeck/api/secret"
)

// TestDead: status 401, or the documented message at any status, and nothing else ends the session.
func TestDead(t *testing.T) {
	for _, status := range []int{200, 400, 403, 404, 422, 500} {
		for _, body := range []string{`{"error":"` + revoked + `"}`, `{"success":false,"message":"` + revoked + `"}`} {
			if !Dead(status, []byte(body)) {
				t.Errorf("%d %s is not taken for the end of the session", status, body)
			}
		}
		for _, body := range []string{
			``, `{}`, `{"error":"Unauthorized"}`, `{"error":"Token expired"}`, `{"error":"jwt expired"}`,
			`{"error":"token revoked. please log in again"}`, `{"error":"Token revoked. Please log in again: share"}`,
			`{"error":"Invalid or expired share token"}`, `{"error":"Verification session expired"}`,
			`{"item":{"comment":"` + revoked + `"}}`, `{"errors":["` + revoked + `"]}`, `{"error":{"message":"` + revoked + `"}}`,
			`{"error":"Forbidden","message":"` + revoked + `"}`, revoked, `"` + revoked + `"`, `<html>` + revoked,
		} {
			if Dead(status, []byte(body)) {
				t.Errorf("%d %s is taken for the end of the session", status, body)
			}
		}
	}
	if !Dead(401, nil) || Dead(0, []byte(`{"error":"`+revoked+`"}`)) {
		t.Error("401 without words, or no answer at all")
	}
}

// TestLoginWords: a login is refused by its status; words decide nothing but whether a two-factor code is named. What
// came with a good status may have been a login.
func TestLoginWords(t *testing.T) {
	for _, c := range []struct {
		want   Outcome
		status []int
		bodies []string
	}{
		{TwoFactor, []int{200, 400, 401, 403, 404, 422, 500}, []string{
			`{"error":"TOTP code required"}`, `{"error":"2FA required"}`, `{"error":"2FA_REQUIRED"}`, `{"error":"OTP is missing"}`,
			`{"message":"Two-factor authentication is enabled"}`, `{"success":false,"message":"two factor code needed"}`,
			`{"is2fa":true}`}},
		{Refused, []int{400, 401, 403, 422, 423}, []string{``, `{}`, `{"error":"Invalid login or password"}`,
			`{"error":"Account is locked"}`, `{"error":"Verification code required"}`, `<html>`, `{"code":["required"]}`}},
		{Unreadable, []int{200, 201, 204}, []string{``, `{}`, `{"error":"Invalid login or password"}`, `{"success":false}`,
			`{"error":"Access denied"}`, `{"is2fa":false}`, `{"is2fa":"true"}`, `{"user":{"name":"2fa"}}`, `Invalid login or password`}},
		{Unknown, []int{404, 405, 500, 502, 503}, []string{``, `{"error":"Invalid login or password"}`, `<html>`}},
	} {
		for _, body := range c.bodies {
			for _, status := range c.status {
				if a := judged(status, body, true); a.outcome != c.want {
					t.Errorf("%d %s: %s, want %s", status, body, a.outcome, c.want)
				}
			}
		}
	}
	for _, status := range []int{200, 400, 401, 403, 500} {
		for _, words := range refreshRefusals {
			if a := judged(status, `{"error":"`+words+`"}`, false); a.outcome != Refused {
				t.Errorf("refresh %d %s: %s", status, words, a.outcome)
			}
		}
	}
}

// judged is the answer that the service gave, as JSON unless it is not an object.
func judged(status int, body string, login bool) answer {
	h := http.Header{"Content-Type": {"application/json"}}
	a := answer{status: status, outcome: Unknown}
	of := request{kind: ByRefresh}
	if login {
		of.kind = ByLogin
	}
	a.read(&http.Response{StatusCode: status, Header: h}, []byte(body), nil, of)
	return a
}

// TestQuote: what is kept of the service's words holds no secret and draws nothing.
func TestQuote(t *testing.T) {
	for body, want := range map[string]string{
		`{"error":"Invalid login or password"}`:                 "Invalid login or password",
		`{"error":"wrong password hunter2"}`:                    "wrong password …",
		`{"error":"bad ` + strings.Repeat("a", 60) + ` thing"}`: "bad … thing",
		`{"message":"No such user"}`:                            "No such user",
		`{}`:                                                    "",
	} {
		if got := quote(message([]byte(body)), secret.New("hunter2")); got != want {
			t.Errorf("%s: %q, want %q", body, got, want)
		}
	}
	if got := quote(message([]byte(`{"error":"x\u001b[2Jy `+strings.Repeat("long ", 70)+`"}`)), secret.Value{}); strings.Contains(got, "\x1b") ||
		len([]rune(got)) > maxQuote {
		t.Errorf("%q", got)
	}
}
