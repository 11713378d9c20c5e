package filter

import (
	"regexp"
	"slices"
	"strconv"
	"strings"
	"time"
	"unicode"
	"unicode/utf8"

	"opdeck/api"
	"opdeck/api/redact"
)

// Word is words without a field, as somebody sees them in a list: an amount, a day, a status, an identifier or its
// beginning, a part of a text. It holds if Means does. It is unknown only for a row with an identifier whose name
// nobody has told: what else a row lacks, it does not show.
type Word struct {
	Text  string
	Means Node
	read  string  // how it was understood, if it is more than a text
	at    *moment // the time that it is
	ids   []string
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
)

// words is the node of the words that begin with k: as many as belong together.
func (p *parser[T]) words(k token) Node {
	if next := p.peek(); next.kind == tField && isLabel(k) {
		if kind, _ := p.t.kindOf(next.text); kind == Ident {
			return Word{Text: k.text, Means: And{}} // a label, as of "Operation ID: …"
		}
	}
	if ids, n := p.idsFrom(k); len(ids) > 1 || len(ids) == 1 && (n > 1 || wholeID.MatchString(ids[0])) {
		p.i += n - 1
		w := p.t.listOf(ids)
		if len(ids) == 1 {
			w.Means = flat(Or{w.Means, p.t.text(ids[0])})
		}
		return w
	}
	run := p.run(k)
	for n := len(run); n > 0; n-- {
		text := strings.Join(run[:n], " ")
		_, isMoment, both := spoken(text)
		_, isAmount := readAmount(text)
		if n == 1 || isMoment || both != "" || isAmount {
			p.i += n - 1
			return p.t.word(text, run[:n])
		}
	}
	return nil
}

// run lists k and the bare words behind it, at most as many as a moment or an amount has.
func (p *parser[T]) run(k token) []string {
	out := []string{k.text}
	for _, next := range p.toks[p.i:] {
		if next.kind != tWord || next.quoted || len(out) == wordsOfMoment {
			break
		}
		out = append(out, next.text)
	}
	return out
}

// wholeID is a complete identifier of the usual form, shortID one as lists abbreviate it, firstOfID its first group.
var (
	wholeID   = regexp.MustCompile(`(?i)^[0-9a-f]{8}(-[0-9a-f]{4}){3}-[0-9a-f]{12}$`)
	shortID   = regexp.MustCompile(`(?i)^[0-9a-z_-]{4,}(…|\.\.\.)[0-9a-z_-]{4,}$`)
	firstOfID = regexp.MustCompile(`(?i)^[0-9a-f]{8}$`)
)

// idIn is the one identifier in a word, complete or as lists abbreviate it.
func idIn(word string) (id string, ok bool) {
	id = api.ReadID(word)
	return id, wholeID.MatchString(id) || shortID.MatchString(id) && hasDigit(id) ||
		firstOfID.MatchString(id) && hasDigit(id) && strings.Trim(id, "0123456789") != ""
}

// labels are the words that mails and sheets write before an identifier.
var labels = []string{"operation", "payment", "transaction", "customer", "opid", "cuid", "id", "no", "ref"}

func isLabel(k token) bool {
	return k.kind == tWord && !k.quoted && slices.Contains(labels, strings.ToLower(strings.TrimRight(k.text, ":#.")))
}

// idsFrom lists the identifiers of a pasted list, behind labels or not, and the number of its words.
func (p *parser[T]) idsFrom(k token) (ids []string, words int) {
	next := append([]token{k}, p.toks[p.i:]...)
	for len(next) > 1 && isLabel(next[0]) {
		next, words = next[1:], words+1
	}
	for _, one := range next {
		var all []string
		for _, part := range strings.FieldsFunc(one.text, func(r rune) bool { return r == ',' || r == ';' }) {
			id, ok := idIn(part)
			if !ok {
				return ids, words
			}
			all = append(all, id)
		}
		if one.kind != tWord || one.quoted {
			return ids, words
		}
		ids, words = append(ids, all...), words+1
	}
	return ids, words
}

