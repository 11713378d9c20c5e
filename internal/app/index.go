package app

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strconv"
	"sync"
	"time"

	"opdeck/api"
	"opdeck/api/endpoint"
	"opdeck/api/limit"
	"opdeck/internal/domain/audit"
	"opdeck/internal/domain/index"
	"opdeck/internal/store"
	"opdeck/internal/store/opindex"
	"opdeck/internal/system/wholefile"
)

// openIndex opens the mirror of operations. If it is off, it holds in memory what this process reads, and nothing is
// read in the background.
func (a *App) openIndex(ctx context.Context) error {
	mode, st := index.Shared, a.Store
	if a.Config.Index.Memory || !a.Config.Index.Enabled {
		opt := store.Options{URL: "memory"}
		if a.ownClock {
			opt.Now = a.Now
		}
		mem, err := store.Open(ctx, opt)
		if err != nil {
			return &api.Error{Kind: api.Internal, Public: "The index cannot be opened.", Err: err}
		}
		a.closers = append(a.closers, mem.Close)
		mode, st = index.Memory, mem
	}
	key := a.Session.Key()
	rows, err := opindex.New(ctx, st.Bulk, key.BaseURL, key.Account)
	if err != nil {
		return &api.Error{Kind: api.Unavailable, Public: "The index cannot be opened: " + err.Error(), Err: err}
	}
	a.Index, a.ledger = index.New(rows, mode, a.Now), a.inboxIn(st)
	a.Index.MaxAge = a.Config.Index.MaxAge.D()
	a.keepMark()
	return nil
}

// sight gets the time at which a request of the sync was sent. The sync itself stores the result of such a call, with
// its progress.
type sight struct{ at time.Time }

type sightKey struct{}

// sawOperations passes the operations of a call to the index and to the observers.
func (a *App) sawOperations(ctx context.Context, ops []api.Operation, page bool, at time.Time) {
	a.knowLocks(ctx, ops)
	var err error
	if s, ok := ctx.Value(sightKey{}).(*sight); ok {
		s.at = at
	} else if page {
		_, err = a.Index.Page(ctx, ops, at)
	} else {
		for _, op := range ops {
			_, err = a.Index.Read(ctx, op, at)
		}
	}
	if err != nil {
		a.Log.Warn("index", "err", err)
	}
	if page { // the index reports its own changes
		a.Follow.Listed(ctx, ops)
		return
	}
	a.Follow.Saw(ctx, ops, a.Now().Sub(at))
	for _, op := range ops {
		a.Hooks().Learn(ctx, op, at)
		a.changes.notify(op)
	}
}

// sawNames passes the names in a result to the index: those of customers, accounts and counterparties.
func (a *App) sawNames(ctx context.Context, out any) {
	var customers []api.CustomerRef
	var sides []api.Party
	switch v := out.(type) {
	case api.Customer:
		customers = append(customers, api.CustomerRef{CUID: v.CUID, Name: v.DisplayName()})
	case api.Page[api.Customer]:
		for _, c := range v.Items {
			customers = append(customers, api.CustomerRef{CUID: c.CUID, Name: c.DisplayName()})
		}
	case api.Account:
		sides = accountSides(v)
	case api.Page[api.Account]:
		sides = accountSides(v.Items...)
	case api.Counterparty:
		sides = counterpartySides(v)
	case api.Page[api.Counterparty]:
		sides = counterpartySides(v.Items...)
	default:
		return
	}
	if err := a.Index.Named(ctx, customers, sides); err != nil {
		a.Log.Warn("index", "err", err)
	}
}

// accountSides are accounts as an operation has them.
func accountSides(list ...api.Account) (out []api.Party) {
	for _, a := range list {
		out = append(out, api.Party{Account: &api.PartyAccount{ID: a.ID, Name: a.Name, Number: a.Number,
			Customer: api.CustomerRef{CUID: a.Customer.ID, Name: a.Customer.Name}}})
	}
	return out
}

