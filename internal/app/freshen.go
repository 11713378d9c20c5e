package app

import (
	"context"
	"errors"
	"io"

	"opdeck/api"
	"opdeck/internal/domain/index"
)

// Freshen does what is due of the sync, with at most that many billing calls. It is
// for commands; while a console or server runs the sync in the background, nothing
// is read here. What was known stays known when it fails.
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

// ExportTo writes what a filter shows to w, which gets nothing that
// could act on a terminal but what the records hold; the export is recorded with
// how old the list was.
func (m Mirror) ExportTo(ctx context.Context, w io.Writer, s index.Sheet,
	progress func(done, total int)) (int, index.Freshness, error) {
	fresh, err := m.noteExport(ctx, s)
	if err != nil {
		return 0, fresh, err
	}
	n, err := m.app.Index.Export(ctx, w, s, progress)
	return n, fresh, err
}

// noteExport records an export. How old the list is is read before it is frozen:
// it can only be newer then.
func (m Mirror) noteExport(ctx context.Context, s index.Sheet) (index.Freshness, error) {
	if err := api.Need(ctx, "export", api.MayExport); err != nil {
		return index.Freshness{}, err
	}
	fresh, err := m.app.Index.Freshness(ctx)
	if err != nil {
		return fresh, err
	}
	e := api.Event{Name: "export", Object: "operations", Detail: s.String() + ", " + AsOf(fresh)}
	if err := m.app.Audit.Note(ctx, api.ActorOf(ctx), e); err != nil {
		return fresh, &api.Error{Op: "export", Kind: api.Refused, Rule: api.RuleAudit,
			Public: "The audit trail cannot be written, so nothing was exported.", Err: err}
	}
	return fresh, nil
}

// AsOf words how old an answer of the index is.
func AsOf(f index.Freshness) string {
	s := "age not known"
	if !f.AsOf.IsZero() {
		s = "as of " + f.AsOf.UTC().Format("2006-01-02 15:04:05 UTC")
	}
	if !f.Complete {
		s += ", index not complete"
	}
	return s
}
