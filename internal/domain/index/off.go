package index

import (
	"context"
	"time"

	"opdeck/internal/domain/index/filter"
)

// offStore is the store of an index that is switched off.
type offStore struct{}

func (offStore) Put(context.Context, Batch) (Merged, error)       { return Merged{}, ErrOff }
func (offStore) Get(context.Context, string) (Record, error)      { return Record{}, ErrOff }
func (offStore) Version(context.Context) (int64, error)           { return 0, nil }
func (offStore) Meta(context.Context, string) (string, error)     { return "", nil }
func (offStore) SetMeta(context.Context, string, string) error    { return ErrOff }
func (offStore) Release(context.Context, string, string) error    { return nil }
func (offStore) History(context.Context, string) ([]State, error) { return nil, ErrOff }

func (offStore) Window(context.Context, Query, time.Time) (Window, error) {
	return Window{AnchorAt: -1}, ErrOff
}

func (offStore) Each(context.Context, filter.OperationExpr, Sort, time.Time, func(int, Record) error) error {
	return ErrOff
}

func (offStore) Targets(context.Context, filter.OperationExpr, Sort, int, time.Time) ([]string, error) {
	return nil, ErrOff
}

func (offStore) Count(context.Context, filter.OperationExpr, time.Time) (int64, error) {
	return 0, ErrOff
}

func (offStore) Place(context.Context, filter.OperationExpr, Sort, string, time.Time) (Place, error) {
	return Place{}, ErrOff
}

func (offStore) Totals(context.Context, filter.OperationExpr, time.Time) ([]Sum, error) {
	return nil, ErrOff
}

func (offStore) Groups(context.Context, filter.OperationExpr, By, int, time.Time) ([]Group, error) {
	return nil, ErrOff
}

func (offStore) Days(context.Context, filter.OperationExpr, int, time.Time) ([]Day, error) {
	return nil, ErrOff
}

func (offStore) Values(context.Context, string, string, int) ([]string, error) { return nil, ErrOff }

func (offStore) Owed(context.Context, time.Time, int) ([]string, error) { return nil, nil }

func (offStore) Postpone(context.Context, string, time.Time) error { return nil }

func (offStore) Lease(context.Context, string, string, time.Time, time.Duration) (bool, error) {
	return false, ErrOff
}

func (offStore) Look(context.Context, string, string, time.Time) error { return nil }

func (offStore) LastLook(context.Context, string, string) (time.Time, error) {
	return time.Time{}, nil
}

func (offStore) ChangedSince(context.Context, filter.OperationExpr, time.Time, time.Time) (int64, error) {
	return 0, ErrOff
}

func (offStore) Now(context.Context) (time.Time, error) { return time.Now(), nil }

func (offStore) Snapshot(context.Context, func(Store) error) error { return ErrOff }

func (offStore) Sights(context.Context) (Sights, error) { return Sights{}, nil }

func (offStore) Candidates(context.Context, time.Time, int) ([]string, error) { return nil, nil }

func (offStore) Distrust(context.Context) error { return nil }

func (offStore) Reset(context.Context, ...string) error { return ErrOff }

func (offStore) Owe(context.Context, string, time.Time) error { return ErrOff }