// counterpartySides are the accounts of counterparties as an operation has them.
func counterpartySides(list ...api.Counterparty) (out []api.Party) {
	for _, p := range list {
		of := api.CounterpartyRef{SUID: p.ID, Name: p.Name()}
		for _, a := range p.Accounts {
			of.BankName = a.Bank.Name
			out = append(out, api.Party{CounterpartyAccount: &api.CounterpartyAccount{ID: a.ID, Name: a.Name,
				Number: a.Number, Counterparty: of}})
		}
	}
	return out
}

// lister reads for the sync; in the background it uses spare budget only.
type lister struct {
	app    *App
	urgent bool // a person waits for it
}

func (l lister) context(ctx context.Context) (context.Context, *sight) {
	if !l.urgent {
		ctx = limit.Background(ctx)
	}
	s := &sight{}
	return context.WithValue(ctx, sightKey{}, s), s
}

// ListPage implements index.Lister.
func (l lister) ListPage(ctx context.Context, at index.PageRef, size int) (index.Listed, error) {
	call, _ := l.context(ctx)
	p, err := endpoint.Do(call, l.app.service, endpoint.ListOperations, api.OperationQuery{Page: at.Page, Next: at.Next,
		Size: size})
	if err != nil {
		return index.Listed{}, err
	}
	out := index.Listed{Items: p.Items, PageSize: p.PageSize, After: p.After, Total: -1}
	if n, err := strconv.ParseInt(string(p.Total), 10, 64); err == nil && n >= 0 {
		out.Total = n
	}
	out.Sent, err = l.app.Index.StoreTime(ctx, p.At)
	return out, err
}

// Operation implements index.Lister.
func (l lister) Operation(ctx context.Context, opid string) (op api.Operation, sent time.Time, err error) {
	call, s := l.context(ctx)
	if op, err = endpoint.Do(call, l.app.service, endpoint.GetOperation, opid); err != nil {
		return op, sent, err
	}
	sent, err = l.app.Index.StoreTime(ctx, s.at)
	return op, sent, err
}

// syncer is the sync of this process.
func (m Mirror) syncer(urgent bool) *index.Syncer {
	return index.NewSyncer(m.app.Index, lister{m.app, urgent}, index.SyncOptions{
		Owner: m.app.Session.Owner().ID, PageSize: m.app.Config.Service.ListPageSize,
		MaxSize: m.app.Config.Index.MaxPageSize, MaxAge: m.app.Config.Index.MaxAge.D(),
		PerMinute: m.app.Limits.Rule(limit.Billing).N, Log: m.app.Log, Alive: m.app.syncs()})
}

// syncMark implements index.Alive: it marks this process until the App is closed.
type syncMark struct {
	audit.Alive
	mark func() (string, bool)
}

// Mark implements index.Alive.
func (s syncMark) Mark() (string, bool) { return s.mark() }

// syncs reports which syncing processes have ended; nil if that cannot be detected.
func (a *App) syncs() index.Alive {
	if a.alive == nil || a.Index.Mode() == index.Memory {
		return nil
	}
	return syncMark{a.alive, a.markSync}
}

// keepMark marks this process as syncing.
func (a *App) keepMark() {
	var release func(behind bool)
	name := "sync-" + a.Session.Owner().ID
	a.markSync = sync.OnceValues(func() (string, bool) {
		var ok bool
		release, ok = a.alive.Hold(name)
		return name, ok
	})
	a.closers = append(a.closers, func() error {
		if release != nil {
			release(false)
		}
		return nil
	})
}

// indexEvery is how often this process polls PostgreSQL, which has no notification, for changes of the index by
// others: one small read for all its consoles.
const indexEvery = 400 * time.Millisecond

