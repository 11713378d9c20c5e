package redact

import (
	"regexp"
	"strings"
	"unicode"
	"unicode/utf8"
)

// maxSaid bounds the text that Said reads, in bytes.
const maxSaid = 16 << 10

// Said is a sentence of the service as people may read it: without tokens, and with what identifies an account, a card
// or a person masked: IBANs, mail addresses, phone numbers, long numbers, and every number beside a word that names
// what it belongs to ("account", "card", "tel"), in any spelling and any digits. UUIDs, dates, times, network
// addresses and amounts stay. Said of its own result changes nothing.
func Said(s string) string { return SaidWith(s, dots) }

// SaidWith is Said with with in place of what it hides; with has no letters or digits.
func SaidWith(s, with string) string {
	if len(s) > maxSaid { // a word that is cut in two may be half a number
		s = s[:maxSaid]
		s = s[:strings.LastIndexAny(s, " \n\t")+1]
	}
	s = tokens.ReplaceAllString(s, with)
	f := folded(s)
	pieces := f.pieces()
	var b strings.Builder
	kept := 0
	for k, p := range pieces {
		shown := ""
		switch {
		case p.kind == mailPiece:
			shown = f.mail(p, with)
		case p.kind == hiddenPiece, p.kind != wordPiece && pieces.tells(k):
			shown = with + f.end(p, pieces.of(k))
		default:
			continue
		}
		b.WriteString(s[kept:f.at[p.from]])
		b.WriteString(shown)
		kept = f.at[p.to]
	}
	return b.String() + s[kept:]
}

// tokens matches what looks like a token of a session: Scrub is the second line of defence, the first is that secrets
// are secret.Values.
var tokens = regexp.MustCompile(
	`eyJ[A-Za-z0-9_-]{5,}\.[A-Za-z0-9_-]+(\.[A-Za-z0-9_-]*)?|(?i:bearer\s+)[^\s•*]\S*|/auth/refresh/[^\s"'•*…]+`)

// Scrub replaces anything that looks like a token with dots.
func Scrub(s string) string { return tokens.ReplaceAllString(s, dots) }

// text is a text with one ASCII character for each of its characters, so that a full-width or Arabic digit is a digit;
// at[i] is where character i begins in the original. Characters that cannot be seen are left out.
type text struct {
	s  string // the original
	is string
	at []int
}

func folded(s string) text {
	is := make([]byte, 0, len(s))
	at := make([]int, 0, len(s)+1)
	for i, r := range s {
		if c := foldRune(r); c != 0 {
			is, at = append(is, c), append(at, i)
		}
	}
	return text{s, string(is), append(at, len(s))}
}

// foldRune is the ASCII character that a character stands for: x for a letter without one, 0 for one that cannot be
// seen.
func foldRune(r rune) byte {
	if r >= 0xff01 && r <= 0xff5e { // full width
		r -= 0xff01 - '!'
	}
	switch {
	case r == '_', r == 0xb7, r >= 0x2010 && r <= 0x2015, r == 0x2212:
		return '-'
	case r == '•':
		return '*'
	case unicode.IsSpace(r):
		return ' '
	case r < utf8.RuneSelf:
		return byte(r) //nolint:gosec // it is ASCII
	case unicode.In(r, unicode.Cf, unicode.M, unicode.Other_Default_Ignorable_Code_Point):
		return 0
	case unicode.Is(unicode.Nd, r):
		return '0' + digitOf(r)
	case unicode.IsLetter(r):
		return 'x'
	}
	return '|'
}

// digitOf is the value of a decimal digit: each script has them in a row.
func digitOf(r rune) byte {
	for _, in := range unicode.Nd.R16 {
		if lo, hi := rune(in.Lo), rune(in.Hi); r >= lo && r <= hi {
			return byte((r - lo) % 10) //nolint:gosec // less than 10
		}
	}
	for _, in := range unicode.Nd.R32 {
		if lo, hi := rune(in.Lo), rune(in.Hi); r >= lo && r <= hi { //nolint:gosec // a code point
			return byte((r - lo) % 10) //nolint:gosec // less than 10
		}
	}
	return 0
}

// pieceKind is what a piece of a text is.
type pieceKind int

const (
	wordPiece   pieceKind = iota // also what stays whatever is beside it: a UUID, a network address
	stopPiece                    // the end of a sentence, or a colon
	datePiece                    // a date with its time
	numberPiece                  // hidden beside a telling word
	amountPiece                  // hidden right behind a telling word
	hiddenPiece
	mailPiece
)

// piece is a part of a text, from its first character to its last.
type piece struct {
	kind     pieceKind
	from, to int
	text     string // as folded
	tells    Kind   // of a word: what the number beside it is
	next     bool   // it tells of the next piece only
}

type pieces []piece

