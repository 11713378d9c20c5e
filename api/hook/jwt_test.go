package hook

import (
	"crypto/hmac"
	"crypto/rand"
	"crypto/rsa"
	"crypto/sha256"
	"crypto/sha512"
	"encoding/hex"
	"errors"
	"fmt"
	"net/http"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/golang-jwt/jwt/v5"

	"opdeck/api/secret"
	"opdeck/api/untrusted"
)

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
		"alg none first":     tokenWith(`{"alg":"none","alg":"HS256"}`, claims),
		"alg in two cases":   tokenWith(`{"alg":"HS256","Alg":"none"}`, claims),
		"alg in other case":  tokenWith(`{"ALG":"HS256"}`, claims),
		"alg null":           tokenWith(`{"alg":null}`, claims),
		"alg a list":         tokenWith(`{"alg":["HS256"]}`, claims),
		"crit null":          tokenWith(`{"alg":"HS256","crit":null}`, claims),
		"CRIT":               tokenWith(`{"alg":"HS256","CRIT":["b64"]}`, claims),
		"head null":          tokenWith(`null`, claims),
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
	if _, err := v.Verify(withAuthorization(tokenWith(`{"alg":"HS256","kid":"../../etc/x","jku":"https://evil.test"}`,
		claims))); err != nil {
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
	signed := strict64.EncodeToString([]byte(`{"alg":"HS256","kid":"/dev/null"}`)) + "." +
		strict64.EncodeToString([]byte(claims))
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
		{fmt.Sprintf(`{"iat":%d}`, now+60), ""}, {fmt.Sprintf(`{"iat":%d}`, now+61), "from_the_future"},
		{fmt.Sprintf(`{"iat":%d}`, now+600), "from_the_future"},
		{fmt.Sprintf(`{"iat":%d}`, now-360), ""}, {fmt.Sprintf(`{"iat":%d}`, now-361), "too_old"},
		{fmt.Sprintf(`{"exp":%d}`, now-60), ""}, {fmt.Sprintf(`{"exp":%d}`, now-61), "expired"},
		{fmt.Sprintf(`{"exp":%d}`, now+360), ""}, {fmt.Sprintf(`{"exp":%d}`, now+361), "late"},
		{fmt.Sprintf(`{"exp":%d}`, now+86400*365*20), "late"},
		{fmt.Sprintf(`{"iat":%d,"exp":%d}`, now, now+86400), ""},
		{fmt.Sprintf(`{"iat":%d,"exp":%d}`, now-400, now+86400), "late"},
		{fmt.Sprintf(`{"iat":%d,"exp":%d}`, now-10, now-61), "expired"},
		{fmt.Sprintf(`{"iat":%d,"nbf":%d}`, now, now+61), "not_yet"},
		{fmt.Sprintf(`{"iat":%d,"exp":1e18}`, now), "claims"}, {`{"exp":1e18}`, "claims"}, {`{"exp":1e999}`, "claims"},
		{fmt.Sprintf(`{"exp":"%d"}`, now+10), "claims"}, {fmt.Sprintf(`{"iat":%d,"exp":null}`, now), "claims"},
		{fmt.Sprintf(`{"exp":%d,"iat":null}`, now), "claims"}, {fmt.Sprintf(`{"iat":%d,"jti":null}`, now), "claims"},
		{fmt.Sprintf(`{"iat":%d,"Exp":%d}`, now, now+9), "claims"}, {fmt.Sprintf(`{"exp":%d,"IAT":%d}`, now, now), "claims"},
		{fmt.Sprintf(`{"iat":%d,"exp":0}`, now), "expired"}, {`null`, "claims"}, {`{"iat":NaN}`, "token"},
		{`{"iat":1`, "token"},
		{fmt.Sprintf(`{"iat":%d,"jti":7}`, now), "claims"}, {`[]`, "claims"}, {`"x"`, "claims"},
	}
	v := verifier(t, VerifyJWT, Secrets{Now: secret.New(secretA)})
	for _, c := range cases {
		verdict, err := v.Verify(withAuthorization(tokenWith(`{"alg":"HS256"}`, c.claims)))
		if (err == nil) != (c.want == "" || c.want == "late") || err != nil && reason(err) != c.want ||
			(verdict.Token != nil && verdict.Token.Late) != (c.want == "late") {
			t.Errorf("%s: %+v %v, want %q", c.claims, verdict.Token, err, c.want)
		}
	}
}

