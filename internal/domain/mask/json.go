package mask

import (
	"bytes"
	"encoding/json"
	"strings"

	"opdeck/api/untrusted"
)

// JSON masks account numbers in valid JSON, by the names of their fields in
// whatever case and spelling, and by their shape in every text. A JSON without
// any is returned as it is; everything that is not masked stays to the letter.
func JSON(raw []byte) []byte { return within("", raw) }

// within is JSON for a value that stands under a key: in an account of its own a
// number is an account's.
func within(key string, raw []byte) []byte {
	s := string(raw)
	var b strings.Builder
	var at []level
	if key != "" {
		at = append(at, level{object: true, key: key})
	}
	kept := 0
	for i := 0; i < len(s); {
		top := len(at) - 1
		switch c := s[i]; {
		case c == '{' || c == '[':
			at = append(at, below(at, c == '{'))
			i++
		case (c == '}' || c == ']') && top >= 0:
			at = at[:top]
			i++
		case c == ',' && top >= 0:
			at[top].isKey = at[top].object
			i++
		case c <= ' ' || c == ':' || c == ',' || c == '}' || c == ']':
			i++
		default:
			end := scalar(s, i)
			if new, ok := token(at, s[i:end]); ok {
				b.WriteString(s[kept:i])
				b.WriteString(new)
				kept = end
			}
			i = end
		}
	}
	if kept == 0 {
		return raw
	}
	return []byte(b.String() + s[kept:])
}

// level is where the scanner stands: in an object or a list, under a key.
type level struct {
	object bool
	key    string // of an object: the last one; of a list: the one that it is the value of; folded
	isKey  bool   // the next string is a key
	within place  // what the object or list is part of
}

// place is what an object is about, by the keys above it.
type place int

const (
	elsewhere place = iota
	account         // a number in it is an account's
	requisite       // so is a value
)

func below(at []level, object bool) level {
	l := level{object: object, isKey: object}
	if len(at) == 0 {
		return l
	}
	up := at[len(at)-1]
	l.within = max(up.within, about(up.key))
	if !object {
		l.key = up.key
	}
	return l
}

func about(key string) place {
	switch {
	case strings.Contains(key, "requisit"):
		return requisite
	case strings.HasSuffix(key, "account"), strings.HasSuffix(key, "accounts"), key == "fiat":
		return account
	}
	return elsewhere
}

// fold is a key as it is compared: counterparty_account is counterpartyAccount.
func fold(key string) string {
	return strings.Map(func(r rune) rune {
		if r == '_' || r == '-' || r == '.' || r == ' ' {
			return -1
		}
		return r
	}, strings.ToLower(key))
}

// token is what stands for a string, number or word; ok is false when it stays.
func token(at []level, raw string) (new string, ok bool) {
	if top := len(at) - 1; top >= 0 && at[top].isKey {
		at[top].key, at[top].isKey = fold(unquote(raw)), false
		return written(raw, false)
	}
	return written(raw, hidden(at, raw))
}

// written masks a token: the whole of it, or IBANs in it.
func written(raw string, whole bool) (string, bool) {
	isText := strings.HasPrefix(raw, `"`)
	if !whole && (!isText || !strings.Contains(raw, `\`) && !Changes(raw)) {
		return "", false
	}
	was := unquote(raw)
	is := Text(was)
	if whole {
		is = string(Number(untrusted.Text(was)))
	}
	if is == was && (isText || !whole) {
		return "", false
	}
	return quote(is), true
}

// hidden reports whether the value at hand is an account number by its name.
func hidden(at []level, raw string) bool {
	if len(at) == 0 || raw == "null" || raw == "true" || raw == "false" {
		return false
	}
	l := at[len(at)-1]
	for _, name := range []string{"iban", "bban", "accountnumber", "accountno"} {
		if strings.HasSuffix(l.key, name) {
			return true
		}
	}
	switch {
	case l.key == "number":
		return l.within != elsewhere || digits(raw)
	case l.within == requisite && (l.key == "value" || l.key != "id" && digits(raw)):
		return true
	case about(l.key) != elsewhere: // an identifier, or a number in its place
		return digits(raw)
	}
	return false
}

// digits reports whether so much of a text is digits that it may be a number.
func digits(raw string) bool {
	n := 0
	for _, r := range unquote(raw) {
		if r >= '0' && r <= '9' {
			n++
		}
	}
	return n >= 6
}

// scalar is where the string, number or word that begins at i ends.
func scalar(s string, i int) int {
	if s[i] != '"' {
		for i++; i < len(s) && !strings.ContainsRune(" \t\r\n,:{}[]\"", rune(s[i])); i++ {
		}
		return i
	}
	for i++; i < len(s) && s[i] != '"'; i++ {
		if s[i] == '\\' {
			i++
		}
	}
	return min(i+1, len(s))
}

// unquote is the text of a JSON string; a number or word stays as it is.
func unquote(raw string) string {
	var s string
	if json.Unmarshal([]byte(raw), &s) != nil {
		return raw
	}
	return s
}

func quote(s string) string {
	var b bytes.Buffer
	enc := json.NewEncoder(&b)
	enc.SetEscapeHTML(false)
	_ = enc.Encode(s) // a string always can be
	return strings.TrimSuffix(b.String(), "\n")
}
