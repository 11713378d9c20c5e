package filter

import (
	"fmt"
	"regexp"
	"slices"
	"strings"
	"unicode"
	"unicode/utf8"

	"golang.org/x/text/unicode/norm"
)

// Error is a mistake in a filter with its position.
type Error struct {
	Column int    // of the first wrong character, from 1, in runes
	What   string // what is wrong, as a sentence
	Hint   string // how to fix it, as a sentence; may be empty
}

// Error names the column, the mistake and the fix.
func (e *Error) Error() string {
	s := fmt.Sprintf("filter, column %d: %s", e.Column, e.What)
	if e.Hint != "" {
		s += " " + e.Hint
	}
	return s
}

type tokenKind int

const (
	tEnd tokenKind = iota
	tOpen
	tClose
	tOr
	tAnd
	tNot   // NOT or a minus before a term
	tWord  // free text
	tField // a name with a comparison; values follow
	tValue
	tComma
)

type token struct {
	kind   tokenKind
	text   string // word, value, or name as typed
	op     Op     // tField
	glued  bool   // no space before it
	quoted bool   // tWord: in quotes
	pos    int    // in runes
}

const (
	maxInput = 16 << 10 // bytes: some hundred identifiers
	maxTerms = 200
	maxDepth = 50
)

// lexer splits the input into tokens.
type lexer struct {
	in   []rune // with typographic signs as ASCII
	raw  []rune // as typed: what quotes hold
	pos  int
	out  []token
	kind func(field string) (k Kind, ok bool) // of a field by its name
}

// ascii is a typographic sign as people type it: a dash, a sign of full width.
func ascii(r rune) rune {
	switch {
	case r < 0x80:
		return r
	case r >= 0x2010 && r <= 0x2015 || r == 0x2212:
		return '-'
	case r == 0xfeff: // a byte order mark
		return ' '
	case r >= 0xff01 && r <= 0xff5e || r >= 0xfe50 && r <= 0xfe6b:
		if plain := norm.NFKC.String(string(r)); len(plain) == 1 {
			return rune(plain[0])
		}
	}
	return r
}

// openers are the quotes that begin a text, and closers those that end one that a typographic quote began.
const openers, closers = `"“”„‟«»`, `"“”‟«»＂`

func lex(in string, kind func(string) (Kind, bool)) ([]token, error) {
	l := &lexer{raw: []rune(in), kind: kind}
	l.in = make([]rune, len(l.raw))
	for i, r := range l.raw {
		l.in[i] = ascii(r)
	}
	if len(in) > maxInput {
		return nil, fail(0, "The filter is longer than %d bytes.", "Use fewer terms.", maxInput)
	}
	for {
		before := l.pos
		l.skipSpace()
		n := len(l.out)
		if l.pos == len(l.in) {
			l.add(token{kind: tEnd, pos: l.pos})
			return l.out, nil
		}
		if err := l.next(); err != nil {
			return nil, err
		}
		if n < len(l.out) {
			l.out[n].glued = before == l.out[n].pos && n > 0
		}
	}
}

func (l *lexer) skipSpace() {
	for l.pos < len(l.in) && unicode.IsSpace(l.in[l.pos]) {
		l.pos++
	}
}

// fail is the mistake at a position in runes.
func fail(pos int, what, hint string, args ...any) error {
	return &Error{Column: pos + 1, What: fmt.Sprintf(what, args...), Hint: hint}
}

func (l *lexer) add(t token) { l.out = append(l.out, t) }

// rest is the input from n runes behind the position.
func (l *lexer) rest(n int) string { return string(l.in[min(l.pos+n, len(l.in)):]) }