// A hash of the body makes the age of a token harmless; its end still counts.
func TestJWTBoundAges(t *testing.T) {
	now, sum := at.Unix(), sha256.Sum256(body)
	hash := hex.EncodeToString(sum[:])
	v := verifier(t, VerifyJWT, Secrets{Now: secret.New(secretA)})
	for claims, want := range map[string]string{
		`"x":1`: "", fmt.Sprintf(`"iat":%d`, now-86400*30): "", fmt.Sprintf(`"iat":%d,"exp":%d`, now-86400, now+60): "",
		fmt.Sprintf(`"iat":%d,"exp":%d`, now-86400, now-61): "expired", fmt.Sprintf(`"iat":%d`, now+61): "from_the_future",
	} {
		verdict, err := v.Verify(withAuthorization(tokenWith(`{"alg":"HS256"}`, `{"body_sha256":"`+hash+`",`+claims+`}`)))
		if want == "" && (err != nil || !verdict.Bound || verdict.Token != nil) || want != "" && reason(err) != want {
			t.Errorf("%s: %+v %v, want %q", claims, verdict, err, want)
		}
	}
}

// What must be remembered of a token: whatever could come late, for as long as it
// could, and nothing else.
func TestJWTTokenUse(t *testing.T) {
	now := at.Unix()
	v := verifier(t, VerifyJWT, Secrets{Now: secret.New(secretA)})
	for claims, kept := range map[string]time.Duration{
		fmt.Sprintf(`{"iat":%d}`, now): 0, fmt.Sprintf(`{"iat":%d,"exp":%d}`, now, now+300): 0,
		fmt.Sprintf(`{"iat":%d,"exp":%d}`, now, now+301):      301 * time.Second,
		fmt.Sprintf(`{"iat":%d,"exp":%d}`, now-600, now+3000): 3000 * time.Second,
		fmt.Sprintf(`{"exp":%d}`, now+60):                     60 * time.Second,
		fmt.Sprintf(`{"exp":%d}`, now+86400*365*100):          maxRemember - 2*Skew,
	} {
		verdict, err := v.Verify(withAuthorization(tokenWith(`{"alg":"HS256"}`, claims)))
		if err != nil || (verdict.Token != nil) != (kept > 0) || kept > 0 && !verdict.Token.Until.Equal(at.Add(kept+2*Skew)) {
			t.Errorf("%s: %+v %v", claims, verdict.Token, err)
		}
	}
}

// The rules: which algorithms, and how old.
func TestJWTRules(t *testing.T) {
	now := at.Unix()
	token := func(alg, claims string) string {
		signed := strict64.EncodeToString([]byte(`{"alg":"`+alg+`"}`)) + "." + strict64.EncodeToString([]byte(claims))
		mac, err := jwt.GetSigningMethod(alg).Sign(signed, []byte(secretA))
		if err != nil {
			t.Fatal(err)
		}
		return signed + "." + strict64.EncodeToString(mac)
	}
	fresh := fmt.Sprintf(`{"iat":%d}`, now)
	for _, c := range []struct {
		rules          Rules
		alg, claims    string
		want, reported string
	}{
		{Rules{}, "HS512", fresh, "algorithm", "HS512 is not allowed: [webhooks] algorithms lists HS256."},
		{Rules{Algorithms: []string{"HS512", "HS256"}}, "HS512", fresh, "", ""},
		{Rules{Algorithms: []string{"HS512", "HS256"}}, "HS256", fresh, "", ""},
		{Rules{Algorithms: []string{"HS512", "HS256"}}, "HS384", fresh, "algorithm",
			"HS384 is not allowed: [webhooks] algorithms lists HS256, HS512."},
		{Rules{Algorithms: []string{"HS384"}}, "HS256", fresh, "algorithm",
			"HS256 is not allowed: [webhooks] algorithms lists HS384."},
		{Rules{MaxAge: time.Hour}, "HS256", fmt.Sprintf(`{"iat":%d}`, now-3600), "", ""},
		{Rules{MaxAge: time.Hour}, "HS256", fmt.Sprintf(`{"iat":%d}`, now-3661), "too_old", "max_age is 1h0m0s"},
		{Rules{MaxAge: time.Minute}, "HS256", fmt.Sprintf(`{"iat":%d}`, now-121), "too_old", "issued 2m1s ago"},
		{Rules{MaxAge: -1}, "HS256", `{}`, "", ""}, {Rules{MaxAge: -1}, "HS256", fmt.Sprintf(`{"iat":%d}`, now-86400*365), "",
			""},
		{Rules{MaxAge: -1}, "HS256", fmt.Sprintf(`{"exp":%d}`, now-61), "expired", "expired 1m1s before"},
		{Rules{}, "HS256", `{}`, "no_time", `max_age = "0s"`},
	} {
		v, err := c.rules.Verifier(VerifyJWT, "", Secrets{Now: secret.New(secretA)})
		if err != nil {
			t.Fatal(err)
		}
		_, err = v.Verify(withAuthorization(token(c.alg, c.claims)))
		var bad *AuthError
		if (err == nil) != (c.want == "") || err != nil && (!errors.As(err, &bad) || bad.Reason != c.want ||
			!strings.Contains(bad.Detail, c.reported) || bad.Algorithm != c.alg) {
			t.Errorf("%+v %s %s: %v %+v", c.rules, c.alg, c.claims, err, bad)
		}
	}
	for _, bad := range []string{"none", "RS256", "hs256", ""} {
		if _, err := (Rules{Algorithms: []string{bad}}).Verifier(VerifyJWT, "",
			Secrets{Now: secret.New(secretA)}); err == nil {
			t.Errorf("the algorithm %q was allowed", bad)
		}
	}
	hs512, err := jwt.NewWithClaims(jwt.SigningMethodHS512, jwt.MapClaims(bodyClaims())).SignedString([]byte(secretA))
	if err != nil {
		t.Fatal(err)
	}
	v, _ := Rules{Algorithms: []string{"HS512"}}.Verifier(VerifyJWT, "", Secrets{Now: secret.New(secretA)})
	if verdict, err := v.Verify(withAuthorization("Bearer " + hs512)); err != nil || !verdict.Bound {
		t.Error(verdict, err)
	}
}

