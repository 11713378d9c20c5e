package app

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"strconv"
	"time"

	"opdeck/api"
	"opdeck/internal/index"
	"opdeck/internal/index/filter"
	"opdeck/internal/store"
)

// Listing is how far the index answers for the whole list.
type Listing struct {
	AsOf  time.Time // when the newest page was last read; zero for never
	Held  int64     // operations in the index
	Total int64     // as the service last said; 0 when that is not known
}

// Short reports whether the index is known to lack operations.
func (l Listing) Short() bool { return l.Held < l.Total }

// listedName keeps what one-shot commands know of the list, where all instances
// find it.
const listedName = "listed"

// Listed tells how old the index is, by the background sync or by Freshen.
func (a *App) Listed(ctx context.Context) (Listing, error) {
	var l Listing
	v, err := a.Index.Meta(ctx, listedName)
	if err != nil {
		return l, err
	}
	if v != "" && json.Unmarshal([]byte(v), &l) != nil {
		l = Listing{} // written by a program that differs
	}
	p, err := index.LoadProgress(ctx, a.Index)
	if err != nil {
		return l, err
	}
	if p.Newest.After(l.AsOf) {
		l.AsOf, l.Total = p.Newest, p.Total
	}
	l.Held, err = a.Index.Count(ctx, filter.OperationExpr{}, a.Now())
	return l, err
}

// Freshen reads the newest page of the list when the index is older than
// [index] max_age, and while the index lacks operations further pages, at most
// pages in all: one billing call each. It is for commands; consoles and servers
// run the background sync. What was known stays known when it fails.
func (a *App) Freshen(ctx context.Context, pages int) (Listing, error) {
	l, err := a.Listed(ctx)
	if err != nil || a.Now().Sub(l.AsOf) < a.Config.Index.MaxAge.D() {
		return l, err
	}
	size := a.Config.Service.ListPageSize
	next := 0
	for range pages {
		began := a.Now()
		page, err := a.Client.Operations(ctx, api.OperationQuery{Page: next, Size: size}) // goes to the index by itself
		if err != nil {
			return l, err
		}
		if next == 0 {
			l.AsOf = began
		}
		if n, err := strconv.ParseInt(string(page.Total), 10, 64); err == nil {
			l.Total = n
		}
		if l.Held, err = a.Index.Count(ctx, filter.OperationExpr{}, a.Now()); err != nil {
			return l, err
		}
		next = max(next+1, int(l.Held)/size)
		if len(page.Items) < size || !l.Short() {
			break
		}
	}
	b, err := json.Marshal(l)
	if err != nil {
		return l, fmt.Errorf("index: %w", err)
	}
	return l, a.Index.SetMeta(ctx, listedName, string(b))
}

// ScratchIndex is an empty index in memory, for one answer; done closes it.
func ScratchIndex(ctx context.Context) (x *index.Index, done func(), err error) {
	st, err := store.Open(ctx, store.Options{URL: "memory"})
	if err != nil {
		return nil, nil, err
	}
	rows, err := st.Index(ctx, "https://scratch.invalid", "scratch")
	if err != nil {
		return nil, nil, errors.Join(err, st.Close())
	}
	return index.New(rows, index.Memory, time.Now), func() { _ = st.Close() }, nil
}

// ExportOperationsTo writes what a filter shows to w, which gets nothing that
// could act on a terminal but what the records hold; the export is recorded.
func (a *App) ExportOperationsTo(ctx context.Context, w io.Writer, f filter.OperationExpr, s index.Sort, format index.Format, progress func(done, total int)) (int, error) {
	if err := api.Need(ctx, "export", api.MayExport); err != nil {
		return 0, err
	}
	e := api.Event{Name: "export", Object: "operations", Detail: fmt.Sprintf("%s of %q", format, f.String())}
	if err := a.Audit.Note(ctx, api.ActorOf(ctx), e); err != nil {
		return 0, &api.Error{Op: "export", Kind: api.Refused, Rule: api.RuleAudit, Public: "The audit trail cannot be written, so nothing was exported.", Err: err}
	}
	return a.Index.Export(ctx, w, format, f, s, progress)
}
