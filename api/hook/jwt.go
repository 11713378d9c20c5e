package hook

import (
	"bytes"
	"crypto/sha256"
	"crypto/subtle"
	"encoding/base64"
	"encoding/hex"
	"math"
	"strconv"
	"strings"
	"time"

	"opdeck/api/jsontree"
	"opdeck/api/untrusted"
)

// The service documents only that deliveries carry a JWT made with the
// configured secret. So the algorithms and the age are settings, within what can
// be proven: HMAC with the shared secret, and no algorithm that the config does
// not name, whatever the token's header asks for. Key hints (kid, jku, x5u, jwk)
// are not looked at.

const (
	maxToken = 8 << 10 // bytes

	usualHead = "eyJhbGciOiJIUzI1NiIsInR5cCI6IkpXVCJ9" // {"alg":"HS256","typ":"JWT"}
)

var strict64 = base64.RawURLEncoding.Strict()

// jwt accepts JSON Web Tokens in compact form.
type jwt struct {
	header string
	keys   keyring
	maxAge time.Duration // 0: no bound
	seen   *replayGuard
}

func (*jwt) Name() string { return VerifyJWT }

func (j *jwt) Verify(d Delivery) (Verdict, error) {
	got, ok := single(d.Header, j.header)
	if !ok {
		return refuse("header", missing(d.Header, j.header))
	}
	token := bearer(got)
	t, ok := splitToken(token)
	if !ok {
		return refuse("token", "The header "+j.header+" holds no JWT: three parts of base64url with a dot between them.")
	}
	verdict, err := j.check(d, t)
	if err == nil {
		return verdict, nil
	}
	err.Algorithm, err.Claims = untrusted.Text(algorithmOf(t.head)).Line(40), claimNames(t.claims)
	return Verdict{}, err
}

// check verifies a token's algorithm, then its signature, and only then reads what
// it claims.
func (j *jwt) check(d Delivery, t tokenParts) (Verdict, *AuthError) {
	alg := HS256
	if !t.usual {
		alg = algorithmOf(t.head)
	}
	keys := j.keys[alg]
	if keys == nil {
		return Verdict{}, &AuthError{Reason: "algorithm", Detail: j.notAllowed(alg)}
	}
	which := matching(keys, t.signature, t.signed)
	if which < 0 {
		return Verdict{}, &AuthError{Reason: "signature", Detail: "The signature does not fit: the service's jwtSecret and the secret of [webhooks] differ."}
	}
	c, ok := readClaims(t.claims)
	if !ok {
		return Verdict{}, &AuthError{Reason: "claims", Detail: "A claim has the wrong kind: exp, iat and nbf are numbers of seconds, jti and hashes are texts."}
	}
	sum := sha256.Sum256(d.Body)
	bound, right := c.covers(sum)
	if !right {
		return Verdict{}, &AuthError{Reason: "body", Detail: "The token's hash of the body is that of another body: something on the way changed it, or it is forged."}
	}
	late, bad := c.timely(d.At, j.maxAge, bound)
	if bad != nil {
		return Verdict{}, bad
	}
	v := Verdict{Verifier: VerifyJWT, Authenticated: true, Bound: bound, OldSecret: which > 0}
	if bound || j.maxAge == 0 {
		return v, nil
	}
	if c.jti != "" && !late && !j.seen.accept(c.jti, sum, d.At) {
		return Verdict{}, &AuthError{Reason: ReasonTokenReused,
			Detail: "The token's id (jti) came before with another body: it may have been captured. Only [webhooks] max_age = \"0s\" lets one token bring many bodies."}
	}
	v.Token = c.use(t.signed, d.At, j.maxAge, late)
	return v, nil
}

// notAllowed says why an algorithm is refused, and what to set.
func (j *jwt) notAllowed(alg string) string {
	switch {
	case alg == "":
		return "The token's header names no algorithm that could be read, or asks for extensions (crit)."
	case strings.EqualFold(alg, "none"):
		return "A token without a signature (alg none) is never accepted."
	case hashOf(alg) == nil:
		return quote(alg) + " is not supported: only " + strings.Join(Algorithms, ", ") + ", which use the shared secret."
	}
	return alg + " is not allowed: [webhooks] algorithms lists " + strings.Join(j.keys.names(), ", ") + "."
}

// tokenParts are the parts of a compact token.
type tokenParts struct {
	signed, head, claims, signature []byte // the first as it is written, the others decoded

	usual bool // the head is the one that nearly everybody writes, HS256
}

// splitToken takes a compact token apart: three parts of unpadded base64url in
// their only spelling. The signature may be empty, so that "none" can be named
// when it is refused.
func splitToken(token string) (t tokenParts, ok bool) {
	if len(token) > maxToken || strings.Count(token, ".") != 2 || strings.ContainsAny(token, "\r\n") { // the decoder skips line ends
		return t, false
	}
	b := []byte(token)
	t.signed = b[:strings.LastIndexByte(token, '.')]
	head, claims, _ := bytes.Cut(t.signed, []byte("."))
	out := make([]byte, 0, len(b))
	for _, part := range []struct {
		at   *[]byte
		text []byte
	}{{&t.head, head}, {&t.claims, claims}, {&t.signature, b[len(t.signed)+1:]}} {
		from := len(out)
		var err error
		if out, err = strict64.AppendDecode(out, part.text); err != nil || len(out) == from && part.at != &t.signature {
			return t, false
		}
		*part.at = out[from:len(out):len(out)]
	}
	t.usual = string(head) == usualHead
	return t, true
}

