package sandbox

import (
	"context"
	"database/sql"
	"encoding/json"
	"errors"
	"net/http"
	"strings"
	"time"
)

type tokenJSON struct {
	AccessToken  string          `json:"accessToken"`
	RefreshToken string          `json:"refreshToken"`
	UserID       string          `json:"UserId,omitempty"` // login
	GUID         string          `json:"guid,omitempty"`   // refresh
	AccessTTL    json.RawMessage `json:"accessTtl"`
	RefreshTTL   json.RawMessage `json:"refreshTtl"`
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
	case c.st.TOTPSecret != "" && in.Code == "":
		outcome = textCodeNeeded
	case c.st.TOTPSecret != "" && !validCode(c.st.TOTPSecret, in.Code, c.at):
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
	kill := `UPDATE pair SET access_dead = 1 WHERE access_dead = 0`
	if c.st.StrictLogin {
		kill = `UPDATE pair SET access_dead = 1, refresh_dead = 1 WHERE access_dead = 0 OR refresh_dead = 0`
	}
	if err := execute(c.ctx, tx, kill); err != nil {
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
		outcome, err := refreshOutcome(c, tx, fingerprint(c.params[0]))
		switch {
		case err != nil:
			return err
		case outcome != "":
			return refuse(http.StatusUnauthorized, outcome)
		}
		if err := killAll(c.ctx, tx); err != nil {
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
	case c.st.TOTPSecret != "":
		return textCodeNeeded, nil
	}
	return "", nil
}

func killAll(ctx context.Context, q querier) error {
	return execute(ctx, q, `UPDATE pair SET access_dead = 1, refresh_dead = 1 WHERE access_dead = 0 OR refresh_dead = 0`)
}

// issue stores a new pair; only fingerprints of the tokens are stored.
func issue(c *call, tx *sql.Tx, origin string) (tokenJSON, error) {
	access, refresh := newAccessToken(c.st, c.now), newRefreshToken(c.st)
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
		AccessTTL:  shownTTL(c.st.TTLUnit, at, c.now),
		RefreshTTL: shownTTL(c.st.TTLUnit, rt, c.now)}, err
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
	err := c.ro.QueryRowContext(c.ctx, `SELECT access_until, access_dead FROM pair WHERE access = ?`,
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

// ForeignLogin simulates a login by another client, with all its effects on the current pairs.
func (s *store) ForeignLogin(ctx context.Context) error {
	return s.change(ctx, func(c *call, tx *sql.Tx) error {
		_, err := newLogin(c, tx, "foreign")
		return err
	})
}

// Revoke ends every pair of the account.
func (s *store) Revoke(ctx context.Context) error {
	return s.change(ctx, func(c *call, tx *sql.Tx) error { return killAll(ctx, tx) })
}
