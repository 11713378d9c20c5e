package index

import (
	"context"
	"slices"
	"strings"
	"time"
	"unicode"

	"github.com/cockroachdb/apd/v3"

	"opdeck/api"
	"opdeck/internal/domain/index/filter"
	"opdeck/internal/domain/mask"
	"opdeck/internal/field"
	"opdeck/internal/format"
)

// others lists terms near one that may occur beside rest: the next amount, the next day, an identifier that differs in
// a character, a word that is spelled alike, the longest beginning.
func (n nearest) others(ctx context.Context, part filter.Node, rest filter.And) (out []filter.Node) {
	c, ok := n.f.Clue(part, n.now)
	if !ok {
		return nil
	}
	name := ""
	if c.Field != "" {
		name = c.Field + ":"
	}
	term := func(value, text string) {
		if value == "" {
			return
		}
		if e, err := filter.Parse(text); err == nil && len(e.Parts()) == 1 {
			out = append(out, e.Parts()[0])
		}
	}
	add := func(value string) {
		if name != "" {
			term(value, name+filter.Quoted(value))
		} else {
			term(value, filter.Bare(value))
		}
	}
	if c.Amount != "" {
		amount := n.amount(ctx, c, rest)
		term(amount, name+amount)
	}
	if !c.From.IsZero() {
		day := n.day(ctx, c, rest)
		term(day, name+day)
	}
	if c.Text != "" && (c.Amount == "" || name == "") && c.From.IsZero() {
		add(n.code(ctx, c))
		add(n.ends(ctx, c))
		add(n.spelled(ctx, c, rest))
		add(n.beginning(ctx, c, name))
	}
	return out
}

// beside is the first operation that matches rest and a term, in that order.
func (n nearest) beside(ctx context.Context, rest filter.And, term string, s Sort) (Record, bool, error) {
	f, err := filter.Parse(term)
	if err != nil {
		return Record{}, false, err
	}
	return n.first(ctx, n.f.Of(append(slices.Clone(rest), f.Parts()...)), s)
}

// amount is the closest one.
func (n nearest) amount(ctx context.Context, c filter.Clue, rest filter.And) string {
	name := c.Field
	if name == "" {
		name = field.OpAmount
	}
	want, _, err := apd.NewFromString(c.Amount)
	if err != nil {
		return ""
	}
	best, least := "", new(apd.Decimal)
	for _, op := range []string{"<=", ">="} {
		r, ok, err := n.beside(ctx, rest, name+op+c.Amount, Sort{Field: name, Desc: op == "<="})
		if !ok || err != nil {
			continue
		}
		d, err := field.Operations.Get(name).Money(r.Op).Decimal()
		if err != nil {
			continue
		}
		apart := new(apd.Decimal)
		if _, err := apd.BaseContext.WithPrecision(100).Sub(apart, d, want); err != nil {
			continue
		}
		if apart.Abs(apart); best == "" || apart.Cmp(least) < 0 {
			best, _ = format.Amount(field.Operations.Get(name).Money(r.Op))
			least = apart
		}
	}
	return best
}

// day is the closest day with an operation.
func (n nearest) day(ctx context.Context, c filter.Clue, rest filter.And) string {
	name := c.Field
	if name == "" {
		name = field.OpCreated
	}
	best, least := "", time.Duration(1<<63-1)
	for _, op := range []string{"<", ">="} {
		r, ok, err := n.beside(ctx, rest, name+op+c.From.UTC().Format(time.RFC3339), Sort{Field: name, Desc: op == "<"})
		if !ok || err != nil {
			continue
		}
		at := field.Operations.Get(name).Time(r.Op).Time
		zone := time.UTC
		if c.Field == "" && n.zone != nil {
			zone = n.zone
		}
		if apart := at.Sub(c.From).Abs(); best == "" || apart < least {
			best, least = at.In(zone).Format(time.DateOnly), apart
		}
	}
	return best
}

// codeFields are the fields whose words can be spelled wrong.
var codeFields = []string{field.OpStatus, field.OpType, field.OpPayment, field.OpCurrency}

// code is a status, type, payment type or currency that is spelled like the word.
func (n nearest) code(ctx context.Context, c filter.Clue) string {
	names := codeFields
	if c.Field != "" {
		names = []string{c.Field}
	}
	for _, name := range names {
		if !slices.Contains(codeFields, name) {
			continue
		}
		values, err := n.index.Values(ctx, name, "", 100)
		if err != nil {
			return ""
		}
		folded := map[string]string{}
		var all []string
		for _, v := range values {
			if !strings.Contains(v, mask.Dot) {
				folded[filter.Fold(v)] = v
				all = append(all, filter.Fold(v))
			}
		}
		if near := filter.Nearest(filter.Fold(c.Text), all); near != "" {
			return folded[near]
		}
	}
	return ""
}

