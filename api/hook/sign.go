package hook

import (
	"crypto/sha256"
	"encoding/base64"
	"encoding/hex"
	"fmt"
	"net/http"
	"net/textproto"
	"slices"
	"strconv"
	"time"

	"github.com/golang-jwt/jwt/v5"
	"github.com/google/uuid"

	"opdeck/api/secret"
)

// Signer sets the header fields that a Verifier of the same kind checks.
type Signer func(h http.Header, body []byte, at time.Time) error

// Signer is the counterpart of Verifier, for one secret. A JWT covers the body and uses the first of the algorithms.
// The kind none sets nothing.
func (r Rules) Signer(kind, header string, key secret.Value) (Signer, error) {
	if header == "" {
		header = "Authorization"
	}
	header = textproto.CanonicalMIMEHeaderKey(header)
	if kind == VerifyNone {
		return func(http.Header, []byte, time.Time) error { return nil }, nil
	}
	if err := (Secrets{Now: key}).check(); err != nil {
		return nil, err
	}
	alg := HS256
	if len(r.Algorithms) > 0 {
		alg = r.Algorithms[0]
	}
	switch kind {
	case VerifyJWT:
		if !slices.Contains(Algorithms, alg) {
			return nil, fmt.Errorf("webhooks: cannot sign with %q", alg)
		}
		return func(h http.Header, body []byte, at time.Time) error {
			token, err := signJWT(alg, key, BodyClaims(body, at))
			if err != nil {
				return fmt.Errorf("webhooks: %w", err)
			}
			h[header] = []string{"Bearer " + token}
			return nil
		}, nil
	case VerifyHeader:
		return func(h http.Header, _ []byte, _ time.Time) error {
			h[header] = []string{key.Reveal()}
			return nil
		}, nil
	case VerifyStandard:
		k, err := standardKey(key.Reveal())
		if err != nil {
			return nil, err
		}
		return standardSigner(k, func(body []byte) string {
			if e, err := Decode(body); err == nil {
				return e.ID // the same when the delivery is repeated
			}
			return "msg_" + uuid.NewString()
		}), nil
	}
	return nil, fmt.Errorf("webhooks: cannot sign as %q", kind)
}

// StandardSigner signs as the kind standard_webhooks, with an id of the caller's own. The key has at least MinSecret
// bytes.
func StandardSigner(key secret.Value, id string) (Signer, error) {
	if err := (Secrets{Now: key}).check(); err != nil {
		return nil, err
	}
	k, err := standardKey(key.Reveal())
	if err != nil {
		return nil, err
	}
	return standardSigner(k, func([]byte) string { return id }), nil
}

func standardSigner(key []byte, name func(body []byte) string) Signer {
	return func(h http.Header, body []byte, at time.Time) error {
		id := name(body)
		stamp := strconv.FormatInt(at.Unix(), 10)
		signature := sum(key, []byte(id+"."+stamp+"."), body)
		h[headerID], h[headerTimestamp] = []string{id}, []string{stamp}
		h[headerSignature] = []string{"v1," + base64.StdEncoding.EncodeToString(signature)}
		return nil
	}
}

// BodyClaims returns the claims of a token that covers body and is valid for MaxAge.
func BodyClaims(body []byte, at time.Time) map[string]any {
	sum := sha256.Sum256(body)
	return map[string]any{
		"iat": at.Unix(), "exp": at.Add(MaxAge).Unix(), "jti": uuid.NewString(), "body_sha256": hex.EncodeToString(sum[:]),
	}
}

func signJWT(alg string, key secret.Value, claims map[string]any) (string, error) {
	token := jwt.NewWithClaims(jwt.GetSigningMethod(alg), jwt.MapClaims(claims))
	return token.SignedString([]byte(key.Reveal()))
}
