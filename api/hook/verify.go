package hook

import (
	"cmp"
	"crypto/sha256"
	"crypto/subtle"
	"encoding/base64"
	"encoding/hex"
	"errors"
	"fmt"
	"math"
	"net/http"
	"net/textproto"
	"slices"
	"strconv"
	"strings"
	"sync"
	"time"

	"github.com/golang-jwt/jwt/v5"

	"opdeck/api/jsontree"
	"opdeck/api/secret"
	"opdeck/api/untrusted"
)

// Limits of every verifier that checks times.
const (
	Skew   = 60 * time.Second // allowed difference between clocks
	MaxAge = 5 * time.Minute  // of a delivery, unless Rules set another
)

// maxRemember bounds how long a token that does not cover the body is remembered; one that is valid for longer can be
// accepted late once more after that.
const maxRemember = 90 * 24 * time.Hour

// MinSecret is the shortest accepted secret, in bytes of its text.
const MinSecret = 32

// Delivery is the input of a verifier: the header and the raw body, before anything is decoded.
type Delivery struct {
	Header   http.Header
	Body     []byte
	Loopback bool      // the sender is this host, without a proxy between
	At       time.Time // when it arrived
}

// Verdict says how a delivery was authenticated.
type Verdict struct {
	Verifier      string // jwt, header, none, manual
	Authenticated bool
	Bound         bool // the authentication covers the body; else it is only a hint
	OldSecret     bool // the old secret of a rotation was used; for the log, it is not stored

	// Token is set for a token that does not cover the body and may be reused when older than the rules allow. The
	// inbox decides.
	Token *TokenUse
}

// TokenUse binds a token that does not cover the body to its first body.
type TokenUse struct {
	ID    [sha256.Size]byte // hash of the token
	Until time.Time         // when it can be forgotten
	// Late: the token is older than the rules allow, or has no age, and has not expired. It is accepted only with its
	// first body.
	Late bool
}

// Verifier authenticates deliveries. It is safe for concurrent use.
type Verifier interface {
	Name() string
	// Verify returns an *AuthError if it does not accept the delivery. The reason is for our log only: the sender
	// gets the same answer for every failure.
	Verify(Delivery) (Verdict, error)
}

// AuthError is why a delivery was not accepted.
type AuthError struct {
	Reason string // one of a few fixed words, for a counter: "signature", "expired"
	// Detail is a sentence for the operator of the receiver: what is wrong, and which setting to change. It is safe
	// to print and holds no secret.
	Detail    string
	Algorithm string   // from a JWT's header, safe to print; "" if not known
	Claims    []string // the names of its claims, safe to print
}

// Error names the reason, without text of the delivery.
func (e *AuthError) Error() string { return "webhook not authenticated: " + e.Reason }

func refuse(reason, detail string) (Verdict, error) {
	return Verdict{}, &AuthError{Reason: reason, Detail: detail}
}

// ReasonTokenReused and TokenReused: the token was used before with another body.
const (
	ReasonTokenReused = "token_reused"
	TokenReused       = "The token was used before with another body and covers neither: it may have been captured. If " +
		"the service uses one token for many deliveries, set [webhooks] max_age above the token's lifetime."
)

// missing says that a header is not present exactly once, and which other one holds a token.
func missing(h http.Header, name string) string {
	for other, values := range h {
		if other != name && len(values) == 1 && strings.HasPrefix(bearer(values[0]), "eyJ") &&
			strings.Count(values[0], ".") == 2 {
			return "The delivery has no header " + name + ", and " + untrusted.Text(other).Line(60) +
				" contains what looks like a token. If that is the signature, write its name in [webhooks] header."
		}
	}
	what := "no header " + name
	if len(h.Values(name)) > 0 {
		what = "the header " + name + " empty or more than once"
	}
	return "The delivery has " + what + ". If the service signs in another header, write its name in [webhooks] header."
}

// The kinds of verifier (config key webhooks.verify).
const (
	VerifyJWT    = "jwt"
	VerifyHeader = "header"
	VerifyNone   = "none"
)

// Secrets are the current secret and, during a rotation, the old one.
type Secrets struct {
	Now secret.Value
	Old secret.Value // empty: no rotation
}

// ParseSecrets parses a secret file or variable: the secret and, during a rotation, the old one on a second line.
func ParseSecrets(content string) Secrets {
	now, rest, _ := strings.Cut(content, "\n")
	old, _, _ := strings.Cut(rest, "\n")
	return Secrets{Now: secret.New(strings.TrimSpace(now)), Old: secret.New(strings.TrimSpace(old))}
}