// lexer matches, in this order: UUIDs, what is masked, mail addresses, dates, phone numbers, words and numbers, stops.
var lexer = regexp.MustCompile(`(\b[[:xdigit:]]{8}(?:-[[:xdigit:]]{4}){3}-[[:xdigit:]]{12}\b|\b[[:xdigit:]]{32}\b)|` +
	`(\*+(?:@|[A-Za-z0-9]{0,4}\b)?)|` +
	`((?:"[^"]+"|[^\s<>"'(),;:\[\]{}|=*]+)@[A-Za-z0-9.-]*[A-Za-z0-9])|` +
	`(\b\d{4}-\d\d-\d\d(?:[T ]\d\d:\d\d(?::\d\d(?:[.,]\d+)?)?(?:Z|[+-]\d\d:?\d\d)?)?\b|` +
	`\b\d\d([./-])\d\d[./-]\d{4}\b|\b\d\d:\d\d:\d\d(?:[.,]\d+)?\b)|` +
	`(\+[ (]*\d(?:[ ()./-]{0,3}\d){6,})|` +
	`(\b[Aa]/[Cc]\b|[A-Za-z0-9]+(?:[-.'#][A-Za-z0-9]+)*)|` +
	`([.!?;:\n])`)

// pieces splits the text.
func (f text) pieces() (out pieces) {
	for _, m := range lexer.FindAllStringSubmatchIndex(f.is, -1) {
		p := piece{from: m[0], to: m[1], text: f.is[m[0]:m[1]]}
		if n := len(out); n > 0 && p.from < out[n-1].to {
			continue // part of an IBAN in groups
		}
		switch {
		case m[6] >= 0:
			p.kind = mailPiece
		case m[8] >= 0:
			p.kind = datePiece
		case m[12] >= 0:
			p.kind = hiddenPiece
		case m[14] >= 0:
			p = f.token(p)
		case m[16] >= 0:
			p.kind = stopPiece
		}
		if n := len(out); n > 0 && out[n-1].joins(p, f.is) {
			out[n-1].to, out[n-1].text = p.to, f.is[out[n-1].from:p.to]
			out[n-1].kind = numberOf(out[n-1].text)
			continue
		}
		out = append(out, p)
	}
	return out
}

// token is a word or a number; an IBAN that begins in it may be longer.
func (f text) token(p piece) piece {
	for i := p.from; i < p.to; i++ {
		if end := f.iban(i, i == p.from); end > 0 {
			p.kind, p.to, p.text = hiddenPiece, max(p.to, end), f.is[p.from:max(p.to, end)]
			return p
		}
	}
	if digits := digitsIn(p.text); digits == 0 || address(p.text) {
		p.tells = max(KindOf(p.text, Open), kindIn(spoken, p.text, Open))
		p.next = len(p.text) <= 2
		return p
	}
	if p.kind = numberOf(p.text); p.kind == numberPiece && KindOf(p.text, Open) >= Number { // IBAN-12345
		p.kind = hiddenPiece
	}
	return p
}

// iban is the end of an IBAN that begins at i, 0 for none: with right check digits, or as one by its form; in groups of
// any size if it begins a word.
func (f text) iban(i int, begins bool) int {
	if end := ibanAt(f.is, i); end > 0 || !begins {
		return end
	}
	n := 0
	if i+4 < len(f.is) && letter(f.is[i]) && letter(f.is[i+1]) {
		n = lengths[strings.ToUpper(f.is[i:i+2])]
	}
	var c []byte
	at, gaps, fours := i, 0, true
	for ; at < len(f.is) && len(c) < n; at++ {
		switch b := f.is[at]; {
		case digit(b), letter(b):
			c, gaps = append(c, b), 0
		case strings.IndexByte(" -./()", b) >= 0 && gaps < 2:
			gaps, fours = gaps+1, fours && len(c)%4 == 0
		default:
			return 0
		}
	}
	end := at
	for end < len(f.is) && (digit(f.is[end]) || letter(f.is[end])) {
		end++
	}
	if n == 0 || len(c) < n || !digit(c[2]) || !digit(c[3]) || digitsIn(string(c)) < 10 {
		return 0
	}
	if checked(c) || fours && end == at {
		return end
	}
	return 0
}

// address reports whether a text is a network address.
func address(s string) bool {
	parts := strings.Split(s, ".")
	for _, p := range parts {
		if len(p) == 0 || len(p) > 3 || digitsIn(p) != len(p) || len(p) > 1 && p[0] == '0' || len(p) == 3 && p > "255" {
			return false
		}
	}
	return len(parts) == 4
}

// joins reports whether p goes on with the number n: "4111 1111", "(030) 1234".
func (n piece) joins(p piece, s string) bool {
	is := func(p piece) bool {
		return p.text != "" && digit(p.text[len(p.text)-1]) && p.kind != datePiece && !address(p.text) &&
			strings.Trim(p.text, "0123456789-.'#+() ") == ""
	}
	gap := s[n.to:p.from]
	return is(n) && is(p) && len(gap) <= 2 && strings.Trim(gap, " ()") == ""
}

