package hook

import (
	"cmp"
	"crypto/sha256"
	"crypto/subtle"
	"fmt"
	"net/http"
	"net/textproto"
	"slices"
	"strings"
	"time"

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
	Verifier      string // jwt, header, standard_webhooks, none, manual
	Authenticated bool
	Bound         bool // the authentication covers the body; else it is only a hint
	OldSecret     bool // the old secret of a rotation was used

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
	VerifyJWT      = "jwt"
	VerifyHeader   = "header"
	VerifyStandard = "standard_webhooks"
	VerifyNone     = "none"
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
	// MaxAge bounds the age of a proof that does not cover the body, or of a Standard Webhooks signature; 0: the
	// constant MaxAge. Negative: no limit, and tokens without any time are accepted.
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
	case VerifyStandard:
		keys, err := standardKeys(secrets)
		if err != nil {
			return nil, err
		}
		return &standard{keys: keys, maxAge: age}, nil
	}
	return nil, fmt.Errorf("webhooks: verify = %q is not one of jwt, header, standard_webhooks, none", kind)
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
