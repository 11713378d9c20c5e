package redact

import (
	"slices"
	"strings"
)

// Kind is what a member holds, by its name. It applies to nested members too; of two kinds the greater one counts.
type Kind int

// The kinds, in the order of what they hide.
const (
	Open     Kind = iota
	Prose         // a sentence: what is beside a telling word in it is masked (Said)
	Number        // of an account, a card or a wallet: its end is shown
	Personal      // personal data
	Secret        // a password, a key, a token: hidden completely
)

// stem is a part of a name in lower case, without separators. A whole one is so short that it occurs within other
// words, so it must be a word of the name.
type stem struct {
	text  string
	kind  Kind
	whole bool
}

// stems, by first letter.
var stems = byLetter([]stem{
	{"iban", Number, false}, {"bban", Number, false}, {"accountnumber", Number, false}, {"accountno", Number, true},
	{"cardnumber", Number, false}, {"pan", Number, true},
	{"error", Prose, false}, {"message", Prose, false}, {"reason", Prose, false}, {"detail", Prose, false},
	{"mail", Personal, false}, {"phone", Personal, false}, {"mobile", Personal, false}, {"passport", Personal, false},
	{"birth", Personal, false}, {"tax", Personal, false}, {"address", Personal, false}, {"street", Personal, false},
	{"socialsecurity", Personal, false}, {"nationalid", Personal, false}, {"identitydocument", Personal, false},
	{"identitynumber", Personal, false}, {"identitycard", Personal, false}, {"iddocument", Personal, false},
	{"idnumber", Personal, false}, {"documentnumber", Personal, false}, {"personalnumber", Personal, false},
	{"personalcode", Personal, false}, {"personalid", Personal, false}, {"driverlicen", Personal, false},
	{"driverslicen", Personal, false}, {"drivinglicen", Personal, false}, {"maidenname", Personal, false},
	{"dob", Personal, true}, {"ssn", Personal, true}, {"tin", Personal, true}, {"inn", Personal, true},
	{"snils", Personal, true},
	{"password", Secret, false}, {"passwd", Secret, false}, {"passphrase", Secret, false}, {"passcode", Secret, false},
	{"secret", Secret, false}, {"token", Secret, false}, {"credential", Secret, false}, {"apikey", Secret, false},
	{"privatekey", Secret, false}, {"accesskey", Secret, false}, {"authorization", Secret, true}, {"cookie", Secret, true},
	{"jwt", Secret, true}, {"cvv", Secret, true}, {"cvc", Secret, true}, {"pin", Secret, true}, {"otp", Secret, true},
	{"totp", Secret, true},
})

// spoken are the words that name a number of somebody in a sentence, beside those of stems.
var spoken = byLetter([]stem{
	{"account", Number, false}, {"acct", Number, false}, {"acc", Number, true}, {"ac", Number, true},
	{"card", Number, true}, {"cards", Number, true}, {"number", Number, false}, {"no", Number, true},
	{"nr", Number, true}, {"num", Number, true}, {"requisit", Number, false}, {"wallet", Number, false},
	{"beneficiar", Number, false}, {"payee", Number, false}, {"payer", Number, false}, {"debtor", Number, false},
	{"creditor", Number, false}, {"konto", Number, false},
	{"tel", Personal, true}, {"cell", Personal, true}, {"fax", Personal, true}, {"sms", Personal, true},
	{"whatsapp", Personal, false}, {"msisdn", Personal, false},
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

// Public reports whether a label of requisites names a bank or one of its codes, and no account.
func Public(label string) bool {
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

// KindOf is the kind of a member of that name, in an object of kind inside.
func KindOf(name string, inside Kind) Kind { return kindIn(stems, name, inside) }

func kindIn(table [26][]stem, name string, inside Kind) Kind {
	letters, starts := words(name)
	is := inside
	for i := range letters {
		if c := letters[i]; c >= 'a' && c <= 'z' {
			for _, s := range table[c-'a'] {
				end := i + len(s.text)
				if s.kind > is && strings.HasPrefix(letters[i:], s.text) && (!s.whole || starts[i] && starts[end]) {
					is = s.kind
				}
			}
		}
	}
	if is != Open && harmless[lastWord(letters, starts)] {
		return Open
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
