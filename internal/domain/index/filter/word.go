package filter

import (
	"fmt"
	"regexp"
	"strconv"
	"strings"
	"time"
	"unicode"
	"unicode/utf8"

	"opdeck/api/redact"
)

// Word is words without a field, as somebody sees them in a list: an amount, a day, a status, an identifier or its
// beginning, a part of a text. It holds if Means does. It is unknown only for a row with an identifier whose name
// nobody has told: what else a row lacks, it does not show.
type Word struct {
	Text  string
	Means Node
	read  string // how it was understood, if it is more than a text
}

func (w Word) write(b *strings.Builder, _ level) { b.WriteString(w.Text) }

// The comparisons of a code with a word and with the beginning of a word in it; no filter is written with them.
const (
	isWord Op = "~"
	begins Op = "^"
)

const (
	shortestCode = 3 // characters of the beginning of a code
	shortestID   = 4 // and of an identifier without a digit
	longestCount = 3 // digits of a number that is no amount
	longestPhase = 4 // words of a day, or of a moment
)

// words is the node of the words that begin with k: as many as belong together.
func (p *parser[T]) words(k token) Node {
	if ids, n := p.idsFrom(k); len(ids) > 1 {
		p.i += n - 1
		return p.t.listOf(ids)
	}
	run := p.run(k)
	for n := len(run); n > 1; n-- {
		text := strings.Join(run[:n], " ")
		if at, ok := speak(text); ok {
			p.i += n - 1
			return p.t.word(text, &at)
		}
	}
	at, ok := speak(k.text)
	if !ok {
		return p.t.word(k.text, nil)
	}
	return p.t.word(k.text, &at)
}

// run lists k and the bare words behind it, at most as many as a moment has.
func (p *parser[T]) run(k token) []string {
	out := []string{k.text}
	for _, next := range p.toks[p.i:] {
		if next.kind != tWord || next.quoted || len(out) == longestPhase {
			break
		}
		out = append(out, next.text)
	}
	return out
}

// wholeID is a complete identifier of the usual form, and shortID one as lists abbreviate it.
var (
	wholeID = regexp.MustCompile(`(?i)^[0-9a-f]{8}(-[0-9a-f]{4}){3}-[0-9a-f]{12}$`)
	shortID = regexp.MustCompile(`(?i)^[0-9a-z_-]{4,}(…|\.\.\.)[0-9a-z_-]{4,}$`)
)

// idsFrom lists the identifiers of a pasted list, and the number of its words.
func (p *parser[T]) idsFrom(k token) (ids []string, words int) {
	for _, next := range append([]token{k}, p.toks[p.i:]...) {
		parts := strings.FieldsFunc(next.text, func(r rune) bool { return r == ',' || r == ';' })
		for _, id := range parts {
			if !wholeID.MatchString(id) && !(shortID.MatchString(id) && strings.ContainsAny(id, "0123456789")) {
				return ids, words
			}
		}
		if next.kind != tWord || next.quoted {
			return ids, words
		}
		ids, words = append(ids, parts...), words+1
	}
	return ids, words
}

// listOf matches the records with one of the identifiers.
func (t *Table[T]) listOf(ids []string) Node {
	l := &Leaf{Kind: Ident, Op: Has, shown: true}
	for _, id := range ids {
		l.Values = append(l.Values, identValue(id))
	}
	return Word{strings.Join(ids, " "), t.each(l, func(f Field[T]) bool { return f.Kind == Ident }),
		"any of " + strconv.Itoa(len(ids)) + " ids"}
}

// IDs is the number of identifiers of a filter that is a pasted list of them, else 0.
func (e Expr[T]) IDs() int {
	w, ok := e.root.(Word)
	if !ok {
		return 0
	}
	n := 0
	e.Of(w.Means).Leaves(func(l *Leaf) {
		if l.Kind == Ident && len(l.Values) > 1 {
			n = len(l.Values)
		}
	})
	return n
}

// Cut is where lists cut a text.
const Cut = "…"

// identValue is an identifier, its beginning, or its two ends as lists draw them.
func identValue(text string) Value {
	head, tail, _ := strings.Cut(strings.ReplaceAll(text, "...", Cut), Cut)
	return Value{Text: head, tail: tail}
}

// each is l for every field that is of the kind that l compares.
func (t *Table[T]) each(l *Leaf, is func(Field[T]) bool) Or {
	var out Or
	for i, f := range t.fields {
		if f.Kind == l.Kind && is(f) {
			one := *l
			one.Field, one.index = f.Name, i
			out = append(out, &one)
		}
	}
	return out
}

func always[T any](Field[T]) bool { return true }

