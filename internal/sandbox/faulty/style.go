package faulty

import (
	"crypto/rand"
	"encoding/json"
	"net/http"
	"strings"
	"time"

	"github.com/golang-jwt/jwt/v5"

	"opdeck/api/limit"
	"opdeck/internal/sandbox"
)

// Style is how the service's sign-in looks where its documents leave that open.
type Style struct {
	Opaque bool   // access tokens are no JWT
	Marker string // [A-Za-z0-9_-]; found in every token, for leak scans
	Suffix string // put behind every refresh token: odd characters, length
}

// tokens is the answer of a login and of a refresh.
type tokens struct {
	AccessToken  string          `json:"accessToken"`
	RefreshToken string          `json:"refreshToken"`
	UserID       string          `json:"UserId,omitempty"`
	GUID         string          `json:"guid,omitempty"`
	AccessTTL    json.RawMessage `json:"accessTtl"`
	RefreshTTL   json.RawMessage `json:"refreshTtl"`
}

// styled gives the answer of a login or a refresh the style. The service knows tokens by their fingerprints alone, so
// others can take their place.
func (c *call) styled(a answer) answer {
	if a.status != http.StatusOK || c.rt.Class != limit.Login && c.rt.Class != limit.Refresh ||
		c.in.style == (Style{}) && c.general.skew == 0 {
		return a
	}
	if err := c.restyle(&a); err != nil {
		return errorAnswer(http.StatusInternalServerError, err.Error())
	}
	return a
}

func (c *call) restyle(a *answer) error {
	var v tokens
	if err := json.Unmarshal(a.body, &v); err != nil {
		return err
	}
	st := c.in.style
	access, refresh := accessToken(v.AccessToken, st, c.general.skew), st.Marker+v.RefreshToken+st.Suffix
	err := c.in.service.Alter(c.ctx, func(tx sandbox.Tx) error {
		return one(c.ctx, tx, `UPDATE pair SET access = ?, refresh = ? WHERE refresh = ?`, fingerprint(access),
			fingerprint(refresh), fingerprint(v.RefreshToken))
	})
	v.AccessToken, v.RefreshToken = access, refresh
	a.body = encode(v)
	return err
}

// accessToken is an access token in the style. A marker is put in front of the signature of a JWT, where it stays
// readable.
func accessToken(token string, st Style, skew time.Duration) string {
	if st.Opaque {
		return st.Marker + rand.Text()
	}
	var claims jwt.RegisteredClaims
	if _, _, err := jwt.NewParser().ParseUnverified(token, &claims); err != nil {
		panic(err) // the service made it
	}
	claims.IssuedAt.Time, claims.ExpiresAt.Time = claims.IssuedAt.Add(skew), claims.ExpiresAt.Add(skew)
	signed, err := jwt.NewWithClaims(jwt.SigningMethodHS256, claims).SignedString([]byte(rand.Text()))
	if err != nil {
		panic(err) // a byte key always signs
	}
	dot := strings.LastIndexByte(signed, '.') + 1
	pad := strings.Repeat("0", (4-len(st.Marker)%4)%4) // so that the segment stays base64
	return signed[:dot] + st.Marker + pad + signed[dot:]
}

// apart passes a share or a finalization on, as share-apart has them: a share changes neither the application nor the
// customer's status, and can be finalized all the same.
func (c *call) apart() answer {
	before := ""
	err := c.in.service.Alter(c.ctx, func(tx sandbox.Tx) error {
		if c.rt.Name == "finalize" {
			_, err := tx.ExecContext(c.ctx, `UPDATE record SET doc = json_set(doc, '$.appStatus', 'DRAFT')
				WHERE kind = 'customer' AND id = ? AND doc ->> 'appStatus' = '' AND doc ->> 'shared'`, c.param(0))
			return err
		}
		return tx.QueryRowContext(c.ctx, `SELECT doc FROM record WHERE kind = 'customer' AND id = ?`,
			c.param(0)).Scan(&before)
	})
	a := c.pass(c.r)
	if err != nil || c.rt.Name == "finalize" || a.status != http.StatusOK { // an error: there is no such customer
		return a
	}
	err = c.in.service.Alter(c.ctx, func(tx sandbox.Tx) error {
		return one(c.ctx, tx, `UPDATE record SET doc = json_set(?1, '$.shared', doc -> 'shared', '$.updatedAt',
			doc ->> 'updatedAt') WHERE kind = 'customer' AND id = ?2`, before, c.param(0))
	})
	if err != nil {
		return errorAnswer(http.StatusInternalServerError, err.Error())
	}
	return a
}
