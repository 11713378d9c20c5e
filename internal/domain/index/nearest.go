package index

import (
	"context"
	"slices"
	"time"

	"opdeck/internal/domain/index/filter"
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
	_, ok, err = n.first(ctx, filter.OperationExpr{}, newestFirst)
	return "", ok, err
}

// find is the filter, "" if nothing near it matches: the terms that match something stay, as far as they do together,
// and each other term is replaced by one near it that fits them, or dropped.
func (n nearest) find(ctx context.Context) (string, error) {
	parts := n.f.Parts()
	kept := make([]filter.Node, len(parts))
	for i, part := range parts {
		some, err := n.some(ctx, part)
		if err != nil {
			return "", err
		}
		if some {
			kept[i] = part
		}
	}
	if err := n.agree(ctx, kept); err != nil {
		return "", err
	}
	for i, part := range parts {
		if kept[i] != nil {
			continue
		}
		if err := n.replace(ctx, kept, i, part); err != nil {
			return "", err
		}
	}
	return n.together(ctx, kept)
}

// agree drops terms until the others match something together: one of them, the last first, else the last ones.
func (n nearest) agree(ctx context.Context, kept []filter.Node) error {
	if text, err := n.together(ctx, kept); text != "" || err != nil {
		return err
	}
	for i := range slices.Backward(kept) {
		one := slices.Clone(kept)
		one[i] = nil
		if text, err := n.together(ctx, one); text != "" || err != nil {
			kept[i] = nil
			return err
		}
	}
	for i := range slices.Backward(kept) {
		kept[i] = nil
		if text, err := n.together(ctx, kept); text != "" || err != nil {
			return err
		}
	}
	return nil
}

// replace puts a term near part in its place that fits the kept ones.
func (n nearest) replace(ctx context.Context, kept []filter.Node, at int, part filter.Node) error {
	for _, other := range n.others(ctx, part, terms(kept)) {
		kept[at] = other
		if text, err := n.together(ctx, kept); text != "" || err != nil {
			return err
		}
		kept[at] = nil
	}
	return nil
}

// terms are those that are kept.
func terms(kept []filter.Node) (out filter.And) {
	for _, part := range kept {
		if part != nil {
			out = append(out, part)
		}
	}
	return out
}

// some reports whether an operation matches the term.
func (n nearest) some(ctx context.Context, part filter.Node) (bool, error) {
	_, ok, err := n.first(ctx, n.f.Of(part), newestFirst)
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

// together is the filter of the kept terms; "" if there is none or nothing matches it.
func (n nearest) together(ctx context.Context, kept []filter.Node) (string, error) {
	all := terms(kept)
	if len(all) == 0 {
		return "", nil
	}
	text := n.f.Of(all).String()
	f, err := filter.Parse(text)
	if err != nil {
		return "", nil
	}
	if _, ok, err := n.first(ctx, f, newestFirst); !ok || err != nil {
		return "", err
	}
	return text, nil
}
