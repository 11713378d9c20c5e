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
)

// The service documents only that deliveries carry a JWT made with the
// configured secret. This is the narrowest reading of that: HMAC-SHA256 and no
// other algorithm, whatever the token's header asks for; key hints (kid, jku,
// x5u, jwk) are not looked at.

const (
	maxToken = 8 << 10 // bytes
	hs256    = "HS256"

	usualHead = "eyJhbGciOiJIUzI1NiIsInR5cCI6IkpXVCJ9" // {"alg":"HS256","typ":"JWT"}
)

var strict64 = base64.RawURLEncoding.Strict()

// jwt accepts JSON Web Tokens in compact form.
type jwt struct {
	header string
	keys   []*signingKey
	seen   *memory
}

func (*jwt) Name() string { return VerifyJWT }

func (j *jwt) Verify(d Delivery) (Verdict, error) {
	got, ok := single(d.Header, j.header)
	if !ok {
		return refuse("header")
	}
	token := bearer(got)
	t, ok := splitToken(token)
	if !ok {
		return refuse("token")
	}
	which := matching(j.keys, t.signature, t.signed)
	if which < 0 {
		return refuse("signature")
	}
	if !t.usual && !isHS256(t.head) {
		return refuse("algorithm")
	}
	c, ok := readClaims(t.claims)
	if !ok {
		return refuse("claims")
	}
	if reason := c.timely(d.At); reason != "" {
		return refuse(reason)
	}
	sum := sha256.Sum256(d.Body)
	bound, right := c.covers(sum)
	if !right {
		return refuse("body")
	}
	if !bound && c.jti != "" && !j.seen.first(c.jti, sum, d.At) {
		return refuse("token_reused")
	}
	return Verdict{Verifier: VerifyJWT, Authenticated: true, Bound: bound, OldSecret: which > 0}, nil
}

// tokenParts are the parts of a compact token.
type tokenParts struct {
	signed, head, claims, signature []byte // the first as it is written, the others decoded

	usual bool // the head is the one that nearly everybody writes, HS256
}

// splitToken takes a compact token apart: three parts of unpadded base64url in
// their only spelling.
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
		if out, err = strict64.AppendDecode(out, part.text); err != nil || len(out) == from {
			return t, false
		}
		*part.at = out[from:len(out):len(out)]
	}
	t.usual = string(head) == usualHead
	return t, len(t.signature) == sha256.Size
}

func isHS256(head []byte) bool {
	v, bad := parse(head)
	if bad != nil {
		return false
	}
	defer v.free()
	alg, _ := v.get("alg")
	_, critical := v.get("crit") // RFC 7515 4.1.11: not understood, so refused
	return v.kind == object && alg.kind == str && alg.text == hs256 && !critical
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
	defer d.free()
	v := d.value
	ok = v.kind == object
	c.exp = readTime(v, "exp", &ok)
	c.iat = readTime(v, "iat", &ok)
	c.nbf = readTime(v, "nbf", &ok)
	c.jti = readText(v, "jti", &ok)
	for _, name := range []string{"body_sha256", "request_body_sha256"} {
		if hash, there := v.get(name); there || hash.null() { // null is no hash, and not the absence of one
			ok = ok && hash.kind == str
			c.hashes = append(c.hashes, hash.text)
		}
	}
	return c, ok
}

func readTime(v value, name string, ok *bool) claimTime {
	n, there := v.get(name)
	if !there {
		return claimTime{}
	}
	f, err := strconv.ParseFloat(string(n.raw), 64)
	if n.kind != number || err != nil || math.Abs(f) > lastSecond {
		*ok = false
	}
	return claimTime{f, true}
}

func readText(v value, name string, ok *bool) string {
	s, there := v.get(name)
	if there && s.kind != str {
		*ok = false
	}
	return s.text
}

// timely returns "" for a token of the last MaxAge. Without iat, exp must show
// that: a token that ends much later could be replayed until then.
func (c claims) timely(at time.Time) string {
	now := float64(at.UnixNano()) / 1e9
	skew, age := Skew.Seconds(), MaxAge.Seconds()
	switch {
	case !c.exp.given && !c.iat.given:
		return "no_time"
	case c.exp.given && now > c.exp.seconds+skew:
		return "expired"
	case c.nbf.given && now < c.nbf.seconds-skew:
		return "not_yet"
	case c.iat.given && now < c.iat.seconds-skew:
		return "from_the_future"
	case c.iat.given && now > c.iat.seconds+age+skew:
		return "too_old"
	case !c.iat.given && c.exp.seconds > now+age+skew:
		return "lives_too_long"
	}
	return ""
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
