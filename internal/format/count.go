package format

import (
	"strconv"

	"github.com/dustin/go-humanize"
)

// Size draws a number of bytes: "512 B", "1.2 MB". Negative sizes are "?".
func Size(n int64) string {
	if n < 0 {
		return "?"
	}
	return humanize.Bytes(uint64(n))
}

// Count draws a whole number with thousands grouped by commas.
func Count(n int) string { return string(AppendCount(nil, n)) }

// AppendCount appends what Count returns.
func AppendCount(b []byte, n int) []byte {
	from := len(b)
	b = strconv.AppendInt(b, int64(n), 10)
	if n < 0 {
		from++
	}
	for at := len(b) - 3; at > from; at -= 3 {
		b = append(b, 0)
		copy(b[at+1:], b[at:])
		b[at] = ','
	}
	return b
}

// Plural is "1 document", "3 documents".
func Plural(n int, one, many string) string {
	if n == 1 {
		return "1 " + one
	}
	return Count(n) + " " + many
}
