// Package filter is the filter language: one grammar for the operations list, saved views, the export and the events.
//
//	status:PENDING type:WITHDRAW amount>=1000.50 currency:EUR created>2026-01-01
//	updated<2h has:locked -comment:test (customer:acme OR customer:globex) "free text"
//
// A Table declares the fields; Parse converts text to an Expr, which prints itself in canonical form, matches a
// record in Go (Match) and converts to an SQL condition (SQL) whose values are always arguments. Match and SQL agree:
// the store's tests compare them.
//
// Amounts are exact decimals of any length; nothing here is a float.
package filter

import (
	"fmt"
	"strings"
	"unicode"
	"unicode/utf8"
)

type parser[T any] struct {
	lexer
	t     *Table[T]
	toks  []token
	i     int
	depth int
	terms int
}

// Parse parses a filter. An empty text matches everything. An error is an *Error with the column of the mistake.
func (t *Table[T]) Parse(input string) (Expr[T], error) {
	toks, err := lex(input, t.kindOf)
	if err != nil {
		return Expr[T]{}, err
	}
	p := &parser[T]{lexer: lexer{in: input}, t: t, toks: toks}
	if p.peek().kind == tEnd {
		return t.of(nil), nil
	}
	n, err := p.or()
	if err != nil {
		return Expr[T]{}, err
	}
	if k := p.peek(); k.kind != tEnd {
		return Expr[T]{}, p.fail(k.pos, "This bracket has no opening bracket.", "Remove it, or add an opening bracket.")
	}
	return t.of(n), nil
}

// kindOf is the kind of a field by its name as typed.
func (t *Table[T]) kindOf(name string) (Kind, bool) {
	at, ok := t.byName[strings.ToLower(name)]
	if !ok {
		return 0, false
	}
	return t.fields[at].Kind, true
}

func (p *parser[T]) peek() token { return p.toks[p.i] }

func (p *parser[T]) take() token { p.i++; return p.toks[p.i-1] }

func (p *parser[T]) or() (Node, error) {
	n, err := p.and()
	if err != nil {
		return nil, err
	}
	all := Or{n}
	for p.peek().kind == tOr {
		p.take()
		n, err := p.and()
		if err != nil {
			return nil, err
		}
		all = append(all, n)
	}
	return flat(all), nil
}

func (p *parser[T]) and() (Node, error) {
	var all And
	for {
		switch k := p.peek(); k.kind {
		case tEnd, tClose, tOr:
			if len(all) == 0 {
				return nil, p.missing(k)
			}
			withoutNoise(all)
			return flat(all), nil
		case tAnd:
			p.take()
			if next := p.peek(); len(all) == 0 || next.kind == tEnd || next.kind == tClose || next.kind == tOr ||
				next.kind == tAnd {
				return nil, p.fail(k.pos, "AND needs a term on both sides.",
					"You can leave AND out: terms beside each other must all match.")
			}
		}
		n, err := p.not()
		if err != nil {
			return nil, err
		}
		all = append(all, n)
	}
}

func (p *parser[T]) missing(k token) error {
	switch k.kind {
	case tOr:
		return p.fail(k.pos, "OR needs a term before it.",
			"Write a term on both sides: status:PENDING OR status:NEW.")
	case tClose:
		return p.fail(k.pos, "There is nothing before this bracket.", "Write a term within the brackets.")
	}
	return p.fail(k.pos, "A term is missing at the end.", "Write a term such as status:PENDING.")
}

func (p *parser[T]) not() (Node, error) {
	negated := false
	for p.peek().kind == tNot {
		k := p.take()
		next := p.peek()
		if next.kind == tEnd || k.text == "" && !next.glued {
			return nil, p.fail(k.pos, "The minus has no term after it.",
				"Write it right before what must not match: -comment:test. Text that begins with a minus goes in quotes.")
		}
		negated = !negated
	}
	n, err := p.term()
	if err != nil {
		return nil, err
	}
	if negated {
		return negate(n), nil
	}
	return n, nil
}

