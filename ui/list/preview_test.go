package list

import (
	"slices"
	"testing"
)

// TestThePreviewMovesWithTheWindow: rows that are blank as before are not kept in another
// width, or with the line of another theme.
func TestThePreviewMovesWithTheWindow(t *testing.T) {
	b := preview{w: 4, lines: []string{"x", ""}, keep: &joined{}}
	for _, c := range []struct {
		w    int
		side string
		want []string
	}{{2, "|", []string{"a |x", "  |"}}, {5, "|", []string{"a    |x", "     |"}}, {5, "!", []string{"a    !x", "     !"}}} {
		if got := b.join([]string{"a", ""}, c.w, c.side); !slices.Equal(got, c.want) {
			t.Errorf("%d cells, %q: %q", c.w, c.side, got)
		}
	}
}
