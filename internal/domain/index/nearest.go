package index

import (
	"context"
	"slices"
	"strings"
	"time"

	"github.com/cockroachdb/apd/v3"

	"opdeck/internal/domain/index/filter"
	"opdeck/internal/domain/mask"
	"opdeck/internal/field"
	"opdeck/internal/format"
)

// nearest searches for a filter that matches something in the place of one that matches nothing.
type nearest struct {
	lookup
	zone *time.Location
	f    filter.OperationExpr
}

// Nearest returns the filter closest to f that matches operations, for a filter that matches none: with a value that
// occurs, else without a term, else "", which matches everything; not ok if the index holds nothing. Days are read in
// zone.
func (x *Index) Nearest(ctx context.Context, f filter.OperationExpr, zone *time.Location,
	now time.Time) (text string, ok bool, err error) {
	n := nearest{lookup{x, now}, zone, f}
	if text, err = n.find(ctx); text != "" || err != nil {
		return text, true, err
	}
	_, ok, err = n.first(ctx, filter.OperationExpr{}, Sort{Field: field.OpCreated, Desc: true})
	return "", ok, err
}

// find is the filter, "" if nothing near it matches.
func (n nearest) find(ctx context.Context) (string, error) {
	f := n.f
	parts := f.Parts()
	var culprits []int
	for i, part := range parts {
		some, err := n.some(ctx, part)
		if err != nil {
			return "", err
		}
		if !some {
			culprits = append(culprits, i)
		}
	}
	for _, i := range append(culprits, fitting(len(parts), culprits)...) {
		for _, other := range n.others(ctx, parts[i]) {
			if text, err := n.with(ctx, parts, i, other); text != "" || err != nil {
				return text, err
			}
		}
		if text, err := n.with(ctx, parts, i, nil); text != "" || err != nil {
			return text, err
		}
	}
	return n.one(ctx, parts, culprits)
}

// one is the terms that match something, else one term alone.
func (n nearest) one(ctx context.Context, parts []filter.Node, culprits []int) (string, error) {
	var rest filter.And
	for _, i := range slices.Backward(fitting(len(parts), culprits)) {
		rest = append(rest, parts[i])
	}
	if text, err := n.with(ctx, rest, -1, nil); text != "" || err != nil {
		return text, err
	}
	for _, part := range parts {
		alone := []filter.Node{part}
		if text, err := n.with(ctx, alone, -1, nil); text != "" || err != nil {
			return text, err
		}
		for _, other := range n.others(ctx, part) {
			if text, err := n.with(ctx, alone, 0, other); text != "" || err != nil {
				return text, err
			}
		}
	}
	return "", nil
}

// fitting lists the last terms before the first ones, without the culprits.
func fitting(n int, culprits []int) (out []int) {
	for i := n - 1; i >= 0; i-- {
		is := false
		for _, c := range culprits {
			is = is || c == i
		}
		if !is {
			out = append(out, i)
		}
	}
	return out
}

// some reports whether an operation matches the term.
func (n nearest) some(ctx context.Context, part filter.Node) (bool, error) {
	_, ok, err := n.first(ctx, n.f.Of(part), Sort{Field: field.OpCreated, Desc: true})
	return ok, err
}

// first is the first operation that matches, in that order.
func (n nearest) first(ctx context.Context, f filter.OperationExpr, s Sort) (Record, bool, error) {
	if !f.Empty() {
		f = f.In(n.zone)
	}
	w, err := n.index.Window(ctx, Query{Filter: f, Sort: s, After: 1}, n.now)
	if err != nil || len(w.Rows) == 0 {
		return Record{}, false, err
	}
	return w.Rows[0], true, nil
}

// with is the filter with another term in the place of one, or without it (nil); "" if nothing matches it.
func (n nearest) with(ctx context.Context, parts []filter.Node, at int, other filter.Node) (string, error) {
	var all filter.And
	for i, part := range parts {
		switch {
		case i != at:
			all = append(all, part)
		case other != nil:
			all = append(all, other)
		}
	}
	if len(all) == 0 {
		return "", nil
	}
	text := n.f.Of(all).String()
	f, err := filter.Parse(text)
	if err != nil {
		return "", nil
	}
	if _, ok, err := n.first(ctx, f, Sort{Field: field.OpCreated, Desc: true}); !ok || err != nil {
		return "", err
	}
	return text, nil
}

// others lists terms near one that occur: the next amount, the next day, a word that is spelled alike, the longest
// beginning.
func (n nearest) others(ctx context.Context, part filter.Node) (out []filter.Node) {
	c, ok := n.f.Clue(part, n.now)
	if !ok {
		return nil
	}
	add := func(text string) {
		if e, err := filter.Parse(text); err == nil && len(e.Parts()) == 1 {
			out = append(out, e.Parts()[0])
		}
	}
	name := ""
	if c.Field != "" {
		name = c.Field + ":"
	}
	if c.Amount != "" {
		if amount := n.amount(ctx, c); amount != "" {
			add(name + amount)
		}
	}
	if !c.From.IsZero() {
		if day := n.day(ctx, c); day != "" {
			add(name + day)
		}
	}
	if c.Text != "" && c.Amount == "" && c.From.IsZero() {
		if word := n.alike(ctx, c); word != "" {
			if name == "" {
				word = filter.Bare(word)
			} else {
				word = filter.Quoted(word)
			}
			add(name + word)
		}
		if begin := n.beginning(ctx, c, name); begin != "" {
			add(begin)
		}
	}
	return out
}

// amount is the closest one.
func (n nearest) amount(ctx context.Context, c filter.Clue) string {
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
		f, err := filter.Parse(name + op + c.Amount)
		if err != nil {
			return ""
		}
		r, ok, err := n.first(ctx, f, Sort{Field: name, Desc: op == "<="})
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
func (n nearest) day(ctx context.Context, c filter.Clue) string {
	name := c.Field
	if name == "" {
		name = field.OpCreated
	}
	best, least := "", time.Duration(1<<63-1)
	for _, op := range []string{"<", ">="} {
		f, err := filter.Parse(name + op + c.From.UTC().Format(time.RFC3339))
		if err != nil {
			return ""
		}
		r, ok, err := n.first(ctx, f, Sort{Field: name, Desc: op == "<"})
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

// alike is a status, type, payment type or currency that is spelled like the word.
func (n nearest) alike(ctx context.Context, c filter.Clue) string {
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

// beginning is the term with the longest beginning of its text that occurs, "" if that is less than half; a text that
// contains a longer one contains the shorter ones.
func (n nearest) beginning(ctx context.Context, c filter.Clue, name string) string {
	text := []rune(c.Text)
	found, from, to := "", max(2, (len(text)+1)/2), len(text)-1
	for from <= to {
		mid := (from + to + 1) / 2
		term := name + filter.Quoted(string(text[:mid]))
		if name == "" {
			term = filter.Bare(string(text[:mid]))
		}
		f, err := filter.Parse(term)
		ok := err == nil
		if ok {
			_, ok, err = n.first(ctx, f, Sort{Field: field.OpCreated, Desc: true})
		}
		switch {
		case err != nil && ctx.Err() != nil:
			return ""
		case ok:
			found, from = term, mid+1
		default:
			to = mid - 1
		}
	}
	return found
}