func (l *lexer) next() error {
	at := l.pos
	sign := map[rune]tokenKind{'(': tOpen, ')': tClose, '|': tOr, '-': tNot}
	switch c := l.in[at]; {
	case c == '-' && signed(l.rest(0)):
	case c == '-' && l.dash():
		l.pos++
		l.add(token{kind: tWord, text: string(l.raw[at]), pos: at})
		return nil
	case c == ',':
		return fail(at, "A comma has no field before it.", "Write amounts without separators: amount:1682.00. A list of "+
			"values needs a field: status:PENDING,SUCCESS.")
	case sign[c] != 0:
		l.pos++
		if rest := l.rest(0); c == '(' && strings.Contains(rest, Cut) && !strings.Contains(rest, ")") {
			return nil // a list cut the text before its closing bracket
		}
		l.add(token{kind: sign[c], pos: at})
		return nil
	case strings.ContainsRune(openers, c):
		s, err := l.quotedText()
		if err == nil {
			l.add(token{kind: tWord, text: s, quoted: true, pos: at})
			rest := l.rest(0)
			if after := strings.TrimLeft(rest, ",;"); after == "" || strings.ContainsAny(after[:1], " )\n") {
				l.pos += len(rest) - len(after)
			}
			return nil
		}
		if first, _, _ := strings.Cut(l.rest(0), " "); !strings.HasSuffix(first, Cut) {
			return err
		} // else a list cut the text before its closing quote
	}
	if name, op, long := l.fieldAhead(); name != "" {
		l.pos += len([]rune(name))
		if op == "" {
			return fail(l.pos, "%c is no comparison.", "Use : = != < <= > >=; text with that sign goes in quotes.", l.raw[l.pos])
		}
		l.pos += long
		l.add(token{kind: tField, text: name, op: op, pos: at})
		return l.values(name)
	}
	switch w := l.word(); w {
	case "OR":
		l.add(token{kind: tOr, pos: at})
	case "AND":
		l.add(token{kind: tAnd, pos: at})
	case "NOT":
		l.add(token{kind: tNot, pos: at, text: "NOT"})
	default:
		if _, is := idIn(w); is && w[0] == '<' { // as mails write it
			l.add(token{kind: tWord, text: w, pos: at})
			return nil
		}
		if strings.HasPrefix(w, "!=") || w != "!" && strings.IndexAny(w, ":=<>!≤≥≠") == 0 {
			return fail(at, "A field's name is missing before %q.", "Put text that contains it in quotes.", l.raw[at])
		}
		l.add(token{kind: tWord, text: w, pos: at})
	}
	return nil
}

// dash reports whether a dash stands alone, as a text that was cut has it; a minus alone is a mistake.
func (l *lexer) dash() bool {
	return l.raw[l.pos] != '-' && (l.pos+1 == len(l.in) || unicode.IsSpace(l.in[l.pos+1]))
}

// comparisons are the operators as typed, the longer ones first.
var comparisons = []struct {
	text string
	op   Op
}{{"!=", ne}, {"≠", ne}, {"<=", Le}, {"≤", Le}, {">=", Ge}, {"≥", Ge}, {":", Has}, {"=", Eq}, {"<", Lt}, {">", Gt}}

// fieldAhead finds a name that is directly followed by a comparison of that length; "" for none. The comparison is ""
// if a field is followed by another sign.
func (l *lexer) fieldAhead() (name string, op Op, long int) {
	rest := l.in[l.pos:]
	end := slices.IndexFunc(rest, func(r rune) bool {
		return !unicode.IsLetter(r) && !unicode.IsDigit(r) && r != '_' && r != '.'
	})
	if end <= 0 {
		return "", "", 0
	}
	name, after := string(rest[:end]), string(rest[end:])
	_, known := l.kind(name)
	for _, c := range comparisons {
		if value, ok := strings.CutPrefix(after, c.text); ok {
			if !known && isText(name, c.op, value) {
				return "", "", 0
			}
			return name, c.op, utf8.RuneCountInString(c.text)
		}
	}
	if known && len(rest) > end+1 && !unicode.IsSpace(rest[end+1]) &&
		(rest[end] == ';' || rest[end] == '!' || rest[end] >= 0x80 && unicode.In(rest[end], unicode.Sm, unicode.Sk)) {
		return name, "", 0
	}
	return "", "", 0
}

// isText reports whether a name that is no field and a comparison are a part of a text: a time of day (10:44), a number
// of a document (INV7:3) or the end of a clause (Re: invoice).
func isText(name string, op Op, after string) bool {
	next := strings.TrimLeftFunc(after, unicode.IsSpace)
	clause := next != after && next != "" && next[0] != ')'
	return op == Has && clause || strings.HasPrefix(after, "//") || strings.ContainsFunc(name, func(r rune) bool {
		return unicode.IsDigit(r) || unicode.IsUpper(r)
	})
}

// signed reports whether s begins with an amount below zero, as lists draw it.
func signed(s string) bool {
	if end := strings.IndexFunc(s, unicode.IsSpace); end >= 0 {
		s = s[:end]
	}
	s = strings.TrimRight(s, "),;")
	if cut, was := strings.CutSuffix(s, Cut); was {
		return leading.MatchString(cut)
	}
	_, ok := readAmount(s)
	return ok
}

