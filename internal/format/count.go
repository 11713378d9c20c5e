package format

import "github.com/dustin/go-humanize"

// Size draws a number of bytes: "512 B", "1.2 MB". Negative sizes are "?".
func Size(n int64) string {
	if n < 0 {
		return "?"
	}
	return humanize.Bytes(uint64(n))
}

// Count draws a whole number with thousands grouped by commas.
func Count(n int) string { return humanize.Comma(int64(n)) }

// Plural is "1 document", "3 documents".
func Plural(n int, one, many string) string {
	if n == 1 {
		return "1 " + one
	}
	return Count(n) + " " + many
}
