package sandbox

import (
	"crypto/hmac"
	"crypto/sha1"
	"crypto/sha256"
	"crypto/subtle"
	"encoding/base32"
	"encoding/base64"
	"encoding/binary"
	"encoding/hex"
	"encoding/json"
	"fmt"
	"strconv"
	"strings"
	"time"

	"github.com/golang-jwt/jwt/v5"
	"github.com/google/uuid"
)

// fingerprint replaces a token in the file, in logs and in statistics.
func fingerprint(token string) string {
	sum := sha256.Sum256([]byte(token))
	return hex.EncodeToString(sum[:12])
}

// newAccessToken is a JWT (HS256; iat, exp, sub, jti) or an opaque text. A
// marker is put in front of the signature, where it stays readable: the
// service itself knows tokens by fingerprint and never parses them.
func newAccessToken(st settings, now time.Time) string {
	if st.OpaqueTokens {
		return st.MarkerPrefix + base64.RawURLEncoding.EncodeToString(randomBytes(24))
	}
	claims := jwt.RegisteredClaims{Subject: st.UserID, ID: uuid.NewString(), IssuedAt: jwt.NewNumericDate(now),
		ExpiresAt: jwt.NewNumericDate(now.Add(time.Duration(st.AccessTTL)))}
	token, err := jwt.NewWithClaims(jwt.SigningMethodHS256, claims).SignedString(st.SigningKey)
	if err != nil {
		panic(err) // a byte key always signs
	}
	dot := strings.LastIndexByte(token, '.') + 1
	return token[:dot] + padded(st.MarkerPrefix) + token[dot:]
}

// padded fills up to whole groups of four, so that the segment stays base64.
func padded(marker string) string {
	for len(marker)%4 != 0 {
		marker += "0"
	}
	return marker
}

func newRefreshToken(st settings) string {
	return st.MarkerPrefix + base64.RawURLEncoding.EncodeToString(randomBytes(30)) + st.TokenSuffix
}

// shownTTL is how a lifetime is written in the answer.
func shownTTL(unit string, d time.Duration, now time.Time) json.RawMessage {
	n := int64(d / time.Second)
	switch unit {
	case "ms":
		n = d.Milliseconds()
	case "min":
		n = int64(d / time.Minute)
	case "epoch_s":
		n = now.Add(d).Unix()
	case "epoch_ms":
		n = now.Add(d).UnixMilli()
	case "string":
		return json.RawMessage(strconv.Quote(strconv.FormatInt(n, 10)))
	}
	return json.RawMessage(strconv.FormatInt(n, 10))
}

// validCode checks a TOTP code (RFC 6238: SHA-1, 30 s, 6 digits, one step of
// tolerance either way).
func validCode(secret, code string, now time.Time) bool {
	key, err := base32.StdEncoding.WithPadding(base32.NoPadding).DecodeString(
		strings.ToUpper(strings.TrimRight(secret, "=")))
	if err != nil {
		return false
	}
	for step := int64(-1); step <= 1; step++ {
		if subtle.ConstantTimeCompare([]byte(totp(key, now.Unix()/30+step)), []byte(code)) == 1 {
			return true
		}
	}
	return false
}

func totp(key []byte, counter int64) string {
	h := hmac.New(sha1.New, key)
	var b [8]byte
	binary.BigEndian.PutUint64(b[:], uint64(counter))
	h.Write(b[:])
	sum := h.Sum(nil)
	at := sum[len(sum)-1] & 0x0f
	return fmt.Sprintf("%06d", (binary.BigEndian.Uint32(sum[at:])&0x7fffffff)%1_000_000)
}