// word reads a word that has no field: up to a space, bracket or bar. Commas at its end part words.
func (l *lexer) word() string {
	w := l.until("()|")
	if text := strings.TrimRight(w, ",;"); text != "" {
		return text
	}
	return w
}

// values reads a list directly after a comparison: parted by bars, or unless they are amounts by commas.
func (l *lexer) values(field string) error {
	k, _ := l.kind(field)
	if _, is := idIn(strings.TrimLeft(l.rest(0), " ")); k == Ident && is { // "Operation ID: …", as mails write it
		l.skipSpace()
	}
	for {
		if strings.ContainsRune(":=<>", l.ahead()) {
			return fail(l.pos, "A value cannot begin with %c.", "Text that does goes in quotes.", l.in[l.pos])
		}
		v := token{kind: tValue, pos: l.pos}
		for more := true; more; { // of a range either end can be in quotes
			if quoted := strings.ContainsRune(openers, l.ahead()); quoted {
				s, err := l.quotedText()
				if err != nil {
					return err
				}
				v.text += s
				more = k.ordered() && strings.HasPrefix(l.rest(0), "..")
			} else {
				v.text += l.bare(k)
				more = k.ordered() && strings.HasSuffix(v.text, "..") && strings.ContainsRune(openers, l.ahead())
			}
		}
		l.add(v)
		if next := l.ahead(); next != '|' && (next != ',' || k == Money) || next == '|' && l.either() {
			return nil
		}
		l.add(token{kind: tComma, pos: l.pos})
		l.pos++
	}
}

// either reports whether the bar at the position is an OR: a space or a term follows, not a value.
func (l *lexer) either() bool {
	behind := *l
	behind.pos++
	name, _, _ := behind.fieldAhead()
	return name != "" || behind.ahead() == '(' || unicode.IsSpace(behind.ahead())
}

// ahead is the next character, a space at the end.
func (l *lexer) ahead() rune { return append(l.in[l.pos:len(l.in):len(l.in)], ' ')[0] }

// bare reads a value up to a space, bracket, comma, bar or quote; an amount or a number with the commas of its
// thousands, an amount also with the spaces between its digits.
func (l *lexer) bare(k Kind) string {
	at := l.pos
	switch k {
	case Money:
		if m := spaced.FindString(l.rest(0)); strings.ContainsFunc(m, unicode.IsSpace) {
			l.pos += utf8.RuneCountInString(m)
			if next := l.ahead(); next == '|' || next == ')' || unicode.IsSpace(next) {
				return m
			}
			l.pos = at
		}
		return strings.TrimRight(l.until(`()|"\\`), ",;")
	case Count:
		s := l.until(`()|"\\`)
		if groups := strings.Split(s, ","); len(groups) > 1 && groups[0] != "" && grouped(groups) {
			return strings.ReplaceAll(s, ",", "")
		}
		l.pos = at
	}
	return l.until(special)
}

// spaced is an amount, or a range of amounts.
var spaced = func() *regexp.Regexp {
	const one = `[+-]?(?:\p{Sc}\s?)?(?:\d{1,3}(?:\s\d{3})+(?:[.,]\d+)?|\d+(?:[.,']\d+)*)`
	return regexp.MustCompile(`^` + one + `(?:\.\.` + one + `)?`)
}()

// until reads up to a space or one of the characters.
func (l *lexer) until(stops string) string {
	at := l.pos
	for l.pos < len(l.in) && !unicode.IsSpace(l.in[l.pos]) && !strings.ContainsRune(stops, l.in[l.pos]) {
		l.pos++
	}
	return string(l.in[at:l.pos])
}

// quotedText reads "…" with \" and \\ inside. A typographic quote ends at any other one.
func (l *lexer) quotedText() (string, error) {
	at, end := l.pos, `"`
	if l.raw[at] != '"' {
		end = closers
	}
	var b strings.Builder
	for i := at + 1; i < len(l.raw); i++ {
		switch c := l.raw[i]; {
		case strings.ContainsRune(end, c):
			l.pos = i + 1
			return b.String(), nil
		case c == '\\' && i+1 < len(l.raw) && (l.raw[i+1] == '"' || l.raw[i+1] == '\\'):
			i++
			b.WriteRune(l.raw[i])
		default:
			b.WriteRune(c)
		}
	}
	return "", fail(at, "The quote is not closed.", `Add " at its end.`)
}