// numberOf is the kind of a text with digits.
func numberOf(s string) pieceKind {
	digits, run, longest, groups := 0, 0, 0, 1
	for i := range len(s) {
		switch c := s[i]; {
		case digit(c):
			digits, run = digits+1, run+1
			longest = max(longest, run)
		default:
			if run = 0; !letter(c) {
				groups++
			}
		}
	}
	whole := strings.ContainsFunc(s, func(r rune) bool { return letter(byte(r)) }) //nolint:gosec // it is ASCII
	switch {
	case amount(s):
		return amountPiece
	case !whole && (digits >= 10 || groups > 1 && digits >= 9), longest >= 12, ibanForm(s):
		return hiddenPiece
	case digits < 4:
		return wordPiece
	}
	return numberPiece
}

// amount reports whether a text is a decimal with at most two places, with or without separators.
func amount(s string) bool {
	at := strings.LastIndexAny(s, ".,")
	return at > 0 && len(s)-at >= 2 && len(s)-at <= 3 && digitsIn(s[at:]) == len(s)-at-1 &&
		digitsIn(s[:at]) == at-strings.Count(s[:at], " ")-strings.Count(s[:at], "'") && at <= 12
}

// ibanForm reports whether a text has the form of an IBAN of a country that is not known here.
func ibanForm(s string) bool {
	return len(s) >= 15 && len(s) <= 34 && s == strings.ToUpper(s) && letter(s[0]) && letter(s[1]) && digit(s[2]) &&
		digit(s[3]) && !strings.ContainsAny(s, "-.'#") && digitsIn(s) >= 10
}

func digitsIn(s string) (n int) {
	for i := range len(s) {
		if digit(s[i]) {
			n++
		}
	}
	return n
}

// reach is how many pieces a telling word may be away from its number.
const reach = 5

// tells reports whether a word beside piece k says that it is to be hidden.
func (all pieces) tells(k int) bool { return all.of(k) >= Number }

// of is what the words beside piece k say of it: Open for nothing.
func (all pieces) of(k int) (is Kind) {
	if p := all[k]; p.kind == stopPiece || p.kind == mailPiece {
		return Open
	}
	between := 0 // words that say something else
back:
	for i := k - 1; i >= max(0, k-reach); i-- {
		switch w := all[i]; {
		case w.kind == stopPiece && (w.text == ":" || i > 0 && all[i-1].tells >= Number): // "account:", "acct."
		case w.kind == stopPiece:
			break back
		case w.tells >= Number && !(w.next && between > 0) && all.fits(k, w, between) && !all.counts(i):
			is = max(is, w.tells)
		case w.kind == wordPiece && !filler[strings.ToLower(w.text)]:
			between++
		}
	}
	for i := k + 1; is == Open && i < min(len(all), k+1+reach) && all[i].kind != stopPiece; i++ {
		if w := all[i]; w.tells >= Number && !w.next && all.fits(k, w, reach) {
			is = w.tells
		}
	}
	return is
}

// fits reports whether a word that tells of numbers can mean piece k, with that many words between them.
func (all pieces) fits(k int, w piece, between int) bool {
	p := all[k]
	switch p.kind {
	case hiddenPiece:
		return true
	case datePiece:
		lower := strings.ToLower(w.text)
		return strings.Contains(lower, "birth") || strings.Contains(lower, "dob")
	case amountPiece:
		return between == 0 && !all.money(k)
	case numberPiece:
		return between == 0 || digitsIn(p.text) > 4 && !all.money(k)
	}
	return false
}

// money reports whether a currency follows piece k.
func (all pieces) money(k int) bool {
	if k+1 == len(all) {
		return false
	}
	next := all[k+1].text
	return len(next) == 3 && digitsIn(next) == 0 && next == strings.ToUpper(next)
}

// counts reports whether piece i is "number" of "number of documents".
func (all pieces) counts(i int) bool {
	return strings.EqualFold(all[i].text, "number") && i+1 < len(all) && strings.EqualFold(all[i+1].text, "of")
}

// filler are words that may stand between a telling word and its number.
var filler = map[string]bool{"is": true, "was": true, "of": true, "id": true, "the": true, "ending": true, "in": true,
	"with": true, "to": true, "from": true, "for": true}

// mail is the masked form of a mail address: its first letter and its host.
func (f text) mail(p piece, with string) string {
	s := f.s[f.at[p.from]:f.at[p.to]]
	at := p.from + strings.LastIndexByte(p.text, '@')
	_, first := utf8.DecodeRuneInString(strings.TrimLeft(s, `"`))
	quote := len(s) - len(strings.TrimLeft(s, `"`))
	return s[quote:quote+first] + with + f.s[f.at[at]:f.at[p.to]]
}

// end is what a masked number still shows: its last four letters and digits, fewer of a personal one, none of a secret.
func (f text) end(p piece, is Kind) string {
	shows := map[Kind]int{Personal: 2, Secret: 0}
	most, ok := shows[is]
	if !ok {
		most = 4
	}
	if p.text[0] == '+' {
		most = 2
	}
	var out string
	n := 0
	for i := p.to - 1; i >= p.from; i-- {
		if c := f.is[i]; digit(c) || letter(c) {
			if n++; n <= most {
				out = f.s[f.at[i]:f.at[i+1]] + out
			}
		}
	}
	if n <= 4 {
		return ""
	}
	return out
}
