package format

import "opdeck/api/untrusted"

// File is a file name from outside in at most max characters, both ends kept: it shows how it begins and its real
// ending.
func File(u untrusted.Text, max int) string {
	all := []rune(u.Line(512))
	if len(all) <= max {
		return string(all)
	}
	tail := (max - 1) / 2
	return string(all[:max-1-tail]) + "…" + string(all[len(all)-tail:])
}
