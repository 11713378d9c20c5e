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

// shortID is the number of runes at each end of a shortened id.
const shortID = 6

// ShortID is the one short form of an identifier: its first and its last six characters, "62387c…50c0b8". Ids of up
// to 13 characters stay whole.
func ShortID(u untrusted.Text) string {
	all := []rune(u.Line(256))
	if len(all) <= 2*shortID+1 {
		return string(all)
	}
	return string(all[:shortID]) + "…" + string(all[len(all)-shortID:])
}
