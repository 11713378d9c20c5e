package hook

import (
	"errors"
	"math"
	"strconv"
	"time"

	"github.com/golang-jwt/jwt/v5"

	"opdeck/api/jsontree"
	"opdeck/api/untrusted"
)

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
	tree, bad := parse(b)
	if bad != nil {
		return nil
	}
	defer tree.Free()
	v := tree.Root()
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