func negate(n Node) Node {
	if not, ok := n.(Not); ok {
		return not.X
	}
	return Not{n}
}

func (p *parser[T]) term() (Node, error) {
	if p.terms++; p.terms > maxTerms {
		return nil, p.fail(p.peek().pos, "More than %d terms.", "Use fewer, or a list: status:A,B,C.", maxTerms)
	}
	switch k := p.take(); k.kind {
	case tOpen:
		if p.depth++; p.depth > maxDepth {
			return nil, p.fail(k.pos, "Brackets are nested deeper than %d.", "", maxDepth)
		}
		n, err := p.or()
		if err != nil {
			return nil, err
		}
		if p.peek().kind != tClose {
			return nil, p.fail(k.pos, "This bracket is not closed.", "Add ) at the end.")
		}
		p.take()
		p.depth--
		return n, nil
	case tWord:
		if Fold(k.text) == "" {
			return nil, p.fail(k.pos, "The quotes are empty.", "Write the text to look for.")
		}
		if p.t.words && !k.quoted {
			return p.words(k), nil
		}
		return &Leaf{Kind: Free, Op: Has, Values: []Value{{Text: k.text}}, index: p.t.free,
			quoted: k.quoted && p.t.words}, nil
	case tField:
		return p.leaf(k)
	default:
		p.i--
		return nil, p.missing(k)
	}
}

func (p *parser[T]) leaf(k token) (Node, error) {
	at, ok := p.t.byName[strings.ToLower(k.text)]
	if !ok {
		return nil, p.fail(k.pos, "There is no field %q.", p.unknownHint(k), k.text)
	}
	f := p.t.fields[at]
	op, no := Op(k.op), false
	if k.op == "!=" {
		op, no = Eq, true
	}
	if op == Eq && f.Kind != Text {
		op = Has
	}
	if op != Has && op != Eq && !f.Kind.ordered() {
		return nil, p.fail(k.pos+len(k.text), "%s cannot be compared with %s.", fmt.Sprintf("Write %s.", f.Example), f.Name,
			op)
	}
	l := &Leaf{Field: f.Name, Kind: f.Kind, Op: op, index: at}
	for {
		v := p.take()
		val, err := p.value(f, op, v)
		if err != nil {
			return nil, err
		}
		l.Values = append(l.Values, val)
		if p.peek().kind != tComma {
			break
		}
		c := p.take()
		if op != Has && op != Eq {
			return nil, p.fail(c.pos, "Only one value can follow %s.", "Write lists with a colon: "+f.Name+":a,b.", op)
		}
	}
	if no {
		return Not{l}, nil
	}
	return l, nil
}

func (p *parser[T]) unknownHint(k token) string {
	if near := Nearest(strings.ToLower(k.text), p.t.Names()); near != "" {
		return fmt.Sprintf("Did you mean %q? Text that contains %q goes in quotes.", near, k.op)
	}
	return fmt.Sprintf("Fields are %s. Text that contains %q goes in quotes.", strings.Join(p.t.Names(), ", "), k.op)
}

// Nearest is the name most likely meant by s: one with that prefix, or the closest within two letters; "" for none.
func Nearest(s string, names []string) string {
	best, found := 3, ""
	for _, n := range names {
		if strings.HasPrefix(n, s) && len(s) > 1 {
			return n
		}
		if d := distance(s, n); d < best && d < len(n) {
			best, found = d, n
		}
	}
	return found
}

func distance(a, b string) int {
	row := make([]int, len(b)+1)
	for j := range row {
		row[j] = j
	}
	for i := range len(a) {
		diag := row[0]
		row[0] = i + 1
		for j := range len(b) {
			cost := diag
			if a[i] != b[j] {
				cost++
			}
			diag = row[j+1]
			row[j+1] = min(cost, row[j]+1, row[j+1]+1)
		}
	}
	return row[len(b)]
}

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
	op     string // tField
	glued  bool   // no space before it
	quoted bool   // tWord: in quotes
	pos    int    // byte offset
}

