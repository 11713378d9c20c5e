package api

import (
	"strings"
	"time"
	"unicode"

	"opdeck/api/secret"
)

// ShareTokenLife is how long a share token lives (spec, Limits rule 4).
const ShareTokenLife = 20 * time.Minute

// CheckShareToken validates the form of a pasted token before anything is sent. It trims white space; any other odd
// character is an error that does not show the token. It does not know whether the service will accept the token.
func CheckShareToken(s string) (secret.Value, error) {
	const op = "share"
	s = strings.TrimSpace(s)
	bad := func(why string) (secret.Value, error) {
		return secret.Value{}, &Error{Op: op, Kind: Usage, Public: "This does not look like a share token: " + why + ".",
			Field: FieldToken, Unsent: true, Remedy: Remedy{Kind: CopyToken}}
	}
	switch {
	case s == "":
		return bad("it is empty")
	case len(s) > 4096:
		return bad("it is longer than 4,096 characters")
	case len(s) < 8:
		return bad("it is shorter than 8 characters")
	}
	for _, r := range s {
		if unicode.IsSpace(r) {
			return bad("it contains whitespace")
		}
		if r < 0x21 || r > 0x7e {
			return bad("it contains a character that tokens never have")
		}
	}
	return secret.New(s), nil
}
