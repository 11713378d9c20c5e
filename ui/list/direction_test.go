package list

import (
	"testing"

	"opdeck/internal/field"
)

// TestDirection says in the words of the field what is first.
func TestDirection(t *testing.T) {
	for _, c := range []struct {
		kind     field.Kind
		up, down string
	}{
		{field.Time, "oldest first", "newest first"}, {field.Money, "smallest first", "largest first"}, {field.Count, "smallest first", "largest first"},
		{field.Flag, "no first", "yes first"}, {field.Text, "A to Z", "Z to A"}, {field.ID, "A to Z", "Z to A"},
	} {
		if up, down := Direction(c.kind, false), Direction(c.kind, true); up != c.up || down != c.down {
			t.Errorf("%v: %q, %q", c.kind, up, down)
		}
	}
}
