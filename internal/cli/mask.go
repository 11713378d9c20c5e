package cli

import (
	"encoding/json"
	"strings"

	"opdeck/api/text"
	ui "opdeck/ui/text"
)

// number is an account number as this person may see it.
func (r *root) number(n text.Untrusted) string {
	if r.masked {
		return ui.Mask(n)
	}
	return n.Line(64)
}

// place is where a scanner of JSON stands: in an object or a list, under a key.
type place struct {
	object bool
	key    string
	isKey  bool // the next string is a key
}

// maskNumbers masks the value of every "number" directly within an account or a
// counterparty's account of valid JSON text, in whatever case the keys are
// written; everything else stays to the letter.
func maskNumbers(s string) string {
	var b strings.Builder
	var at []place
	kept := 0
	for i := 0; i < len(s); {
		top := len(at) - 1
		switch c := s[i]; {
		case c == '{' || c == '[':
			at = append(at, place{object: c == '{', isKey: c == '{'})
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
			end := scalarEnd(s, i)
			switch {
			case top >= 0 && at[top].isKey:
				at[top].key, at[top].isKey = unquote(s[i:end]), false
			case isNumber(at) && s[i:end] != "null":
				masked, _ := json.Marshal(ui.Mask(text.Untrusted(unquote(s[i:end]))))
				b.WriteString(s[kept:i])
				b.Write(masked)
				kept = end
			}
			i = end
		}
	}
	if kept == 0 {
		return s
	}
	return b.String() + s[kept:]
}

// isNumber reports whether the value at hand is an account's number.
func isNumber(at []place) bool {
	top := len(at) - 1
	if top < 1 || !at[top].object || !strings.EqualFold(at[top].key, "number") {
		return false
	}
	for top--; top > 0 && !at[top].object; top-- { // a list of accounts
	}
	return strings.EqualFold(at[top].key, "account") || strings.EqualFold(at[top].key, "counterpartyAccount")
}

// scalarEnd is where the string, number or word that begins at i ends.
func scalarEnd(s string, i int) int {
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
