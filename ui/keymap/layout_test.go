package keymap

import (
	"testing"
	"unicode/utf8"
)

// TestLayoutsHaveAPlaceForEachLetter: each letter of another layout has one key in its place, and no two layouts
// read the same letter differently.
func TestLayoutsHaveAPlaceForEachLetter(t *testing.T) {
	seen := map[rune]byte{}
	for _, l := range layouts {
		if utf8.RuneCountInString(l[0]) != len(l[1]) {
			t.Fatalf("%d letters and %d keys in %q", utf8.RuneCountInString(l[0]), len(l[1]), l[0])
		}
		at := 0
		for _, r := range l[0] {
			if was, twice := seen[r]; twice && was != l[1][at] {
				t.Errorf("%c is %c and %c", r, was, l[1][at])
			}
			seen[r] = l[1][at]
			if got := Parse(string(r)).Placed(); got.Name != l[1][at:at+1] || string(got.Runes) != got.Name {
				t.Errorf("%c is %q, not %q", r, got.Name, l[1][at])
			}
			at++
		}
	}
	for _, k := range []string{"x", "enter", " ", "ctrl+c", "1", "é", "ß"} {
		if got := Parse(k).Placed(); got.Name != k {
			t.Errorf("%q became %q", k, got.Name)
		}
	}
}