// SecretError is why a secret cannot be used; it does not show the secret.
type SecretError struct{ Why string }

// Error is a sentence for people.
func (e *SecretError) Error() string { return "webhook secret: " + e.Why }

func (s Secrets) check() error {
	if s.Now.Empty() {
		return &SecretError{"it is not set; use secret_env or secret_file"}
	}
	for _, v := range s.list() {
		t := v.Reveal()
		variety := map[rune]bool{}
		for _, c := range t {
			variety[c] = true
		}
		switch low := strings.ToLower(t); {
		case len(t) < MinSecret:
			return &SecretError{fmt.Sprintf("it has %d bytes; at least %d are required", len(t), MinSecret)}
		case len(variety) < 8, strings.Contains(low, "change") && strings.Contains(low, "me"),
			strings.Contains(low, "example"):
			return &SecretError{"it is a placeholder; generate a random one"}
		}
	}
	return nil
}

func (s Secrets) list() []secret.Value {
	if s.Old.Empty() {
		return []secret.Value{s.Now}
	}
	return []secret.Value{s.Now, s.Old}
}

// Rules say what a verifier accepts. The zero value has the defaults below.
type Rules struct {
	Algorithms []string // of a JWT, from Algorithms; empty: HS256
	// MaxAge bounds the age of a proof that does not cover the body; 0: the constant MaxAge. Negative: no limit, and
	// tokens without any time are accepted.
	MaxAge time.Duration
}

// NewVerifier is Rules.Verifier with the defaults.
func NewVerifier(kind, header string, secrets Secrets) (Verifier, error) {
	return Rules{}.Verifier(kind, header, secrets)
}

// Verifier returns a verifier of that kind. header is the header field with the JWT or the secret, "" for
// Authorization. The secret must be at least MinSecret bytes and not a placeholder; the kind none takes no secret. A
// bad secret is a *SecretError.
func (r Rules) Verifier(kind, header string, secrets Secrets) (Verifier, error) {
	if header == "" {
		header = "Authorization"
	}
	header = textproto.CanonicalMIMEHeaderKey(header)
	if kind == VerifyNone {
		if !secrets.Now.Empty() {
			return nil, &SecretError{"verify = \"none\" uses no secret; did you mean \"header\" or \"jwt\"?"}
		}
		return none{}, nil
	}
	if err := secrets.check(); err != nil {
		return nil, err
	}
	if len(r.Algorithms) == 0 {
		r.Algorithms = []string{HS256}
	}
	for _, a := range r.Algorithms {
		if !slices.Contains(Algorithms, a) {
			return nil, fmt.Errorf("webhooks: algorithms: %q is not one of %s", a, strings.Join(Algorithms, ", "))
		}
	}
	age := max(cmp.Or(r.MaxAge, MaxAge), 0)
	switch kind {
	case VerifyJWT:
		return newJWTVerifier(header, secrets.list(), r.Algorithms, age), nil
	case VerifyHeader:
		return &headerSecret{header: header, secrets: secrets.list()}, nil
	}
	return nil, fmt.Errorf("webhooks: verify = %q is not one of jwt, header, none", kind)
}

// none accepts any delivery from this host, unverified.
type none struct{}

func (none) Name() string { return VerifyNone }

func (none) Verify(d Delivery) (Verdict, error) {
	if !d.Loopback {
		return refuse("not_loopback", "verify = \"none\" accepts deliveries from this host only, not through a proxy or "+
			"from a web page.")
	}
	return Verdict{Verifier: VerifyNone}, nil
}

// headerSecret compares a header field with the secret. That authenticates the sender, but not the body.
type headerSecret struct {
	header  string
	secrets []secret.Value
}

func (*headerSecret) Name() string { return VerifyHeader }

func (h *headerSecret) Verify(d Delivery) (Verdict, error) {
	got, ok := single(d.Header, h.header)
	if !ok {
		return refuse("header", missing(d.Header, h.header))
	}
	sum := sha256.Sum256([]byte(bearer(got)))
	which := -1
	for i, s := range h.secrets { // always compare all, for constant time
		want := sha256.Sum256([]byte(s.Reveal()))
		if subtle.ConstantTimeCompare(sum[:], want[:]) == 1 {
			which = i
		}
	}
	if which < 0 {
		return refuse("secret", "The secret in "+h.header+" does not match [webhooks].")
	}
	return Verdict{Verifier: VerifyHeader, Authenticated: true, OldSecret: which > 0}, nil
}