// An identifier with a wrong character is searched by its two ends, as lists draw them.
const (
	shortestHead = 2
	shownTail    = 6
	leastID      = shortestHead + 1 + shownTail
)

// ends is an identifier that begins and ends like the one that was typed, else one that begins like its first end.
func (n nearest) ends(ctx context.Context, c filter.Clue) string {
	if c.Field != "" && c.Field != field.OpID {
		return ""
	}
	head, tail, shortened := strings.Cut(c.Text, filter.Cut)
	if !shortened && len(head) >= leastID {
		head, tail = head[:len(head)-shownTail], head[len(head)-shownTail:]
	}
	if tail == "" || api.CheckID("find operation", head+tail) != nil || !strings.ContainsAny(c.Text, "0123456789") {
		return ""
	}
	begins := n.longest(ctx, []rune(head), shortestHead, func(head string) string {
		return field.OpID + ":" + filter.Quoted(head)
	})
	if begins == "" {
		return ""
	}
	both := begins + filter.Cut + tail
	if _, ok, err := n.beside(ctx, nil, field.OpID+":"+filter.Quoted(both), newestFirst); ok && err == nil {
		return both
	}
	if shortened && begins == head {
		return head + filter.Cut
	}
	return ""
}

var newestFirst = Sort{Field: field.OpCreated, Desc: true}

// Rows whose words are compared with a misspelled one, and the letters of the two ends by which they are found.
const (
	comparedRows = 200
	longestWord  = 60
)

// spelled is a word in a text of the newest operations that is spelled like the one that was typed: a letter is
// wrong, missing, doubled or in another place. One of its ends is right.
func (n nearest) spelled(ctx context.Context, c filter.Clue, rest filter.And) string {
	word := []rune(filter.Fold(c.Text))
	texts := n.f.Texts(c.Field)
	if len(word) < 4 || len(word) > longestWord || texts == nil || strings.Contains(c.Text, filter.Cut) {
		return ""
	}
	for _, letters := range []int{3, 2} {
		for _, end := range [][]rune{word[:letters], word[len(word)-letters:]} {
			term := filter.Quoted(string(end))
			if c.Field != "" {
				term = c.Field + ":" + term
			}
			f, err := filter.Parse(term)
			if err != nil {
				return ""
			}
			rows, err := n.lookup.matching(ctx, n.f.Of(append(slices.Clone(rest), f.Parts()...)).In(n.zone), comparedRows)
			if err != nil {
				return ""
			}
			var words []string
			for _, r := range rows {
				for _, text := range texts(r.Op) {
					words = append(words, wordsOf(filter.Fold(text))...)
				}
			}
			if near := filter.Nearest(string(word), words); near != "" && near != string(word) {
				return near
			}
		}
	}
	return ""
}

// wordsOf are the words of a text, with and without the signs in them, but for those that are masked.
func wordsOf(text string) []string {
	sign := func(r rune) bool { return !unicode.IsLetter(r) && !unicode.IsDigit(r) && !unicode.IsMark(r) }
	out := append(strings.Fields(text), strings.FieldsFunc(text, sign)...)
	return slices.DeleteFunc(out, func(w string) bool { return strings.Contains(w, mask.Dot) })
}

// beginning is the longest beginning of a text that occurs, "" if that is less than half.
func (n nearest) beginning(ctx context.Context, c filter.Clue, name string) string {
	text := []rune(c.Text)
	return n.longest(ctx, text, max(2, (len(text)+1)/2), func(head string) string {
		if name != "" {
			return name + filter.Quoted(head)
		}
		return filter.Bare(head)
	})
}

// longest is the longest beginning of a text, of at least so many characters, whose term matches something; a text
// that begins with a longer one begins with the shorter ones.
func (n nearest) longest(ctx context.Context, text []rune, from int, term func(head string) string) (found string) {
	for to := len(text); from <= to; {
		mid := (from + to + 1) / 2
		_, ok, err := n.beside(ctx, nil, term(string(text[:mid])), newestFirst)
		switch {
		case err != nil && ctx.Err() != nil:
			return ""
		case ok:
			found, from = string(text[:mid]), mid+1
		default:
			to = mid - 1
		}
	}
	return found
}
