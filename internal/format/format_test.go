package format

import (
	"errors"
	"math"
	"reflect"
	"strings"
	"testing"
	"time"

	"github.com/cockroachdb/apd/v3"
	"github.com/dustin/go-humanize"
	"pgregory.net/rapid"

	"opdeck/api/untrusted"
)

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
		got := Number(d, rapid.IntRange(0, 4).Draw(t, "digits"))
		back, _, err := apd.NewFromString(strings.ReplaceAll(got, ",", ""))
		if err != nil || back.Cmp(d) != 0 {
			t.Fatalf("%s became %s", d, got)
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

func TestSuspect(t *testing.T) {
	if got := Suspicious("ACME и партнёры"); got != "" {
		t.Errorf("ordinary text is suspect: %s", got)
	}
	if got := Suspicious("invoice_\u202efdp.exe"); got != `hidden characters: "invoice_\u202efdp.exe"` {
		t.Error(got)
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

// TestCountIsGroupedAsTheLibraryDoes holds Count against humanize.
func TestCountIsGroupedAsTheLibraryDoes(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		n := rapid.IntRange(math.MinInt, math.MaxInt).Draw(t, "n") >> rapid.IntRange(0, 63).Draw(t, "smaller by")
		if got, want := Count(n), humanize.Comma(int64(n)); got != want {
			t.Fatalf("%q, the library says %q", got, want)
		}
	})
}
