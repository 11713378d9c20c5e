package hook

import (
	"crypto/hmac"
	"crypto/sha256"
	"encoding/base64"
	"errors"
	"fmt"
	"net/http"
	"strconv"
	"strings"
	"testing"
	"time"

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
	tok, err := signJWT(HS256, secret.New(key), claims)
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

// Every kind accepts what its signer makes, with the new and the old secret
// during rotation (W05), and refuses it afterwards.
func TestSignersAndRotation(t *testing.T) {
	whsec := secretPrefix + base64.StdEncoding.EncodeToString([]byte(secretA))
	for _, c := range []struct {
		kind, header, now, old string
		bound                  bool
	}{
		{VerifyJWT, "", secretB, secretA, true}, {VerifyJWT, "x-hook-token", secretB, secretA, true},
		{VerifyHeader, "X-Secret", secretB, secretA, false}, {VerifyHeader, "", secretB, secretA, false},
		{VerifyStandard, "", secretB, secretA, true}, {VerifyStandard, "", secretB, whsec, true},
	} {
		signer := func(key string) Delivery {
			s, err := Rules{}.Signer(c.kind, c.header, secret.New(key))
			if err != nil {
				t.Fatal(err)
			}
			d := Delivery{Header: http.Header{}, Body: body, At: at}
			if err := s(d.Header, body, at); err != nil {
				t.Fatal(err)
			}
			return d
		}
		during, err := NewVerifier(c.kind, c.header, ParseSecrets(c.now+"\n"+c.old+"\n"))
		if err != nil {
			t.Fatal(err)
		}
		after, _ := NewVerifier(c.kind, c.header, ParseSecrets(c.now+"\n"))
		for _, key := range []string{c.now, c.old} {
			verdict, err := during.Verify(signer(key))
			if err != nil || !verdict.Authenticated || verdict.Bound != c.bound || verdict.OldSecret != (key == c.old) ||
				verdict.Verifier != during.Name() {
				t.Errorf("%s: %+v %v", c.kind, verdict, err)
			}
		}
		if _, err := after.Verify(signer(c.old)); err == nil {
			t.Errorf("%s: the old secret still works", c.kind)
		}
		d := signer(c.now)
		d.Body = append([]byte(" "), d.Body...)
		if _, err := during.Verify(d); (err != nil) != c.bound {
			t.Errorf("%s: another body: %v", c.kind, err)
		}
	}
}

func TestStandardWebhooks(t *testing.T) {
	v := verifier(t, VerifyStandard, Secrets{Now: secret.New(secretA)})
	good := func(sec int64) http.Header {
		stamp := strconv.FormatInt(sec, 10)
		sig := base64.StdEncoding.EncodeToString(mac([]byte(secretA), "msg_1", ".", stamp, ".", string(body)))
		return http.Header{headerID: {"msg_1"}, headerTimestamp: {stamp}, headerSignature: {"v1,AAAA v1a,xyz v1," + sig}}
	}
	for _, c := range []struct {
		name   string
		change func(h http.Header) http.Header
		want   string
	}{
		{"good among others", func(h http.Header) http.Header { return h }, ""},
		{"no id", func(h http.Header) http.Header { delete(h, headerID); return h }, "header"},
		{"other id", func(h http.Header) http.Header { h[headerID] = []string{"msg_2"}; return h }, "signature"},
		{"v0 only", func(h http.Header) http.Header {
			h[headerSignature][0] = strings.ReplaceAll(h[headerSignature][0], "v1,", "v0,")
			return h
		}, "signature"},
		{"five minutes old", func(http.Header) http.Header { return good(at.Unix() - 300) }, ""},
		{"older", func(http.Header) http.Header { return good(at.Unix() - 301) }, "too_old"},
		{"ahead", func(http.Header) http.Header { return good(at.Unix() + 301) }, "from_the_future"},
		{"far ahead", func(http.Header) http.Header { return good(1 << 62) }, "from_the_future"},
	} {
		verdict, err := v.Verify(Delivery{Header: c.change(good(at.Unix())), Body: body, At: at})
		if (err == nil) != (c.want == "") || err != nil && reason(err) != c.want || verdict.Authenticated != (c.want == "") {
			t.Errorf("%s: %+v %v", c.name, verdict, err)
		}
	}
}

// W06: no secret, a short one or a placeholder is no secret.
func TestBadSecrets(t *testing.T) {
	for _, s := range []string{"", "short", strings.Repeat("a", 64), secretA[:31], "change-me-please-0123456789abcdefghij",
		"this-is-an-example-secret-0123456789"} {
		for _, kind := range []string{VerifyJWT, VerifyHeader, VerifyStandard} {
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
	if _, err := NewVerifier(VerifyStandard, "", ParseSecrets("whsec_"+strings.Repeat("!", 40)+"abcdefgh")); err == nil {
		t.Error("no base64 behind whsec_")
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

// FuzzSignatures: the splitter never panics and returns signatures only.
func FuzzSignatures(f *testing.F) {
	f.Add("v1,AAAA v1a,xyz v1," + base64.StdEncoding.EncodeToString(make([]byte, 32)))
	f.Fuzz(func(t *testing.T, header string) {
		out := splitSignatures(header)
		if len(out) > maxSignatures {
			t.Fatal(len(out))
		}
		for _, s := range out {
			if len(s) != 32 || !strings.Contains(header, "v1,"+base64.StdEncoding.EncodeToString(s)) {
				t.Fatalf("%q from %q", s, header)
			}
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
