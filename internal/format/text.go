package format

import "opdeck/api/untrusted"

// File is a file name from outside, cut in the middle to at most max runes: its start and its real extension remain.
func File(u untrusted.Text, max int) string {
	all := []rune(u.Line(512))
	if len(all) <= max {
		return string(all)
	}
	tail := (max - 1) / 2
	return string(all[:max-1-tail]) + "…" + string(all[len(all)-tail:])
}
