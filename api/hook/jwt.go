package hook

import (
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
)

var strict64 = base64.RawURLEncoding.Strict()

// jwt accepts JSON Web Tokens in compact form.
type jwt struct {
	header string
	keys   [][]byte
	seen   *memory
}

func (*jwt) Name() string { return VerifyJWT }

func (j *jwt) Verify(d Delivery) (Verdict, error) {
	got, ok := single(d.Header, j.header)
	if !ok {
		return refuse("header")
	}
	token := bearer(got)
	head, claims, signature, ok := splitToken(token)
	if !ok {
		return refuse("token")
	}
	which := matching(j.keys, signature, token[:strings.LastIndexByte(token, '.')])
	if which < 0 {
		return refuse("signature")
	}
	if !isHS256(head) {
		return refuse("algorithm")
	}
	c, ok := readClaims(claims)
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

// splitToken takes a compact token apart: three parts of unpadded base64url in
// their only spelling.
func splitToken(token string) (head, claims, signature []byte, ok bool) {
	if len(token) > maxToken || strings.Count(token, ".") != 2 {
		return nil, nil, nil, false
	}
	var parts [3][]byte
	for i, p := range strings.Split(token, ".") {
		b, err := strict64.DecodeString(p)
		if err != nil || len(b) == 0 || strings.ContainsAny(p, "\r\n") { // the decoder skips line ends
			return nil, nil, nil, false
		}
		parts[i] = b
	}
	return parts[0], parts[1], parts[2], len(parts[2]) == sha256.Size
}

func isHS256(head []byte) bool {
	v, bad := parse(head)
	if bad != nil || v.kind != object {
		return false
	}
	alg, _ := v.get("alg")
	_, critical := v.get("crit") // RFC 7515 4.1.11: not understood, so refused
	return alg.kind == str && alg.text == hs256 && !critical
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
	v, bad := parse(b)
	if bad != nil || v.kind != object {
		return c, false
	}
	ok = true
	c.exp = readTime(v, "exp", &ok)
	c.iat = readTime(v, "iat", &ok)
	c.nbf = readTime(v, "nbf", &ok)
	c.jti = readText(v, "jti", &ok)
	for _, name := range []string{"body_sha256", "request_body_sha256"} {
		if _, there := v.get(name); there {
			c.hashes = append(c.hashes, readText(v, name, &ok))
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
