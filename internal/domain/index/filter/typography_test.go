package filter

import (
	"errors"
	"testing"
	"time"

	"pgregory.net/rapid"
)

// TestTypographyIsReadAsASCII: what mail programs and keyboards make of the signs means what was meant.
func TestTypographyIsReadAsASCII(t *testing.T) {
	for in, want := range map[string]string{
		"customer:“Meyer & Co”": `customer:"Meyer & Co"`, "customer:„Meyer & Co“": `customer:"Meyer & Co"`, "customer:«Meyer & Co»": `customer:"Meyer & Co"`,
		"–status:PENDING": "-status:PENDING", "—status:PENDING": "-status:PENDING", "−status:PENDING": "-status:PENDING", "status：PENDING": "status:PENDING",
		"ｓｔａｔｕｓ：ＰＥＮＤＩＮＧ，ＮＥＷ": "status:PENDING,NEW", "amount≥1000": "amount>=1000", "amount≤1000": "amount<=1000", "status≠NEW": "-status:NEW", "（a OR b） c": "(a OR b) c",
		"“free text”": `"free text"`, "id:237f91d0‑aaaa‑4bbb": "id:237f91d0-aaaa-4bbb", "amount：１，０００．５０": "amount:1,000.50", "\ufeffstatus:NEW": "status:NEW",
		"status:NEW\u00a0type:X": "status:NEW type:X", `"a “b” c"`: `"a “b” c"`, "a – b": "a – b", "a ｜ b": "a OR b", "amount:−5": "amount:-5", "created：“last week”": `created:"last week"`,
	} {
		e, err := Parse(in)
		if err != nil || e.String() != want {
			t.Errorf("%q is read as %q, %v, want %q", in, e.String(), err, want)
		}
	}
	for in, column := range map[string]int{
		"amount≈1000": 7, "x status；PENDING": 9, "status∶PENDING": 7, "≥1000": 1, "amount ≥ 1000": 8, "status ：PENDING": 8, "status:=NEW": 8, "amount=>5": 8, "amount:100–200": 8,
		"customer:“Meyer": 10, "created:05/06": 9, "created:31/02": 9, "“”": 1,
	} {
		_, err := Parse(in)
		var wrong *Error
		if !errors.As(err, &wrong) || wrong.Column != column {
			t.Errorf("%q: %v, want a mistake in column %d", in, err, column)
		}
	}
}

// TestFoldHasOneFormOfEachSign: both sides of a comparison are folded.
func TestFoldHasOneFormOfEachSign(t *testing.T) {
	for _, same := range [][]string{
		{"ABC商事123", "ＡＢＣ商事１２３", "abc商事123"}, {"office", "oﬃce", "OFFICE"}, {"smith-jones", "smith‑jones", "Smith–Jones", "smith—jones", "SMITH−JONES"},
		{"ヤマダ パル", "ﾔﾏﾀﾞ ﾊﾟﾙ"}, {"o'neil", "O’Neil", "o‘neil"}, {`a "b"`, "a “b”", "a „b“", "a «b»"}, {"a b", "a\u00a0b", "a\u202fb", "a\u3000b", "a\u2009b"}, {"(株)abc", "㈱ABC"},
		{"No 5", "№ 5"}, {"weiss", "weiß"},
	} {
		for _, s := range same[1:] {
			if Fold(s) != Fold(same[0]) {
				t.Errorf("%q folds to %q, %q to %q", same[0], Fold(same[0]), s, Fold(s))
			}
		}
	}
	rapid.Check(t, func(t *rapid.T) {
		if s := rapid.String().Draw(t, "s"); Fold(Fold(s)) != Fold(s) {
			t.Fatalf("%q folds to %q, then to %q", s, Fold(s), Fold(Fold(s)))
		}
	})
}

