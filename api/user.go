package api

import (
	"encoding/json"
	"slices"
	"strings"

	"opdeck/api/untrusted"
)

// User is a user of the service; only the fields that opdeck needs.
type User struct {
	UUID     untrusted.Text `json:"uuid" also:"id"`
	Username untrusted.Text `json:"username"`

	Raw json.RawMessage `json:"-"`
}

// UnmarshalJSON reads the named fields and keeps the whole record in Raw.
func (u *User) UnmarshalJSON(b []byte) error {
	return keepRecord(b, u, &u.Raw)
}

func (u User) key() string { return u.UUID.Line(64) }

// TwoFactor reports whether the user has two-factor login switched on; known is false if the record does not say or
// cannot be read.
func (u User) TwoFactor() (on, known bool) {
	word := ObjectOf(u.Raw).First("is2fa")
	on, known = flagWord(word)
	return on, known && word != ""
}

// UserNamed returns the user whose login is login.
func UserNamed(users []User, login string) (User, bool) {
	i := slices.IndexFunc(users, func(u User) bool { return strings.EqualFold(string(u.Username), login) })
	if i < 0 {
		return User{}, false
	}
	return users[i], true
}
