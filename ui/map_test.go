package ui_test

import (
	"regexp"
	"strings"
	"testing"

	"opdeck/ui"
	"opdeck/ui/uitest"
)

// TestTheMapNamesTheScreens: from 80 columns and 20 lines on, one line names each screen with its key and marks the
// present one; a lower window keeps its rows.
func TestTheMapNamesTheScreens(t *testing.T) {
	w := newWorld()
	r := w.start(t, w.options(ui.Test))
	names := func() string {
		for _, l := range strings.Split(r.View(), "\n") {
			if strings.Contains(l, "5 Limits") {
				return l
			}
		}
		return ""
	}
	for _, wh := range [][2]int{{80, 24}, {80, 20}, {120, 40}, {300, 100}} {
		r.Send(uitest.Size(wh[0], wh[1]))
		line := names()
		for _, name := range []string{"1 Op", "2 Operation ", "3 Doc", "4 Compl", "5 Limits", "6 Session", "7 Events", "8 Audit"} {
			if !strings.Contains(line, name) {
				t.Errorf("at %v %q is not in %q", wh, name, line)
			}
		}
		if strings.Count(line, "▌") != 1 || !strings.Contains(line, "▌3 Doc") {
			t.Errorf("at %v the present screen is not marked in %q", wh, line)
		}
	}
	for _, wh := range [][2]int{{79, 24}, {80, 19}, {40, 12}, {20, 5}} {
		if r.Send(uitest.Size(wh[0], wh[1])); names() != "" {
			t.Errorf("at %v there is a map", wh)
		}
	}
}

// TestTheMapKeepsItsNames: at each width the names have the same places on all screens (2 and 4 would ask for an id), none is cut, a shortened name
// is not the beginning of another one nor begins with it, and a name that is whole stays whole in a wider window.
func TestTheMapKeepsItsNames(t *testing.T) {
	w := newWorld()
	r := w.start(t, w.options(ui.Test))
	whole := []string{"Operations", "Operation", "Documents", "Compliance", "Limits", "Session", "Events", "Audit"}
	tab := regexp.MustCompile(`[▌ ]([1-8]) (\S+)`)
	before := len(whole)
	for width := 80; width <= 110; width++ {
		r.Send(uitest.Size(width, 24))
		first := ""
		for _, key := range []string{"3", "5", "6", "7", "8", "1"} {
			r.Send(uitest.Key(key))
			line := strings.Split(r.View(), "\n")[2]
			if !strings.Contains(line, "▌"+key) {
				t.Fatalf("at %d %s is not marked in %q", width, key, line)
			}
			if bare := strings.ReplaceAll(line, "▌", " "); first == "" {
				first = bare
			} else if bare != first {
				t.Errorf("at %d the names move:\n%q\n%q", width, first, bare)
			}
		}
		names := tab.FindAllStringSubmatch(first, -1)
		if len(names) != len(whole) {
			t.Fatalf("at %d there are %d names in %q", width, len(names), first)
		}
		shortened := 0
		for i, a := range names {
			if a[2] == whole[i] {
				continue
			}
			shortened++
			for j, b := range names {
				if i != j && (strings.HasPrefix(a[2], b[2]) || strings.HasPrefix(b[2], a[2])) {
					t.Errorf("at %d %q and %q look alike", width, a[2], b[2])
				}
			}
			if strings.Contains(a[2], "…") {
				t.Errorf("at %d %q is cut", width, a[2])
			}
		}
		if shortened > before {
			t.Errorf("at %d more names are shortened than at %d: %q", width, width-1, first)
		}
		before = shortened
	}
	if before != 0 {
		t.Error("in a wide window names are shortened")
	}
}

// TestKeysOfOtherLayouts: a command key does what its place does; a text keeps its letters, and a question takes no
// such key for its answer (TestNoFakedYes).
func TestKeysOfOtherLayouts(t *testing.T) {
	for _, x := range []string{"ч", "χ", "ס"} {
		w := newWorld()
		r := w.start(t, w.options(ui.Test))
		r.Send(uitest.Key(x))
		r.Has("Remove document")
	}
	w := newWorld()
	r := w.start(t, w.options(ui.Test))
	r.Send(uitest.Key(":"), uitest.Type("ч"))
	r.Has("ч")
}
