package filter

import (
	"context"
	"fmt"
	"strings"
	"time"
	"unicode"
	"unicode/utf8"

	"golang.org/x/text/unicode/norm"

	"opdeck/api"
	"opdeck/api/untrusted"
	"opdeck/internal/domain/mask"
)

// Op is how a leaf compares.
type Op string

// The comparisons. "!=" is parsed as the negation of "=" or ":".
const (
	Has Op = ":"
	Eq  Op = "=" // for Text the whole text is equal; for other kinds the same as Has
	Lt  Op = "<"
	Le  Op = "<="
	Gt  Op = ">"
	Ge  Op = ">="
)

// Node is a part of an expression: And, Or, Not or *Leaf.
type Node interface {
	write(b *strings.Builder, inside level)
}

type level int

const (
	top level = iota
	inOr
	inAnd
	inNot
)

// And holds if all of its parts do; an empty one always does.
type And []Node

// Or holds if one of its parts does.
type Or []Node

// Not holds if X does not.
type Not struct{ X Node }

// Leaf is one comparison. It holds if it does for any of its Values.
type Leaf struct {
	Field  string // the field's main name; "" for free text
	Kind   Kind
	Op     Op
	Values []Value
	// Masked leaves match masked values only; see Expr.Masked.
	Masked  bool
	index   int
	settled bool           // a condition with two values: see settle
	shown   bool           // a part of a Word: it has two values
	quoted  bool           // free text that was typed in quotes
	zone    *time.Location // of the times of a Word; nil: UTC
}

// Value is one value as typed, with its meaning.
type Value struct {
	Text  string // as typed, unquoted; the lower end of a range
	To    string // the upper end of a range
	Range bool
	// Missing matches records without the field that Text names.
	Missing bool
	lo, hi  point
	tail    string // Ident: the other end, where the middle is cut
	whole   bool   // Ident: no beginning, the identifier itself
}

// point is one bound of an ordered value.
type point struct {
	set        bool
	key        string        // Money
	num        int64         // Count
	start, end time.Time     // Time: the named span
	ago        time.Duration // Time: this long before now
	relative   bool
	day        int // Time: days from today's beginning, with today set
	today      bool
	spoken     *spoken // Time: as people say it, of a Word
}

func (a And) write(b *strings.Builder, inside level) { join(b, a, " ", inside >= inNot, inAnd) }
func (o Or) write(b *strings.Builder, inside level)  { join(b, o, " OR ", inside >= inAnd, inOr) }

func join(b *strings.Builder, parts []Node, sep string, brackets bool, inside level) {
	if brackets {
		b.WriteByte('(')
	}
	for i, p := range parts {
		if i > 0 {
			b.WriteString(sep)
		}
		p.write(b, inside)
	}
	if brackets {
		b.WriteByte(')')
	}
}

func (n Not) write(b *strings.Builder, _ level) {
	if w, ok := n.X.(Word); ok && signed("-"+w.Text) { // a minus before a number is its sign
		b.WriteString("NOT ")
	} else {
		b.WriteByte('-')
	}
	n.X.write(b, inNot)
}

func (l *Leaf) write(b *strings.Builder, _ level) {
	if l.Kind == Free && l.quoted {
		b.WriteString(Quoted(l.Values[0].Text))
		return
	}
	if l.Kind == Free {
		b.WriteString(quoteFree(l.Values[0].Text))
		return
	}
	b.WriteString(l.Field)
	b.WriteString(string(l.Op))
	for i, v := range l.Values {
		if i > 0 {
			b.WriteByte(l.separator())
		}
		text := v.Text
		if v.tail != "" {
			text += Cut + v.tail
		}
		b.WriteString(quote(text, l.Kind))
		if v.Range {
			b.WriteString("..")
			b.WriteString(quote(v.To, l.Kind))
		}
	}
}

// separator is between values: a comma could belong to an amount.
func (l *Leaf) separator() byte {
	if l.Kind == Money || l.Kind == Count {
		return '|'
	}
	return ','
}

const special = " \t\r\n()\",\\"

