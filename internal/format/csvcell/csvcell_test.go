package csvcell

import (
	"errors"
	"strings"
	"testing"
	"time"
	"unicode"
	"unicode/utf8"

	"github.com/cockroachdb/apd/v3"
)

func TestText(t *testing.T) {
	for _, start := range []string{"=", "+", "-", "@", "|", "%", "＝", "＋", "－", "＠", "｜", "％", "−", "﹢", "﹣", "﹦", "﹫", "﹪"} {
		for before, seen := range map[string]string{"": "'", " ": "' ", "   ": "'   ", "\u00a0": "' ", "\u3000": "' ", "\t": "' ",
			"\r": "' ", "\r\n": "' ", "\u200b": "·", "\ufeff": "·", "\v": "·", "\x1b[2J": "·[2J"} {
			rest := start + "1+cmd|'/C calc'!A0"
			for _, got := range []string{Text(before + rest).String(), Number(before + rest).String()} {
				if got != seen+rest {
					t.Errorf("%q is written as %q", before+rest, got)
				}
			}
		}
	}
	for _, s := range []string{"", " ", "a=1", "1-2", "Ana", " Ana", "'=1", "😀=", "e=mc", "5"} {
		if got := Text(s).String(); got != s {
			t.Errorf("%q is written as %q", s, got)
		}
	}
}

func TestNumber(t *testing.T) {
	for _, s := range []string{"0", "-5", "+5", "-5.00", "1,234,567.89", "-1 234.50", "-5.00 EUR", "EUR -5.00", "1e-8", "-0.00000001 BTC", "12"} {
		if got := Number(s).String(); got != s {
			t.Errorf("%q is written as %q", s, got)
		}
	}
	for _, s := range []string{"-5 +cmd|'/C calc'!A0", "-5 EU", "-5 =A1", "=5", "-", "--5", "-A1", "-5 EUR ", "+1(2)", "-1,2", "-5 =1"} {
		if got := Number(s).String(); got != "'"+s {
			t.Errorf("%q is written as %q", s, got)
		}
	}
	if got := Number("12 m").String(); got != "12 m" {
		t.Errorf("%q", got)
	}
}

func FuzzCells(f *testing.F) {
	f.Add("=1")
	f.Add(" +a")
	f.Add("a\x1b]52;c;b3BkZWNr\x07\u009b2J\r\n=1")
	f.Fuzz(func(t *testing.T, s string) {
		for _, got := range []string{Text(s).String(), Number(s).String()} {
			if strings.ContainsFunc(got, unicode.IsControl) || !utf8.ValidString(got) {
				t.Errorf("%q is written as %q", s, got)
			}
			if strings.ContainsAny(got[:min(1, len(got))], "=@|%") {
				t.Errorf("%q is written as %q", s, got)
			}
		}
	})
}

func TestAmountAndTime(t *testing.T) {
	for _, c := range [][3]string{{"12.5", "EUR", "12.50"}, {"-1234567", "USD", "-1234567.00"}, {"0.00000001", "BTC", "0.00000001"}, {"5", "JPY", "5"},
		{"1.5", "KWD", "1.500"}, {"1.005", "EUR", "1.005"}, {"7.1", "XQZ", "7.1"}, {"-0", "EUR", "0.00"}} {
		d, _, err := apd.NewFromString(c[0])
		if err != nil {
			t.Fatal(err)
		}
		if got := Amount(d, c[1]).String(); got != c[2] {
			t.Errorf("%s %s is written as %s", c[0], c[1], got)
		}
	}
	at := time.Date(2026, 11, 27, 4, 9, 33, 999, time.FixedZone("", 7200))
	if got := Time(at).String() + "," + Time(time.Time{}).String() + "," + Zoned("created"); got != "2026-11-27 02:09:33,,created (UTC)" {
		t.Error(got)
	}
}

func TestFile(t *testing.T) {
	for mark, want := range map[bool]string{false: "", true: "\xef\xbb\xbf"} {
		var b strings.Builder
		w, err := New(&b, mark, []string{"id", "name"})
		if err = errors.Join(err, w.Row([]Cell{Number("1"), Text("a, \"b\"\nÅ")}), w.Flush()); err != nil {
			t.Fatal(err)
		}
		if want += "id,name\n1,\"a, \"\"b\"\" Å\"\n"; b.String() != want {
			t.Errorf("%q, want %q", b.String(), want)
		}
	}
}