// single returns the only value of a header; ok is false for none or several.
func single(h http.Header, name string) (string, bool) {
	v := h[name]
	if len(v) != 1 || v[0] == "" {
		return "", false
	}
	return v[0], true
}

// bearer drops the scheme, if there is one.
func bearer(s string) string {
	if scheme, rest, ok := strings.Cut(s, " "); ok && strings.EqualFold(scheme, "Bearer") {
		return strings.TrimLeft(rest, " ")
	}
	return s
}

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
	header, bad := parse(head)
	if bad != nil {
		return nil, errHeader
	}
	if _, critical := t.Header["crit"]; critical || exactNames(header, "alg", "crit") != nil {
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

// HS256 is the algorithm that is allowed if the config names none.
const HS256 = "HS256"

// Algorithms are the JWT algorithms that can be verified. All use the shared secret: with a public-key one an
// attacker could sign with the public key, and "none" is not a signature.
var Algorithms = []string{HS256, "HS384", "HS512"}

// claims are the claims of a token that are checked. The embedded ones implement the parser's getters; they are
// decoded here, because encoding/json accepts names that repeat or differ in case, and null for any value.
type claims struct {
	jwt.RegisteredClaims
	hashes []string // of the body
	names  []string // of all claims, safe to print
	ok     bool     // each checked claim has the right type
}

const maxClaims = 20 // how many names are kept

// UnmarshalJSON never fails: Validate, which the parser calls after it checked the signature, reports unusable
// claims.
func (c *claims) UnmarshalJSON(b []byte) error {
	v, bad := parse(b)
	if bad != nil {
		return nil
	}
	c.ok = v.Kind() == jsontree.Object &&
		exactNames(v, "exp", "iat", "nbf", "jti", "body_sha256", "request_body_sha256") == nil
	for name, value := range v.Members() {
		if len(c.names) < maxClaims {
			c.names = append(c.names, untrusted.Text(name).Line(40))
		}
		switch name {
		case "exp":
			c.ExpiresAt = c.time(value)
		case "iat":
			c.IssuedAt = c.time(value)
		case "nbf":
			c.NotBefore = c.time(value)
		case "jti":
			c.ID = c.text(value)
		case "body_sha256", "request_body_sha256":
			c.hashes = append(c.hashes, c.text(value))
		}
	}
	return nil
}

// Validate implements jwt.ClaimsValidator.
func (c *claims) Validate() error {
	if !c.ok {
		return errors.New("claims that cannot be used")
	}
	return nil
}

func (c *claims) time(v jsontree.Value) *jwt.NumericDate {
	f, err := strconv.ParseFloat(string(v.Raw()), 64)
	if v.Kind() != jsontree.Number || err != nil || math.Abs(f) > lastSecond {
		c.ok = false
		return nil
	}
	whole, fraction := math.Modf(f)
	return &jwt.NumericDate{Time: time.Unix(int64(whole), int64(fraction*1e9))}
}

func (c *claims) text(v jsontree.Value) string {
	c.ok = c.ok && v.Kind() == jsontree.String
	return v.Text()
}

// replayGuard remembers the body of each id (jti) of an unbound token for as long as the token can be accepted. A
// retry may repeat its token; the same token with another body is stolen.
type replayGuard struct {
	keep time.Duration

	mu    sync.Mutex // guards the maps
	now   map[[sha256.Size]byte][sha256.Size]byte
	then  map[[sha256.Size]byte][sha256.Size]byte // the earlier half
	moved time.Time                               // when now last became then
}

const maxRemembered = 1 << 16 // token ids in one half; more of them only shorten the time

func newReplayGuard(keep time.Duration) *replayGuard {
	return &replayGuard{keep: keep, now: map[[sha256.Size]byte][sha256.Size]byte{}}
}

// accept records id and reports whether it is new or has the same body as before.
func (m *replayGuard) accept(id string, body [sha256.Size]byte, at time.Time) bool {
	key := sha256.Sum256([]byte(id))
	m.mu.Lock()
	defer m.mu.Unlock()
	if len(m.now) >= maxRemembered || at.Sub(m.moved) > m.keep {
		m.then, m.now, m.moved = m.now, map[[sha256.Size]byte][sha256.Size]byte{}, at
	}
	old, seen := m.now[key]
	if !seen {
		old, seen = m.then[key]
	}
	if seen {
		return old == body
	}
	m.now[key] = body
	return true
}
