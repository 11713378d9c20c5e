package ui

import (
	"slices"
	"strings"
	"unicode"
)

// How well a choice fits what was typed; the smaller the better.
const (
	fitsExactly = iota // it is a name of it
	fitsStart          // a name begins with it
	fitsNames          // each word typed begins a word of its names
	fitsWords          // each word typed begins a word of its names or of its sentence
	fitsWithin         // it stands within a name
	fitsNot
)

// withinFrom is how many letters must be typed to find a name by what stands within
// one of its words.
const withinFrom = 3

// fit says how well a choice fits; letters that are scattered over it count for nothing.
func (c Choice) fit(typed string) int {
	typed = strings.Join(strings.Fields(strings.ToLower(typed)), " ")
	if typed == "" {
		return fitsExactly
	}
	best, all := fitsNot, words(c.About)
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

// words are the words of a text in small letters.
func words(text string) []string {
	return strings.FieldsFunc(strings.ToLower(text), func(r rune) bool {
		return !unicode.IsLetter(r) &&
			!unicode.IsDigit(r)
	})
}

// begin reports whether each word typed begins one of the words.
func begin(list []string, typed string) bool {
	parts := words(typed)
	for _, p := range parts {
		if !slices.ContainsFunc(list, func(w string) bool { return strings.HasPrefix(w, p) }) {
			return false
		}
	}
	return len(parts) > 0
}

// ranked are the indexes of the choices that fit, the best first, equals in their order.
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