const (
	maxInput = 16 << 10 // bytes: some hundred identifiers
	maxTerms = 200
	maxDepth = 50
)

// lexer splits the input into tokens.
type lexer struct {
	in   string
	pos  int
	out  []token
	kind func(field string) (k Kind, ok bool) // of a field by its name
}

func column(in string, pos int) int { return utf8.RuneCountInString(in[:min(pos, len(in))]) + 1 }

func (l *lexer) fail(pos int, what, hint string, args ...any) error {
	return &Error{Column: column(l.in, pos), What: fmt.Sprintf(what, args...), Hint: hint}
}

func lex(in string, kind func(string) (Kind, bool)) ([]token, error) {
	l := &lexer{in: in, kind: kind}
	if len(in) > maxInput {
		return nil, l.fail(maxInput, "The filter is longer than %d bytes.", "Use fewer terms.", maxInput)
	}
	for {
		before := l.pos
		l.skipSpace()
		if l.pos >= len(in) {
			l.out = append(l.out, token{kind: tEnd, pos: len(in)})
			return l.out, nil
		}
		n := len(l.out)
		if err := l.next(); err != nil {
			return nil, err
		}
		if n < len(l.out) {
			l.out[n].glued = before == l.out[n].pos && n > 0
		}
	}
}

func (l *lexer) skipSpace() {
	for l.pos < len(l.in) {
		r, w := utf8.DecodeRuneInString(l.in[l.pos:])
		if !unicode.IsSpace(r) {
			return
		}
		l.pos += w
	}
}

func (l *lexer) add(t token) {
	l.out = append(l.out, t)
}

func (l *lexer) next() error {
	at := l.pos
	switch c := l.in[at]; c {
	case '(':
		l.pos++
		if rest := l.in[l.pos:]; strings.Contains(rest, Cut) && !strings.Contains(rest, ")") {
			return nil // a list cut the text before its closing bracket
		}
		l.add(token{kind: tOpen, pos: at})
		return nil
	case ')':
		l.pos++
		l.add(token{kind: tClose, pos: at})
		return nil
	case '|':
		l.pos++
		l.add(token{kind: tOr, pos: at})
		return nil
	case '-':
		if signed(l.in[at:]) {
			break
		}
		l.pos++
		l.add(token{kind: tNot, pos: at})
		return nil
	case ',':
		return l.fail(at, "A comma has no field before it.", "Write amounts without separators: amount:1682.00. A list of "+
			"values needs a field: status:PENDING,SUCCESS.")
	case '"':
		s, err := l.quotedText()
		if err == nil {
			l.add(token{kind: tWord, text: s, quoted: true, pos: at})
			return nil
		}
		if first, _, _ := strings.Cut(l.in[at:], " "); !strings.HasSuffix(first, Cut) {
			return err
		} // else a list cut the text before its closing quote
	}
	if name, op, ok := l.fieldAhead(); ok {
		l.pos += len(name) + len(op)
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
		if strings.HasPrefix(w, "!=") || w != "!" && strings.IndexAny(w, ":=<>!") == 0 {
			return l.fail(at, "A field's name is missing before %q.", "Put text that contains it in quotes.", w[:1])
		}
		l.add(token{kind: tWord, text: w, pos: at})
	}
	return nil
}

// fieldAhead finds a name that is directly followed by a comparison.
func (l *lexer) fieldAhead() (name, op string, ok bool) {
	rest := l.in[l.pos:]
	i := strings.IndexFunc(rest, func(r rune) bool {
		return !unicode.IsLetter(r) && !unicode.IsDigit(r) && r != '_' && r != '.'
	})
	if i <= 0 {
		return "", "", false
	}
	for _, op := range []string{"!=", "<=", ">=", ":", "=", "<", ">"} {
		if after, ok := strings.CutPrefix(rest[i:], op); ok {
			return rest[:i], op, !l.isText(rest[:i], op, after)
		}
	}
	return "", "", false
}

