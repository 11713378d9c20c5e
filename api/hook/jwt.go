package hook

import (
	"crypto/sha256"
	"crypto/subtle"
	"encoding/base64"
	"encoding/hex"
	"errors"
	"slices"
	"strings"
	"time"

	"github.com/golang-jwt/jwt/v5"

	"opdeck/api/secret"
	"opdeck/api/untrusted"
)

// The service only documents that deliveries carry a JWT made with the configured secret, so algorithms and age are
// settings: HMAC with the shared secret, and only the algorithms in the config. Key hints (kid, jku, x5u, jwk) are
// ignored.

const maxToken = 8 << 10 // bytes

var strict64 = base64.RawURLEncoding.Strict()

var errHeader = errors.New("the token's header is ambiguous or requires extensions")

// jwtVerifier accepts JSON Web Tokens in compact form.
type jwtVerifier struct {
	header     string
	algorithms []string
	keys       jwt.VerificationKeySet
	maxAge     time.Duration // 0: no limit
	seen       *replayGuard
}

func newJWTVerifier(header string, secrets []secret.Value, algorithms []string, maxAge time.Duration) *jwtVerifier {
	j := &jwtVerifier{header: header, algorithms: algorithms, maxAge: maxAge, seen: newReplayGuard(maxAge + 2*Skew)}
	for _, s := range secrets {
		j.keys.Keys = append(j.keys.Keys, []byte(s.Reveal()))
	}
	return j
}

func (*jwtVerifier) Name() string { return VerifyJWT }

func (j *jwtVerifier) Verify(d Delivery) (Verdict, error) {
	text, ok := single(d.Header, j.header)
	if !ok {
		return refuse("header", missing(d.Header, j.header))
	}
	var c claims
	token, err := j.parse(bearer(text), &c, d.At)
	var verdict Verdict
	var refused *AuthError
	if err == nil {
		verdict, refused = j.judge(d, token, &c)
	} else {
		refused = j.refusal(err, token, &c, d.At)
	}
	if refused != nil {
		refused.Algorithm, refused.Claims = untrusted.Text(algorithmOf(token)).Line(40), c.names
		return Verdict{}, refused
	}
	return verdict, nil
}

// parse verifies form, algorithm, signature, claims and times, in this order.
func (j *jwtVerifier) parse(text string, c *claims, at time.Time) (*jwt.Token, error) {
	if len(text) > maxToken || strings.ContainsAny(text, "\r\n") { // the decoder ignores line ends
		return nil, jwt.ErrTokenMalformed
	}
	p := jwt.NewParser(jwt.WithValidMethods(j.algorithms), jwt.WithStrictDecoding(), jwt.WithIssuedAt(),
		jwt.WithLeeway(Skew+1), // the parser excludes the boundary
		jwt.WithTimeFunc(func() time.Time { return at }))
	return p.ParseWithClaims(text, c, j.key)
}

// key refuses headers that the parser accepts too easily: names that repeat or differ in case, and critical
// extensions (RFC 7515 4.1.11).
func (j *jwtVerifier) key(t *jwt.Token) (any, error) {
	encoded, _, _ := strings.Cut(t.Raw, ".")
	head, err := strict64.DecodeString(encoded)
	if err != nil {
		return nil, errHeader
	}
	tree, bad := parse(head)
	if bad != nil {
		return nil, errHeader
	}
	defer tree.Free()
	if _, critical := t.Header["crit"]; critical || exactNames(tree.Root(), "alg", "crit") != nil {
		return nil, errHeader
	}
	return j.keys, nil
}

// algorithmOf returns the algorithm in a token's header, "" for none.
func algorithmOf(t *jwt.Token) string {
	if t == nil {
		return ""
	}
	alg, _ := t.Header["alg"].(string)
	return alg
}

// judge checks what the standard does not: the body, the age and the reuse of the token.
func (j *jwtVerifier) judge(d Delivery, token *jwt.Token, c *claims) (Verdict, *AuthError) {
	sum := sha256.Sum256(d.Body)
	bound, right := c.covers(sum)
	if !right {
		return Verdict{}, &AuthError{Reason: "body", Detail: "The token's hash does not match the body: the body was " +
			"changed on the way, or it is forged."}
	}
	signed := token.Raw[:strings.LastIndexByte(token.Raw, '.')]
	v := Verdict{Verifier: VerifyJWT, Authenticated: true, Bound: bound}
	v.OldSecret = len(j.keys.Keys) > 1 && token.Method.Verify(signed, token.Signature, j.keys.Keys[0]) != nil
	if bound || j.maxAge == 0 {
		return v, nil
	}
	late, bad := c.late(d.At, j.maxAge)
	if bad != nil {
		return Verdict{}, bad
	}
	if c.ID != "" && !late && !j.seen.accept(c.ID, sum, d.At) {
		return Verdict{}, &AuthError{Reason: ReasonTokenReused,
			Detail: "The token's id (jti) was used before with another body: it may have been captured. To accept one token " +
				"for many bodies, set [webhooks] max_age = \"0s\"."}
	}
	v.Token = c.use(signed, d.At, j.maxAge, late)
	return v, nil
}

