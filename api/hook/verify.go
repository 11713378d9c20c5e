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

// Limits of every verifier that knows a time.
const (
	Skew   = 60 * time.Second // clocks may differ by this much
	MaxAge = 5 * time.Minute  // of a delivery, unless Rules say otherwise
)

// maxRemember bounds how long a token that does not cover the body is remembered;
// one that is valid for longer is accepted late once more after that.
const maxRemember = 90 * 24 * time.Hour

// MinSecret is the shortest secret that is accepted, in bytes of its text.
const MinSecret = 32

// Delivery is what a verifier judges: the header and the raw body, before
// anything was read from it.
type Delivery struct {
	Header   http.Header
	Body     []byte
	Loopback bool      // the sender is this host, and no proxy is between
	At       time.Time // when it came
}

// Verdict says how a delivery was authenticated.
type Verdict struct {
	Verifier      string // jwt, header, standard_webhooks, none, manual
	Authenticated bool
	Bound         bool // the authentication covers the body; else it is only a hint
	OldSecret     bool // the secret that is on its way out was used

	// Token is set for a token that does not cover the body and may come again
	// when it is older than the rules allow. The inbox settles that.
	Token *TokenUse
}

// TokenUse ties a token that does not cover the body to the first body that it
// came with.
type TokenUse struct {
	ID    [sha256.Size]byte // of the token; reveals nothing of it
	Until time.Time         // when it can be forgotten
	// Late: the token is older than the rules allow, or does not say how old it
	// is, and has not expired. It counts only with the body that it came with
	// first.
	Late bool
}

// Verifier judges deliveries. It is safe for concurrent use.
type Verifier interface {
	Name() string
	// Verify returns an *AuthError for a delivery that is not accepted. Its
	// reason is for our log only: every failure is answered alike.
	Verify(Delivery) (Verdict, error)
}

// AuthError says why a delivery was not accepted.
type AuthError struct {
	Reason string // one of a few fixed words, for a counter: "signature", "expired"
	// Detail is a sentence for the operator of the receiver: what is wrong, and what
	// to set. It is safe to print and holds no secret.
	Detail    string
	Algorithm string   // what a JWT's header asks for, safe to print; "" when not known
	Claims    []string // the names of its claims, safe to print
}

// Error names the reason; it holds nothing of the delivery.
func (e *AuthError) Error() string { return "webhook not authenticated: " + e.Reason }

func refuse(reason, detail string) (Verdict, error) {
	return Verdict{}, &AuthError{Reason: reason, Detail: detail}
}

// ReasonTokenReused and TokenReused say that a token came before with another body.
const (
	ReasonTokenReused = "token_reused"
	TokenReused       = "The token was used before with another body and covers neither: it may have been captured. If " +
		"the service uses one token for many deliveries, set [webhooks] max_age above the token's lifetime."
)

// missing says that a header is not there once, and where else a token is.
func missing(h http.Header, name string) string {
	for other, values := range h {
		if other != name && len(values) == 1 && strings.HasPrefix(bearer(values[0]), "eyJ") &&
			strings.Count(values[0], ".") == 2 {
			return "The header " + name + " is missing, and " + untrusted.Text(other).Line(60) +
				" contains what looks like a token. Set [webhooks] header to the right name."
		}
	}
	return "The header " + name + " is missing, empty or repeated. Set [webhooks] header to the header that carries the " +
		"proof."
}

// The kinds of verifier (config key webhooks.verify).
const (
	VerifyJWT      = "jwt"
	VerifyHeader   = "header"
	VerifyStandard = "standard_webhooks"
	VerifyNone     = "none"
)

// Secrets are the secret in use and, while it is being replaced, the old one.
type Secrets struct {
	Now secret.Value
	Old secret.Value // empty: no rotation
}

// ParseSecrets reads the content of a secret file or variable: the secret, and
// in a second line the old one during rotation.
func ParseSecrets(content string) Secrets {
	now, rest, _ := strings.Cut(content, "\n")
	old, _, _ := strings.Cut(rest, "\n")
	return Secrets{Now: secret.New(strings.TrimSpace(now)), Old: secret.New(strings.TrimSpace(old))}
}

// SecretError says why a secret cannot be used; it does not show it.
type SecretError struct{ Why string }

// Error is a sentence for people.
func (e *SecretError) Error() string { return "webhook secret: " + e.Why }

func (s Secrets) check() error {
	if s.Now.Empty() {
		return &SecretError{"there is none; set secret_env or secret_file"}
	}
	for _, v := range s.list() {
		t := v.Reveal()
		variety := map[rune]bool{}
		for _, c := range t {
			variety[c] = true
		}
		switch low := strings.ToLower(t); {
		case len(t) < MinSecret:
			return &SecretError{fmt.Sprintf("it has %d bytes, at least %d are needed", len(t), MinSecret)}
		case len(variety) < 8, strings.Contains(low, "change") && strings.Contains(low, "me"),
			strings.Contains(low, "example"):
			return &SecretError{"it is a placeholder; make a random one"}
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

// Rules are what a verifier may accept. The zero value has the defaults named.
type Rules struct {
	Algorithms []string // of a JWT, from Algorithms; empty: HS256
	// MaxAge bounds how long ago a proof was made that does not cover the body, or
	// that a Standard Webhooks signature dates; 0: MaxAge. Negative: no bound, and
	// tokens without any time are accepted.
	MaxAge time.Duration
}

// NewVerifier is Rules.Verifier with the defaults.
func NewVerifier(kind, header string, secrets Secrets) (Verifier, error) {
	return Rules{}.Verifier(kind, header, secrets)
}

// Verifier makes the verifier of that kind. header is where a JWT or the header
// secret is found, "" for Authorization. The secret must be at least MinSecret
// bytes and no placeholder; the kind none takes no secret.
func (r Rules) Verifier(kind, header string, secrets Secrets) (Verifier, error) {
	if header == "" {
		header = "Authorization"
	}
	header = textproto.CanonicalMIMEHeaderKey(header)
	if kind == VerifyNone {
		if !secrets.Now.Empty() {
			return nil, &SecretError{"verify = \"none\" takes no secret; did you mean \"header\" or \"jwt\"?"}
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
			return nil, fmt.Errorf("webhooks: algorithms: %q is none of %s", a, strings.Join(Algorithms, ", "))
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
	return nil, fmt.Errorf("webhooks: verify = %q is none of jwt, header, standard_webhooks, none", kind)
}

// none accepts what this host sends, unverified.
type none struct{}

func (none) Name() string { return VerifyNone }

func (none) Verify(d Delivery) (Verdict, error) {
	if !d.Loopback {
		return refuse("not_loopback", "verify = \"none\" accepts deliveries from this host only, not through a proxy or "+
			"from a web page.")
	}
	return Verdict{Verifier: VerifyNone}, nil
}

// headerSecret compares one header with the secret. That proves the sender, and
// nothing about the body.
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
	for i, s := range h.secrets { // all of them, so that the time reveals nothing
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

// single returns the only value of a header; several are as bad as none.
func single(h http.Header, name string) (string, bool) {
	v := h[name]
	if len(v) != 1 || v[0] == "" {
		return "", false
	}
	return v[0], true
}

// bearer drops the scheme, which may be missing.
func bearer(s string) string {
	if scheme, rest, ok := strings.Cut(s, " "); ok && strings.EqualFold(scheme, "Bearer") {
		return strings.TrimLeft(rest, " ")
	}
	return s
}
