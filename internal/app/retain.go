package app

import (
	"context"
	"log/slog"
	"sync"
	"time"

	"opdeck/internal/app/config"
	"opdeck/internal/domain/audit"
	"opdeck/internal/domain/retention"
	"opdeck/internal/store"
	"opdeck/internal/store/inbox"
	"opdeck/internal/store/journal"
	"opdeck/internal/store/opindex"
)

// turns is the store as seen by the pruner of one process.
type turns struct {
	*store.Store
	owner string // of this process
}

var _ retention.Store = turns{}

// turnName identifies the pruner's work in the store.
const turnName = "retention"

// Now implements retention.Store.
func (t turns) Now(ctx context.Context) (time.Time, error) { return t.Core.Now(ctx) }

// Take implements retention.Store.
func (t turns) Take(ctx context.Context, every, lease time.Duration) (bool, error) {
	return t.TakeTurn(ctx, turnName, t.owner, every, lease)
}

// End implements retention.Store.
func (t turns) End(ctx context.Context, done bool) error {
	return t.EndTurn(ctx, turnName, t.owner, done)
}

// Busy implements retention.Store.
func (t turns) Busy(err error) bool { return store.IsKind(err, store.Busy) }

// ended lists the rows of a store that end, with their retention.
func ended(st *store.Store, keep config.Retention) []retention.Rows {
	from := func(db *store.DB, drop func(context.Context, *store.DB, time.Time, int) (int, error),
	) func(context.Context, time.Time, time.Time, int) (int, error) {
		return func(ctx context.Context, before, _ time.Time, limit int) (int, error) {
			return drop(ctx, db, before, limit)
		}
	}
	return []retention.Rows{
		{Name: "deliveries", Keep: keep.Inbox.D(), Drop: func(ctx context.Context, before, now time.Time, limit int) (int,
			error) {
			return inbox.Prune(ctx, st.Bulk, before, now, limit)
		}},
		{Name: "deliveries that were not accepted", Keep: keep.Inbox.D(), Drop: from(st.Bulk, inbox.PruneRejected)},
		{Name: "states of operations", Keep: keep.History.D(), Drop: from(st.Bulk, opindex.PruneHistory)},
		{Name: "operations that are gone", Keep: keep.Gone.D(), Drop: from(st.Bulk, opindex.PruneGone)},
		{Name: "notes", Keep: keep.History.D(), Drop: from(st.Core, journal.PruneNotes)},
		{Name: "replacements", Keep: keep.Ended.D(), Drop: from(st.Core, journal.PruneJobs)},
		{Name: "requests for approval", Keep: keep.Ended.D(), Drop: from(st.Core, journal.PruneApprovals)},
	}
}

// pruner removes from st what keep says, and moves old records of the trail to its archive.
func pruner(st turns, keep config.Retention, trail *audit.Log, now func() time.Time,
	log *slog.Logger) *retention.Pruner {
	p := &retention.Pruner{Store: st, Rows: ended(st.Store, keep), Now: now, Log: log}
	if age := keep.Audit.D(); age > 0 {
		p.Archive = func(ctx context.Context, now time.Time) (more bool, err error) {
			return trail.Archivist.Step(ctx, now.Add(-age))
		}
	}
	return p
}

// Retain removes in the background what [retention] no longer keeps, until stop is called.
func Retain(ctx context.Context, a *App) (stop func()) {
	if a.Config.Store.URL == "memory" {
		return func() {}
	}
	p := pruner(turns{a.Store, a.Session.Owner().ID}, a.Config.Retention, a.Audit, a.Now, a.Log)
	ctx, cancel := context.WithCancel(ctx)
	var wg sync.WaitGroup
	wg.Go(func() { p.Run(ctx) })
	return func() { cancel(); wg.Wait() }
}