// Start fills the index in the background, and polls for rows of other processes, until stop is called. It does
// nothing if the index is off.
func (m Mirror) Start(ctx context.Context) (stop func()) {
	if !m.app.Config.Index.Enabled {
		return func() {}
	}
	ctx, cancel := context.WithCancel(api.WithActor(ctx, api.Actor{Name: "sync", Role: api.Viewer, Via: "service"}))
	var wg sync.WaitGroup
	if !m.app.Store.HasVersions() && m.app.Index.Mode() == index.Shared {
		wg.Go(func() { m.app.Index.Watch(ctx, indexEvery) })
	}
	wg.Go(func() {
		if err := m.syncer(false).Run(ctx); err != nil && ctx.Err() == nil {
			m.app.Log.Error("sync ended", "err", err)
		}
	})
	return func() { cancel(); wg.Wait() }
}

// Progress says what holds the background sync up, or how long the first pass still takes; ok is false for neither.
func (m Mirror) Progress(ctx context.Context) (line string, ok bool) {
	if !m.app.Config.Index.Enabled {
		return "", false
	}
	f, err := m.app.Index.Freshness(ctx)
	if err != nil {
		return "the index cannot be read", true
	}
	p := f.Progress
	switch {
	case p.Trouble != "":
		return "Sync paused: " + p.Trouble, true
	case f.Complete || p.Note != "":
		return "", false
	}
	now, err := m.app.Index.StoreTime(ctx, m.app.Now())
	if err != nil {
		return "", false
	}
	left, ok := p.ETA(now)
	if !ok {
		return "", false
	}
	return fmt.Sprintf("about %d min left", max(1, left.Round(time.Minute)/time.Minute)), true
}

// missing adds to the service's "no such operation" what the index knows of it.
func (a *App) missing(ctx context.Context, opid string, err error) error {
	if err == nil || api.KindOf(err) != api.NotFound {
		return err
	}
	rec, known := a.Index.Get(ctx, opid)
	if known != nil {
		return err
	}
	e := *api.AsError(err)
	if rec.Gone.IsZero() {
		e.Remedy = api.Remedy{Kind: api.AwaitSync}
		return &e
	}
	e.Public = "The service no longer has this operation, since " + rec.Gone.UTC().Format("2006-01-02 15:04:05 UTC") + "."
	e.Remedy = api.Remedy{Kind: api.History, ID: opid}
	return &e
}

// Exported describes a written file.
type Exported struct {
	Rows  int
	Path  string // absolute
	Size  int64  // bytes
	Fresh index.Freshness
	Lacks index.Unreported // rows that the filter cannot judge
}

// Export writes a sheet to a new file of mode 0600 and records it with the age of the list. If the file exists, the
// error wraps os.ErrExist and nothing is recorded.
func (m Mirror) Export(ctx context.Context, s index.Sheet, path string,
	progress func(done, total int)) (Exported, error) {
	done := Exported{Path: path}
	if full, err := filepath.Abs(path); err == nil {
		done.Path = full
	}
	if err := api.Need(ctx, "export", api.MayExport); err != nil {
		return done, err
	}
	there := &api.Error{Op: "export", Kind: api.Usage, Public: "A file of that name already exists.", Err: os.ErrExist}
	if _, err := os.Lstat(path); err == nil {
		return done, there
	}
	var err error
	if done.Fresh, err = m.noteExport(ctx, s); err != nil {
		return done, err
	}
	out, err := wholefile.New(path)
	switch {
	case errors.Is(err, os.ErrExist):
		return done, there
	case err != nil:
		return done, &api.Error{Op: "export", Kind: api.Usage, Public: "The file cannot be created.", Err: err}
	}
	if done.Lacks, err = m.app.Index.Unreported(ctx, s.Filter, m.app.Now()); err == nil {
		done.Rows, err = m.app.Index.Export(ctx, out, s, progress)
	}
	if info, e := out.Stat(); e == nil {
		done.Size = info.Size()
	}
	switch err = out.Finish(err); {
	case errors.Is(err, os.ErrExist): // created meanwhile
		return done, there
	case err != nil && ctx.Err() != nil:
		return done, &api.Error{Op: "export", Kind: api.Interrupted, Public: "The export was stopped; its file was removed.",
			Err: err}
	case err != nil:
		return done, &api.Error{Op: "export", Kind: api.Internal,
			Public: "The export could not be written; its file was removed.", Err: err}
	}
	return done, nil
}
