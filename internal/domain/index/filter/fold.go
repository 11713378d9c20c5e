package filter

import (
	"strings"
	"unicode/utf8"

	"golang.org/x/text/unicode/norm"

	"opdeck/api/untrusted"
)

// joint separates texts that share a column; no folded text contains it.
const joint = "\x1f"

// Fold is the form for comparing texts: as lists draw them, in lower case, without accents, and with one form of each
// dash, quote, ligature and width. The store has folded copies of searchable texts: raise the version of its rule
// (derivation in store/opindex) if a text folds to another one.
func Fold(s string) string {
	if plain(s) {
		return strings.ToLower(s)
	}
	s, _ = untrusted.Clean(s, len(s)+1) // no NUL, no joint, valid UTF-8
	s = norm.NFKC.String(strings.ReplaceAll(s, string(utf8.RuneError), string(untrusted.Mark)))
	s, _ = untrusted.Clean(s, len(s)+1) // an accent alone became one on a space
	return strings.ToLower(unaccented(strings.ToLower(s)))
}

// FoldID is the form for comparing identifiers: lower case, accents kept, because identifiers that differ in them
// are different ones.
func FoldID(s string) string {
	if plain(s) {
		return strings.ToLower(s)
	}
	return strings.ReplaceAll(strings.ToLower(Clean(s)), joint, " ")
}

// letters are those that people type without the accent and Unicode does not take apart, and typographic signs.
var letters = strings.NewReplacer("ł", "l", "ø", "o", "đ", "d", "ð", "d", "ħ", "h", "ı", "i", "ŧ", "t", "ß", "ss",
	"æ", "ae", "œ", "oe", "þ", "th", "’", "'", "‘", "'", "ʼ", "'", "‛", "'", "“", `"`, "”", `"`, "„", `"`,
	"‟", `"`, "«", `"`, "»", `"`, "‐", "-", "‑", "-", "‒", "-", "–", "-", "—", "-", "―", "-", "−", "-")

// unaccented is s without the marks on its letters.
func unaccented(s string) string {
	var b strings.Builder
	b.Grow(len(s))
	for _, r := range norm.NFD.String(s) {
		if r < 0x300 || r > 0x36f { // the combining marks of Latin, Greek and Cyrillic
			b.WriteRune(r)
		}
	}
	return letters.Replace(norm.NFC.String(b.String()))
}

// JoinTexts packs folded texts into one column: the column contains a folded text if one of them does, and contains
// Joined(text) if one of them equals it. No texts give "".
func JoinTexts(texts []string) string {
	if len(texts) == 0 {
		return ""
	}
	var b strings.Builder
	for _, t := range texts {
		b.WriteString(joint + Fold(t))
	}
	b.WriteString(joint)
	return b.String()
}

// Joined is contained in a column made by JoinTexts if one of its texts is s.
func Joined(s string) string { return joint + Fold(s) + joint }

// Clean replaces what databases reject in a text (NUL, invalid UTF-8) by U+FFFD.
func Clean(s string) string {
	if plain(s) {
		return s
	}
	return strings.ReplaceAll(strings.ToValidUTF8(s, string(utf8.RuneError)), "\x00", string(utf8.RuneError))
}

// plain reports whether all of s is printable ASCII, as most texts are.
func plain(s string) bool {
	for i := range len(s) {
		if s[i] < ' ' || s[i] > '~' {
			return false
		}
	}
	return true
}
