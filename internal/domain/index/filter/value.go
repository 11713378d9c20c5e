package filter

import (
	"cmp"
	"slices"
	"strconv"
	"strings"
	"time"
	"unicode/utf8"

	"opdeck/api/redact"
)

// value checks one value against its field and interprets it. codes are the currencies that an amount names.
func (p *parser[T]) value(f Field[T], op Op, v token) (val Value, codes []string, err error) {
	if f.Kind == Text { // what is masked is not in the texts
		v.text = strings.ReplaceAll(v.text, redact.Dot, "")
	}
	val = Value{Text: v.text}
	if Fold(v.text) == "" {
		return val, nil, fail(v.pos, "A value for %s is missing.", "Write "+f.Example+".", f.Name)
	}
	switch {
	case f.Kind == Flag:
		val.Text = Fold(v.text)
		if one := strings.TrimSuffix(val.Text, "s"); slices.Contains(f.Values, one) { // has:docs is has:doc
			val.Text = one
		}
		if !slices.Contains(f.Values, val.Text) {
			return val, nil, fail(v.pos, "%s:%s is not known.", "Known are "+strings.Join(f.Values, ", ")+".", f.Name, v.text)
		}
	case f.Kind == Ident && len(v.text) > 1:
		val = identValue(strings.TrimSuffix(v.text, "*")) // an identifier matches by prefix anyway
	case f.Kind.ordered():
		return p.orderedValue(f, op, v)
	}
	return val, nil, nil
}

func (p *parser[T]) orderedValue(f Field[T], op Op, v token) (val Value, codes []string, err error) {
	lo, hi, isRange := strings.Cut(v.text, "..")
	if !isRange {
		return p.point(f, v.text, op != Has, v.pos)
	}
	if op != Has {
		return val, nil, fail(v.pos, "A range cannot follow %s.", "Write "+f.Name+":from..to.", op)
	}
	if lo == "" && hi == "" {
		return val, nil, fail(v.pos, "The range has no start and no end.",
			"Write "+f.Name+":from..to; one end may be left out.")
	}
	val = Value{Text: lo, To: hi, Range: true}
	for i, s := range []string{lo, hi} {
		if s == "" {
			continue
		}
		end, of, err := p.point(f, s, true, v.pos+i*(utf8.RuneCountInString(lo)+2))
		if err != nil {
			return val, nil, err
		}
		if codes = append(codes, of...); i == 0 {
			val.lo = end.lo
		} else {
			val.hi = end.lo
		}
	}
	if val.lo.after(val.hi) {
		return val, nil, fail(v.pos+utf8.RuneCountInString(lo)+2, "The range ends before it begins.",
			"Write "+f.Name+":from..to.")
	}
	return val, codes, nil
}

// after reports whether a range from p to the end of q is empty in any zone, now and later. A relative time and one
// that is not may come in either order.
func (p point) after(q point) bool {
	if !p.set || !q.set {
		return false
	}
	if p.at == nil {
		return p.key > q.key || p.num > q.num
	}
	now := time.Now().UTC()
	from, _ := p.at.span(now, false)
	_, to := q.at.span(now, true)
	return p.at.of == q.at.of && !from.Before(to)
}

// point reads one amount, time or number; whole: an amount is not rounded.
func (p *parser[T]) point(f Field[T], s string, whole bool, pos int) (val Value, codes []string, err error) {
	val = Value{Text: s}
	switch f.Kind {
	case Money:
		a, ok := readAmount(s)
		if ok {
			val, ok = a.value(a.text, whole)
		}
		if !ok {
			hint := "Write digits with a point: 1000.50 or 1,000.50."
			if strings.Contains(s, ",") {
				hint += " A list of amounts has bars: 100|200."
			}
			return val, nil, fail(pos, "%q is not an amount.", hint, s)
		}
		return val, a.codes, nil
	case Count:
		n, err := strconv.ParseInt(s, 10, 64)
		if err != nil {
			return val, nil, fail(pos, "%q is not a whole number.", "Write "+f.Example+".", s)
		}
		val.lo = point{set: true, num: n}
		return val, nil, nil
	}
	at, err := readTime(pos, s)
	val.lo = point{set: true, at: &at}
	return val, nil, err
}

// readTime reads a moment or an age.
func readTime(pos int, s string) (at moment, err error) {
	at, ok := readAge(s)
	not := ""
	if !ok {
		at, ok, not = readMoment(s)
	}
	switch {
	case not != "":
		err = fail(pos, "%q %s.", "Write the day as 2 Nov 2026.", s, not)
	case !ok:
		err = fail(pos, "%q is not a time.", "Write a date (2026-01-31, 2026-01, 2026-01-31T10:00Z), an age "+
			`(30m, 2h, 3d, 2w), or a day as people say it: today, monday, "last week", "26 Nov", 26/11.`, s)
	}
	return at, err
}

