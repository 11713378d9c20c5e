package format

// YesNo is a flag as a word.
func YesNo(b bool) string {
	if b {
		return "yes"
	}
	return "no"
}
