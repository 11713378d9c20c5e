package draw

import (
	"errors"
	"reflect"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/charmbracelet/x/ansi"
	"github.com/cockroachdb/apd/v3"
	"pgregory.net/rapid"

	"opdeck/api/untrusted"
	"opdeck/internal/format"
)

func TestFitIsExact(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		s, _ := untrusted.Clean(rapid.String().Draw(t, "s"), 200)
		w := rapid.IntRange(-2, 60).Draw(t, "w")
		for name, f := range map[string]func(string, int) string{"Fit": Fit, "FitRight": FitRight} {
			if got := f(s, w); ansi.StringWidth(got) != max(w, 0) {
				t.Fatalf("%s(%q, %d) = %q: %d cells", name, s, w, got, ansi.StringWidth(got))
			}
		}
		for name, f := range map[string]func(string, int) string{"Cut": Cut, "Middle": Middle} {
			if got := f(s, w); ansi.StringWidth(got) > max(w, 0) {
				t.Fatalf("%s(%q, %d) = %q: %d cells", name, s, w, got, ansi.StringWidth(got))
			}
		}
		for _, l := range Wrap(s, w) {
			if ansi.StringWidth(l) > max(w, 0) && w > 1 {
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
				if n := ansi.StringWidth(got); n != max(w, ansi.StringWidth(s)) {
					t.Errorf("%s(%q, %d) = %q: %d cells", name, s, w, got, n)
				}
			}
		}
	}
}

