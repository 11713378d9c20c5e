package draw

import (
	"strings"
	"testing"

	"github.com/charmbracelet/x/ansi"
)

// TestQuickWidthOfScripts holds the quick count against the library, for every character
// that it takes, alone and between others.
func TestQuickWidthOfScripts(t *testing.T) {
	for r := rune(0x80); r <= 0xffff; r++ {
		if cells(r) == 0 {
			continue
		}
		for _, s := range []string{string(r), "a" + string(r) + "é", "Ж" + string(r) + "界" + string(r), "\x1b[1m" + string(r) + "\x1b[0m"} {
			if got, want, other := Width(s), ansi.StringWidth(s), ansi.StringWidthWc(s); got != want || got != other {
				t.Errorf("%U in %q: %d cells, the library says %d or %d", r, s, got, want, other)
			}
		}
	}
}

// TestCellsOfClusters: of the counts that terminals use, the largest is kept; where they differ, it is not sure.
func TestCellsOfClusters(t *testing.T) {
	for _, c := range []struct {
		cluster string
		cells   int
		sure    bool
	}{
		{"a", 1, true}, {"界", 2, true}, {"한", 2, true}, {"ｱ", 1, true}, {"🙂", 2, true}, {"ก", 1, true}, {"❤", 1, true},
		{"ﾀﾞ", 2, false}, {"ﾊﾟ", 2, false}, {"か\u3099", 2, false}, {"e\u0301", 1, false}, {"漢\u0301", 2, false}, {"ก็", 1, false},
		{"กำ", 2, false}, {"क्षि", 3, false}, {"स्ते", 2, false}, {"ക്ഷ", 2, false}, {"நி", 2, false}, {"\u1112\u1161\u11ab", 4, false},
		{"👍🏽", 4, false}, {"👨\u200d👩\u200d👧\u200d👦", 8, false}, {"❤\ufe0f", 2, false}, {"1\ufe0f\u20e3", 2, false},
		{"🇩🇪", 4, false}, {"🇩", 2, false},
	} {
		got, cells, sure := Cluster(c.cluster + "x")
		if got != c.cluster || cells != c.cells || sure != c.sure {
			t.Errorf("%q begins with %q of %d cells, %v; want %d, %v", c.cluster, got, cells, sure, c.cells, c.sure)
		}
		if n := Width("\x1b[1m" + c.cluster + "\x1b[m" + c.cluster + "日"); n != 2*c.cells+2 {
			t.Errorf("two of %q and one are %d cells", c.cluster, n)
		}
		for w := range 12 {
			if l := Fit(c.cluster+c.cluster, w); Width(l) != w {
				t.Errorf("%q in %d is %q", c.cluster, w, l)
			}
		}
	}
	// A conjunct without end is cut before a letter, and none of its letters is lost.
	for s := strings.Repeat("\u0915\u094d", 100); s != ""; {
		cluster, _, _ := Cluster(s)
		if len(cluster) > MaxCluster+4 || !strings.HasPrefix(cluster, "\u0915") {
			t.Fatalf("%d bytes: %q", len(cluster), cluster)
		}
		s = s[len(cluster):]
	}
}

// TestCutsOfScripts holds what cuts a text against the library.
func TestCutsOfScripts(t *testing.T) {
	for _, s := range []string{"Möller Maschinenbau GmbH", "ひかり 物流 AS 6", "Северный Лес", "Oak & Iron Fabrication", "a界b界c界d界e", "файл-с-именем.pdf", "e\u0301 and ｱ", "👩‍🚀 flies"} {
		for w := 1; w <= Width(s)+1; w++ {
			if got, want := Cut(s, w), ansi.Truncate(s, w, ellipsis); got != want && Width(s) == ansi.StringWidth(s) {
				t.Errorf("Cut(%q, %d) = %q, the library says %q", s, w, got, want)
			}
			m := Middle(s, w)
			if Width(m) > w || w >= 5 && Width(m) < min(w, Width(s))-4 { // a character of four cells is in the way
				t.Errorf("Middle(%q, %d) = %q of %d cells", s, w, m, Width(m))
			}
		}
	}
}