// ReadTime reads a time as filters do, and returns its beginning. Days are those of zone, nil is UTC. The error is an
// *Error.
func ReadTime(s string, now time.Time, zone *time.Location) (time.Time, error) {
	at, err := readTime(0, s)
	if err != nil {
		return time.Time{}, err
	}
	from, _ := at.span(now.In(cmp.Or(zone, time.UTC)), false)
	return from, nil
}

// twins are v, and if v is a time of day that clocks can show twice, the second time too.
func (v Value) twins(op Op) []Value {
	if op != Has || v.Range || v.lo.at == nil || !v.lo.at.twice {
		return []Value{v}
	}
	second := v
	second.later = true
	return []Value{v, second}
}

// Bounds is the range of an ordered value: Lo and Hi, each inclusive or not; a missing bound is open.
type Bounds[K string | int64] struct {
	Lo, Hi         K
	HasLo, HasHi   bool
	LoWith, HiWith bool
}

func (b Bounds[K]) holds(k K) bool {
	return (!b.HasLo || k > b.Lo || b.LoWith && k == b.Lo) && (!b.HasHi || k < b.Hi || b.HiWith && k == b.Hi)
}

func compare[K string | int64](op Op, v Value, of func(point) K) Bounds[K] {
	if v.Range || v.rounded {
		return Bounds[K]{Lo: of(v.lo), Hi: of(v.hi), HasLo: v.lo.set, HasHi: v.hi.set, LoWith: true, HiWith: true}
	}
	k := of(v.lo)
	switch op {
	case Lt, Le:
		return Bounds[K]{Hi: k, HasHi: true, HiWith: op == Le}
	case Gt, Ge:
		return Bounds[K]{Lo: k, HasLo: true, LoWith: op == Ge}
	}
	return Bounds[K]{Lo: k, Hi: k, HasLo: true, HasHi: true, LoWith: true, HiWith: true}
}

// moneyBounds is the range of keys (MoneyKey) of a Money leaf's value. It includes a missing or
// unreadable amount only for the value Missing.
func (l *Leaf) moneyBounds(v Value) Bounds[string] {
	if v.Missing {
		return Bounds[string]{Hi: keyLeast, HasHi: true}
	}
	b := compare(l.Op, v, func(p point) string { return p.key })
	if !b.HasLo {
		b.Lo, b.HasLo, b.LoWith = keyLeast, true, true
	}
	return b
}

// NotReported is the number of a Count that the answer did not report.
const NotReported int64 = -1

// countBounds is the range of a Count leaf's value. It includes NotReported only for the
// value Missing.
func (l *Leaf) countBounds(v Value) Bounds[int64] {
	if v.Missing {
		return Bounds[int64]{HasHi: true}
	}
	b := compare(l.Op, v, func(p point) int64 { return p.num })
	if !b.HasLo {
		b.HasLo, b.LoWith = true, true
	}
	return b
}

// noTime is the zero time in µs: no time.
var noTime = time.Time{}.UnixMicro()

// TimeBounds is the range of a Time leaf's value in Unix µs. Ages compare as ages: updated<2h matches changes within
// the last two hours. A date or minute means its whole span: created>2026-01-01 begins with the 2nd.
func (l *Leaf) TimeBounds(v Value, now time.Time) Bounds[int64] {
	if v.Missing {
		return Bounds[int64]{Hi: noTime, HasHi: true, HiWith: true}
	}
	b := l.timeBounds(v, now)
	if !b.HasLo {
		b.Lo, b.HasLo, b.LoWith = noTime, true, false
	}
	return b
}

func (l *Leaf) timeBounds(v Value, now time.Time) Bounds[int64] {
	if now = now.UTC(); l.zone != nil {
		now = now.In(l.zone)
	}
	if v.Range {
		b := Bounds[int64]{HasLo: v.lo.set, LoWith: true, HasHi: v.hi.set}
		if b.HasLo {
			from, _ := v.lo.at.span(now, false)
			b.Lo = from.UnixMicro()
		}
		if b.HasHi {
			_, to := v.hi.at.span(now, true)
			b.Hi = to.UnixMicro()
		}
		return b
	}
	op := l.Op
	if v.lo.at.of == anAge { // older is earlier
		op = map[Op]Op{Lt: Ge, Le: Ge, Has: Ge, Gt: Lt, Ge: Lt}[op]
	}
	from, to := v.lo.at.span(now, v.later)
	lo, hi := from.UnixMicro(), to.UnixMicro()
	switch op {
	case Lt:
		return Bounds[int64]{Hi: lo, HasHi: true}
	case Le:
		return Bounds[int64]{Hi: hi, HasHi: true}
	case Gt:
		return Bounds[int64]{Lo: hi, HasLo: true, LoWith: true}
	case Ge:
		return Bounds[int64]{Lo: lo, HasLo: true, LoWith: true}
	}
	return Bounds[int64]{Lo: lo, HasLo: true, LoWith: true, Hi: hi, HasHi: true}
}