// isText reports whether a name and a comparison are a part of a text: a time of day (10:44), a number of a document
// (INV7:3) or the end of a clause (Re: invoice).
func (l *lexer) isText(name, op, after string) bool {
	if _, known := l.kind(name); known {
		return false
	}
	next := strings.TrimLeftFunc(after, unicode.IsSpace)
	clause := next != after && next != "" && next[0] != ')'
	return op == ":" && clause || strings.ContainsFunc(name, func(r rune) bool {
		return unicode.IsDigit(r) ||
			unicode.IsUpper(r)
	})
}

// signed reports whether s begins with an amount below zero, as lists draw it.
func signed(s string) bool {
	if end := strings.IndexFunc(s, unicode.IsSpace); end >= 0 {
		s = s[:end]
	}
	number, ok := strings.CutPrefix(strings.TrimRight(s, "),;"), "-")
	if !ok {
		return false
	}
	if cut, was := strings.CutSuffix(number, Cut); was {
		return leading.MatchString(cut)
	}
	digits, ok := readAmount(number)
	return ok && digits[0] != '-' && digits[0] != '+'
}

// word reads a word that has no field: up to a space or bracket. Commas at its end part words.
func (l *lexer) word() string {
	w := l.until(" \t\r\n()")
	if text := strings.TrimRight(w, ",;"); text != "" {
		return text
	}
	return w
}

// values reads a list directly after a comparison: parted by commas, those of amounts and numbers also by bars.
func (l *lexer) values(field string) error {
	if k, _ := l.kind(field); (k == Money || k == Count) && !strings.HasPrefix(l.in[l.pos:], `"`) {
		at := l.pos
		for i, v := range amounts(l.until(" \t\r\n()\"\\")) {
			if i > 0 {
				l.add(token{kind: tComma, pos: at - 1})
			}
			l.add(token{kind: tValue, text: v, pos: at})
			at += len(v) + 1
		}
		return nil
	}
	for {
		at := l.pos
		switch {
		case l.pos < len(l.in) && l.in[l.pos] == '"':
			s, err := l.quotedText()
			if err != nil {
				return err
			}
			l.add(token{kind: tValue, text: s, pos: at})
		default:
			l.add(token{kind: tValue, text: l.bare(), pos: at})
		}
		if l.pos >= len(l.in) || l.in[l.pos] != ',' {
			return nil
		}
		l.pos++
		l.add(token{kind: tComma, pos: l.pos - 1})
	}
}

// bare reads up to a space, bracket, comma or quote.
func (l *lexer) bare() string { return l.until(special) }

// until reads up to a space or one of the characters.
func (l *lexer) until(stops string) string {
	at := l.pos
	for l.pos < len(l.in) {
		r, w := utf8.DecodeRuneInString(l.in[l.pos:])
		if unicode.IsSpace(r) || strings.ContainsRune(stops, r) {
			break
		}
		l.pos += w
	}
	return l.in[at:l.pos]
}

// quotedText reads "…" with \" and \\ inside.
func (l *lexer) quotedText() (string, error) {
	at := l.pos
	var b strings.Builder
	for i := at + 1; i < len(l.in); i++ {
		switch c := l.in[i]; c {
		case '"':
			l.pos = i + 1
			return b.String(), nil
		case '\\':
			if i+1 < len(l.in) && (l.in[i+1] == '"' || l.in[i+1] == '\\') {
				i++
			}
			b.WriteByte(l.in[i])
		default:
			b.WriteByte(c)
		}
	}
	return "", l.fail(at, "The quote is not closed.", `Add " at its end.`)
}
