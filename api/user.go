package api

import (
	"context"
	"encoding/json"
	"strings"

	"opdeck/api/untrusted"
)

// User is a user of the service, as far as this program needs one.
type User struct {
	UUID     untrusted.Text `json:"uuid" also:"id"`
	Username untrusted.Text `json:"username"`

	Raw json.RawMessage `json:"-"`
}

// UnmarshalJSON keeps the record as it came beside the named fields.
func (u *User) UnmarshalJSON(b []byte) error {
	return keepRecord(b, u, &u.Raw)
}

func (u User) key() string { return u.UUID.Line(64) }

// TwoFactor tells whether the user has two-factor login switched on; told is false when
// the record does not say it in a way that can be read.
func (u User) TwoFactor() (on, told bool) {
	word := object(u.Raw).text("is2fa")
	on, told = flagWord(word)
	return on, told && word != ""
}

// UserOf reads a page of the service's users (GET /v2/user; one general call) and finds
// the one that logs in as login; found is false when the page does not show it.
func (c *Client) UserOf(ctx context.Context, login string) (u User, found bool, err error) {
	page, err := list[User](ctx, c, userThing, []string{"/v2/user"}, c.paging(0, 0))
	for _, one := range page.Items {
		if strings.EqualFold(string(one.Username), login) {
			return one, true, nil
		}
	}
	return User{}, false, err
}
