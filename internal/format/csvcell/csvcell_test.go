package csvcell

import (
	"strings"
	"testing"
)

func TestText(t *testing.T) {
	for _, start := range []string{"=", "+", "-", "@", "\t", "\r", "\n", "|", "%", "＝", "＋", "－", "＠", "｜", "％", "−", "﹢", "﹣", "﹦", "﹫", "﹪"} {
		for _, before := range []string{"", " ", "   ", "\u00a0", "\u3000", "\u200b", "\ufeff", " \u202e ", "\v"} {
			s := before + start + "1+cmd|'/C calc'!A0"
			if got := Text(s); got != "'"+s {
				t.Errorf("%q is written as %q", s, got)
			}
			if got := Number(s); got != "'"+s {
				t.Errorf("%q in a column of numbers is written as %q", s, got)
			}
		}
	}
	for _, s := range []string{"", " ", "a=1", "1-2", "Ana", " Ana", "'=1", "😀=", "e=mc", "5", "\u0301a"} {
		if got := Text(s); got != s {
			t.Errorf("%q is written as %q", s, got)
		}
	}
}

func TestNumber(t *testing.T) {
	for _, s := range []string{"0", "-5", "+5", "-5.00", "1,234,567.89", "-1 234.50", "-5.00 EUR", "EUR -5.00", "1e-8", "-0.00000001 BTC", "12"} {
		if got := Number(s); got != s {
			t.Errorf("%q is written as %q", s, got)
		}
	}
	for _, s := range []string{"-5 +cmd|'/C calc'!A0", "-5 EU", "-5 =A1", "=5", "-", "--5", "-A1", "-5 EUR ", "+1(2)", "-1,2", "-5\n=1"} {
		if got := Number(s); got != "'"+s {
			t.Errorf("%q is written as %q", s, got)
		}
	}
	if got := Number("12 m"); got != "12 m" {
		t.Errorf("%q", got)
	}
}

func FuzzCells(f *testing.F) {
	f.Add("=1")
	f.Add(" +a")
	f.Fuzz(func(t *testing.T, s string) {
		for _, got := range []string{Text(s), Number(s)} {
			if got != s && got != "'"+s {
				t.Errorf("%q is written as %q", s, got)
			}
			if strings.ContainsAny(got[:min(1, len(got))], "=@|%\t\r\n") {
				t.Errorf("%q is written as %q", s, got)
			}
		}
	})
}