// refusal is the error for a token that the parser refused, with the setting to change.
func (j *jwtVerifier) refusal(err error, token *jwt.Token, c *claims, at time.Time) *AuthError {
	alg := algorithmOf(token)
	switch {
	case errors.Is(err, jwt.ErrTokenMalformed):
		return &AuthError{Reason: "token", Detail: "The header " + j.header +
			" contains no JWT: three base64url parts with dots between them, the first two JSON."}
	case errors.Is(err, errHeader):
		return &AuthError{Reason: "algorithm", Detail: j.notAllowed("")}
	case !slices.Contains(j.algorithms, alg):
		return &AuthError{Reason: "algorithm", Detail: j.notAllowed(alg)}
	case errors.Is(err, jwt.ErrTokenSignatureInvalid):
		return &AuthError{Reason: "signature",
			Detail: "The signature does not match: the service's jwtSecret and the secret of [webhooks] differ."}
	case errors.Is(err, jwt.ErrTokenExpired) && c.ok:
		return &AuthError{Reason: "expired", Detail: "The token expired " + span(at.Sub(c.ExpiresAt.Time)) +
			" before it arrived."}
	case errors.Is(err, jwt.ErrTokenNotValidYet) && c.ok:
		return &AuthError{Reason: "not_yet",
			Detail: "The token is valid only in " + span(c.NotBefore.Sub(at)) + ": the clocks differ."}
	case errors.Is(err, jwt.ErrTokenUsedBeforeIssued) && c.ok:
		return &AuthError{Reason: "from_the_future",
			Detail: "The token was issued " + span(c.IssuedAt.Sub(at)) + " from now: the clocks differ."}
	}
	return &AuthError{Reason: "claims", Detail: "A claim has the wrong type: exp, iat and nbf are numbers of seconds, " +
		"jti and hashes are strings, none is null."}
}

// notAllowed says why an algorithm is refused, and which setting to change.
func (j *jwtVerifier) notAllowed(alg string) string {
	switch {
	case alg == "":
		return "The token's header has no readable algorithm, or requires extensions (crit)."
	case strings.EqualFold(alg, "none"):
		return "A token without a signature (alg none) is never accepted."
	case !slices.Contains(Algorithms, alg):
		return quote(alg) + " is not supported: only " + strings.Join(Algorithms, ", ") + ", which use the shared secret."
	}
	allowed := slices.Sorted(slices.Values(j.algorithms))
	return alg + " is not allowed: [webhooks] algorithms lists " + strings.Join(allowed, ", ") + "."
}

// late checks the age of a token that does not cover the body. One that is older than maxAge, or has no age, but has
// not expired, is late: a retry carries the token of the first attempt, so it is accepted only with its first body.
func (c *claims) late(at time.Time, maxAge time.Duration) (late bool, bad *AuthError) {
	most := maxAge + Skew
	switch {
	case c.ExpiresAt == nil && c.IssuedAt == nil:
		return false, &AuthError{Reason: "no_time", Detail: "The token has neither iat nor exp, and no hash of the body: " +
			"only [webhooks] max_age = \"0s\" accepts such tokens."}
	case c.IssuedAt != nil && at.Sub(c.IssuedAt.Time) <= most, c.IssuedAt == nil && c.ExpiresAt.Sub(at) <= most:
		return false, nil
	case c.ExpiresAt == nil:
		return false, &AuthError{Reason: "too_old", Detail: "The token was issued " + span(at.Sub(c.IssuedAt.Time)) +
			" ago and has no exp: [webhooks] max_age is " + maxAge.String() + "."}
	}
	return true, nil
}

// span formats a duration for people.
func span(d time.Duration) string {
	if d > 1e9*time.Second {
		return "decades"
	}
	return d.Truncate(time.Second).String()
}

// use is what must be stored of a token that does not cover the body; nil if it expires before it can be late.
func (c *claims) use(signed string, at time.Time, maxAge time.Duration, late bool) *TokenUse {
	if c.ExpiresAt == nil || !late && c.IssuedAt != nil && c.ExpiresAt.Sub(c.IssuedAt.Time) <= maxAge {
		return nil
	}
	until := at.Add(min(c.ExpiresAt.Sub(at), maxRemember-2*Skew) + 2*Skew)
	return &TokenUse{ID: sha256.Sum256([]byte(signed)), Until: until, Late: late}
}

// covers reports whether the token names a hash of the body (bound), and whether every hash that it names is right.
// Hashes are hexadecimal, in either case.
func (c *claims) covers(sum [sha256.Size]byte) (bound, right bool) {
	for _, h := range c.hashes {
		b, err := hex.DecodeString(h)
		if err != nil || subtle.ConstantTimeCompare(b, sum[:]) != 1 {
			return true, false
		}
	}
	return len(c.hashes) > 0, true
}
