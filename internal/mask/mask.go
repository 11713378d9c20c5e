// Package mask hides account numbers from people whose role may not see them:
// in operations, and in their JSON as it came, where everything else stays to
// the letter. Masking what is masked already changes nothing.
package mask

import (
	"encoding/json"
	"strings"

	"opdeck/api"
	"opdeck/api/text"
	draw "opdeck/ui/text"
)

// Operation is op with the numbers of both accounts masked, in its fields and in
// Raw. op itself is not changed.
func Operation(op api.Operation) api.Operation {
	op.Source, op.Destination = party(op.Source), party(op.Destination)
	op.Raw = JSON(op.Raw)
	return op
}

func party(p api.Party) api.Party {
	if p.Account != nil {
		a := *p.Account
		a.Number = number(a.Number)
		p.Account = &a
	}
	if p.CounterpartyAccount != nil {
		a := *p.CounterpartyAccount
		a.Number = number(a.Number)
		p.CounterpartyAccount = &a
	}
	return p
}

func number(n text.Untrusted) text.Untrusted { return text.Untrusted(draw.Mask(n)) }

// JSON masks the value of every "number" directly within an account or a
// counterparty's account of valid JSON, in whatever case the keys are written.
// A text without one is returned as it is.
func JSON(raw []byte) []byte {
	s := string(raw)
	var b strings.Builder
	var at []level
	kept := 0
	for i := 0; i < len(s); {
		top := len(at) - 1
		switch c := s[i]; {
		case c == '{' || c == '[':
			at = append(at, level{object: c == '{', isKey: c == '{'})
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
			switch {
			case top >= 0 && at[top].isKey:
				at[top].key, at[top].isKey = unquote(s[i:end]), false
			case isNumber(at) && s[i:end] != "null":
				masked, _ := json.Marshal(draw.Mask(text.Untrusted(unquote(s[i:end]))))
				b.WriteString(s[kept:i])
				b.Write(masked)
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
	key    string
	isKey  bool // the next string is a key
}

func isNumber(at []level) bool {
	top := len(at) - 1
	if top < 1 || !at[top].object || !strings.EqualFold(at[top].key, "number") {
		return false
	}
	for top--; top > 0 && !at[top].object; top-- { // a list of accounts
	}
	return strings.EqualFold(at[top].key, "account") || strings.EqualFold(at[top].key, "counterpartyAccount")
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

// Shown is raw as it may be shown or copied now: masked or as it came.
func Shown(raw []byte, masked bool) []byte {
	if masked {
		return JSON(raw)
	}
	return raw
}
