package session

import (
	"net/http"
	"strings"
	"testing"
)

// TestDead: the words count at any status, and only where nothing else can be
// meant.
func TestDead(t *testing.T) {
	for _, words := range []string{
		"Token revoked. Please log in again", "Unauthorized", "UNAUTHORIZED", "unauthorised", "Unauthenticated.",
		"Invalid or expired token", "Invalid or expired access token",
		"jwt expired", "JWT_EXPIRED", "Token has expired", "TOKEN_EXPIRED", "Access token is invalid", "Session expired",
		"Your session has expired, please sign in",
		"invalid_token", "token is not valid", "Authentication required", "Authorization header is missing", "Not logged in",
		"Token was revoked", "Bearer token is missing", "Bad token",
	} {
		for _, status := range []int{200, 400, 401, 403, 404, 419, 422, 500} {
			for _, body := range []string{
				`{"error":"` + words + `"}`, `{"success":false,"message":"` + words + `"}`,
				`{"error":{"code":16,"message":"` + words + `"}}`,
				`{"code":16,"message":"` + words + `","details":[]}`, `{"errors":[{"detail":"` + words + `"}]}`,
				`{"statusCode":403,"message":["` + words + `"],"error":"Forbidden"}`,
			} {
				if !Dead(status, []byte(body), false) {
					t.Errorf("%d %s is not taken for the end of the session", status, body)
				}
			}
		}
		for _, status := range []int{0, 302, 408, 429, 502, 503, 504} {
			if Dead(status, []byte(`{"error":"`+words+`"}`), false) {
				t.Errorf("%d %s is taken for the end of the session", status, words)
			}
		}
	}
	for _, c := range []struct {
		status   int
		body     string
		ownToken bool
	}{
		{403, `{"error":"Partners on the BaaS verification program cannot share"}`, true},
		{403, `{"error":"Forbidden"}`, false},
		{403, `{"error":"You are not authorized to modify this operation"}`, false},
		{403, `{"error":"Unauthorized signature on the document"}`, false},
		{400, `{"error":"Invalid or expired share token"}`, false},
		{400, `{"error":"Invalid or expired token"}`, true},
		{400, `{"error":"Token expired"}`, true},
		{200, `{"applied":false,"message":"Token expired. Please log in again"}`, true},
		{200, `{"item":{"comment":"Unauthorized"}}`, false},
		{200, `{"success":true,"message":"Unauthorized"}`, false},
		{200, `{"items":[],"error":"Unauthorized"}`, false},
		{200, `Unauthorized`, false},
		{200, `<html>Unauthorized</html>`, false},
		{500, `<html><h1>Unauthorized</h1></html>`, false},
		{409, `{"error":"A token was already applied"}`, true},
		{400, `{"error":"Document is locked and cannot be removed"}`, false},
		{400, `{"error":"Cannot modify documents for completed operations"}`, false},
		{500, ``, false},
		{500, `{}`, false},
		{400, `{"error":"Verification session expired"}`, false},
	} {
		if Dead(c.status, []byte(c.body), c.ownToken) {
			t.Errorf("%d %s (own token %v) is taken for the end of the session", c.status, c.body, c.ownToken)
		}
	}
	for _, words := range []string{"Token revoked. Please log in again", "Unauthorized", "Access token expired"} {
		if !Dead(403, []byte(`{"error":"`+words+`"}`), true) {
			t.Errorf("%s: a share does not notice the end of the session", words)
		}
	}
}