func quote(s string, k Kind) string {
	if k.ordered() {
		return s
	}
	if s == "" || strings.ContainsAny(s, special) || strings.ContainsFunc(s, unicode.IsSpace) {
		return Quoted(s)
	}
	return s
}

func quoteFree(s string) string {
	if quote(s, Free) != s || strings.HasPrefix(s, "-") || strings.HasPrefix(s, "|") ||
		s == "OR" || s == "AND" || s == "NOT" || strings.ContainsAny(s, ":=<>!") {
		return Quoted(s)
	}
	return s
}

// Quoted quotes any s as one text of the language.
func Quoted(s string) string {
	return `"` + strings.NewReplacer(`\`, `\\`, `"`, `\"`).Replace(s) + `"`
}

// Expr is a parsed filter over records of type T. The zero Expr matches everything.
type Expr[T any] struct {
	root  Node // as typed; nil: everything
	exact Node // root as a condition with two values
	table *Table[T]
}

// of is the filter of n, which may be nil.
func (t *Table[T]) of(n Node) Expr[T] { return Expr[T]{root: n, exact: t.settle(n, false), table: t} }

// exactly is the filter of a condition that has two values already.
func (e Expr[T]) exactly(n Node) Expr[T] { return Expr[T]{root: n, exact: n, table: e.table} }

// Exact is e as a condition with two values for any record: what its parts do not match does not match.
func (e Expr[T]) Exact() Expr[T] { return e.exactly(e.exact) }

// String is the canonical form: parsing it returns the same expression.
func (e Expr[T]) String() string {
	if e.root == nil {
		return ""
	}
	var b strings.Builder
	e.root.write(&b, top)
	return b.String()
}

// Empty reports whether the filter matches everything.
func (e Expr[T]) Empty() bool { return e.root == nil }

// flat merges And into And and Or into Or.
func flat(n Node) Node {
	switch n := n.(type) {
	case And:
		return lift(n)
	case Or:
		return lift(n)
	}
	return n
}

func lift[L interface {
	And | Or
	Node
}](all L) Node {
	var out L
	for _, p := range all {
		if inner, ok := p.(L); ok {
			out = append(out, inner...)
		} else {
			out = append(out, p)
		}
	}
	if len(out) == 1 {
		return out[0]
	}
	return out
}

// Leaves calls f for every comparison, in order.
func (e Expr[T]) Leaves(f func(*Leaf)) {
	rebuild(e.root, func(l *Leaf) Node { f(l); return l })
}

// rebuild returns n with each comparison replaced by the result of of.
func rebuild(n Node, of func(*Leaf) Node) Node {
	each := func(parts []Node) []Node {
		out := make([]Node, len(parts))
		for i, p := range parts {
			out[i] = rebuild(p, of)
		}
		return out
	}
	switch n := n.(type) {
	case And:
		return And(each(n))
	case Or:
		return Or(each(n))
	case Not:
		return Not{rebuild(n.X, of)}
	case *Leaf:
		return of(n)
	case Word:
		n.Means = rebuild(n.Means, of)
		return n
	}
	return n
}

// Of is the filter of n alone, a part of e; nil matches everything.
func (e Expr[T]) Of(n Node) Expr[T] { return e.table.of(n) }

// Parts returns the terms that must all hold.
func (e Expr[T]) Parts() []Node {
	switch n := e.root.(type) {
	case nil:
		return nil
	case And:
		return n
	default:
		return []Node{n}
	}
}

// Masked is the filter for a person who may not reveal account numbers: it does not match what masking hides, so that
// nobody can guess a number digit by digit. It prints like e.
func (e Expr[T]) Masked() Expr[T] {
	return e.Of(rebuild(e.root, func(l *Leaf) Node {
		masked := *l
		masked.Masked = true
		return &masked
	}))
}

// In is e for a person who sees times in that zone: days and times of day without a field are of it. Nil is UTC.
func (e Expr[T]) In(zone *time.Location) Expr[T] {
	return e.Of(rebuild(e.root, func(l *Leaf) Node {
		there := *l
		there.zone = zone
		return &there
	}))
}

// For is e for the person in ctx: Masked if they may not reveal account numbers.
func (e Expr[T]) For(ctx context.Context) Expr[T] {
	if mask.Barred(ctx) {
		return e.Masked()
	}
	return e
}

// joint separates texts that share a column; no folded text contains it.
const joint = "\x1f"

// Fold is the form for comparing texts: as lists draw them, in lower case, without accents. The store has folded
// copies of searchable texts.
func Fold(s string) string {
	if plain(s) {
		return strings.ToLower(s)
	}
	s, _ = untrusted.Clean(s, len(s)+1) // no NUL, no joint, valid UTF-8
	s = strings.ReplaceAll(s, string(utf8.RuneError), string(untrusted.Mark))
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

// letters are those that people type without the accent and Unicode does not take apart.
var letters = strings.NewReplacer("ł", "l", "ø", "o", "đ", "d", "ð", "d", "ħ", "h", "ı", "i", "ŧ", "t", "ß", "ss",
	"æ", "ae", "œ", "oe", "þ", "th", "’", "'", "‘", "'", "ʼ", "'")

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

// Keys sort as byte strings in the order of their numbers: a sign (0 for negative), four digits for the number of
// whole digits, the whole digits, then the decimals without trailing zeros. Negative numbers have complemented digits
// (9−d) and a final tilde.
const (
	keyLeast = "0"
	// KeyBad is the key of an amount that is not a number; it sorts before all numbers.
	KeyBad = "!"
	// KeyNone is the key of a missing amount.
	KeyNone   = ""
	maxDigits = 2000
)

// MoneyKey is the sort key of an amount: KeyNone without one, KeyBad if it is not a number.
func MoneyKey(m api.Money) string {
	if m.Empty() {
		return KeyNone
	}
	if m.Unclear {
		return KeyBad
	}
	if key, ok := quickKey(string(m.Units), string(m.Nanos)); ok {
		return key
	}
	d, err := m.Decimal()
	if err != nil {
		return KeyBad
	}
	key, ok := decimalKey(d.Text('f'))
	if !ok {
		return KeyBad
	}
	return key
}

// quickKey is the key of a common amount: positive, at most 18 digits.
func quickKey(units, nanos string) (key string, ok bool) {
	if len(units) > 18 || len(nanos) > 9 {
		return "", false
	}
	var b [32]byte
	k := append(b[:0], "10000"...)
	units = strings.TrimLeft(units, "0")
	k[3], k[4] = byte('0'+len(units)/10), byte('0'+len(units)%10)
	k = append(append(append(k, units...), "000000000"[len(nanos):]...), nanos...)
	for _, c := range k[5:] {
		if c < '0' || c > '9' {
			return "", false
		}
	}
	end := len(k)
	for end > 5+len(units) && k[end-1] == '0' {
		end--
	}
	return string(k[:end]), true
}

// decimalKey is the sort key of a typed decimal: digits, one point, a minus; ok is false for anything else, as an
// exponent or separators.
func decimalKey(s string) (key string, ok bool) {
	digits, negative := strings.CutPrefix(s, "-")
	whole, frac, point := strings.Cut(digits, ".")
	if strings.Trim(whole+frac, "0123456789") != "" || whole == "" || point && frac == "" || len(digits) > maxDigits {
		return "", false
	}
	whole = strings.TrimLeft(whole, "0")
	frac = strings.TrimRight(frac, "0")
	body := fmt.Sprintf("%04d%s%s", len(whole), whole, frac)
	if !negative || whole+frac == "" {
		return "1" + body, true
	}
	b := []byte(body)
	for i, c := range b {
		b[i] = '0' + '9' - c
	}
	return "0" + string(b) + "~", true
}

// KeyDecimal converts a key to the decimal; ok is false for KeyBad and KeyNone.
func KeyDecimal(key string) (s string, ok bool) {
	if len(key) < 5 || key[0] != '0' && key[0] != '1' {
		return "", false
	}
	b := []byte(strings.TrimSuffix(key[1:], "~"))
	sign := ""
	if key[0] == '0' {
		sign = "-"
		for i, c := range b {
			b[i] = '0' + '9' - c
		}
	}
	var n int
	if _, err := fmt.Sscanf(string(b[:4]), "%d", &n); err != nil || len(b) < 4+n {
		return "", false
	}
	whole, frac := string(b[4:4+n]), string(b[4+n:])
	if whole == "" {
		whole = "0"
	}
	if frac != "" {
		frac = "." + frac
	}
	return sign + whole + frac, true
}

// Row is one line of the table of fields.
type Row struct{ Name, Kind, Example, Help string }

// Rows describes the fields, in the table's order.
func (t *Table[T]) Rows() []Row {
	var rows []Row
	for _, f := range t.fields {
		name := strings.Join(append([]string{f.Name}, f.Aliases...), ", ")
		if f.Kind == Free {
			name = "(no field)"
		}
		help := f.Help
		if f.Kind == Flag {
			help += ": " + strings.Join(f.Values, ", ")
		}
		rows = append(rows, Row{name, f.Kind.word(), f.Example, help})
	}
	return rows
}

// grammar is the part of the help that all tables share.
const grammar = `Terms beside each other must all match; with OR between them, one must match; brackets group; ` +
	`a minus before a term (or NOT) negates it.
field:value      words are equal, texts contain the value, identifiers begin with it; case does not matter
field:a,b,c      one of the values
field=value      texts: the whole text is equal; field!=value is the opposite
field>=value     amounts, times and numbers also take < <= > and ranges: ` +
	`amount:100..500, created:2026-01..2026-03, amount:..10
times            2026, 2026-01, 2026-01-31, 2026-01-31T10:00Z (UTC; ` +
	`a date means the whole day: created>2026-01-31 starts on 1 February)
                 ages 30m 2h 3d 2w: updated<2h changed within the last two hours, ` +
	`created>3d more than three days ago; today, yesterday
amounts          exact decimals: 1000.50, 1,000.50, -5; never rounded; ` +
	`a list is amount:100|200
words            without a field: what a list shows, in any text, without case or accents; several narrow
"free text"      in quotes: contained in any text as it is; ` +
	`quoted text may contain spaces and : = < > ( ) , and \" is a quote`

// Help describes the language for a screen: the grammar, then the fields.
func (t *Table[T]) Help() string {
	rows := t.Rows()
	w := [3]int{}
	for _, r := range rows {
		w[0], w[1], w[2] = max(w[0], len(r.Name)), max(w[1], len(r.Kind)), max(w[2], len(r.Example))
	}
	var b strings.Builder
	b.WriteString(grammar + "\n\n")
	for _, r := range rows {
		fmt.Fprintf(&b, "%-*s  %-*s  %-*s  %s\n", w[0], r.Name, w[1], r.Kind, w[2], r.Example, r.Help)
	}
	return b.String()
}

// guideWidth bounds the lines of Guide, in cells, except for longer words: the help fits a window of 80.
const guideWidth = 68

// Guide describes the language in short lines for a help screen: the grammar, then the fields with examples.
func (t *Table[T]) Guide() []string {
	var out []string
	for _, line := range strings.Split(grammar, "\n") {
		name, rest, ok := strings.Cut(line, "  ")
		if rest = strings.TrimSpace(rest); !ok || strings.HasPrefix(line, " ") {
			name, rest = "", strings.TrimSpace(line)
		}
		if name == "" && len(out) == 0 {
			out = append(out, fold(rest, 0)...)
			continue
		}
		lines := fold(rest, 14)
		if len(name) < 13 {
			lines[0] = fmt.Sprintf("%-14s", name) + lines[0][14:]
		} else {
			lines = append([]string{name}, lines...)
		}
		out = append(out, lines...)
	}
	out = append(out, "")
	for _, r := range t.Rows() {
		out = append(out, fmt.Sprintf("%-30s %s", r.Name, r.Example))
		out = append(out, fold(r.Help, 2)...)
	}
	return out
}

// fold wraps a line between words and indents each part.
func fold(s string, indent int) []string {
	var out []string
	line := ""
	for _, word := range strings.Fields(s) {
		if line != "" && indent+len(line)+1+len(word) > guideWidth {
			out = append(out, strings.Repeat(" ", indent)+line)
			line = ""
		}
		line = strings.TrimPrefix(line+" "+word, " ")
	}
	return append(out, strings.Repeat(" ", indent)+line)
}
