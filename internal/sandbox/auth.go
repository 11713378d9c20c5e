package sandbox

import (
	"crypto/sha256"
	"database/sql"
	"encoding/base64"
	"encoding/hex"
	"errors"
	"net/http"
	"strings"
	"time"

	"github.com/golang-jwt/jwt/v5"
	"github.com/google/uuid"
)

type tokenJSON struct {
	AccessToken  string `json:"accessToken"`
	RefreshToken string `json:"refreshToken"`
	UserID       string `json:"UserId,omitempty"` // login
	GUID         string `json:"guid,omitempty"`   // refresh
	AccessTTL    int64  `json:"accessTtl"`
	RefreshTTL   int64  `json:"refreshTtl"`
}

const (
	textCodeNeeded = "Two-factor authentication code required"
	textCodeWrong  = "Invalid two-factor authentication code"
	textBadLogin   = "Invalid login or password"
	textNoRefresh  = "Invalid or expired refresh token"
	textBadAccess  = "Invalid or expired access token"
	textRevoked    = "Token revoked. Please log in again"
)

type loginIn struct{ Login, Password, Code string }

// login: POST /v2/auth/login.
func login(c *call, in loginIn) (any, error) {
	outcome := ""
	switch {
	case in.Login == "" || in.Password == "":
		return nil, refuse(http.StatusBadRequest, "login and password are required")
	case in.Login != c.st.Login || in.Password != c.st.Password:
		outcome = textBadLogin
	case c.st.LoginCode != "" && in.Code == "":
		outcome = textCodeNeeded
	case c.st.LoginCode != "" && in.Code != c.st.LoginCode:
		outcome = textCodeWrong
	}
	if outcome != "" {
		return nil, refuse(http.StatusUnauthorized, outcome)
	}
	var out tokenJSON
	err := c.write(c.ctx, func(tx *sql.Tx) (err error) {
		out, err = newLogin(c, tx, "login")
		return err
	})
	return out, err
}

// newLogin revokes older access tokens (and with StrictLogin refresh tokens) and issues a pair.
func newLogin(c *call, tx *sql.Tx, origin string) (tokenJSON, error) {
	if err := revoke(c, tx, c.st.StrictLogin); err != nil {
		return tokenJSON{}, err
	}
	out, err := issue(c, tx, origin)
	out.UserID = c.st.UserID
	return out, err
}

// refresh: GET /v2/auth/refresh/{token}. It revokes every session of the account; a token works once.
func refresh(c *call) (any, error) {
	var out tokenJSON
	err := c.write(c.ctx, func(tx *sql.Tx) error {
		outcome, err := refreshOutcome(c, tx, fingerprint(c.param("token")))
		switch {
		case err != nil:
			return err
		case outcome != "":
			return refuse(http.StatusUnauthorized, outcome)
		}
		if err := revoke(c, tx, true); err != nil {
			return err
		}
		out, err = issue(c, tx, "refresh")
		out.GUID = c.st.UserID
		return err
	})
	return out, err
}

// refreshOutcome is "" for a valid token, else the error text.
func refreshOutcome(c *call, tx *sql.Tx, presented string) (string, error) {
	var until int64
	var dead bool
	err := tx.QueryRowContext(c.ctx, `SELECT refresh_until, refresh_dead FROM pair WHERE refresh = ?`,
		presented).Scan(&until, &dead)
	switch {
	case errors.Is(err, sql.ErrNoRows):
		return textNoRefresh, nil
	case err != nil:
		return "", err
	case dead:
		return textRevoked, nil
	case until <= c.at.UnixNano():
		return textNoRefresh, nil
	case c.st.LoginCode != "":
		return textCodeNeeded, nil
	}
	return "", nil
}

// revoke ends all access tokens, and with refresh all refresh tokens too.
func revoke(c *call, tx *sql.Tx, refresh bool) error {
	return execute(c.ctx, tx, `UPDATE pair SET access_dead = 1, refresh_dead = max(refresh_dead, ?)
		WHERE access_dead = 0 OR refresh_dead = 0`, refresh)
}

// issue stores a new pair; only fingerprints of the tokens are stored.
func issue(c *call, tx *sql.Tx, origin string) (tokenJSON, error) {
	access, refresh := newAccessToken(c.st, c.at), base64.RawURLEncoding.EncodeToString(randomBytes(30))
	at, rt := time.Duration(c.st.AccessTTL), time.Duration(c.st.RefreshTTL)
	err := execute(c.ctx, tx,
		`INSERT INTO pair(access, refresh, origin, issued, access_until, refresh_until) VALUES(?, ?, ?, ?, ?, ?)`,
		fingerprint(access), fingerprint(refresh), origin, c.at.UnixNano(), c.at.Add(at).UnixNano(), c.at.Add(rt).UnixNano())
	if err != nil {
		return tokenJSON{}, err
	}
	err = execute(c.ctx, tx, `DELETE FROM pair WHERE access_dead = 1 AND refresh_until < ?`,
		c.at.Add(-24*time.Hour).UnixNano())
	return tokenJSON{AccessToken: access, RefreshToken: refresh,
		AccessTTL: int64(at / time.Second), RefreshTTL: int64(rt / time.Second)}, err
}

// authorize admits the call if its access token is valid.
func authorize(c *call) error {
	scheme, token, _ := strings.Cut(c.r.Header.Get("Authorization"), " ")
	token = strings.TrimSpace(token)
	if !strings.EqualFold(scheme, "Bearer") || token == "" {
		return unauthorized("Missing access token")
	}
	c.token = fingerprint(token)
	var until int64
	var dead bool
	err := c.db.QueryRowContext(c.ctx, `SELECT access_until, access_dead FROM pair WHERE access = ?`,
		c.token).Scan(&until, &dead)
	switch {
	case errors.Is(err, sql.ErrNoRows):
	case err != nil:
		return err
	case !dead && c.at.UnixNano() < until:
		return nil
	}
	return unauthorized(textBadAccess)
}

func unauthorized(message string) error {
	r := refuse(http.StatusUnauthorized, message)
	r.header = http.Header{"Www-Authenticate": {`Bearer error="invalid_token"`}}
	return r
}

// fingerprint replaces a token in the file, in logs and in statistics.
func fingerprint(token string) string {
	sum := sha256.Sum256([]byte(token))
	return hex.EncodeToString(sum[:12])
}

// newAccessToken is a JWT (HS256; iat, exp, sub, jti). The service itself knows tokens by fingerprint and never parses
// them.
func newAccessToken(st settings, now time.Time) string {
	claims := jwt.RegisteredClaims{Subject: st.UserID, ID: uuid.NewString(), IssuedAt: jwt.NewNumericDate(now),
		ExpiresAt: jwt.NewNumericDate(now.Add(time.Duration(st.AccessTTL)))}
	token, err := jwt.NewWithClaims(jwt.SigningMethodHS256, claims).SignedString(st.SigningKey)
	if err != nil {
		panic(err) // a byte key always signs
	}
	return token
}