// word is the node of one word, or of the words of one time.
func (t *Table[T]) word(text string, at *spoken) Node {
	w := Word{Text: text}
	core := strings.TrimRight(strings.ReplaceAll(text, "...", Cut), ",;")
	head, tail, wasCut := strings.Cut(core, Cut)
	var means Or
	add := func(read string, more Or) {
		if means = append(means, more...); read != "" && len(more) > 0 && w.read == "" {
			w.read = read
		}
	}
	switch {
	case at != nil:
		add(at.String(), t.times(at))
	case !wasCut:
		read, all := t.amounts(core)
		add(read, all)
		add("", t.counts(core))
	case tail == "":
		add("an amount that begins with "+head, t.each(&Leaf{Kind: Money, Op: Has, Values: cutAmount(head), shown: true},
			func(Field[T]) bool { return cutAmount(head) != nil }))
	}
	if at == nil {
		add("", t.codes(head, wasCut))
		if idLike(head) || wasCut && head != "" {
			add("", t.each(&Leaf{Kind: Ident, Op: Has, Values: []Value{identValue(core)}, shown: true}, always[T]))
		}
	}
	var text2 And
	for _, part := range []string{head, tail} {
		part = strings.ReplaceAll(part, redact.Dot, "") // what is masked is not in the texts
		if Fold(part) != "" {
			text2 = append(text2, t.text(part))
		}
	}
	if w.Means = flat(append(means, flat(text2))); len(text2) == 0 {
		w.Means = t.text(text)
	}
	return w
}

// text is the condition that a text contains s.
func (t *Table[T]) text(s string) *Leaf {
	return &Leaf{Kind: Free, Op: Has, Values: []Value{{Text: s}}, index: t.free, shown: true}
}

// idLike reports whether a word may be the beginning of an identifier.
func idLike(s string) bool {
	n := utf8.RuneCountInString(s)
	return n >= shortestID || n > 1 && strings.ContainsAny(s, "0123456789")
}

func (t *Table[T]) times(at *spoken) Or {
	v := Value{lo: point{set: true, spoken: at}}
	return t.each(&Leaf{Kind: Time, Op: Has, Values: []Value{v}, shown: true},
		func(f Field[T]) bool { return f.Age == (at.step > 0) })
}

func (t *Table[T]) amounts(s string) (read string, all Or) {
	digits, ok := readAmount(s)
	if !ok {
		return "", nil
	}
	key, ok := decimalKey(digits)
	if !ok {
		return "", nil
	}
	if separated(s) {
		read = "the amount " + digits
	}
	v := Value{Text: digits, lo: point{set: true, key: key}}
	return read, t.each(&Leaf{Kind: Money, Op: Has, Values: []Value{v}, shown: true}, always[T])
}

func (t *Table[T]) counts(s string) Or {
	n, err := strconv.ParseUint(s, 10, 32)
	if err != nil || len(s) > longestCount {
		return nil
	}
	v := Value{Text: s, lo: point{set: true, num: int64(n)}}
	return t.each(&Leaf{Kind: Count, Op: Has, Values: []Value{v}, shown: true}, always[T])
}

func (t *Table[T]) codes(s string, wasCut bool) Or {
	l := &Leaf{Kind: Code, Op: isWord, Values: []Value{{Text: s}}, shown: true}
	if n := utf8.RuneCountInString(s); n >= shortestCode || wasCut && n > 0 {
		l.Op = begins
	}
	return t.each(l, func(f Field[T]) bool { return !f.Exact && s != "" })
}

// noise reports whether a word has neither letters nor digits, like the signs that lists draw beside words.
func (w Word) noise() bool {
	return !strings.ContainsFunc(w.Text, func(r rune) bool { return unicode.IsLetter(r) || unicode.IsDigit(r) })
}

// withoutNoise drops what signs mean if words are beside them.
func withoutNoise(all And) {
	quiet := 0
	for _, n := range all {
		if w, ok := n.(Word); ok && w.noise() {
			quiet++
		}
	}
	for i, n := range all {
		if w, ok := n.(Word); ok && w.noise() && quiet < len(all) {
			w.Means = And{}
			all[i] = w
		}
	}
}

// String says when it is.
func (s *spoken) String() string {
	switch {
	case s.step > 0:
		return "changed about then"
	case s.day == "":
		return ""
	case s.exact > 0:
		return "created in " + s.wall.Format("2006-01-02 15:04")
	case strings.Contains(s.day, "2006"):
		return "created on " + s.wall.Format(time.DateOnly)
	}
	return "created on " + s.wall.Format("2 January")
}

// Understood says how words were understood that are more than a text, and how amounts with separators were.
func (e Expr[T]) Understood() []string {
	var out []string
	walk(e.root, func(n Node) {
		switch n := n.(type) {
		case Word:
			if n.read != "" {
				out = append(out, n.Text+" is "+n.read)
			}
		case *Leaf:
			for _, v := range n.Values {
				if n.Kind == Money && !v.Range && grouped.MatchString(v.Text) {
					out = append(out, fmt.Sprintf("%s is one amount, a list is %s:%s", v.Text, n.Field,
						strings.ReplaceAll(v.Text, ",", "|")))
				}
			}
		}
	})
	return out
}

// walk calls f for the nodes as typed.
func walk(n Node, f func(Node)) {
	if n == nil {
		return
	}
	f(n)
	switch n := n.(type) {
	case And:
		for _, p := range n {
			walk(p, f)
		}
	case Or:
		for _, p := range n {
			walk(p, f)
		}
	case Not:
		walk(n.X, f)
	}
}
