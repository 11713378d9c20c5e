package hook

import (
	"strings"
	"unicode"
	"unicode/utf8"
)

// manyMembers is the size from which on an object's names are looked up in a map.
const manyMembers = 32

// twice reports whether key stands among members already, in any case. many
// holds their folded names once there are manyMembers; key is added to it.
func twice(members []member, many map[string]bool, key string) bool {
	if many != nil {
		f := fold(key)
		old := many[f]
		many[f] = true
		return old
	}
	for i := range members {
		if strings.EqualFold(members[i].key, key) {
			return true
		}
	}
	return false
}

func folded(members []member) map[string]bool {
	many := make(map[string]bool, 2*len(members))
	for i := range members {
		many[fold(members[i].key)] = true
	}
	return many
}

// fold maps names that differ in case only (Unicode simple folding, as
// encoding/json does: K, k and the Kelvin sign) to one text.
func fold(s string) string {
	plain := true
	for i := 0; i < len(s) && plain; i++ {
		plain = s[i] < utf8.RuneSelf && (s[i] < 'A' || s[i] > 'Z')
	}
	if plain {
		return s
	}
	out := make([]byte, 0, len(s))
	for _, r := range s {
		out = utf8.AppendRune(out, foldRune(r))
	}
	return string(out)
}

// foldRune returns one character for the whole circle that r folds around: its
// smallest, or the small letter for those of ASCII.
func foldRune(r rune) rune {
	low := r
	for f := unicode.SimpleFold(r); f != r; f = unicode.SimpleFold(f) {
		low = min(low, f)
	}
	if low >= 'A' && low <= 'Z' {
		low += 'a' - 'A'
	}
	return low
}