// A term is true, false or unknown for a record: unknown if the record lacks the value that the term compares. A filter
// matches the records for which Kleene's logic makes it true, so that -x matches those for which x is false. settle
// converts it to a condition with two values: negations move to the leaves, and a negated leaf also excludes the
// records that lack its values.

// settle returns the condition that n is true, or with negated that it is false.
func (t *Table[T]) settle(n Node, negated bool) Node {
	switch n := n.(type) {
	case And:
		if negated {
			return Or(t.settleAll(n, negated))
		}
		return And(t.settleAll(n, negated))
	case Or:
		if negated {
			return And(t.settleAll(n, negated))
		}
		return Or(t.settleAll(n, negated))
	case Not:
		return t.settle(n.X, !negated)
	case Word:
		return t.settle(n.Means, negated)
	case *Leaf:
		l := *n
		if !l.settled && negated {
			for _, name := range t.needs(n) {
				l.Values = append(slices.Clip(l.Values), Value{Text: name, Missing: true})
			}
		}
		if l.settled = true; negated {
			return Not{&l}
		}
		return &l
	}
	return n
}

func (t *Table[T]) settleAll(parts []Node, negated bool) []Node {
	out := make([]Node, len(parts))
	for i, p := range parts {
		out[i] = t.settle(p, negated)
	}
	return out
}

// needs lists the fields that a record must have so that the leaf is true or false.
func (t *Table[T]) needs(l *Leaf) (names []string) {
	f := &t.fields[l.index]
	switch {
	case l.shown && f.Kind != Free:
		return nil
	case f.Kind.ordered():
		return []string{f.Name}
	case f.Needs == nil:
		return nil
	}
	for _, v := range l.Values {
		for _, name := range f.Needs(v.Text) {
			if !slices.Contains(names, name) {
				names = append(names, name)
			}
		}
	}
	return names
}

// Needs lists the fields that a record must have so that the filter can judge it.
func (e Expr[T]) Needs() []string {
	var names []string
	for _, l := range e.needing(e.root) {
		for _, name := range e.table.needs(l) {
			if !slices.Contains(names, name) {
				names = append(names, name)
			}
		}
	}
	return names
}

// needing lists the leaves of n that some records lack the values of.
func (e Expr[T]) needing(n Node) (out []*Leaf) {
	e.Of(n).Leaves(func(l *Leaf) {
		if len(e.table.needs(l)) > 0 {
			out = append(out, l)
		}
	})
	return out
}

// Unknown matches the records that lack one of the fields of these names (of Needs), if e is unknown for them.
func (e Expr[T]) Unknown(names ...string) Expr[T] {
	var all, rest And // what every record has the values for, and the other parts
	for _, p := range e.Parts() {
		if len(e.needing(p)) == 0 {
			all = append(all, e.table.settle(p, false))
		} else {
			rest = append(rest, p)
		}
	}
	var lacks Or
	for _, name := range names {
		lacks = append(lacks, e.lacks(rest, name)...)
	}
	all = append(all, flat(lacks))
	if l, ok := single(rest); !ok || !l.Kind.ordered() { // one bound alone: neither true nor false without the value
		all = append(all, Not{e.table.settle(rest, false)}, Not{e.table.settle(rest, true)})
	}
	return e.exactly(all)
}

// lacks lists the conditions that a record lacks the field of that name, for the leaves of n that need it.
func (e Expr[T]) lacks(n Node, name string) (out []Node) {
	var done []int
	for _, l := range e.needing(n) {
		at := l.index
		if own, ok := e.table.byName[strings.ToLower(name)]; ok && l.Kind != Free {
			if f := e.table.fields[own]; f.Kind.ordered() || f.Lacks != nil { // it has an index
				at = own
			}
		}
		if !slices.Contains(e.table.needs(l), name) || slices.Contains(done, at) {
			continue
		}
		done = append(done, at)
		f := e.table.fields[at]
		lacks := &Leaf{Field: f.Name, Kind: f.Kind, Op: Has, Values: []Value{{Text: name, Missing: true}}, index: at,
			settled: true}
		if f.Kind == Free { // what the words lack of that field
			lacks.Field = name
		}
		out = append(out, lacks)
	}
	return out
}

// single returns the leaf of parts that are one leaf, negated or not.
func single(parts And) (l *Leaf, ok bool) {
	if len(parts) != 1 {
		return nil, false
	}
	if not, is := parts[0].(Not); is {
		l, ok = not.X.(*Leaf)
		return l, ok
	}
	l, ok = parts[0].(*Leaf)
	return l, ok
}