// TestLoginWords: two-factor is never blamed on the password, nor the other way
// round, at any status; what is unclear is called so.
func TestLoginWords(t *testing.T) {
	for _, c := range []struct {
		want    Outcome
		unclear bool
		bodies  []string
	}{
		{TwoFactor, false, []string{
			`{"error":"Verification code required"}`, `{"error":"Code is required"}`, `{"error":"Invalid code"}`,
			`{"error":"Second factor is required"}`, `{"error":"TOTP code required"}`,
			`{"error":"2FA required"}`, `{"error":"2FA_REQUIRED"}`, `{"error":"OTP is missing"}`,
			`{"message":"Enter the one-time password"}`, `{"message":"one time password required"}`,
			`{"is2fa":true}`, `{"is2fa":true,"message":"ok"}`, `{"code":["required"]}`,
			`{"code":["The code field is required."]}`, `{"errors":{"code":["must not be blank"]}}`,
			`{"errors":[{"field":"code","message":"required"}]}`, `{"error":"Two-factor authentication is enabled"}`,
			`{"error":"Wrong verification code"}`, `{"error":"MFA challenge"}`,
			`{"twoFactorRequired":true}`, `{"error":{"message":"authenticator app code"}}`, `{"error":"two step verification"}`,
			`Code is required`,
		}},
		{Refused, false, []string{
			`{"error":"Invalid login or password"}`, `{"error":"Invalid credentials"}`, `{"error":"INVALID_CREDENTIALS"}`,
			`{"message":"Login or password is incorrect"}`, `{"error":"Wrong password"}`,
			`{"success":false,"message":"User not found"}`, `{"error":"Account not found"}`, `{"error":"Account is blocked"}`,
			`{"error":"The password you entered is incorrect"}`,
			`{"error":{"code":16,"message":"invalid credentials"}}`, `{"code":"INVALID_CREDENTIALS"}`,
			`{"error":"User has been disabled"}`, `Invalid login or password`,
		}},
		{Refused, true, []string{`{"error":"Invalid login, password or code"}`,
			`{"error":"Wrong password or verification code"}`}},
	} {
		for _, body := range c.bodies {
			for _, status := range []int{200, 400, 401, 403, 404, 422, 500} {
				a := judged(status, body, true)
				if a.outcome != c.want || a.unclear != c.unclear {
					t.Errorf("%d %s: %s, unclear %v", status, body, a.outcome, a.unclear)
				}
			}
		}
	}
	for _, c := range []struct {
		status  int
		body    string
		want    Outcome
		unclear bool
	}{
		{401, `{"error":"Unauthorized"}`, Refused, false},
		{401, ``, Refused, false},
		{403, `{"error":"Forbidden"}`, Refused, true},
		{400, `{"error":"Bad request"}`, Refused, true},
		{422, `{"error":"Unprocessable"}`, Refused, true},
		{200, `{"error":"Access denied"}`, Unreadable, false},
		{200, `{"error":"Temporarily unavailable"}`, Unreadable, false},
		{200, `{"status":"ok"}`, Unreadable, false},
		{200, `{"is2fa":false}`, Unreadable, false},
		{200, `{}`, Unreadable, false},
		{200, `{"user":{"name":"x"}}`, Unreadable, false},
		{500, `{"error":"Internal error"}`, Unknown, false},
		{502, `<html>Bad gateway</html>`, Unknown, false},
		{404, `{"error":"Not found"}`, Unknown, false},
	} {
		if a := judged(c.status, c.body, true); a.outcome != c.want || a.unclear != c.unclear {
			t.Errorf("%d %s: %s, unclear %v", c.status, c.body, a.outcome, a.unclear)
		}
	}
	for _, status := range []int{200, 400, 401, 403, 500} {
		for _, words := range []string{"Invalid or expired refresh token", "Token revoked. Please log in again"} {
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
		`{"error":"UNKNOWN","message":"No such user"}`:          "No such user",
		`{}`: "",
	} {
		if got := parseErrorAnswer([]byte(body)).words("hunter2"); got != want {
			t.Errorf("%s: %q, want %q", body, got, want)
		}
	}
	if got := parseErrorAnswer([]byte(`{"error":"x\u001b[2Jy ` + strings.Repeat("long ", 70) + `"}`)).words(
		""); strings.Contains(got, "\x1b") || len([]rune(got)) > maxQuote {
		t.Errorf("%q", got)
	}
}