// listOf matches the records with one of the identifiers.
func (t *Table[T]) listOf(ids []string) Word {
	l := &Leaf{Kind: Ident, Op: Has, shown: true}
	for _, id := range ids {
		l.Values = append(l.Values, identValue(id))
	}
	return Word{Text: strings.Join(ids, " "), Means: t.each(l), ids: ids}
}

// Alone lists what each part of e finds alone: each term, or each identifier of a list.
func (e Expr[T]) Alone() (out []Expr[T]) {
	ids := e.IDs()
	for _, id := range ids {
		out = append(out, e.Of(e.table.listOf([]string{id})))
	}
	for _, part := range e.Parts() {
		if len(ids) == 0 {
			out = append(out, e.Of(part))
		}
	}
	return out
}

// IDs are the identifiers of a filter that is nothing but identifiers.
func (e Expr[T]) IDs() []string {
	w, _ := e.root.(Word)
	return w.ids
}

// Cut is where lists cut a text.
const Cut = "…"

// identValue is an identifier, its beginning, or its two ends as lists draw them.
func identValue(text string) Value {
	head, tail, _ := strings.Cut(strings.ReplaceAll(text, "...", Cut), Cut)
	return Value{Text: head, tail: tail}
}

// each is l for every field that is of the kind that l compares, and for which is holds.
func (t *Table[T]) each(l *Leaf, is ...func(Field[T]) bool) Or {
	var out Or
	for i, f := range t.fields {
		if f.Kind == l.Kind && (len(is) == 0 || is[0](f)) {
			one := *l
			one.Field, one.index = f.Name, i
			out = append(out, &one)
		}
	}
	return out
}

// word is the node of a word, or of the words of one time or amount.
func (t *Table[T]) word(text string, words []string) Node {
	w := Word{Text: text}
	core := strings.TrimRight(strings.ReplaceAll(text, "...", Cut), ",;")
	head, tail, wasCut := strings.Cut(core, Cut)
	var means Or
	if at, ok, both := spoken(text); ok {
		w.at = &at
		means = append(means, t.times(&at)...)
	} else if both != "" {
		w.read = "searched as a text: as a day it " + both
	} else if a, ok := readAmount(core); ok && !wasCut {
		if n := t.amounts(a); n != nil {
			means, w.read = append(means, n), a.says(core)
		}
	} else if cut := cutAmount(head); cut != nil && wasCut && tail == "" {
		means = append(means, t.each(&Leaf{Kind: Money, Op: Has, Values: cut, shown: true})...)
		w.read = "an amount that begins with " + head
	}
	if len(words) > 1 && means == nil { // an amount of a list without amounts, or no day
		var all And
		for _, one := range words {
			all = append(all, t.word(one, nil))
		}
		means = append(means, all)
	}
	if len(words) < 2 && w.at == nil {
		if !wasCut {
			means = append(means, t.counts(core)...)
		}
		means = append(means, t.codes(head, wasCut)...)
		if idLike(head) || wasCut && head != "" {
			means = append(means, t.each(&Leaf{Kind: Ident, Op: Has, Values: []Value{identValue(core)}, shown: true})...)
		}
	}
	var texts And
	for _, part := range []string{head, tail} {
		part = strings.ReplaceAll(part, redact.Dot, "") // what is masked is not in the texts
		if Fold(part) != "" {
			texts = append(texts, t.text(part))
		}
	}
	if w.Means = flat(append(means, flat(texts))); len(texts) == 0 {
		w.Means = t.text(text)
	}
	return w
}

