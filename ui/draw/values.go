package draw

import (
	"time"

	"opdeck/api/untrusted"
	"opdeck/internal/format"
)

// Moneyer is an amount of money: api.Money.
type Moneyer = format.Moneyer

// Amount is format.Amount.
func Amount(m Moneyer) (s string, ok bool) { return format.Amount(m) }

// Money is format.Money.
func Money(m Moneyer) string { return format.Money(m) }

// Size is format.Size.
func Size(n int64) string { return format.Size(n) }

// Count is format.Count.
func Count(n int) string { return format.Count(n) }

// Plural is format.Plural.
func Plural(n int, one, many string) string { return format.Plural(n, one, many) }

// SuspiciousText is format.Suspicious.
func SuspiciousText(u untrusted.Text) string { return format.Suspicious(u) }

// YesNo is format.YesNo.
func YesNo(b bool) string { return format.YesNo(b) }

// Time is format.Time.
func Time(t time.Time, zone *time.Location) string { return format.Time(t, zone) }

// TimeAgo is format.TimeAgo.
func TimeAgo(t, now time.Time, zone *time.Location) string { return format.TimeAgo(t, now, zone) }

// Minute is format.Minute.
func Minute(t time.Time, zone *time.Location) string { return format.Minute(t, zone) }

// Clock is format.Clock.
func Clock(t time.Time, zone *time.Location) string { return format.Clock(t, zone) }

// Until is format.Until.
func Until(end, now time.Time) (s string, next time.Time) { return format.Until(end, now) }

// Ago is format.Ago.
func Ago(t, now time.Time) (s string, next time.Time) { return format.Ago(t, now) }

// Age is format.Age.
func Age(t, now time.Time) (s string, next time.Time) { return format.Age(t, now) }

// Duration is format.Duration.
func Duration(d time.Duration) string { return format.Duration(d) }
