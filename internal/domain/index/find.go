package index

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/google/uuid"

	"opdeck/api"
	"opdeck/api/untrusted"
	"opdeck/internal/domain/index/filter"
	"opdeck/internal/field"
)

// Lookup is the result of a search for something typed.
type Lookup struct {
	// Beginning are the operations whose id has what was typed as a prefix, or whose id lists abbreviate like that
	// ("237f91d…8bf1b4"), newest first. An exact match comes first.
	Beginning []Record
	// Others are operations that a list with this filter shows, newest first.
	Others  []Record
	Several bool // more ids begin with it
	// Whole: it may be a complete id, so the service can be asked for it even if the index lacks it.
	Whole bool
	// IDs is the number of ids that were typed if it was a list of them, and Known the number of those in the index.
	IDs, Known int
	Read       []string // how the words were understood that are more than a text
	Missing    string   // as of Index.Missing, if nothing was found
}

// Only is the only operation with that id or prefix; "" for none or several.
func (l Lookup) Only(typed string) (opid string) {
	if len(l.Beginning) == 0 {
		return ""
	}
	first := string(l.Beginning[0].Op.OPID)
	if strings.EqualFold(first, strings.TrimSpace(typed)) || len(l.Beginning) == 1 && !l.Several {
		return first
	}
	return ""
}

// Find searches operations by the beginning of an id, and by anything that a filter understands, with its days in
// zone; at most limit of each. An error for a text that is no filter is a *filter.Error. It makes no call.
func (x *Index) Find(ctx context.Context, typed string, zone *time.Location, limit int,
	now time.Time) (Lookup, error) {
	typed = strings.TrimSpace(typed)
	l := lookup{x, now}
	out, err := l.byID(ctx, typed, limit)
	if err != nil || typed == "" {
		return out, err
	}
	f, err := filter.Parse(typed)
	if err != nil {
		return out, err
	}
	f = f.In(zone)
	out.Read = f.Understood()
	rows, err := l.matching(ctx, f, limit+len(out.Beginning))
	if err != nil {
		return out, err
	}
	for _, r := range rows {
		switch same := func(o Record) bool { return o.Op.OPID == r.Op.OPID }; {
		case slices.ContainsFunc(out.Beginning, same):
		case len(out.Others) < limit:
			out.Others = append(out.Others, r)
		}
	}
	if out.IDs = f.IDs(); out.IDs > 0 {
		n, err := x.Count(ctx, f, now)
		out.Known = int(n)
		return out, err
	}
	if len(out.Beginning)+len(out.Others) == 0 {
		out.Missing, err = x.Missing(ctx, f, now)
	}
	return out, err
}

// Missing says, in one safe sentence, which terms of a filter that matches nothing no operation matches even alone: the
// first three; "" for a filter of one term.
func (x *Index) Missing(ctx context.Context, f filter.OperationExpr, now time.Time) (string, error) {
	parts := f.Parts()
	if len(parts) < 2 {
		return "", nil
	}
	var none []string
	for _, part := range parts {
		alone := f.Of(part)
		rows, err := lookup{x, now}.matching(ctx, alone, 1)
		if err != nil {
			return "", err
		}
		if len(rows) > 0 {
			continue
		}
		if none = append(none, "“"+untrusted.Text(alone.String()).Line(40)+"”"); len(none) == 3 {
			break
		}
	}
	if len(none) == 0 {
		return "Each part matches operations, but none matches all.", nil
	}
	return "Nothing matches " + strings.Join(none, ", ") + ".", nil
}

// lookup is one search by what a person typed.
type lookup struct {
	index *Index
	now   time.Time
}

// byID finds the id matches of a Lookup.
func (l lookup) byID(ctx context.Context, typed string, limit int) (out Lookup, err error) {
	head, tail, shortened := strings.Cut(strings.ReplaceAll(typed, "...", "…"), "…")
	if api.CheckID("find operation", head) != nil ||
		shortened && tail != "" && api.CheckID("find operation", tail) != nil {
		return out, nil
	}
	f, err := filter.Parse(field.OpID + ":" + filter.Quoted(typed))
	if err != nil { // not a valid filter value
		return out, nil
	}
	rows, err := l.matching(ctx, f, limit+1)
	if err != nil {
		return out, err
	}
	for _, r := range rows {
		switch id := string(r.Op.OPID); {
		case strings.EqualFold(id, typed):
			out.Beginning = append([]Record{r}, out.Beginning...)
		case len(out.Beginning) < limit:
			out.Beginning = append(out.Beginning, r)
		default:
			out.Several = true
		}
	}
	if !shortened && !slices.ContainsFunc(out.Beginning, func(r Record) bool { return string(r.Op.OPID) == typed }) {
		out, err = l.exact(ctx, out, typed)
	}
	if err != nil || shortened {
		return out, err
	}
	out.Whole, err = l.whole(ctx, typed)
	return out, err
}

// exact puts the operation with exactly this id first, even if it is gone from the list.
func (l lookup) exact(ctx context.Context, out Lookup, id string) (Lookup, error) {
	r, err := l.index.Get(ctx, id)
	if errors.Is(err, ErrNone) {
		return out, nil
	}
	if err == nil {
		out.Beginning = append([]Record{r}, out.Beginning...)
	}
	return out, err
}

// whole reports whether id can be a complete one: a UUID, or as long as a known id. Without known ids, any can.
func (l lookup) whole(ctx context.Context, id string) (bool, error) {
	if _, err := uuid.Parse(id); err == nil && len(id) == 36 {
		return true, nil
	}
	w, err := l.index.Window(ctx, Query{Sort: Sort{Field: field.OpCreated, Desc: true}, After: 1}, l.now)
	if err != nil {
		return false, err
	}
	return len(w.Rows) == 0 || len(id) >= len(w.Rows[0].Op.OPID), nil
}

// matching lists the newest operations that match.
func (l lookup) matching(ctx context.Context, f filter.OperationExpr, limit int) ([]Record, error) {
	w, err := l.index.Window(ctx, Query{Filter: f, Sort: Sort{Field: field.OpCreated, Desc: true}, After: limit}, l.now)
	return w.Rows, err
}

// Resolve returns the complete id for what a person typed: the id itself, the only match by prefix in the index, or
// an abbreviated id. Otherwise the error is an api.Error of kind NotFound, or Usage if several match. It makes no
// call.
func (x *Index) Resolve(ctx context.Context, typed string, now time.Time) (string, error) {
	typed = strings.TrimSpace(typed)
	l, err := lookup{x, now}.byID(ctx, typed, 5)
	if err != nil {
		return "", err
	}
	if id := l.Only(typed); id != "" {
		return id, nil
	}
	switch {
	case len(l.Beginning) > 0:
		var ids []string
		for _, r := range l.Beginning {
			ids = append(ids, r.Op.OPID.Line(64))
		}
		said := strings.Join(ids, ", ")
		if l.Several {
			said += " and others"
		}
		return "", &api.Error{Op: "find operation", Kind: api.Usage,
			Public: fmt.Sprintf("Several operations begin with %q: %s.", typed, said)}
	case l.Whole:
		return typed, nil
	}
	whole := strings.ReplaceAll(strings.ReplaceAll(typed, "…", ""), "...", "")
	if err := api.CheckID("find operation", whole); err != nil {
		return typed, nil // the call refuses it and says why
	}
	return "", &api.Error{Op: "find operation", Kind: api.NotFound,
		Public: fmt.Sprintf("No known operation begins with %q, and it is not a complete id.", typed),
		Remedy: api.Remedy{Kind: api.CopyID}}
}
