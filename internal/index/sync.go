package index

import (
	"context"
	"encoding/json"
	"fmt"
	"log/slog"
	"strconv"
	"time"

	"opdeck/api"
)

// Lister reads from the service with background priority: it waits until
// nobody else needs the budget. The sync never hurries it.
type Lister interface {
	// ListPage reads one page of the list, newest first, from 0.
	ListPage(ctx context.Context, page, size int) (api.Page[api.Operation], error)
	// Operation reads one operation.
	Operation(ctx context.Context, opid string) (api.Operation, error)
}

// SyncOptions say how the sync works. Zero values take the defaults.
type SyncOptions struct {
	Owner    string        // this process, unique; required
	PageSize int           // 100
	MaxAge   time.Duration // how long a finished pass is fresh ([index] max_age): 60 s
	Lease    time.Duration // 2 min: how long another instance waits for a dead one
	Now      func() time.Time
	Log      *slog.Logger
}

// Progress is where the sync stands; it is kept in the store, so that any
// instance can show it and go on.
type Progress struct {
	NextPage int       `json:"next_page"`         // of the first full pass
	Total    int64     `json:"total"`             // operations, as the service last said
	Read     int64     `json:"read"`              // rows read in the full pass
	Started  time.Time `json:"started,omitzero"`  // of the full pass
	Finished time.Time `json:"finished,omitzero"` // of the full pass; zero: not yet
	Newest   time.Time `json:"newest,omitzero"`   // when page 0 was last read
	Behind   int       `json:"behind,omitempty"`  // pages of news still to be read
	Trouble  string    `json:"trouble,omitempty"` // why it waits, a sentence
	PageSize int       `json:"page_size,omitempty"`
}

// ETA guesses when the full pass will be finished, from its pace so far; ok is
// false when it cannot be told. That includes the first minute, which spends its
// calls at once and then waits for the next.
func (p Progress) ETA(now time.Time) (left time.Duration, ok bool) {
	took := now.Sub(p.Started)
	if !p.Finished.IsZero() || p.Started.IsZero() || p.Read == 0 || p.Total <= p.Read || took < time.Minute {
		return 0, false
	}
	return time.Duration(float64(took) / float64(p.Read) * float64(p.Total-p.Read)), true
}

const (
	progressName = "sync"
	leaseName    = "sync"
	maxPause     = 5 * time.Minute
	owedAtOnce   = 20 // single reads between two pages
)

// LoadProgress reads the shared progress.
func LoadProgress(ctx context.Context, s Store) (p Progress, err error) {
	v, err := s.Meta(ctx, progressName)
	if err != nil || v == "" {
		return p, err
	}
	if err := json.Unmarshal([]byte(v), &p); err != nil {
		return Progress{}, nil // written by a program that differs: begin anew
	}
	return p, nil
}

func saveProgress(ctx context.Context, s Store, p Progress) error {
	b, err := json.Marshal(p)
	if err != nil {
		return fmt.Errorf("index: %w", err)
	}
	return s.SetMeta(ctx, progressName, string(b))
}

// Syncer fills an index in the background. One instance works for all: the
// holder of a lease in the store; the others wait and take over when it ends.
type Syncer struct {
	index *Index
	from  Lister
	opt   SyncOptions
	pause time.Duration // after trouble; doubles
}

// NewSyncer makes a syncer; Run starts it.
func NewSyncer(x *Index, from Lister, opt SyncOptions) *Syncer {
	if opt.PageSize == 0 {
		opt.PageSize = 100
	}
	if opt.MaxAge == 0 {
		opt.MaxAge = time.Minute
	}
	if opt.Lease == 0 {
		opt.Lease = 2 * time.Minute
	}
	if opt.Now == nil {
		opt.Now = time.Now
	}
	if opt.Log == nil {
		opt.Log = slog.New(slog.DiscardHandler)
	}
	return &Syncer{index: x, from: from, opt: opt}
}

// Run works until ctx ends: owed reads first, then news, then the rest of the
// full pass. With the index off it returns at once.
func (s *Syncer) Run(ctx context.Context) error {
	if s.index.Mode() == Off {
		return nil
	}
	defer func() { // ctx has ended: the lease goes back all the same
		end, cancel := context.WithTimeout(context.WithoutCancel(ctx), 2*time.Second)
		defer cancel()
		_ = s.index.Release(end, leaseName, s.opt.Owner) // else it runs out
	}()
	for {
		wait, err := s.Step(ctx)
		if ctx.Err() != nil {
			return ctx.Err()
		}
		if err != nil {
			if err := sleep(ctx, s.trouble(ctx, err)); err != nil {
				return err
			}
			continue
		}
		s.pause = 0
		if err := s.rest(ctx, wait); err != nil {
			return err
		}
	}
}

// rest sleeps, but not on when a change of the index owes a read.
func (s *Syncer) rest(ctx context.Context, d time.Duration) error {
	changes, stop := s.index.Changes()
	defer stop()
	end := time.NewTimer(d)
	defer end.Stop()
	for d > 0 {
		select {
		case <-ctx.Done():
			return ctx.Err()
		case <-end.C:
			return nil
		case <-changes:
			if owed, err := s.index.Owed(ctx, s.opt.Now(), 1); err == nil && len(owed) > 0 {
				return nil
			}
		}
	}
	return ctx.Err()
}

func sleep(ctx context.Context, d time.Duration) error {
	if d <= 0 {
		return ctx.Err()
	}
	t := time.NewTimer(d)
	defer t.Stop()
	select {
	case <-ctx.Done():
		return ctx.Err()
	case <-t.C:
		return nil
	}
}

