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

// spoken is a time as lists draw it or as people say it. Its span depends on the zone and on now.
type spoken struct {
	day    string        // the layout of its date; "": none
	wall   time.Time     // date and time of day, without a zone
	exact  time.Duration // of the time of day; 0: the whole day
	age    time.Duration // or an age: n steps ago, in steps; negative: ahead
	step   time.Duration
	utc    bool // wall is in UTC, whatever the zone
	offset int  // or days from today
	today  bool
}

// dates are the forms of a day; those without a year are of the last twelve months.
var dates = []string{"2006-01-02", "2006/01/02", "02.01.2006", "2.1.2006", "2 Jan 2006", "2 January 2006",
	"Jan 2 2006", "January 2 2006", "2 Jan", "2 January", "Jan 2", "January 2", "2006-01",
	"Jan 2006", "January 2006"}

var clocks = []struct {
	layout string
	exact  time.Duration
}{{"15:04", time.Minute}, {"15:04:05", time.Second}}

// speak reads words as a day, a moment, a time of day or an age; ok is false for anything else.
func speak(s string) (spoken, bool) {
	switch strings.ToLower(s) {
	case "today":
		return spoken{today: true}, true
	case "yesterday":
		return spoken{today: true, offset: -1}, true
	case "now":
		return spoken{step: 10 * time.Second}, true
	}
	if p, ok := speakAge(strings.ToLower(s)); ok {
		return p, true
	}
	at := spoken{}
	if words := strings.Fields(s); len(words) > 1 && (words[len(words)-1] == "UTC" || words[len(words)-1] == "Z") {
		at.utc, s = true, strings.Join(words[:len(words)-1], " ")
	}
	for _, layout := range dates {
		if t, err := time.Parse(layout, s); err == nil {
			at.day, at.wall = layout, t
			return at, true
		}
	}
	for _, clock := range clocks {
		if t, err := time.Parse(clock.layout, s); err == nil {
			at.wall, at.exact = t, clock.exact
			return at, true
		}
		for _, layout := range dates {
			if t, err := time.Parse(layout+" "+clock.layout, s); err == nil {
				at.day, at.wall, at.exact = layout, t, clock.exact
				return at, true
			}
		}
	}
	return speakExact(s)
}

// speakExact reads a moment with its zone, as programs print it.
func speakExact(s string) (spoken, bool) {
	for _, form := range []struct {
		layout string
		exact  time.Duration
	}{{"2006-01-02T15:04:05.999999999Z07:00", time.Second}, {"2006-01-02T15:04Z07:00", time.Minute}} {
		if t, err := time.Parse(form.layout, s); err == nil {
			return spoken{day: time.DateOnly, wall: t.UTC().Truncate(form.exact), exact: form.exact, utc: true}, true
		}
	}
	return spoken{}, false
}

// speakAge reads the age of a list: "2d ago", "50s ago", "in 3m".
func speakAge(s string) (spoken, bool) {
	past, isPast := strings.CutSuffix(s, " ago")
	ahead, isAhead := strings.CutPrefix(s, "in ")
	text, sign := past, time.Duration(1)
	if isAhead {
		text, sign = ahead, -1
	}
	if isPast == isAhead || len(text) < 2 {
		return spoken{}, false
	}
	unit, ok := ageUnits[text[len(text)-1]]
	n, err := strconv.ParseUint(text[:len(text)-1], 10, 16)
	if !ok || err != nil || n == 0 || unit > day {
		return spoken{}, false
	}
	step := unit
	if unit == time.Second {
		step = 10 * time.Second
	}
	return spoken{age: sign * time.Duration(n) * unit, step: step}, true
}

// drift is how long ago a list may have drawn the age that somebody types.
const drift = time.Minute

// span is the time that is meant, in µs, excluding its end.
func (s *spoken) span(now time.Time, zone *time.Location) (start, end int64) {
	if zone == nil || s.utc {
		zone = time.UTC
	}
	if s.step > 0 {
		return s.ages(now)
	}
	y, m, d := s.wall.Date()
	if here := now.In(zone); s.today || s.day == "" {
		y, m, d = here.Date()
		d += s.offset
	} else if !strings.Contains(s.day, "2006") {
		y = here.Year()
	}
	at := func(y, d int) time.Time {
		return time.Date(y, m, d, s.wall.Hour(), s.wall.Minute(), s.wall.Second(), 0, zone)
	}
	from := at(y, d)
	switch {
	case !from.After(now) || s.today:
	case s.day == "": // the last time that the clock showed it
		d--
	case !strings.Contains(s.day, "2006"):
		y--
	}
	from = at(y, d)
	switch {
	case s.exact > 0:
		return from.UnixMicro(), from.Add(s.exact).UnixMicro()
	case !s.today && !strings.Contains(strings.Replace(s.day, "2006", "", 1), "2"):
		return from.UnixMicro(), from.AddDate(0, 1, 0).UnixMicro()
	}
	return from.UnixMicro(), at(y, d+1).UnixMicro()
}

// ages is the span of an age.
func (s *spoken) ages(now time.Time) (start, end int64) {
	from, to := now.Add(-s.age-s.step), now.Add(-s.age)
	switch {
	case s.age == 0: // a list draws a time that is a little ahead in the same way
		to = now.Add(drift)
	case s.age < 0:
		from, to = to, to.Add(s.step)
	}
	return from.Add(-drift).UnixMicro(), to.UnixMicro() + 1
}

