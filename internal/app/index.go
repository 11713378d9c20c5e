package app

import (
	"context"
	"errors"
	"fmt"
	"os"
	"sync"
	"time"

	"opdeck/api"
	"opdeck/api/limit"
	"opdeck/internal/index"
	"opdeck/internal/index/filter"
	"opdeck/internal/store"
)

// openIndex opens the mirror of operations. Switched off, it holds in memory
// what this process happens to read, and nothing is read in the background.
func (a *App) openIndex(ctx context.Context) error {
	mode, st := index.Shared, a.Store
	if a.Config.Index.Memory || !a.Config.Index.Enabled {
		mem, err := store.Open(ctx, store.Options{URL: "memory"})
		if err != nil {
			return &api.Error{Kind: api.Internal, Public: "The index cannot be opened.", Err: err}
		}
		a.closers = append(a.closers, mem.Close)
		mode, st = index.Memory, mem
	}
	key := a.Session.Key()
	rows, err := st.Index(ctx, key.BaseURL, key.Account)
	if err != nil {
		return &api.Error{Kind: api.Unavailable, Public: "The index cannot be opened: " + err.Error(), Err: err}
	}
	a.Index, a.ledger = index.New(rows, mode, a.Now), a.inboxIn(st)
	return nil
}

// sawOperations takes what a call read: into the index, and to whoever watches.
func (a *App) sawOperations(ctx context.Context, ops []api.Operation, page bool, at time.Time) {
	var err error
	if page {
		_, err = a.Index.Page(ctx, ops, at)
	} else {
		for _, op := range ops {
			_, err = a.Index.Read(ctx, op, at)
		}
	}
	if err != nil {
		a.Log.Warn("index", "err", err)
	}
	a.Follow.Saw(ctx, ops)
	if page {
		return // the index tells that it changed
	}
	for _, op := range ops {
		a.Learn(ctx, op, at)
		a.changes.tell(Operation{Op: op, SeenAt: at})
	}
}

// lister reads for the background sync: only what people leave of the budget.
type lister struct{ c *api.Client }

func (l lister) ListPage(ctx context.Context, page, size int) (api.Page[api.Operation], error) {
	return l.c.Operations(limit.Background(ctx), api.OperationQuery{Page: page, Size: size})
}

func (l lister) Operation(ctx context.Context, opid string) (api.Operation, error) {
	return l.c.Operation(limit.Background(ctx), opid)
}

// indexEvery is how often this process asks a database that cannot tell, which
// is PostgreSQL, whether another one changed the index: one small read for all
// consoles of the process.
const indexEvery = 400 * time.Millisecond

// StartSync fills the index in the background until the returned function is
// called, and looks for what other processes put into it. With the index off or
// in memory switched off it does nothing.
func (a *App) StartSync(ctx context.Context) (stop func()) {
	if !a.Config.Index.Enabled {
		return func() {}
	}
	ctx, cancel := context.WithCancel(api.WithActor(ctx, api.Actor{Name: "sync", Role: api.Viewer, Via: "service"}))
	var wg sync.WaitGroup
	if !a.Store.Stamps() && a.Index.Mode() == index.Shared {
		wg.Go(func() { a.Index.Watch(ctx, indexEvery) })
	}
	wg.Go(func() {
		s := index.NewSyncer(a.Index, lister{a.Client}, index.SyncOptions{Owner: a.Session.Owner().ID, PageSize: a.Config.Service.ListPageSize,
			MaxAge: a.Config.Index.MaxAge.D(), Now: a.Now, Log: a.Log})
		if err := s.Run(ctx); err != nil && ctx.Err() == nil {
			a.Log.Error("sync ended", "err", err)
		}
	})
	return func() { cancel(); wg.Wait() }
}

// SyncProgress is one line about the background sync; ok is false while it rests.
func (a *App) SyncProgress(ctx context.Context) (line string, ok bool) {
	if !a.Config.Index.Enabled {
		return "", false
	}
	p, err := index.LoadProgress(ctx, a.Index)
	switch {
	case err != nil:
		return "the index cannot be read", true
	case p.Trouble != "":
		return "sync waits: " + p.Trouble, true
	case !p.Finished.IsZero() || p.Started.IsZero():
		return "", false
	}
	line = fmt.Sprintf("sync %d of %d", p.Read, p.Total)
	if left, ok := p.ETA(a.Now()); ok {
		line += fmt.Sprintf(", about %d min left", max(1, left.Round(time.Minute)/time.Minute))
	}
	return line, true
}

// Known returns the newest state that is known without a call.
func (a *App) Known(ctx context.Context, opid string) (api.Operation, time.Time, bool) {
	rec, err := a.Index.Get(ctx, opid)
	if err != nil || rec.Owed || len(rec.Op.Raw) == 0 {
		return api.Operation{}, time.Time{}, false
	}
	return rec.Op, rec.Seen, true
}

// ExportOperations writes what a filter shows to a new file of mode 0600; the
// export is recorded.
func (a *App) ExportOperations(ctx context.Context, f filter.OperationExpr, s index.Sort, format index.Format, path string, progress func(done, total int)) (int, error) {
	if err := api.Need(ctx, "export", api.MayExport); err != nil {
		return 0, err
	}
	e := api.Event{Name: "export", Object: "operations", Detail: fmt.Sprintf("%s of %q", format, f.String())}
	if err := a.Audit.Note(ctx, api.ActorOf(ctx), e); err != nil {
		return 0, &api.Error{Op: "export", Kind: api.Refused, Rule: api.RuleAudit, Public: "The audit trail cannot be written, so nothing was exported.", Err: err}
	}
	out, err := os.OpenFile(path, os.O_WRONLY|os.O_CREATE|os.O_EXCL, 0o600)
	if err != nil {
		what := "The file cannot be made."
		if errors.Is(err, os.ErrExist) {
			what = "There is a file of that name already."
		}
		return 0, &api.Error{Op: "export", Kind: api.Usage, Public: what, Err: err}
	}
	n, err := a.Index.Export(ctx, out, format, f, s, progress)
	if err := errors.Join(err, out.Close()); err != nil {
		_ = os.Remove(path)
		if ctx.Err() != nil {
			return n, &api.Error{Op: "export", Kind: api.Interrupted, Public: "The export was stopped; its file was removed.", Err: err}
		}
		return n, &api.Error{Op: "export", Kind: api.Internal, Public: "The export could not be written; its file was removed.", Err: err}
	}
	return n, nil
}
