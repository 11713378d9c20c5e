package app

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"strconv"
	"sync"
	"time"

	"opdeck/api"
	"opdeck/api/endpoint"
	"opdeck/api/limit"
	"opdeck/api/untrusted"
	"opdeck/internal/domain/index"
	"opdeck/internal/domain/retention"
	"opdeck/internal/store"
	"opdeck/internal/store/inbox"
	"opdeck/internal/store/journal"
	"opdeck/internal/store/opindex"
	"opdeck/internal/system/folder"
	"opdeck/internal/system/wholefile"
)

// openIndex opens the mirror of operations. If it is off, it holds in memory what this process reads, and nothing is
// read in the background.
func (a *App) openIndex(ctx context.Context) error {
	mode, st := index.Shared, a.Store
	if !a.Config.Index.Enabled {
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
		a.Hooks().Join(ctx, op)
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

// maxPageSize is the largest page that the sync asks for; it finds the size that the service really returns.
const maxPageSize = 1000

// syncer is the sync of this process.
func (m Mirror) syncer(urgent bool) *index.Syncer {
	opt := index.SyncOptions{
		Owner: m.app.Session.Owner().ID, PageSize: m.app.Config.Service.ListPageSize,
		MaxSize: maxPageSize, MaxAge: m.app.Config.Index.MaxAge.D(),
		PerMinute: m.app.Limits.Rule(limit.Billing).N, Log: m.app.Log, Gone: m.app.syncEnded()}
	if opt.Gone != nil {
		opt.Mark = m.app.markSync // until the App is closed
	}
	return index.NewSyncer(m.app.Index, lister{m.app, urgent}, opt)
}

// syncEnded reports which syncing processes have ended; nil if that cannot be detected.
func (a *App) syncEnded() func(name string) bool {
	if a.alive == nil || a.Index.Mode() == index.Memory {
		return nil
	}
	return a.alive.Gone
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
	path = folder.Expand(path)
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
	at, _ := filepath.Split(path)
	if _, err := os.Stat(cmp.Or(at, ".")); err != nil { // before anything is recorded or written
		return done, notCreated("The folder "+untrusted.Text(at).Line(200)+" "+folder.Reason(err), err)
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
		return done, notCreated(untrusted.Text(path).Line(200)+" cannot be created: "+
			untrusted.Text(cause(err).Error()).Line(100)+".", err)
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

func notCreated(why string, err error) error {
	return &api.Error{Op: "export", Kind: api.Usage, Public: why, Err: err}
}

// cause is err without the path of a temporary file.
func cause(err error) error {
	var path *fs.PathError
	if errors.As(err, &path) {
		return path.Err
	}
	return err
}

// IndexStatus is the content and age of the index, and the state of its sync.
type IndexStatus struct {
	Enabled    bool      `json:"enabled"`
	AsOf       time.Time `json:"as_of,omitzero"` // of an answer from all rows; missing: not known
	Complete   bool      `json:"complete"`
	Says       string    `json:"says"` // how much is here and how old it is, a sentence; times are UTC
	Indexed    int64     `json:"indexed"`
	KnownTotal *int64    `json:"known_total"`      // null: not reported
	Gone       int64     `json:"gone"`             // known, but deleted at the service
	Unseen     int64     `json:"unseen"`           // known from webhooks only
	Oldest     time.Time `json:"oldest,omitzero"`  // the oldest read of a row
	Newest     time.Time `json:"newest,omitzero"`  //
	News       time.Time `json:"news_at,omitzero"` // the last complete read of new operations
	Order      string    `json:"order"`            // newest, oldest, newest-changed, oldest-changed, none, unknown
	PageSize   int       `json:"page_size"`        // 0: not known yet
	Pass       PassState `json:"pass"`
	Owed       int       `json:"owed"`    // single reads that are due
	Trouble    string    `json:"trouble"` // why the sync is paused
	Note       string    `json:"note"`    // what keeps the index from being complete; "": it is
}

// PassState is the state of the rolling pass over all pages.
type PassState struct {
	Running  bool      `json:"running"`           // a process is running it
	Page     int       `json:"page"`              // read so far
	Pages    int       `json:"pages"`             // of a whole pass
	Verified int       `json:"verified"`          // operations that no page showed, read one by one
	Finished time.Time `json:"finished,omitzero"` // the end of the last complete pass
	Seconds  float64   `json:"seconds"`           // the duration of a pass at the current rate
}

// Mirror is the index of operations for people: its state, its sync, and exports.
type Mirror struct{ app *App }

func (a *App) Mirror() Mirror { return Mirror{a} }

// Status returns how complete and how old the index is, without a call.
func (m Mirror) Status(ctx context.Context) (IndexStatus, error) {
	if err := api.Need(ctx, "index status", api.MayRead); err != nil {
		return IndexStatus{}, err
	}
	f, err := m.app.Index.Freshness(ctx)
	if err != nil {
		return IndexStatus{}, err
	}
	p := f.Progress
	s := IndexStatus{Enabled: m.app.Config.Index.Enabled, AsOf: f.AsOf, Complete: f.Complete, Indexed: f.Rows,
		Gone:   f.Gone,
		Unseen: f.Unseen, Oldest: f.Oldest, Newest: f.Newest, News: m.app.Index.Here(ctx, p.News.At), Order: string(p.Order),
		PageSize: p.PageSize, Owed: f.Owed, Trouble: p.Trouble,
		Says: f.Says(m.app.Now(), time.UTC)}
	if !f.Complete {
		s.Note = f.Why.Open
	} else if p.Order == index.OrderNone {
		s.Note = "The service's list has no order, so new operations are found only by reading all pages."
	}
	if f.Total >= 0 {
		s.KnownTotal = &f.Total
	}
	if s.Order == "" {
		s.Order = "unknown"
	}
	running, err := m.app.Index.Running(ctx, m.app.syncEnded())
	if err != nil {
		return IndexStatus{}, err
	}
	s.Pass = PassState{Running: running && !p.Pass.Started.IsZero(), Page: p.Pass.Page, Verified: p.Pass.Asked,
		Finished: m.app.Index.Here(ctx, p.Last.Finished)}
	var took time.Duration
	s.Pass.Pages, took = m.syncer(false).PassTime(p, f.Rows)
	s.Pass.Seconds = took.Seconds()
	return s, nil
}

// Sync reads new operations now; with wait it also waits for a complete pass that begins after the call. It calls
// progress with the state.
func (m Mirror) Sync(ctx context.Context, wait bool, progress func(index.Freshness)) error {
	if err := m.need(ctx, "index sync"); err != nil {
		return err
	}
	s := m.syncer(!wait)
	defer s.Release(ctx)
	if wait {
		return s.Through(ctx, progress)
	}
	if err := s.RequestNews(ctx); err != nil {
		return err
	}
	return s.Round(ctx, roundCalls)
}

const roundCalls = 20 // billing calls of one round for a person

// Verify compares the index with the service and repairs it.
func (m Mirror) Verify(ctx context.Context, progress func(done, total int64)) (index.Comparison, error) {
	if err := m.need(ctx, "index verify"); err != nil {
		return index.Comparison{}, err
	}
	return m.syncer(false).Verify(ctx, progress)
}

// Rebuild deletes the rows of the index; the sync starts over.
func (m Mirror) Rebuild(ctx context.Context) error {
	if err := m.need(ctx, "index rebuild"); err != nil {
		return err
	}
	return m.app.Index.Rebuild(ctx)
}

func (m Mirror) need(ctx context.Context, op string) error {
	if err := api.Need(ctx, op, api.MayRead); err != nil {
		return err
	}
	if !m.app.Config.Index.Enabled {
		return &api.Error{Op: op, Kind: api.Usage, Public: "The index is switched off ([index] enabled)."}
	}
	return nil
}

// Freshen does the part of the sync that is due, with at most calls billing calls. It is for commands; while a
// console or server syncs in the background, it reads nothing. If it fails, the index is unchanged.
func (m Mirror) Freshen(ctx context.Context, calls int) (index.Freshness, error) {
	var err error
	if m.app.Config.Index.Enabled {
		s := m.syncer(true)
		err = s.Round(ctx, calls)
		s.Release(ctx)
	}
	f, fresh := m.app.Index.Freshness(context.WithoutCancel(ctx))
	return f, errors.Join(err, fresh)
}

// ExportTo writes the rows of a filter to w, free of control characters except in the records' own text, and records
// the export with the age of the list.
func (m Mirror) ExportTo(ctx context.Context, w io.Writer, s index.Sheet,
	progress func(done, total int)) (int, index.Freshness, error) {
	fresh, err := m.noteExport(ctx, s)
	if err != nil {
		return 0, fresh, err
	}
	n, err := m.app.Index.Export(ctx, w, s, progress)
	return n, fresh, err
}

// noteExport records an export. It reads the age of the list before the list is frozen, which can only be newer.
func (m Mirror) noteExport(ctx context.Context, s index.Sheet) (index.Freshness, error) {
	if err := api.Need(ctx, "export", api.MayExport); err != nil {
		return index.Freshness{}, err
	}
	fresh, err := m.app.Index.Freshness(ctx)
	if err != nil {
		return fresh, err
	}
	e := api.Event{Name: "export", Object: "operations",
		Detail: s.String() + ", of " + fresh.Says(m.app.Now(), time.UTC)}
	if err := m.app.Audit.Note(ctx, api.ActorOf(ctx), e); err != nil {
		return fresh, api.NotRecorded("export", "nothing was exported", err)
	}
	return fresh, nil
}

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

// ended lists the rows of a store that end, and are kept for so long; 0: for ever.
func ended(st *store.Store, keep time.Duration) []retention.Rows {
	from := func(db *store.DB, drop func(context.Context, *store.DB, time.Time, int) (int, error),
	) func(context.Context, time.Time, time.Time, int) (int, error) {
		return func(ctx context.Context, before, _ time.Time, limit int) (int, error) {
			return drop(ctx, db, before, limit)
		}
	}
	return []retention.Rows{
		{Name: "deliveries", Keep: keep, Drop: func(ctx context.Context, before, now time.Time, limit int) (int,
			error) {
			return inbox.Prune(ctx, st.Bulk, before, now, limit)
		}},
		{Name: "deliveries that were not accepted", Keep: keep, Drop: from(st.Bulk, inbox.PruneRejected)},
		{Name: "states of operations", Keep: keep, Drop: from(st.Bulk, opindex.PruneHistory)},
		{Name: "operations that are gone", Keep: keep, Drop: from(st.Bulk, opindex.PruneGone)},
		{Name: "replacements", Keep: keep, Drop: from(st.Core, journal.PruneJobs)},
		{Name: "requests for approval", Keep: keep, Drop: from(st.Core, journal.PruneApprovals)},
	}
}

// Retain removes in the background what [retention] no longer keeps, until stop is called.
func Retain(ctx context.Context, a *App) (stop func()) {
	if a.Config.Store.URL == "memory" {
		return func() {}
	}
	keep := time.Duration(a.Config.Retention.Days) * 24 * time.Hour
	p := &retention.Pruner{Store: turns{a.Store, a.Session.Owner().ID}, Rows: ended(a.Store, keep), Now: a.Now, Log: a.Log}
	ctx, cancel := context.WithCancel(ctx)
	var wg sync.WaitGroup
	wg.Go(func() { p.Run(ctx) })
	return func() { cancel(); wg.Wait() }
}