// The quick count is the library's count, or says that it cannot tell.
func TestQuickWidth(t *testing.T) {
	piece := rapid.SampledFrom([]string{"a", " ", "·", "…", "─", "▌", "✓", "✗", "◌", "▲", "株", "e\u0301", "\u0301", "\ufe0f", "é", "🇩🇪", "\x1b[0m", "\x1b[1;38;2;1;2;3m", "\x1b[", "\x1b", "~", "–", "•", "›"})
	rapid.Check(t, func(t *rapid.T) {
		s := strings.Join(rapid.SliceOfN(piece, 0, 12).Draw(t, "pieces"), "")
		if n, ok := quick(s); ok && n != ansi.StringWidth(s) {
			t.Fatalf("%q: %d cells, the library says %d", s, n, ansi.StringWidth(s))
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

type money struct{ c, d string }

func (m money) Currency() untrusted.Text { return untrusted.Text(m.c) }
func (m money) Empty() bool              { return false }
func (m money) Decimal() (*apd.Decimal, error) {
	if m.d == "" {
		return nil, errors.New("units and nanos disagree")
	}
	d, _, err := apd.NewFromString(m.d)
	return d, err
}

func TestMoney(t *testing.T) {
	for _, c := range []struct{ cur, d, want string }{
		{"USD", "0", "0.00 USD"},
		{"USD", "1234567.5", "1,234,567.50 USD"},
		{"USD", "-0.01", "-0.01 USD"},
		{"USD", "-0.00", "0.00 USD"},
		{"USD", "999", "999.00 USD"},
		{"USD", "12.345000000", "12.345 USD"},
		{"USD", "0.000000001", "0.000000001 USD"},
		{"JPY", "1200", "1,200 JPY"},
		{"JPY", "1200.5", "1,200.5 JPY"},
		{"BHD", "1.5", "1.500 BHD"},
		{"BTC", "0.12345678", "0.12345678 BTC"},
		{"USDT", "5.10", "5.1 USDT"},
		{"eur", "5", "5 eur"},
		{"", "5", "5"},
		{"E\x1bR", "5", "5 E·R"},
		{"EUR", "123456789012345678901234567890.123456789", "123,456,789,012,345,678,901,234,567,890.123456789 EUR"},
		{"EUR", "1E+6", "1,000,000.00 EUR"},
		{"EUR", "", "? EUR"},
	} {
		if got := Money(money{c.cur, c.d}); got != c.want {
			t.Errorf("%s %s: %q, want %q", c.d, c.cur, got, c.want)
		}
	}
	if _, ok := Amount(money{"EUR", ""}); ok {
		t.Error("an amount that cannot be trusted is ok")
	}
}

// No digit of a value is ever lost or invented.
func TestMoneyIsExact(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		d := apd.New(rapid.Int64().Draw(t, "coefficient"), int32(rapid.IntRange(-9, 3).Draw(t, "exponent")))
		got := format.Number(d, rapid.IntRange(0, 4).Draw(t, "digits"))
		back, _, err := apd.NewFromString(strings.ReplaceAll(got, ",", ""))
		if err != nil || back.Cmp(d) != 0 {
			t.Fatalf("%s became %s", d, got)
		}
	})
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

func TestUntilNamesItsNextChange(t *testing.T) {
	now := time.Date(2026, 3, 1, 12, 0, 0, 0, time.UTC)
	for d, want := range map[time.Duration]string{
		359 * time.Second: "5m", 300 * time.Second: "5m", 299 * time.Second: "4m 50s", 290 * time.Second: "4m 50s", 61 * time.Second: "1m", 60 * time.Second: "1m",
		59500 * time.Millisecond: "1m", 59 * time.Second: "59s", time.Millisecond: "1s", 0: "0s", -time.Second: "0s",
		2 * time.Hour: "2h 00m", 72 * time.Hour: "3d 0h",
	} {
		if got, _ := Until(now.Add(d), now); got != want {
			t.Errorf("%v: %q, want %q", d, got, want)
		}
	}
	end, steps := now.Add(7*time.Minute), 0
	for at := now; ; steps++ {
		s, next := Until(end, at)
		if next.IsZero() {
			if s != "0s" || !at.Equal(end) {
				t.Fatalf("stopped at %v with %q", at, s)
			}
			break
		}
		if before, _ := Until(end, next.Add(-time.Nanosecond)); before != s {
			t.Fatalf("%q became %q before its time", s, before)
		}
		if after, _ := Until(end, next); after == s {
			t.Fatalf("%q did not change at %v", s, next)
		}
		at = next
	}
	if steps > 2+24+60+1 {
		t.Errorf("%d ticks for seven minutes", steps)
	}
}

func TestAgo(t *testing.T) {
	now := time.Date(2026, 3, 1, 12, 0, 0, 0, time.UTC)
	for d, want := range map[time.Duration]string{
		-time.Second: "now", 9 * time.Second: "now", 12 * time.Second: "10s ago", 59 * time.Second: "50s ago", 61 * time.Second: "1m ago",
		59 * time.Minute: "59m ago", 3 * time.Hour: "3h ago", 50 * time.Hour: "2d ago",
		-59 * time.Second: "now", -time.Minute: "in 1m", -90 * time.Second: "in 1m", -3*time.Minute - 20*time.Second: "in 3m", -4*time.Hour - time.Minute: "in 4h", -72 * time.Hour: "in 3d",
	} {
		got, next := Ago(now.Add(-d), now)
		if got != want || !next.After(now) {
			t.Errorf("%v: %q, want %q; next %v", d, got, want, next)
		}
		at := now.Add(-d)
		if last, _ := Ago(at, next.Add(-1)); last != want {
			t.Errorf("%v: just before next it is %q", d, last)
		}
		if then, _ := Ago(at, next); then == want {
			t.Errorf("%v: it is %q at next, too", d, then)
		}
	}
	if s, next := Ago(time.Time{}, now); s != "–" || !next.IsZero() {
		t.Errorf("zero time: %q %v", s, next)
	}
}

func TestTimes(t *testing.T) {
	at := time.Date(2026, 3, 1, 12, 4, 5, 0, time.UTC)
	if got := Time(at, time.FixedZone("CET", 3600)); got != "2026-03-01 13:04:05 CET" {
		t.Error(got)
	}
	if Minute(time.Time{}, time.UTC) != "–" || Clock(at, nil) != "12:04:05" {
		t.Error("zero time or nil zone")
	}
	for d, want := range map[time.Duration]string{84 * time.Millisecond: "84ms", 1240 * time.Millisecond: "1.2s", 125 * time.Second: "2m 05s", -1: "–"} {
		if got := Duration(d); got != want {
			t.Errorf("%v: %q", d, got)
		}
	}
}

func TestJSONKeepsNumbersAndOrder(t *testing.T) {
	got, whole := JSON([]byte(`{"z":1.10,"a":12345678901234567890,"s":"x\u001b[2J`+"\x9b"+`"}`), 100)
	want := []string{"{", `  "z": 1.10,`, `  "a": 12345678901234567890,`, "  \"s\": \"x\\u001b[2J\ufffd\"", "}"}
	if !reflect.DeepEqual(got, want) || !whole {
		t.Errorf("%q", got)
	}
	if got, whole := JSON([]byte("not\x1b json\nx"), 1); len(got) != 1 || got[0] != "not· json" || whole {
		t.Errorf("%q", got)
	}
}

func BenchmarkFit(b *testing.B) {
	for b.Loop() {
		Fit("ACME Trading and Shipping Ltd", 24)
	}
}

func TestSuspect(t *testing.T) {
	if got := SuspiciousText("ACME и партнёры"); got != "" {
		t.Errorf("ordinary text is suspect: %s", got)
	}
	if got := SuspiciousText("invoice_\u202efdp.exe"); got != `hidden characters: "invoice_\u202efdp.exe"` {
		t.Error(got)
	}
}

// TestHang: what goes on stands in the column that its text begins in, nothing of it is
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
