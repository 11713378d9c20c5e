//go:build unix

package scenario

import (
	"slices"
	"strings"
	"testing"
)

// An attempt keeps its faults to itself, ends where FailNow ends it, cleans up in
// reverse, and has its context until it cleans.
func TestAttempt(t *testing.T) {
	var order []string
	a := once(t, func(t testing.TB) {
		t.Cleanup(func() { order = append(order, "first") })
		t.Cleanup(func() {
			order = append(order, "second")
			if t.Context().Err() == nil {
				t.Error("the context outlives the attempt")
			}
		})
		t.Errorf("fault %d", 1)
		if !t.Failed() {
			t.Error("not failed")
		}
		t.Fatal("fault", 2)
		order = append(order, "went on")
	})
	if !a.failed || t.Failed() || !slices.Equal(order, []string{"second", "first"}) {
		t.Errorf("failed %v, here %v, %v", a.failed, t.Failed(), order)
	}
	if len(a.faults) != 2 || !strings.HasPrefix(a.faults[0], "try_test.go:") || !strings.HasSuffix(a.faults[0], ": fault 1") || !strings.HasSuffix(a.faults[1], ": fault 2") {
		t.Errorf("%q", a.faults)
	}
	if b := once(t, func(t testing.TB) { t.Skip("no", "need") }); b.failed || b.skipped != "no need" {
		t.Errorf("%+v", b)
	}
}

// What fails once is tried again; what fails each time fails; what is grave fails
// at once.
func TestTry(t *testing.T) {
	for _, c := range []struct {
		name    string
		failing int // attempts that fail
		grave   bool
		runs    int
		fails   bool
	}{
		{"never", 0, false, 1, false},
		{"once", 1, false, min(2, attempts), attempts < 2},
		{"always", 99, false, attempts, true},
		{"grave", 1, true, 1, true},
	} {
		runs := 0
		a := once(t, func(t testing.TB) {
			try(t, func(t testing.TB) {
				runs++
				switch {
				case runs > c.failing:
				case c.grave:
					grave(t, "grave")
				default:
					t.Error("not grave")
				}
			})
		})
		if runs != c.runs || a.failed != c.fails {
			t.Errorf("%s: %d runs, failed %v: %q", c.name, runs, a.failed, a.faults)
		}
	}
}
