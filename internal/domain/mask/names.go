package mask

import (
	"encoding/json"
	"slices"
	"strings"

	"opdeck/api/untrusted"
)

// kind is what a member holds, by its name. It applies to nested members too; of two kinds the greater one counts.
type kind int

const (
	open     kind = iota
	number        // of an account, a card or a wallet: its end is shown
	personal      // personal data
	secret        // a password, a key, a token: hidden completely
)

// stem is a part of a name in lower case, without separators. A whole one is so short that it occurs within other
// words, so it must be a word of the name.
type stem struct {
	text  string
	kind  kind
	whole bool
}

// stems, by first letter.
var stems = byLetter([]stem{
	{"iban", number, false}, {"bban", number, false}, {"accountnumber", number, false}, {"accountno", number, true},
	{"cardnumber", number, false}, {"pan", number, true},
	{"mail", personal, false}, {"phone", personal, false}, {"mobile", personal, false}, {"passport", personal, false},
	{"birth", personal, false}, {"tax", personal, false}, {"address", personal, false}, {"street", personal, false},
	{"socialsecurity", personal, false}, {"nationalid", personal, false}, {"identitydocument", personal, false},
	{"identitynumber", personal, false}, {"identitycard", personal, false}, {"iddocument", personal, false},
	{"idnumber", personal, false}, {"documentnumber", personal, false}, {"personalnumber", personal, false},
	{"personalcode", personal, false}, {"personalid", personal, false}, {"driverlicen", personal, false},
	{"driverslicen", personal, false}, {"drivinglicen", personal, false}, {"maidenname", personal, false},
	{"dob", personal, true}, {"ssn", personal, true}, {"tin", personal, true}, {"inn", personal, true},
	{"snils", personal, true},
	{"password", secret, false}, {"passwd", secret, false}, {"passphrase", secret, false}, {"passcode", secret, false},
	{"secret", secret, false}, {"token", secret, false}, {"credential", secret, false}, {"apikey", secret, false},
	{"privatekey", secret, false}, {"accesskey", secret, false}, {"authorization", secret, true}, {"cookie", secret, true},
	{"jwt", secret, true}, {"cvv", secret, true}, {"cvc", secret, true}, {"pin", secret, true}, {"otp", secret, true},
	{"totp", secret, true},
})

// harmless are last words of names that describe a property and not the value itself: taxAmount, tokenType,
// emailVerified, secretDigest.
var harmless = map[string]bool{
	"amount": true, "rate": true, "percent": true, "currency": true, "type": true, "status": true, "verified": true,
	"confirmed": true, "enabled": true, "required": true, "count": true, "ttl": true, "country": true, "iso": true,
	"digest": true, "sha": true, "hash": true, "fingerprint": true,
}

// directory are words of labels whose values anyone can look up: banks and their codes.
var directory = []string{"bankname", "bankcode", "bic", "swift", "routing", "sortcode", "currency", "country"}

// public reports whether a label of requisites names a bank or one of its codes, and no account.
func public(label string) bool {
	letters, _ := words(label)
	named := func(word string) bool { return strings.Contains(letters, word) }
	return (letters == "bank" || letters == "aba" || slices.ContainsFunc(directory, named)) && !named("account") &&
		!named("iban")
}

func byLetter(all []stem) (out [26][]stem) {
	for _, s := range all {
		out[s.text[0]-'a'] = append(out[s.text[0]-'a'], s)
	}
	return out
}

// kindOf is the kind of a member of that name, in an object of kind inside.
func kindOf(name string, inside kind) kind {
	letters, starts := words(name)
	is := inside
	for i := range letters {
		if c := letters[i]; c >= 'a' && c <= 'z' {
			for _, s := range stems[c-'a'] {
				end := i + len(s.text)
				if s.kind > is && strings.HasPrefix(letters[i:], s.text) && (!s.whole || starts[i] && starts[end]) {
					is = s.kind
				}
			}
		}
	}
	if is != open && harmless[lastWord(letters, starts)] {
		return open
	}
	return is
}

// words returns the letters of a name in lower case, without digits and separators; starts[i] reports whether a word
// begins at letters[i], and starts[len(letters)] is true.
func words(name string) (letters string, starts []bool) {
	var b strings.Builder
	starts = make([]bool, 0, len(name)+1)
	begins, small := true, false // the next letter begins a word; the previous one is lower case
	for i := range len(name) {
		c := name[i]
		if !letter(c) && c < 0x80 {
			begins = true
			continue
		}
		capital := c >= 'A' && c <= 'Z'
		last := capital && i+1 < len(name) && name[i+1] >= 'a' && name[i+1] <= 'z' // last of capitals: the C of PINCode
		starts = append(starts, begins || capital && (small || last))
		if capital {
			c |= 0x20
		}
		_ = b.WriteByte(c)
		begins, small = false, !capital
	}
	return b.String(), append(starts, true)
}

func lastWord(letters string, starts []bool) string {
	i := max(len(letters)-1, 0)
	for i > 0 && !starts[i] {
		i--
	}
	return letters[i:]
}

// hide is the masked form of a text of that kind.
func hide(s string, is kind) string {
	switch {
	case s == "":
		return ""
	case is == secret:
		return dots
	case is == personal:
		return Personal(s)
	case is == number:
		return string(Number(untrusted.Text(s)))
	}
	if inner := strings.TrimSpace(s); inner != "" && (inner[0] == '{' || inner[0] == '[') && json.Valid([]byte(inner)) {
		return string(JSON([]byte(s)))
	}
	return Text(address(s))
}