// spoken is readMoment of bare words: four digits are a number.
func spoken(s string) (m moment, ok bool, both string) {
	if len(s) == 4 && strings.Trim(s, "0123456789") == "" {
		return m, false, ""
	}
	return readMoment(s)
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

// times compares the times that lists draw as days, or as ages; all if it has no such.
func (t *Table[T]) times(at *moment) Or {
	l := &Leaf{Kind: Time, Op: Has, Values: Value{lo: point{set: true, at: at}}.twins(Has), shown: true}
	if out := t.each(l, func(f Field[T]) bool { return f.Age == at.drawn }); out != nil {
		return out
	}
	return t.each(l)
}

// amounts compares all amounts, and the currencies if it has some; nil: it is none.
func (t *Table[T]) amounts(a amount) Node {
	v, ok := a.value(a.digits, false)
	all := t.each(&Leaf{Kind: Money, Op: Has, Values: []Value{v}, shown: true})
	if !ok || all == nil {
		return nil
	}
	if of := t.currencies(a.codes); of != nil {
		return And{flat(all), of}
	}
	return flat(all)
}

// currencies compares the currencies of a row; nil: no codes, or it has none.
func (t *Table[T]) currencies(codes []string) Node {
	l := &Leaf{Kind: Code, Op: Has, shown: true}
	for _, c := range codes {
		l.Values = append(l.Values, Value{Text: c})
	}
	all := t.each(l, func(f Field[T]) bool { return strings.HasSuffix(f.Name, "currency") })
	if codes == nil || all == nil {
		return nil
	}
	return flat(all)
}

func (t *Table[T]) counts(s string) Or {
	n, err := strconv.ParseUint(s, 10, 32)
	if err != nil || len(s) > longestCount {
		return nil
	}
	v := Value{Text: s, lo: point{set: true, num: int64(n)}}
	return t.each(&Leaf{Kind: Count, Op: Has, Values: []Value{v}, shown: true})
}

func (t *Table[T]) codes(s string, wasCut bool) Or {
	if of := codesOf(s); of != nil && signs[[]rune(s)[0]] != nil { // a currency's sign
		return Or{t.currencies(of)}
	}
	l := &Leaf{Kind: Code, Op: isWord, Values: []Value{{Text: s}}, shown: true}
	if n := utf8.RuneCountInString(s); n >= shortestCode || wasCut && n > 0 {
		l.Op = begins
	}
	return t.each(l, func(f Field[T]) bool { return !f.Exact && s != "" })
}

// noise reports whether a word has neither letters nor digits, like the signs that lists draw beside words.
func (w Word) noise() bool {
	return !strings.ContainsFunc(w.Text, func(r rune) bool {
		return unicode.IsLetter(r) || unicode.IsDigit(r) || signs[r] != nil
	})
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

// Understood says how words and values were understood that are more than a text: days, and amounts that are not
// written as a list draws them.
func (e Expr[T]) Understood(now time.Time) []string {
	var out []string
	add := func(typed, said string) {
		if said != "" {
			out = append(out, typed+" is "+said)
		}
	}
	there := func(l *Leaf) time.Time {
		if l.zone != nil {
			return now.In(l.zone)
		}
		return now.UTC()
	}
	walk(e.root, func(n Node) {
		switch n := n.(type) {
		case Word:
			if add(n.Text, n.read); len(n.ids) > 1 {
				add(n.Text, "any of "+strconv.Itoa(len(n.ids))+" ids")
			}
			if n.at != nil {
				rebuild(n.Means, func(l *Leaf) Node {
					if l.Kind == Time {
						add(n.Text, n.at.says(there(l)))
					}
					return l
				})
			}
		case *Leaf:
			for _, v := range n.Values {
				switch {
				case v.Range || v.later || v.Missing:
				case n.Kind == Money:
					a, _ := readAmount(v.Text)
					said := a.says(v.Text)
					if strings.Contains(v.Text, ",") {
						said += "; a list is " + n.Field + ":" + strings.ReplaceAll(v.Text, ",", "|")
					}
					add(v.Text, said)
				case v.lo.at != nil && !hasDigit(v.Text):
					add(v.Text, v.lo.at.says(there(n)))
				}
			}
		}
	})
	return slices.Compact(out)
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
