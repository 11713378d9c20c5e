package mask

import (
	"bytes"
	"encoding/json"
	"strings"

	"opdeck/api/redact"
)

// JSON masks valid JSON by member names in any case and spelling (kindOf), and account numbers in every text by their
// form too. JSON without any is returned unchanged; so is everything that is not masked.
func JSON(raw []byte) []byte { return within("", raw) }

// Refusal masks a refusal in JSON: as JSON does, and each of its texts is a sentence of the service.
func Refusal(raw []byte) []byte { return as(redact.Prose, raw) }

// as is JSON for a value of that kind.
func as(is redact.Kind, raw []byte) []byte { return scan([]level{{is: is}}, raw) }

// within is JSON for a value at a path ("customer.email"): in an account, a number is an account number.
func within(path string, raw []byte) []byte { return scan(levels(path), raw) }

func scan(at []level, raw []byte) []byte {
	s := string(raw)
	var b strings.Builder
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

// level is the scanner's state in an object or a list, under a key.
type level struct {
	object bool
	label  string      // of an object: the value of its member "key"
	key    string      // of an object: the last key; of a list: the key of the list; folded
	isKey  bool        // the next string is a key
	is     redact.Kind // what the value of that key holds
	within place       // what the object or list belongs to
	inside redact.Kind // the same for its members
}

// levels is the state for a value at that path of a record.
func levels(path string) (at []level) {
	for name := range strings.FieldsFuncSeq(path, func(r rune) bool { return r == '.' || r == '[' || r == ']' }) {
		if strings.Trim(name, "0123456789") != "" { // not an index in a list
			l := below(at, true)
			l.enter(name)
			at = append(at, l)
		}
	}
	return at
}

// enter handles a key.
func (l *level) enter(name string) {
	l.key, l.is, l.isKey = fold(name), redact.KindOf(name, l.inside), false
}

// place is the subject of an object, by the keys above it.
type place int

const (
	elsewhere place = iota
	account         // its numbers are account numbers
	requisite       // so are its values
)

func below(at []level, object bool) level {
	l := level{object: object, isKey: object}
	if len(at) == 0 {
		return l
	}
	up := at[len(at)-1]
	l.within, l.inside = max(up.within, about(up.key)), up.is
	if !object {
		l.key, l.is = up.key, up.is
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

// fold normalises a key: counterparty_account becomes counterpartyAccount.
func fold(key string) string {
	return strings.Map(func(r rune) rune {
		if r == '_' || r == '-' || r == '.' || r == ' ' {
			return -1
		}
		return r
	}, strings.ToLower(key))
}

// token is the masked form of a string, number or word; ok is false if it is not masked.
func token(at []level, raw string) (new string, ok bool) {
	if top := len(at) - 1; top >= 0 && at[top].isKey {
		at[top].enter(unquote(raw))
		return written(raw, redact.Open)
	}
	is := holds(at, raw)
	if top := len(at) - 1; top >= 0 && at[top].key == "key" {
		at[top].label = unquote(raw)
	}
	return written(raw, is)
}

// written masks a token: completely, or the IBANs in it.
func written(raw string, is redact.Kind) (string, bool) {
	isText := strings.HasPrefix(raw, `"`)
	if is == redact.Prose && !isText {
		is = redact.Open
	}
	if is == redact.Open && (!isText || !strings.Contains(raw, `\`) && !strings.Contains(raw, "://") &&
		!redact.Changes(raw)) {
		return "", false
	}
	was := unquote(raw)
	shown := hide(was, is)
	if shown == was && (isText || is == redact.Open) {
		return "", false
	}
	return quote(shown), true
}

// holds is the kind of the current value, by the names around it.
func holds(at []level, raw string) redact.Kind {
	if len(at) == 0 || raw == "null" || raw == "true" || raw == "false" {
		return redact.Open
	}
	l := at[len(at)-1]
	if l.is < redact.Number && isNumber(l, raw) {
		return redact.Number
	}
	return l.is
}

// isNumber reports whether a value is an account number by its place.
func isNumber(l level, raw string) bool {
	switch {
	case l.key == "number":
		return l.within != elsewhere || digits(raw)
	case l.within == requisite && (redact.Public(l.key) || l.key == "value" && redact.Public(l.label)):
		return false
	case l.within == requisite && (l.key == "value" || l.key != "id" && digits(raw)):
		return true
	case about(l.key) != elsewhere || l.key == "wallet": // an identifier, or a number in place of one
		return digits(raw)
	}
	return false
}

// digits reports whether a text is mostly digits, so that it may be a number.
func digits(raw string) bool {
	n := 0
	for _, r := range unquote(raw) {
		if r >= '0' && r <= '9' {
			n++
		}
	}
	return n >= 6
}

// scalar is the end of the string, number or word at s[i].
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

// unquote is the text of a JSON string; a number or word is unchanged.
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
	_ = enc.Encode(s) // encoding a string cannot fail
	return strings.TrimSuffix(b.String(), "\n")
}
