package jsontree

import (
	"strings"
	"unicode"
)

// manyMembers is the size from which on an object's names are looked up in a map.
const manyMembers = 32

// unique notes a doubt when name stands among members already, in any case. many
// holds their folded names once there are manyMembers; name is added to it.
func (p *parser) unique(members []Member, many map[string]bool, name string) map[string]bool {
	if len(members) == manyMembers {
		many = make(map[string]bool, 2*len(members))
		for i := range members {
			many[fold(members[i].Name)] = true
		}
	}
	if many != nil {
		f := fold(name)
		if many[f] {
			p.doubts(Duplicate)
		}
		many[f] = true
		return many
	}
	for i := range members {
		if strings.EqualFold(members[i].Name, name) {
			p.doubts(Duplicate)
		}
	}
	return nil
}

// fold maps names that differ in case only (Unicode simple folding, as
// encoding/json does: K, k and the Kelvin sign) to one text.
func fold(s string) string {
	return strings.Map(func(r rune) rune {
		low := r
		for f := unicode.SimpleFold(r); f != r; f = unicode.SimpleFold(f) {
			low = min(low, f)
		}
		if low >= 'A' && low <= 'Z' {
			low += 'a' - 'A'
		}
		return low
	}, s)
}
