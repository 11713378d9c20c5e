package verdict

import "testing"

// TestTable: every cause has a part, a next step and a person; causes have different names.
func TestTable(t *testing.T) {
	seen := map[Cause]bool{}
	for _, c := range causes() {
		if seen[c.id] || c.part == "" || c.next.Do == "" || c.who == "" || c.found == nil {
			t.Errorf("%q is there twice or incomplete", c.id)
		}
		seen[c.id] = true
	}
}
