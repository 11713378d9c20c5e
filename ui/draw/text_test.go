package draw

import (
	"reflect"
	"slices"
	"strings"
	"testing"

	"github.com/charmbracelet/x/ansi"
	"pgregory.net/rapid"

	"opdeck/api/untrusted"
)

func TestFitIsExact(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		s, _ := untrusted.Clean(rapid.String().Draw(t, "s"), 200)
		w := rapid.IntRange(-2, 60).Draw(t, "w")
		for name, f := range map[string]func(string, int) string{"Fit": Fit, "FitRight": FitRight} {
			if got := f(s, w); Width(got) != max(w, 0) {
				t.Fatalf("%s(%q, %d) = %q: %d cells", name, s, w, got, Width(got))
			}
		}
		for name, f := range map[string]func(string, int) string{"Cut": Cut, "Middle": Middle} {
			if got := f(s, w); Width(got) > max(w, 0) {
				t.Fatalf("%s(%q, %d) = %q: %d cells", name, s, w, got, Width(got))
			}
		}
		for _, l := range Wrap(s, w) {
			if Width(l) > max(w, 0) && w > 1 {
				t.Fatalf("Wrap(%q, %d) has the line %q", s, w, l)
			}
		}
	})
}

// A character that joins with the space beside it: a skin tone, a prepended mark.
func TestPadBesideWhatJoins(t *testing.T) {
	for _, s := range []string{"🏻", "🏻a", "a\u0d4e", "\u0d4e", "ﾞ"} {
		for w := 1; w < 6; w++ {
			for name, got := range map[string]string{"Pad": Pad(s, w), "PadLeft": PadLeft(s, w)} {
				if n := Width(got); n != max(w, Width(s)) {
					t.Errorf("%s(%q, %d) = %q: %d cells", name, s, w, got, n)
				}
			}
		}
	}
}

// The quick count is that of the characters one by one, or reports that it does not know.
func TestQuickWidth(t *testing.T) {
	piece := rapid.SampledFrom([]string{"a", " ", "·", "…", "─", "▌", "✓", "✗", "◌", "▲", "株", "e\u0301", "\u0301", "\ufe0f", "é", "🇩🇪", "\x1b[0m", "\x1b[1;38;2;1;2;3m", "\x1b[", "\x1b", "~", "–", "•", "›"})
	rapid.Check(t, func(t *rapid.T) {
		s := strings.Join(rapid.SliceOfN(piece, 0, 12).Draw(t, "pieces"), "")
		want := 0
		for i := 0; i < len(s); {
			size, cells := next(s[i:])
			i, want = i+size, want+cells
		}
		if n, ok := quick(s); ok && n != want {
			t.Fatalf("%q: %d cells, not %d", s, want, n)
		}
	})
}

func TestCutAndMiddle(t *testing.T) {
	for _, c := range []struct {
		f       func(string, int) string
		in      string
		w       int
		want    string
		comment string
	}{
		{Cut, "invoice", 7, "invoice", "exact fit"},
		{Cut, "invoice", 6, "invoi…", ""},
		{Cut, "株式会社", 5, "株式…", "wide"},
		{Cut, "株式会社", 4, "株…", "no half character"},
		{Middle, "invoice_2026_final_version.pdf", 15, "invoice…ion.pdf", "the ending stays"},
		{Middle, "abc", 2, "a…", ""},
		{Middle, "株式会社の契約書.pdf", 12, "株式会….pdf", "no half character in front either"},
	} {
		if got := c.f(c.in, c.w); got != c.want {
			t.Errorf("%q in %d: %q, want %q %s", c.in, c.w, got, c.want, c.comment)
		}
	}
	if got := Middle("invoice_2026_final_version.pdf", 15); got != "invoice…ion.pdf" {
		t.Errorf("Middle: %q", got)
	}
	if got := File("invoice_\u202efdp.exe", 30); got != "invoice_·fdp.exe" {
		t.Errorf("File: %q", got)
	}
}