// TestDaysAsPeopleSayThem: the span of a day in the zone that is shown, also where clocks are moved at midnight.
func TestDaysAsPeopleSayThem(t *testing.T) {
	for _, c := range []struct{ zone, now, typed, from, to string }{
		{"Europe/Berlin", "2026-11-28 14:00", "today", "2026-11-28T00:00:00+01:00", "2026-11-29T00:00:00+01:00"},
		{"Europe/Berlin", "2026-11-28 00:30", "yesterday", "2026-11-27T00:00:00+01:00", "2026-11-28T00:00:00+01:00"},
		{"Europe/Berlin", "2026-11-28 14:00", "monday", "2026-11-23T00:00:00+01:00", "2026-11-24T00:00:00+01:00"},
		{"Europe/Berlin", "2026-11-28 14:00", "saturday", "2026-11-28T00:00:00+01:00", "2026-11-29T00:00:00+01:00"},
		{"Europe/Berlin", "2026-11-28 14:00", "last saturday", "2026-11-21T00:00:00+01:00", "2026-11-22T00:00:00+01:00"},
		{"Europe/Berlin", "2026-11-29 14:00", "this week", "2026-11-23T00:00:00+01:00", "2026-11-30T00:00:00+01:00"},
		{"Europe/Berlin", "2026-11-30 14:00", "Last Week", "2026-11-23T00:00:00+01:00", "2026-11-30T00:00:00+01:00"},
		{"Europe/Berlin", "2026-11-28 14:00", "this month", "2026-11-01T00:00:00+01:00", "2026-12-01T00:00:00+01:00"},
		{"Europe/Berlin", "2026-01-05 14:00", "last month", "2025-12-01T00:00:00+01:00", "2026-01-01T00:00:00+01:00"},
		{"Europe/Berlin", "2026-11-28 14:00", "26/11", "2026-11-26T00:00:00+01:00", "2026-11-27T00:00:00+01:00"},
		{"Europe/Berlin", "2026-11-28 14:00", "11/26/2025", "2025-11-26T00:00:00+01:00", "2025-11-27T00:00:00+01:00"},
		{"Europe/Berlin", "2026-11-28 14:00", "05/05", "2026-05-05T00:00:00+02:00", "2026-05-06T00:00:00+02:00"},
		{"Europe/Berlin", "2026-11-28 14:00", "26.11.", "2026-11-26T00:00:00+01:00", "2026-11-27T00:00:00+01:00"},
		{"Europe/Berlin", "2026-11-28 14:00", "29 Feb", "2024-02-29T00:00:00+01:00", "2024-03-01T00:00:00+01:00"},
		{"Europe/Berlin", "2026-11-28 14:00", "30 November", "2025-11-30T00:00:00+01:00", "2025-12-01T00:00:00+01:00"},
		{"Europe/Berlin", "2026-03-29 14:00", "today", "2026-03-29T00:00:00+01:00", "2026-03-30T00:00:00+02:00"}, // 23 hours
		{"Europe/Berlin", "2026-10-25 14:00", "today", "2026-10-25T00:00:00+02:00", "2026-10-26T00:00:00+01:00"}, // 25 hours
		{"Europe/Berlin", "2026-10-25 14:00", "2026-10-25 02:30", "2026-10-25T02:30:00+02:00", "2026-10-25T02:31:00+02:00"},
		{"Europe/Berlin", "2026-10-25 14:00", "2026-10-25T02:30Z", "2026-10-25T02:30:00Z", "2026-10-25T02:31:00Z"},
		{"Europe/Berlin", "2026-11-28 09:00", "10:44", "2026-11-27T10:44:00+01:00", "2026-11-27T10:45:00+01:00"},
		{"America/Sao_Paulo", "2018-11-04 14:00", "today", "2018-11-04T01:00:00-02:00", "2018-11-05T00:00:00-02:00"}, // begins at one
		{"America/Sao_Paulo", "2018-02-17 14:00", "today", "2018-02-17T00:00:00-02:00", "2018-02-18T00:00:00-03:00"}, // 23:00 comes twice
		{"Asia/Beirut", "2026-03-29 14:00", "today", "2026-03-29T01:00:00+03:00", "2026-03-30T00:00:00+03:00"},
		{"Asia/Beirut", "2026-04-02 14:00", "last week", "2026-03-23T00:00:00+02:00", "2026-03-30T00:00:00+03:00"},
		{"America/Havana", "2026-11-01 14:00", "today", "2026-11-01T00:00:00-04:00", "2026-11-02T00:00:00-05:00"}, // midnight comes twice
		{"", "2026-11-28 14:00", "2026", "2026-01-01T00:00:00Z", "2027-01-01T00:00:00Z"},
	} {
		zone, err := time.LoadLocation(c.zone)
		if err != nil {
			t.Fatal(err)
		}
		now, err := time.ParseInLocation("2006-01-02 15:04", c.now, zone)
		if err != nil {
			t.Fatal(err)
		}
		m, ok, _ := readMoment(c.typed)
		if !ok {
			t.Errorf("%q is no time", c.typed)
			continue
		}
		from, to := m.span(now, false)
		if f, l := from.In(zone).Format(time.RFC3339), to.In(zone).Format(time.RFC3339); !sameTime(f, c.from) || !sameTime(l, c.to) {
			t.Errorf("%s in %s: %s is %s to %s, want %s to %s", c.now, c.zone, c.typed, f, l, c.from, c.to)
		}
	}
	for _, no := range []string{"tomorrow", "next week", "mon", "26/13", "05/06", "13/13", "31/02", "12:61", "UTC", "10:44:99", ""} {
		if _, ok, _ := readMoment(no); ok {
			t.Errorf("%q is a time", no)
		}
	}
}

func sameTime(a, b string) bool {
	x, err := time.Parse(time.RFC3339, a)
	y, err2 := time.Parse(time.RFC3339, b)
	return err == nil && err2 == nil && x.Equal(y)
}

// TestATimeThatComesTwice: both hours of the night in which clocks go back are found, and nothing between.
func TestATimeThatComesTwice(t *testing.T) {
	berlin, err := time.LoadLocation("Europe/Berlin")
	if err != nil {
		t.Fatal(err)
	}
	for _, in := range []string{"2026-10-25 02:30", "created:2026-10-25T02:30", `created:"25 Oct 2026 02:30"`} {
		e, err := Parse(in)
		if err != nil {
			t.Fatal(err)
		}
		e = e.In(berlin)
		for at, want := range map[string]bool{"00:29": false, "00:30": true, "00:31": false, "01:00": false, "01:30": true, "01:31": false} {
			o := shown()
			created, err := time.Parse("15:04", at)
			if err != nil {
				t.Fatal(err)
			}
			o.CreatedAt.Time = time.Date(2026, 10, 25, created.Hour(), created.Minute(), 0, 0, time.UTC)
			if e.Match(o, o.CreatedAt.Add(time.Hour)) != want {
				t.Errorf("%s at %s UTC: %v", in, at, !want)
			}
		}
	}
}
