package hook

import (
	"crypto/hmac"
	"crypto/rand"
	"crypto/rsa"
	"crypto/sha256"
	"crypto/sha512"
	"encoding/base64"
	"encoding/hex"
	"errors"
	"fmt"
	"net/http"
	"strconv"
	"strings"
	"testing"
	"time"

	gojwt "github.com/golang-jwt/jwt/v5"

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
	tok, err := SignJWT(secret.New(key), claims)
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

// W01, W02: only HS256 over our secret, in one spelling.
func TestJWTRefusesOtherTokens(t *testing.T) {
	good := sign(t, secretA, map[string]any{"iat": at.Unix()})
	parts := strings.Split(good, ".")
	flip := func(i int) string {
		sig, _ := strict64.DecodeString(parts[2])
		sig[i] ^= 1
		return parts[0] + "." + parts[1] + "." + strict64.EncodeToString(sig)
	}
	claims := fmt.Sprintf(`{"iat":%d}`, at.Unix())
	hs384 := func() string {
		signed := strict64.EncodeToString([]byte(`{"alg":"HS384"}`)) + "." + parts[1]
		m := hmac.New(sha512.New384, []byte(secretA))
		m.Write([]byte(signed))
		return signed + "." + strict64.EncodeToString(m.Sum(nil))
	}
	cases := map[string]string{
		"no header": "", "Basic": "Basic dXNlcjpwYXNz", "Bearer alone": "Bearer ", "junk": "a.b.c",
		"alg none":           strict64.EncodeToString([]byte(`{"alg":"none"}`)) + "." + parts[1] + ".",
		"alg none, signed":   tokenWith(`{"alg":"none"}`, claims),
		"alg None":           tokenWith(`{"alg":"None"}`, claims),
		"alg hs256":          tokenWith(`{"alg":"hs256"}`, claims),
		"alg twice":          tokenWith(`{"alg":"HS256","alg":"none"}`, claims),
		"alg in other case":  tokenWith(`{"ALG":"HS256"}`, claims),
		"crit":               tokenWith(`{"alg":"HS256","crit":["b64"],"b64":false}`, claims),
		"claims twice":       tokenWith(`{"alg":"HS256"}`, `{"iat":1,"iat":`+strconv.FormatInt(at.Unix(), 10)+`}`),
		"HS384":              hs384(),
		"first byte":         flip(0),
		"last byte":          flip(31),
		"padded":             good + "=",
		"standard alphabet":  parts[0] + "." + parts[1] + "." + standardAlphabet(parts[2]),
		"trailing bits":      good[:len(good)-1] + string(otherTail(good[len(good)-1])),
		"line end inside":    parts[0] + "." + parts[1] + "." + parts[2][:9] + "\n" + parts[2][9:],
		"trailing dot":       good + ".",
		"four parts":         good + "." + parts[2],
		"two parts":          parts[0] + "." + parts[1],
		"a megabyte":         strings.Repeat("a", 1<<20) + "." + parts[1] + "." + parts[2],
		"of another secret":  sign(t, secretB, map[string]any{"iat": at.Unix()}),
		"public key as mac":  publicKeyToken(t, claims),
		"kid with SQL":       strings.Replace(tokenWith(`{"alg":"HS256","kid":"' OR 1=1"}`, claims), ".", ".x", 1),
		"kid asks for a key": kidToken(claims),
	}
	v := verifier(t, VerifyJWT, Secrets{Now: secret.New(secretA)})
	for name, token := range cases {
		for _, prefix := range []string{"", "Bearer "} {
			if verdict, err := v.Verify(withAuthorization(prefix + token)); err == nil || verdict.Authenticated {
				t.Errorf("%s%s was accepted", prefix, name)
			}
		}
	}
	for _, prefix := range []string{"", "Bearer ", "bearer "} {
		verdict, err := v.Verify(withAuthorization(prefix + good))
		if err != nil || !verdict.Authenticated || verdict.Bound {
			t.Errorf("%q: %+v %v", prefix, verdict, err)
		}
	}
	d := withAuthorization(good)
	d.Header["Authorization"] = []string{good, good}
	if _, err := v.Verify(d); reason(err) != "header" {
		t.Error("two headers:", err)
	}
	if _, err := v.Verify(withAuthorization(tokenWith(`{"alg":"HS256","kid":"../../etc/x","jku":"https://evil.test"}`, claims))); err != nil {
		t.Error("hints are not looked at:", err)
	}
}

func standardAlphabet(s string) string {
	if !strings.ContainsAny(s, "-_") {
		return s + "+" // cannot be decoded either
	}
	return strings.NewReplacer("-", "+", "_", "/").Replace(s)
}

// otherTail returns a character that decodes to the same last byte.
func otherTail(c byte) byte {
	const alphabet = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789-_"
	return alphabet[strings.IndexByte(alphabet, c)|1]
}

func publicKeyToken(t *testing.T, claims string) string {
	t.Helper()
	k, err := rsa.GenerateKey(rand.Reader, 2048)
	if err != nil {
		t.Fatal(err)
	}
	signed := strict64.EncodeToString([]byte(`{"alg":"RS256"}`)) + "." + strict64.EncodeToString([]byte(claims))
	return signed + "." + strict64.EncodeToString(mac(k.N.Bytes(), signed))
}

func kidToken(claims string) string {
	signed := strict64.EncodeToString([]byte(`{"alg":"HS256","kid":"/dev/null"}`)) + "." + strict64.EncodeToString([]byte(claims))
	return signed + "." + strict64.EncodeToString(mac(nil, signed))
}

// W03: a time must be there, and be near.
func TestJWTTimes(t *testing.T) {
	now := at.Unix()
	cases := []struct {
		claims string
		want   string
	}{
		{`{}`, "no_time"}, {`{"nbf":1}`, "no_time"},
		{fmt.Sprintf(`{"iat":%d}`, now), ""}, {fmt.Sprintf(`{"iat":%d.25}`, now), ""},
		{fmt.Sprintf(`{"iat":%d}`, now+60), ""}, {fmt.Sprintf(`{"iat":%d}`, now+61), "from_the_future"}, {fmt.Sprintf(`{"iat":%d}`, now+600), "from_the_future"},
		{fmt.Sprintf(`{"iat":%d}`, now-360), ""}, {fmt.Sprintf(`{"iat":%d}`, now-361), "too_old"},
		{fmt.Sprintf(`{"exp":%d}`, now-60), ""}, {fmt.Sprintf(`{"exp":%d}`, now-61), "expired"},
		{fmt.Sprintf(`{"exp":%d}`, now+360), ""}, {fmt.Sprintf(`{"exp":%d}`, now+361), "lives_too_long"},
		{fmt.Sprintf(`{"iat":%d,"exp":%d}`, now, now+86400), ""}, {fmt.Sprintf(`{"iat":%d,"exp":%d}`, now-400, now+86400), "too_old"},
		{fmt.Sprintf(`{"iat":%d,"exp":%d}`, now-10, now-61), "expired"},
		{fmt.Sprintf(`{"iat":%d,"nbf":%d}`, now, now+61), "not_yet"},
		{fmt.Sprintf(`{"iat":%d,"exp":1e18}`, now), "claims"}, {`{"exp":1e18}`, "claims"}, {`{"exp":1e999}`, "claims"},
		{fmt.Sprintf(`{"exp":"%d"}`, now+10), "claims"}, {fmt.Sprintf(`{"iat":%d,"exp":null}`, now), ""},
		{fmt.Sprintf(`{"iat":%d,"jti":7}`, now), "claims"}, {`[]`, "claims"}, {`"x"`, "claims"},
	}
	v := verifier(t, VerifyJWT, Secrets{Now: secret.New(secretA)})
	for _, c := range cases {
		_, err := v.Verify(withAuthorization(tokenWith(`{"alg":"HS256"}`, c.claims)))
		if (err == nil) != (c.want == "") || err != nil && reason(err) != c.want {
			t.Errorf("%s: %v, want %q", c.claims, err, c.want)
		}
	}
}

// W04: a hash of the body binds it; without one the verdict says unbound.
func TestJWTBody(t *testing.T) {
	sum := sha256.Sum256(body)
	right := hex.EncodeToString(sum[:])
	wrong := strings.Repeat("0", 64)
	cases := []struct {
		claims map[string]any
		bound  bool
		reason string
	}{
		{map[string]any{}, false, ""},
		{map[string]any{"body_sha256": right}, true, ""},
		{map[string]any{"request_body_sha256": strings.ToUpper(right)}, true, ""},
		{map[string]any{"body_sha256": right, "request_body_sha256": wrong}, false, "body"},
		{map[string]any{"body_sha256": wrong}, false, "body"},
		{map[string]any{"body_sha256": ""}, false, "body"},
		{map[string]any{"body_sha256": 7}, false, "claims"},
	}
	v := verifier(t, VerifyJWT, Secrets{Now: secret.New(secretA)})
	for _, c := range cases {
		c.claims["iat"] = at.Unix()
		verdict, err := v.Verify(withAuthorization(sign(t, secretA, c.claims)))
		if verdict.Bound != c.bound || err != nil && reason(err) != c.reason || (err == nil) != (c.reason == "") {
			t.Errorf("%v: %+v %v", c.claims, verdict, err)
		}
	}
}

func TestJWTTokenOverAnotherBody(t *testing.T) {
	v := verifier(t, VerifyJWT, Secrets{Now: secret.New(secretA)})
	d := withAuthorization(sign(t, secretA, map[string]any{"iat": at.Unix(), "jti": "one"}))
	for range 3 {
		if _, err := v.Verify(d); err != nil {
			t.Fatal("a repeated delivery:", err)
		}
	}
	d.Body = []byte(`{"forged":true}`)
	if _, err := v.Verify(d); reason(err) != "token_reused" {
		t.Fatal(err)
	}
	for _, b := range []string{"a", "b"} { // bound tokens prove their body, whatever their id
		sum := sha256.Sum256([]byte(b))
		d := withAuthorization(sign(t, secretA, map[string]any{"iat": at.Unix(), "jti": "two", "body_sha256": hex.EncodeToString(sum[:])}))
		d.Body = []byte(b)
		if verdict, err := v.Verify(d); err != nil || !verdict.Bound {
			t.Error(verdict, err)
		}
	}
	m := newMemory(time.Minute)
	a, b := sha256.Sum256([]byte("a")), sha256.Sum256([]byte("b"))
	for i := range 5 { // across the turns of the memory
		id := strconv.Itoa(i)
		when := at.Add(time.Duration(i) * 50 * time.Second)
		if !m.first(id, a, when) || m.first(id, b, when.Add(59*time.Second)) {
			t.Fatal(i)
		}
	}
}

// Our tokens are those of a JWT library, and the other way round.
func TestJWTInterop(t *testing.T) {
	theirs, err := gojwt.NewWithClaims(gojwt.SigningMethodHS256, gojwt.MapClaims{"iat": at.Unix(), "exp": at.Add(time.Minute).Unix()}).SignedString([]byte(secretA))
	if err != nil {
		t.Fatal(err)
	}
	if _, err := verifier(t, VerifyJWT, Secrets{Now: secret.New(secretA)}).Verify(withAuthorization("Bearer " + theirs)); err != nil {
		t.Error(err)
	}
	ours := sign(t, secretA, BodyClaims(body, at))
	tok, err := gojwt.Parse(ours, func(*gojwt.Token) (any, error) { return []byte(secretA), nil },
		gojwt.WithValidMethods([]string{"HS256"}), gojwt.WithTimeFunc(func() time.Time { return at }), gojwt.WithIssuedAt(), gojwt.WithStrictDecoding())
	if err != nil || !tok.Valid {
		t.Error(err)
	}
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
			s, err := NewSigner(c.kind, c.header, secret.New(key))
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
			if err != nil || !verdict.Authenticated || verdict.Bound != c.bound || verdict.OldSecret != (key == c.old) || verdict.Verifier != during.Name() {
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
	for _, s := range []string{"", "short", strings.Repeat("a", 64), secretA[:31], "change-me-please-0123456789abcdefghij", "this-is-an-example-secret-0123456789"} {
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
		_, ok := splitToken(token)
		if ok && len(token) > maxToken {
			t.Fatal("too long")
		}
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
