package app

import (
	"context"
	"time"

	"opdeck/api"
	"opdeck/internal/domain/index"
)

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
	running, err := m.app.Index.Running(ctx, m.app.syncs())
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