func TestLayAndSpread(t *testing.T) {
	got := Lay([]string{"\x1b[1mlong line\x1b[0m", "b"}, 4, 3)
	if len(got) != 3 || ansi.Strip(got[0]) != "lon…" || got[2] != "" || !strings.HasSuffix(got[0], reset) {
		t.Errorf("%q", got)
	}
	if s := Spread("left", "right", 12); s != "left   right" {
		t.Errorf("%q", s)
	}
	if s := Spread("left", "right", 8); s != "left    " {
		t.Errorf("%q", s)
	}
}

func TestAlign(t *testing.T) {
	got := Align([]string{"1,234.50", "7", "-0.125", "12.5 EUR", "97 BTC"})
	want := []string{"1,234.50     ", "    7        ", "   -0.125    ", "   12.5   EUR", "   97     BTC"}
	if !reflect.DeepEqual(got, want) {
		t.Errorf("%q", got)
	}
}

// alignTo places a whole column.
func alignTo(col []string, width int) []string {
	at := PointsOf(col, width)
	out := make([]string, len(col))
	for i, s := range col {
		out[i] = at.Put(s)
	}
	return out
}

func TestAlignTo(t *testing.T) {
	got := alignTo([]string{"1,234.50 USD", "7 JPY", "0.000000001 EUR", "12,345,678,901,234.00 USD", "-5.00 USD", ""}, 15)
	want := []string{"   1,234.50 USD", "       7    JPY", "0.000000001 EUR", "###############", "      -5.00 USD", "               "}
	if !reflect.DeepEqual(got, want) {
		t.Errorf("%q", got)
	}
	if got := alignTo([]string{"12.50"}, 0); got[0] != "" {
		t.Errorf("%q in no cells", got)
	}
	rapid.Check(t, func(t *rapid.T) {
		col := rapid.SliceOf(rapid.StringMatching(`-?[0-9]{1,12}(\.[0-9]{1,9})?( [A-Z]{3,5})?`)).Draw(t, "column")
		w := rapid.IntRange(0, 24).Draw(t, "width")
		for i, s := range alignTo(col, w) {
			if Width(s) != w {
				t.Fatalf("%q is not %d cells", s, w)
			}
			if f := strings.Join(strings.Fields(s), " "); f != col[i] && strings.Trim(s, "#") != "" {
				t.Fatalf("%q became %q", col[i], s)
			}
		}
	})
}

func BenchmarkFit(b *testing.B) {
	for b.Loop() {
		Fit("ACME Trading and Shipping Ltd", 24)
	}
}

// TestHang: what continues is in the column that its text begins in, nothing of it is
// lost, and no line is wider than the window.
func TestHang(t *testing.T) {
	for _, c := range []struct {
		line  string
		by, w int
		want  []string
	}{
		{"Limits   ! used up", 11, 40, []string{"Limits   ! used up"}},
		{"Limits   ! used up; the next call waits 21s by itself, as all do", 11, 48, []string{"Limits   ! used up; the next call waits 21s by", "           itself, as all do"}},
		{"Limits   ! used up; the next call waits 21s", 11, 24, []string{"Limits   ! used up; the", "  next call waits 21s"}}, // little room
		{"  \x1b[2mname\x1b[m  a b c d e f", 8, 40, []string{"  \x1b[2mname\x1b[m  a b c d e f"}},
		{"no text behind", 0, 6, []string{"no", "text", "behind"}},
		{"narrow", 2, 2, []string{"na", "rr", "ow"}},
	} {
		got := Hang(c.line, c.by, c.w)
		if !slices.Equal(got, c.want) {
			t.Errorf("%q in %d:\n%q, not\n%q", c.line, c.w, got, c.want)
		}
		for w := 1; w < 60; w++ {
			lines := Hang(c.line, c.by, w)
			for _, l := range lines {
				if Width(l) > w {
					t.Errorf("%q is wider than %d", l, w)
				}
			}
			all := func(s string) string { return strings.Join(strings.Fields(ansi.Strip(s)), "") }
			if all(strings.Join(lines, "")) != all(c.line) {
				t.Errorf("%q in %d is %q", c.line, w, lines)
			}
		}
	}
}
