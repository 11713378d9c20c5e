package hook

import (
	"cmp"
	"crypto/hmac"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"net/http"
	"strings"
	"testing"
	"time"

	"github.com/golang-jwt/jwt/v5"

	"opdeck/api/secret"
)

const (
	secretA = "Zk3!x9-Qv7_Lm2@Rt5#Yp8$Wn4%Bc6&H"
	secretB = "a8Fj-20sKq.PzX7vNm4+Tg6Ru9=We1Ly"
)

var (
	at   = time.Date(2026, 3, 4, 5, 6, 7, 0, time.UTC)
	body = []byte(sample(`1`, "Operation", `{"opid":"x"}`))
)

func verifier(t *testing.T, kind string, s Secrets) Verifier {
	t.Helper()
	v, err := NewVerifier(kind, "", s)
	if err != nil {
		t.Fatal(err)
	}
	return v
}

func reason(err error) string {
	var a *AuthError
	if errors.As(err, &a) {
		return a.Reason
	}
	return fmt.Sprint(err)
}

func withAuthorization(token string) Delivery {
	return Delivery{Header: http.Header{"Authorization": {token}}, Body: body, At: at}
}

func sign(t *testing.T, key string, claims map[string]any) string {
	t.Helper()
	tok, err := jwt.NewWithClaims(jwt.SigningMethodHS256, jwt.MapClaims(claims)).SignedString([]byte(key))
	if err != nil {
		t.Fatal(err)
	}
	return tok
}

// tokenWith makes a token with any header, rightly signed with secretA.
func tokenWith(head, claims string) string {
	signed := strict64.EncodeToString([]byte(head)) + "." + strict64.EncodeToString([]byte(claims))
	return signed + "." + strict64.EncodeToString(mac([]byte(secretA), signed))
}

// bodyClaims are those of a token that covers the body.
func bodyClaims() map[string]any {
	sum := sha256.Sum256(body)
	return map[string]any{"iat": at.Unix(), "exp": at.Add(MaxAge).Unix(), "jti": "one",
		"body_sha256": hex.EncodeToString(sum[:])}
}

// Every kind accepts the new and the old secret during rotation (W05), and the old one not afterwards.
func TestRotation(t *testing.T) {
	for _, c := range []struct {
		kind, header string
		bound        bool
	}{
		{VerifyJWT, "", true}, {VerifyJWT, "x-hook-token", true},
		{VerifyHeader, "X-Secret", false}, {VerifyHeader, "", false},
	} {
		proven := func(key string) Delivery {
			d := Delivery{Header: http.Header{}, Body: body, At: at}
			if c.kind == VerifyJWT {
				key = "Bearer " + sign(t, key, bodyClaims())
			}
			d.Header.Set(cmp.Or(c.header, "Authorization"), key)
			return d
		}
		during, err := NewVerifier(c.kind, c.header, ParseSecrets(secretB+"\n"+secretA+"\n"))
		if err != nil {
			t.Fatal(err)
		}
		after, _ := NewVerifier(c.kind, c.header, ParseSecrets(secretB+"\n"))
		for _, key := range []string{secretB, secretA} {
			verdict, err := during.Verify(proven(key))
			if err != nil || !verdict.Authenticated || verdict.Bound != c.bound || verdict.OldSecret != (key == secretA) ||
				verdict.Verifier != during.Name() {
				t.Errorf("%s: %+v %v", c.kind, verdict, err)
			}
		}
		if _, err := after.Verify(proven(secretA)); err == nil {
			t.Errorf("%s: the old secret still works", c.kind)
		}
		d := proven(secretB)
		d.Body = append([]byte(" "), d.Body...)
		if _, err := during.Verify(d); (err != nil) != c.bound {
			t.Errorf("%s: another body: %v", c.kind, err)
		}
	}
}

// W06: no secret, a short one or a placeholder is no secret.
func TestBadSecrets(t *testing.T) {
	for _, s := range []string{"", "short", strings.Repeat("a", 64), secretA[:31], "change-me-please-0123456789abcdefghij",
		"this-is-an-example-secret-0123456789"} {
		for _, kind := range []string{VerifyJWT, VerifyHeader} {
			_, err := NewVerifier(kind, "", ParseSecrets(s))
			var bad *SecretError
			if !errors.As(err, &bad) || s != "" && strings.Contains(err.Error(), s) {
				t.Errorf("%s with %q: %v", kind, s, err)
			}
			if _, err := NewVerifier(kind, "", ParseSecrets(secretA+"\n"+s)); s != "" && err == nil {
				t.Errorf("%s: old secret %q was accepted", kind, s)
			}
		}
	}
	if _, err := NewVerifier("mtls", "", ParseSecrets(secretA)); err == nil {
		t.Error("unknown kind")
	}
	if _, err := NewVerifier(VerifyNone, "", ParseSecrets(secretA)); err == nil {
		t.Error("none with a secret")
	}
}

func TestNoneIsForLoopback(t *testing.T) {
	v := verifier(t, VerifyNone, Secrets{})
	if verdict, err := v.Verify(Delivery{Loopback: true}); err != nil || verdict.Authenticated || verdict.Bound {
		t.Error(verdict, err)
	}
	if _, err := v.Verify(Delivery{}); err == nil {
		t.Error("accepted from elsewhere")
	}
}

// FuzzToken: nothing that this test did not sign is accepted, and a signed
// token has one spelling only.
func FuzzToken(f *testing.F) {
	signed := tokenWith(`{"alg":"HS256"}`, fmt.Sprintf(`{"iat":%d}`, at.Unix()))
	f.Add(signed)
	f.Add("Bearer " + signed)
	f.Add("..")
	v, err := NewVerifier(VerifyJWT, "", Secrets{Now: secret.New(secretA)})
	if err != nil {
		f.Fatal(err)
	}
	f.Fuzz(func(t *testing.T, token string) {
		if _, err := v.Verify(withAuthorization(token)); err == nil && bearer(token) != signed {
			t.Fatalf("accepted %q", token)
		}
	})
}

// mac is the signature as the schemes define it.
func mac(key []byte, parts ...string) []byte {
	h := hmac.New(sha256.New, key)
	for _, p := range parts {
		h.Write([]byte(p))
	}
	return h.Sum(nil)
}
