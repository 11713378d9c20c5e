package app

import (
	"context"
	"errors"
	"io"
	"time"

	"opdeck/api"
	"opdeck/internal/domain/index"
)

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