// The text of a refusal holds nothing that could control a terminal.
func TestRefusalsAreSafeText(t *testing.T) {
	v := verifier(t, VerifyJWT, Secrets{Now: secret.New(secretA)})
	for _, token := range []string{tokenWith(`{"alg":"\u001b]0;x\u0007"}`, `{"\u001b[2J":1}`),
		tokenWith(`{"alg":"HS256"}`, "{\"a\u202eb\":1}"), "\x1b[31m", "a.b.c"} {
		_, err := v.Verify(withAuthorization(token))
		var bad *AuthError
		if !errors.As(err, &bad) {
			t.Fatal(err)
		}
		for _, s := range append(bad.Claims, bad.Detail) {
			if untrusted.Text(s).Flags().Suspicious() {
				t.Errorf("%q", s)
			}
		}
		if bad.Detail == "" {
			t.Errorf("%s shows nothing", bad.Reason)
		}
	}
	d := withAuthorization("")
	d.Header = http.Header{"X-Signature": {sign(t, secretA, map[string]any{"iat": at.Unix()})}}
	var bad *AuthError
	if _, err := v.Verify(d); !errors.As(err, &bad) || !strings.Contains(bad.Detail,
		"X-Signature contains what looks like a token") {
		t.Errorf("%+v", bad)
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
		{map[string]any{"body_sha256": nil}, false, "claims"},
		{map[string]any{"request_body_sha256": nil, "body_sha256": right}, false, "claims"},
		{map[string]any{"Body_SHA256": right}, false, "claims"},
		{map[string]any{"Body_SHA256": wrong}, false, "claims"},
		{map[string]any{"body_ſha256": wrong}, false, "claims"},
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
		d := withAuthorization(sign(t, secretA, map[string]any{"iat": at.Unix(), "jti": "two",
			"body_sha256": hex.EncodeToString(sum[:])}))
		d.Body = []byte(b)
		if verdict, err := v.Verify(d); err != nil || !verdict.Bound {
			t.Error(verdict, err)
		}
	}
	m := newReplayGuard(time.Minute)
	a, b := sha256.Sum256([]byte("a")), sha256.Sum256([]byte("b"))
	for i := range 5 { // across the turns of the memory
		id := strconv.Itoa(i)
		when := at.Add(time.Duration(i) * 50 * time.Second)
		if !m.accept(id, a, when) || m.accept(id, b, when.Add(59*time.Second)) {
			t.Fatal(i)
		}
	}
}

// Our tokens are those of a JWT library, and the other way round.
func TestJWTInterop(t *testing.T) {
	theirs, err := jwt.NewWithClaims(jwt.SigningMethodHS256,
		jwt.MapClaims{"iat": at.Unix(), "exp": at.Add(time.Minute).Unix()}).SignedString([]byte(secretA))
	if err != nil {
		t.Fatal(err)
	}
	if _, err := verifier(t, VerifyJWT, Secrets{Now: secret.New(secretA)}).Verify(
		withAuthorization("Bearer " + theirs)); err != nil {
		t.Error(err)
	}
}
