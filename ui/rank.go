package ui

import (
	"slices"
	"strings"
	"unicode"
)

// How well a choice matches the typed text; a smaller value is better.
const (
	fitsExactly = iota // the text is one of its names
	fitsStart          // a name begins with the text
	fitsNames          // each typed word begins a word of its names
	fitsWords          // each typed word begins a word of its names or of its sentence
	fitsWithin         // a name contains the text
	fitsNot
)

// withinFrom is the number of letters from which a text may match inside a word of a
// name.
const withinFrom = 3

// fit returns how well a choice matches; scattered letters do not count.
func (c Choice) fit(typed string) int {
	typed = strings.Join(strings.Fields(strings.ToLower(typed)), " ")
	if typed == "" {
		return fitsExactly
	}
	best, all := fitsNot, words(c.About+" "+c.said())
	for _, name := range append([]string{c.Text}, c.Words...) {
		name = strings.ToLower(name)
		all = append(all, words(name)...)
		switch {
		case name == typed:
			best = fitsExactly
		case strings.HasPrefix(name, typed):
			best = min(best, fitsStart)
		case begin(words(name), typed):
			best = min(best, fitsNames)
		case len(typed) >= withinFrom && strings.Contains(name, typed):
			best = min(best, fitsWithin)
		}
	}
	if best > fitsWords && begin(all, typed) {
		best = fitsWords
	}
	return best
}

// words returns the words of a text in small letters.
func words(text string) []string {
	return strings.FieldsFunc(strings.ToLower(text), func(r rune) bool {
		return !unicode.IsLetter(r) &&
			!unicode.IsDigit(r)
	})
}

// begin reports whether each typed word begins one of the words.
func begin(list []string, typed string) bool {
	parts := words(typed)
	for _, p := range parts {
		if !slices.ContainsFunc(list, func(w string) bool { return strings.HasPrefix(w, p) }) {
			return false
		}
	}
	return len(parts) > 0
}

// ranked returns the indexes of the matching choices, best first, equal ones in their order.
func ranked(items []Choice, typed string) []int {
	var hits []int
	fits := make([]int, len(items))
	for i, c := range items {
		if fits[i] = c.fit(typed); fits[i] < fitsNot {
			hits = append(hits, i)
		}
	}
	slices.SortStableFunc(hits, func(a, b int) int { return fits[a] - fits[b] })
	return hits
}
