package draw

import (
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
			if got, want := Width(s), ansi.StringWidth(s); got != want {
				t.Errorf("%U in %q: %d cells, the library says %d", r, s, got, want)
			}
		}
	}
	for _, s := range []string{"e\u0301", "か\u3099", "©\ufe0f", "界\u200d界", "👩‍🚀", "ｱ"} {
		if got, want := Width(s), ansi.StringWidth(s); got != want {
			t.Errorf("%q: %d cells, the library says %d", s, got, want)
		}
	}
}

// TestQuickCuts holds the quick ways to cut a text against the library's.
func TestQuickCuts(t *testing.T) {
	for _, s := range []string{"Möller Maschinenbau GmbH", "ひかり 物流 AS 6", "Северный Лес", "Oak & Iron Fabrication", "a界b界c界d界e", "файл-с-именем.pdf", "e\u0301 and ｱ", "👩‍🚀 flies"} {
		for w := 1; w <= Width(s)+1; w++ {
			for _, w := range []int{w, w + 7} {
				if got, want := string(AppendFit([]byte("|"), s, w)), "|"+Fit(s, w); got != want {
					t.Errorf("AppendFit(%q, %d) = %q, Fit is %q", s, w, got, want)
				}
				if got, want := string(AppendPad(nil, s, w))+string(AppendPadLeft(nil, s, w)), Pad(s, w)+PadLeft(s, w); got != want {
					t.Errorf("padding of %q to %d: %q, not %q", s, w, got, want)
				}
			}
			if got, want := Cut(s, w), ansi.Truncate(s, w, ellipsis); got != want {
				t.Errorf("Cut(%q, %d) = %q, the library says %q", s, w, got, want)
			}
			m := Middle(s, w)
			if Width(m) > w || w >= 5 && Width(m) < min(w, Width(s))-2 {
				t.Errorf("Middle(%q, %d) = %q of %d cells", s, w, m, Width(m))
			}
		}
	}
}