// algorithmOf is the algorithm that a token's header names; "" when it cannot be
// read, or asks for extensions that are not understood (RFC 7515 4.1.11).
func algorithmOf(head []byte) string {
	d, bad := parse(head)
	if bad != nil {
		return ""
	}
	defer d.Free()
	v := d.Root()
	alg, _ := v.Get("alg")
	if _, critical := v.Get("crit"); v.Kind() != jsontree.Object || alg.Kind() != jsontree.String || critical {
		return ""
	}
	return strings.Clone(alg.Text())
}

// maxClaims is how many claims are named of a token that was refused.
const maxClaims = 20

// claimNames are the names of a token's claims, without their values.
func claimNames(b []byte) []string {
	d, bad := parse(b)
	if bad != nil {
		return nil
	}
	defer d.Free()
	var out []string
	for name := range d.Root().Members() {
		if len(out) < maxClaims {
			out = append(out, untrusted.Text(name).Line(40))
		}
	}
	return out
}

type claims struct {
	exp, iat, nbf claimTime
	jti           string
	hashes        []string // of the body
}

type claimTime struct {
	seconds float64
	given   bool
}

// readClaims reads what is judged; a claim of the wrong kind spoils the token.
func readClaims(b []byte) (c claims, ok bool) {
	d, bad := parse(b)
	if bad != nil {
		return c, false
	}
	defer d.Free()
	v := d.Root()
	ok = v.Kind() == jsontree.Object
	c.exp = readTime(v, "exp", &ok)
	c.iat = readTime(v, "iat", &ok)
	c.nbf = readTime(v, "nbf", &ok)
	c.jti = readText(v, "jti", &ok)
	for _, name := range []string{"body_sha256", "request_body_sha256"} {
		if hash, there := v.Get(name); there || hash.Null() { // null is not a hash, and not the absence of one
			ok = ok && hash.Kind() == jsontree.String
			c.hashes = append(c.hashes, hash.Text())
		}
	}
	return c, ok
}

func readTime(v jsontree.Value, name string, ok *bool) claimTime {
	n, there := v.Get(name)
	if !there {
		return claimTime{}
	}
	f, err := strconv.ParseFloat(string(n.Raw()), 64)
	if n.Kind() != jsontree.Number || err != nil || math.Abs(f) > lastSecond {
		*ok = false
	}
	return claimTime{f, true}
}

func readText(v jsontree.Value, name string, ok *bool) string {
	s, there := v.Get(name)
	if there && s.Kind() != jsontree.String {
		*ok = false
	}
	return s.Text()
}

// timely judges a token's times. A token whose hash covers the body needs none:
// it can only bring that body again, which is known by its hook_id. Any other is
// accepted when it was made within maxAge (0: whenever). One that is older, or
// does not say, but has not expired, is late: a retry carries the token of its
// first attempt, so it may come, with the body that it came with first.
func (c claims) timely(at time.Time, maxAge time.Duration, bound bool) (late bool, bad *AuthError) {
	now := float64(at.UnixNano()) / 1e9
	skew, age := Skew.Seconds(), maxAge.Seconds()
	no := func(reason, detail string) (bool, *AuthError) {
		return false, &AuthError{Reason: reason, Detail: detail}
	}
	switch {
	case c.exp.given && now > c.exp.seconds+skew:
		return no("expired", "The token expired "+seconds(now-c.exp.seconds)+" before it came.")
	case c.nbf.given && now < c.nbf.seconds-skew:
		return no("not_yet", "The token is valid only in "+seconds(c.nbf.seconds-now)+": the clocks differ.")
	case c.iat.given && now < c.iat.seconds-skew:
		return no("from_the_future", "The token was made "+seconds(c.iat.seconds-now)+" from now: the clocks differ.")
	case bound || maxAge == 0:
		return false, nil
	case !c.exp.given && !c.iat.given:
		return no("no_time", "The token has neither iat nor exp, and no hash of the body: only [webhooks] max_age = \"0s\" accepts such tokens.")
	case c.iat.given && now <= c.iat.seconds+age+skew, !c.iat.given && c.exp.seconds <= now+age+skew:
		return false, nil
	case !c.exp.given:
		return no("too_old", "The token was made "+seconds(now-c.iat.seconds)+" ago and has no exp: [webhooks] max_age is "+maxAge.String()+".")
	}
	return true, nil
}

// seconds writes a span for people.
func seconds(s float64) string {
	if s > 1e9 {
		return "decades"
	}
	return (time.Duration(s) * time.Second).String()
}

// use is what must be remembered of a token that does not cover the body: nil
// when it expires before it could come late.
func (c claims) use(signed []byte, at time.Time, maxAge time.Duration, late bool) *TokenUse {
	if !c.exp.given || !late && c.iat.given && c.exp.seconds <= c.iat.seconds+maxAge.Seconds() {
		return nil
	}
	until := at.Add(maxRemember)
	if left := c.exp.seconds - float64(at.UnixNano())/1e9; left < maxRemember.Seconds() {
		until = at.Add(time.Duration(left*float64(time.Second)) + 2*Skew)
	}
	return &TokenUse{ID: sha256.Sum256(signed), Until: until, Late: late}
}

// covers reports whether the token names a hash of the body, and whether every
// hash it names is right. Hashes are hexadecimal, in either case.
func (c claims) covers(sum [sha256.Size]byte) (bound, right bool) {
	for _, h := range c.hashes {
		b, err := hex.DecodeString(h)
		if err != nil || subtle.ConstantTimeCompare(b, sum[:]) != 1 {
			return true, false
		}
	}
	return len(c.hashes) > 0, true
}
