package untrusted

import (
	"encoding/json"
	"fmt"
	"strconv"
	"strings"
	"testing"
	"unicode"
	"unicode/utf8"

	"github.com/charmbracelet/x/ansi"
)

func TestClean(t *testing.T) {
	for _, c := range []struct {
		in, want string
		f        Flags
	}{
		{"ACME Ltd", "ACME Ltd", 0},
		{"", "", 0},
		{"Zoë Müller", "Zoë Müller", 0},
		{"株式会社", "株式会社", 0},
		{"\x1b]52;c;eQ==\a", "·]52;c;eQ==·", Control},
		{"\x1b]0;x HIDDEN AMOUNT 9,999", "·]0;x HIDDEN AMOUNT 9,999", Control},
		{"PAID\rREFUSED", "PAID·REFUSED", Control},
		{"100\b\b\b9", "100···9", Control},
		{"a\u009b2Jb", "a·2Jb", Control},
		{"a\x9b2Jb", "a\ufffd2Jb", Invalid},
		{"invoice_\u202efdp.exe", "invoice_·fdp.exe", Format},
		{"zero\u200bwidth", "zero·width", Format},
		{"\u3164\uffa0\u2800", "···", Format},
		{"a\u00a0b", "a b", 0},
		{"\u0301lone", "·lone", Marks},
		{"e" + strings.Repeat("\u0301", 200), "e" + strings.Repeat("\u0301", 4), Marks},
		{"АСМЕ", "АСМЕ", 0},
		{"Payp\u0430l", "Payp\u0430l", Mixed},
		{"ACME и партнёры", "ACME и партнёры", 0},
		{"\U000e0041tag", "·tag", Format},
		{"line\nbreak\u2028x", "line·break·x", Control | Format},
	} {
		got, f := Clean(c.in, 0)
		if got != c.want || f != c.f {
			t.Errorf("Clean(%q) = %q, %b; want %q, %b", c.in, got, f, c.want, c.f)
		}
	}
}

func TestCut(t *testing.T) {
	got, f := Clean(strings.Repeat("x", 100), 10)
	if got != "xxxxxxxxx…" || f != Cut || f.Suspicious() {
		t.Errorf("got %q %b", got, f)
	}
	if got, f := Clean("12345", 5); got != "12345" || f != 0 {
		t.Errorf("an exact fit is not cut: %q %b", got, f)
	}
}

func TestBlock(t *testing.T) {
	got := Text("one\r\ntwo\x1b\nthree\nfour").Block(3, 20)
	want := []string{"one", "two·", "three…"}
	if fmt.Sprint(got) != fmt.Sprint(want) {
		t.Errorf("got %q", got)
	}
}

func TestFormatIsSafe(t *testing.T) {
	u := Text("a\x1b[2J")
	for _, v := range []string{"%s", "%v", "%+v", "%d", "%x"} {
		if s := fmt.Sprintf(v, u); strings.ContainsRune(s, 0x1b) {
			t.Errorf("%s prints an escape: %q", v, s)
		}
	}
	if s := fmt.Sprintf("%q", u); s != `"a\x1b[2J"` {
		t.Errorf("quoted: %s", s)
	}
	if s := fmt.Sprintf("[%-6s][%6s]", Text("ab"), Text("ab")); s != "[ab    ][    ab]" {
		t.Errorf("padding: %q", s)
	}
}

func FuzzClean(f *testing.F) {
	for _, s := range []string{"", "a", "\x1b[2J", "\u202e", "e\u0301\u0301", "\xff\xfe", "日本", "👩‍👩‍👧"} {
		f.Add(s, 20)
	}
	f.Fuzz(func(t *testing.T, s string, max int) {
		got, _ := Clean(s, max)
		if !utf8.ValidString(got) {
			t.Fatalf("not UTF-8: %q", got)
		}
		for _, r := range got {
			if r < 0x20 || r >= 0x7f && r < 0xa0 || r >= 0xa0 && isHidden(r) && r != Mark {
				t.Fatalf("%U is left in %q", r, got)
			}
		}
		if ansi.Strip(got) != got {
			t.Fatalf("a sequence is left in %q", got)
		}
		if max > 0 && utf8.RuneCountInString(got) > max {
			t.Fatalf("%d characters of %d", utf8.RuneCountInString(got), max)
		}
		if again, f := Clean(got, len(got)+1); again != got || f&(Control|Format) != 0 {
			t.Fatalf("not stable: %q then %q", got, again)
		}
		if q, err := strconv.Unquote(Text(s).Quoted()); utf8.ValidString(s) && (err != nil || q != s) {
			t.Fatalf("quoted form is not exact: %q %v", q, err)
		}
		if strings.IndexFunc(Text(s).Quoted(), func(r rune) bool { return !unicode.IsPrint(r) }) >= 0 {
			t.Fatal("quoted form is not printable")
		}
	})
}

func BenchmarkCleanASCII(b *testing.B) {
	for b.Loop() {
		Clean("ACME Trading and Shipping Ltd", 40)
	}
}

func TestJSON(t *testing.T) {
	in := `{"a":"x` + "\u202e\u200b\U000e0041\u2028\u009b" + `é漢"}` + "\n"
	got := JSON(in)
	for _, bad := range []string{"\u202e", "\u200b", "\U000e0041", "\u2028", "\u009b"} {
		if strings.Contains(got, bad) {
			t.Errorf("%q is left in %q", bad, got)
		}
	}
	var a, b map[string]string
	if json.Unmarshal([]byte(in), &a) != nil || json.Unmarshal([]byte(got), &b) != nil || a["a"] != b["a"] {
		t.Errorf("%q became %q", a["a"], b["a"])
	}
}
