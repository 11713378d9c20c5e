package index

import (
	"context"
	"time"

	"opdeck/api/evidence"
)

// Freshness is the age of the index's answers, in this host's time.
type Freshness struct {
	Sights
	// AsOf is the age of an answer from the whole index, such as a total: the oldest read of a row, and no newer than
	// the last complete read of new operations. Zero: not known.
	AsOf time.Time
	// Complete: a pass over the list showed all of it, and nothing shows a gap since. Why has the evidence, WholeAt the
	// time of which that is true: operations that arrived later may be missing.
	Complete bool
	WholeAt  time.Time
	Why      evidence.Conclusion
	Total    int64 // operations by the service's last answer; -1: not known
	Owed     int   // operations whose single read is due, at most 1,000
	Version  int64 // of the index: answers of two versions may contradict
	Progress Progress
	MaxAge   time.Duration // how old WholeAt may be to be called now
}

// Answer is rows with their total number and their age, all from one state of the index.
type Answer struct {
	Window Window
	Total  int64
	Fresh  Freshness
}

// Consistent runs fn with an index whose answers all come from one state.
func (x *Index) Consistent(ctx context.Context, fn func(*Index) error) error {
	by, err := x.shift(ctx)
	if err != nil {
		return err
	}
	return x.store.Snapshot(ctx, func(s Store) error {
		return fn(&Index{store: s, mode: x.mode, Beside: x.Beside, MaxAge: x.MaxAge,
			clock: clock{store: s, now: x.now, ahead: &by}})
	})
}

// Freshness returns the age of the index's answers.
func (x *Index) Freshness(ctx context.Context) (f Freshness, err error) {
	err = x.Consistent(ctx, func(x *Index) error {
		f, err = x.freshness(ctx)
		return err
	})
	return f, err
}

func (x *Index) freshness(ctx context.Context) (f Freshness, err error) {
	now, err := x.store.Now(ctx)
	if err != nil {
		return f, err
	}
	if f.Progress, err = LoadProgress(ctx, x.store); err != nil {
		return f, err
	}
	if f.Sights, err = x.store.Sights(ctx); err != nil {
		return f, err
	}
	owed, err := x.store.Owed(ctx, now, 1000)
	if err != nil {
		return f, err
	}
	if f.Version, err = x.Version(ctx); err != nil {
		return f, err
	}
	by, err := x.shift(ctx)
	f.Progress.Last.Whole = f.Progress.Last.Whole || f.Progress.proves(f.Rows) // an earlier build did not note it
	p := f.Progress
	f.Owed, f.Total, f.MaxAge = len(owed), p.Total, x.MaxAge
	why, need := p.whole(f.Sights, now)
	f.Why, f.Complete = why.Held(need, "not complete")
	evidence.Note(ctx, f.Why)
	if f.Complete {
		f.WholeAt = x.local(p.wholeAt(), by)
	}
	if at := f.asOf(p, now); !at.IsZero() {
		f.AsOf = x.local(at, by)
	}
	f.Oldest, f.Newest = x.local(f.Oldest, by), x.local(f.Newest, by)
	return f, err
}

// asOf is in the store's time. It is unknown if a row was never read, or read by a clock that was set back since.
func (f Freshness) asOf(p Progress, now time.Time) time.Time {
	at := p.News.At
	if p.Last.Started.After(at) {
		at = p.Last.Started
	}
	switch {
	case f.Unseen > 0 || f.Newest.After(now) || p.afterClock(now):
		return time.Time{}
	case f.Rows == 0, f.Oldest.IsZero():
		return at
	case at.IsZero() || f.Oldest.Before(at): // before the first read of new operations it is as old as the rows
		return f.Oldest
	}
	return at
}

// Answer reads rows, their total number, and their age.
func (x *Index) Answer(ctx context.Context, q Query, now time.Time) (a Answer, err error) {
	err = x.Consistent(ctx, func(x *Index) error {
		if a.Window, err = x.Window(ctx, q, now); err != nil {
			return err
		}
		if a.Total, err = x.Count(ctx, q.Filter, now); err != nil {
			return err
		}
		a.Fresh, err = x.Freshness(ctx)
		return err
	})
	return a, err
}