// trouble notes what went wrong where everybody can see it, and says how long
// to leave the service alone.
func (s *Syncer) trouble(ctx context.Context, err error) time.Duration {
	s.pause = min(max(2*s.pause, 5*time.Second), maxPause)
	e := api.AsError(err)
	s.pause = max(s.pause, min(e.RetryAfter, maxPause))
	s.opt.Log.Warn("index sync", "kind", string(e.Kind), "pause", s.pause)
	p, perr := LoadProgress(ctx, s.index.Store)
	if perr == nil {
		p.Trouble = e.Public
		_ = saveProgress(ctx, s.index.Store, p) // only told to people; the next step writes again
	}
	return s.pause
}

// Step does one piece of work, at most one page and some single reads, and says
// how long nothing needs to be done.
func (s *Syncer) Step(ctx context.Context) (wait time.Duration, err error) {
	if wait, err := s.idle(ctx); err != nil || wait > 0 {
		return wait, err
	}
	mine, err := s.index.Lease(ctx, leaseName, s.opt.Owner, s.opt.Now(), s.opt.Lease)
	if err != nil {
		return 0, err
	}
	if !mine {
		return s.opt.Lease / 2, nil
	}
	if err := s.payOwed(ctx); err != nil {
		return 0, err
	}
	p, err := LoadProgress(ctx, s.index.Store)
	if err != nil {
		return 0, err
	}
	if p.PageSize != s.opt.PageSize { // page numbers of another size mean nothing
		p.NextPage = p.NextPage * p.PageSize / s.opt.PageSize
		p.PageSize, p.Behind = s.opt.PageSize, 0
	}
	switch {
	case s.stale(p):
		return 0, s.news(ctx, p)
	case p.Finished.IsZero():
		return 0, s.full(ctx, p)
	}
	return s.due(p), nil
}

// stale reports that the newest page is to be read, or the ones behind it.
func (s *Syncer) stale(p Progress) bool {
	return p.Behind > 0 || s.opt.Now().Sub(p.Newest) >= s.opt.MaxAge
}

// due is how long the newest page is good for; owed reads are looked for sooner.
func (s *Syncer) due(p Progress) time.Duration {
	return min(s.opt.MaxAge-s.opt.Now().Sub(p.Newest), s.opt.Lease/2)
}

// idle tells, by reading only, how long there is nothing to do: 0 when there is.
// An idle process then writes nothing, not even the lease, which would wake all
// that watch the store.
func (s *Syncer) idle(ctx context.Context) (time.Duration, error) {
	p, err := LoadProgress(ctx, s.index.Store)
	if err != nil || p.PageSize != s.opt.PageSize || p.Finished.IsZero() || s.stale(p) {
		return 0, err
	}
	owed, err := s.index.Owed(ctx, s.opt.Now(), 1)
	if err != nil || len(owed) > 0 {
		return 0, err
	}
	return s.due(p), nil
}

// payOwed reads operations whose state is in doubt.
func (s *Syncer) payOwed(ctx context.Context) error {
	opids, err := s.index.Owed(ctx, s.opt.Now(), owedAtOnce)
	if err != nil {
		return err
	}
	for _, id := range opids {
		op, err := s.from.Operation(ctx, id)
		if k := api.KindOf(err); k == api.NotFound || k == api.Refused {
			if err := s.index.Postpone(ctx, id, s.opt.Now().Add(24*time.Hour)); err != nil {
				return err
			}
			continue
		}
		if err != nil {
			return err
		}
		if _, err := s.index.Read(ctx, op, s.opt.Now()); err != nil {
			return err
		}
	}
	return nil
}

// page reads and merges one page.
func (s *Syncer) page(ctx context.Context, n int, p *Progress) (m Merged, rows int, err error) {
	page, err := s.from.ListPage(ctx, n, s.opt.PageSize)
	if err != nil {
		return m, 0, err
	}
	if t, err := strconv.ParseInt(string(page.Total), 10, 64); err == nil {
		p.Total = t
	}
	p.Trouble = ""
	m, err = s.index.Page(ctx, page.Items, s.opt.Now())
	return m, len(page.Items), err
}

// news reads from the newest page on until a page brings nothing new.
func (s *Syncer) news(ctx context.Context, p Progress) error {
	n := p.Behind
	began := s.opt.Now()
	m, rows, err := s.page(ctx, n, &p)
	if err != nil {
		return err
	}
	if n == 0 {
		p.Newest = began
	}
	if p.Started.IsZero() { // the very first page begins the full pass
		p.Started, p.NextPage, p.Read = began, 1, int64(rows)
		p.done(rows, s.opt)
		return saveProgress(ctx, s.index.Store, p)
	}
	p.Behind = 0
	more := rows == s.opt.PageSize && m.Fresh()
	if more && (!p.Finished.IsZero() || n+1 < p.NextPage) {
		p.Behind = n + 1
	}
	return saveProgress(ctx, s.index.Store, p)
}

// full goes on with the full pass, newest first.
func (s *Syncer) full(ctx context.Context, p Progress) error {
	_, rows, err := s.page(ctx, p.NextPage, &p)
	if err != nil {
		return err
	}
	p.NextPage++
	p.Read += int64(rows)
	p.done(rows, s.opt)
	return saveProgress(ctx, s.index.Store, p)
}

// done ends the full pass with a page that is not full.
func (p *Progress) done(rows int, opt SyncOptions) {
	if rows < opt.PageSize {
		p.Finished = opt.Now()
	}
}

// Again starts the full pass anew, for when the index is doubted as a whole.
func (s *Syncer) Again(ctx context.Context) error {
	p, err := LoadProgress(ctx, s.index.Store)
	if err != nil {
		return err
	}
	p.NextPage, p.Read, p.Started, p.Finished, p.Behind, p.Newest = 0, 0, time.Time{}, time.Time{}, 0, time.Time{}
	return saveProgress(ctx, s.index.Store, p)
}
