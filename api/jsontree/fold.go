package jsontree

import (
	"strings"
	"unicode"
)

// manyMembers is the size from which an object's names are looked up in a map.
const manyMembers = 32

// unique records a doubt if name is among the members from first on, ignoring case. many holds their folded names
// once there are manyMembers; name is added to it.
func (t *Tree) unique(first int, many map[string]bool, name string) map[string]bool {
	n := 0
	for i := first; many == nil && i < len(t.nodes); i = int(t.nodes[i].end) {
		if n++; strings.EqualFold(t.str(t.nodes[i].name), name) {
			t.doubts(Duplicate)
		}
	}
	if n == manyMembers {
		many = make(map[string]bool, 2*n)
		for i := first; i < len(t.nodes); i = int(t.nodes[i].end) {
			many[fold(t.str(t.nodes[i].name))] = true
		}
	} else if many != nil && many[fold(name)] {
		t.doubts(Duplicate)
	}
	if many != nil {
		many[fold(name)] = true
	}
	return many
}

// fold maps names that differ in case only (Unicode simple folding, as in encoding/json: K, k and the Kelvin sign) to
// one text.
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