// Forms of an amount as screens and letters write them; commas or points group thousands.
var (
	grouped  = regexp.MustCompile(`^[1-9]\d{0,2}(,\d{3})+(\.\d+)?$`)          // 1,682.00 and 1,682: as lists draw them
	european = regexp.MustCompile(`^[1-9]\d{0,2}(\.\d{3})+,\d+$`)             // 1.682,00
	points   = regexp.MustCompile(`^[1-9]\d{0,2}\.\d{3}(\.\d{3})+$`)          // 1.682.000
	swiss    = regexp.MustCompile(`^[1-9]\d{0,2}(['’]\d{3})+([.,]\d{1,2})?$`) // 1'682.00
	comma    = regexp.MustCompile(`^\d+,\d+$`)                                // 1682,5; 1,68
	decimal  = regexp.MustCompile(`^\d+(\.\d+)?$`)
	leading  = regexp.MustCompile(`^[+-]?([1-9]\d{0,2}(,\d{3})*(,\d{0,2}|\.\d*)?|0(\.\d*)?)$`) // 99,999, before a cut
)

// readAmount converts an amount as people write it to digits with a point. 1,682 is grouped, as lists draw it; a
// comma that cannot group is a decimal one.
func readAmount(s string) (digits string, ok bool) {
	sign := ""
	if rest, minus := strings.CutPrefix(s, "-"); minus {
		s, sign = rest, "-"
	} else {
		s = strings.TrimPrefix(s, "+")
	}
	switch {
	case len(s) > maxDigits || s == "":
		return "", false
	case decimal.MatchString(s):
	case grouped.MatchString(s):
		s = strings.ReplaceAll(s, ",", "")
	case european.MatchString(s):
		s = strings.Replace(strings.ReplaceAll(s, ".", ""), ",", ".", 1)
	case points.MatchString(s):
		s = strings.ReplaceAll(s, ".", "")
	case swiss.MatchString(s):
		s = strings.NewReplacer("'", "", "’", "", ",", ".").Replace(s)
	case comma.MatchString(s):
		s = strings.Replace(s, ",", ".", 1)
	default:
		return "", false
	}
	return sign + s, true
}

// separated reports whether an amount is written with separators of thousands or with a decimal comma.
func separated(s string) bool {
	return strings.ContainsAny(s, ",'’") || points.MatchString(strings.TrimLeft(s, "+-"))
}

// cutDigits bounds the digits that a cut amount can have behind those that are shown.
const cutDigits = 24

// cutAmount lists the ranges of the amounts that lists draw with s before the sign of the cut; nil if s is none.
func cutAmount(s string) (out []Value) {
	if !leading.MatchString(s) {
		return nil
	}
	whole, frac, point := strings.Cut(strings.NewReplacer(",", "", "+", "").Replace(s), ".")
	if point || strings.TrimPrefix(whole, "-") == "0" {
		return []Value{decimalsFrom(whole, frac)}
	}
	for n := range cutDigits {
		key, _ := decimalKey(whole + strings.Repeat("0", n))
		out = append(out, keysFrom(key, n))
	}
	return out
}

// decimalsFrom is the range of the amounts whose decimals begin like frac, the one that ends there included: keys have
// no needless zeros.
func decimalsFrom(whole, frac string) Value {
	key, _ := decimalKey(whole + "." + frac + "1")
	key = strings.TrimSuffix(key, "~")
	exact := key[:len(key)-1]
	least, most := exact[:len(exact)-len(frac)+len(strings.TrimRight(frac, "0"))], exact
	if strings.HasPrefix(whole, "-") {
		least, most = most, least
	}
	return Value{Range: true, lo: point{set: true, key: least}, hi: point{set: true, key: most + "~~"}}
}

// keysFrom is the range of keys that begin like key without its last digits.
func keysFrom(key string, without int) Value {
	key = strings.TrimSuffix(key, "~")
	key = key[:len(key)-without]
	return Value{Range: true, lo: point{set: true, key: key}, hi: point{set: true, key: key + "~~"}}
}

// amounts splits the values of an amount at the commas and bars that part a list; grouped ones are one value.
func amounts(s string) []string {
	var out []string
	for _, part := range strings.Split(s, "|") {
		out = append(out, commaParts(part)...)
	}
	return out
}

// commaParts splits at commas, unless they belong to an amount or to both ends of a range.
func commaParts(s string) (out []string) {
	lo, hi, isRange := strings.Cut(s, "..")
	if !strings.Contains(s, ",") || inOne(lo) && (!isRange || hi == "" || inOne(hi)) {
		return []string{s}
	}
	fields := strings.Split(s, ",")
	for len(fields) > 0 {
		n := len(fields)
		for n > 1 && !inOne(strings.Join(fields[:n], ",")) {
			n--
		}
		out = append(out, strings.Join(fields[:n], ","))
		fields = fields[n:]
	}
	return out
}

// inOne reports whether s is one amount and no list of them: a list has no number with a needless zero.
func inOne(s string) bool {
	s = strings.TrimLeft(s, "+-")
	if _, last, ok := strings.Cut(s, ","); ok && comma.MatchString(s) && !grouped.MatchString(s) {
		return len(last) > 1 && last[0] == '0'
	}
	return s == "" || grouped.MatchString(s) || european.MatchString(s) || swiss.MatchString(s) ||
		!strings.Contains(s, ",")
}
