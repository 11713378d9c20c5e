package paint

import (
	"testing"

	"github.com/charmbracelet/x/ansi"
)

// TestCharactersThatJoinNothing holds the quick look against the library: characters of these ranges are clusters of
// their own, whichever others of them are beside them.
func TestCharactersThatJoinNothing(t *testing.T) {
	beside := []string{"a", " ", "é", "Ж", "Ω", "か", "ン", "界", "–", "✓", "│"}
	for r := rune(0x80); r < 0xa000; r++ {
		if extends(r) || !printable(r) {
			continue
		}
		for _, b := range beside {
			for _, pair := range []string{b + string(r), string(r) + b} {
				first, _ := ansi.FirstGraphemeCluster(pair, ansi.GraphemeWidth)
				if len(first) == len(pair) {
					t.Errorf("%U joins in %q", r, pair)
				}
			}
		}
	}
}
