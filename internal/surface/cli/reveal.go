package cli

import (
	"context"

	"opdeck/api"
	"opdeck/internal/app"
	"opdeck/internal/domain/audit"
	"opdeck/internal/domain/mask"
)

// named are the ids that the running command's arguments name; a "-" is none, and its ids
// are revealed one by one (getMany). "" is a list.
func (r *root) named(args []string) (ids []string) {
	if len(r.row.Args) == 0 || r.row.Args[0].File {
		return []string{""}
	}
	for i, arg := range args {
		if arg != "-" && (i == 0 || r.row.Args[0].Many) {
			ids = append(ids, arg)
		}
	}
	return ids
}

// revealing is ctx in which the running command prints these objects unmasked if that was asked
// for: by --reveal, or by [ui] mask = false for a role that may. Each is recorded before.
func (r *root) revealing(ctx context.Context, a *app.App, ids ...string) (context.Context, error) {
	asked := r.reveal || !a.Config.UI.Mask && !mask.Barred(ctx) && a.Audit.Unrecorded() == nil
	if !r.row.Reveals || !asked {
		return ctx, nil
	}
	seen := ctx
	for _, id := range ids {
		var err error
		if seen, err = mask.Reveal(ctx, a.Audit, api.Event{Name: audit.EventReveal, Object: r.row.Object(), ID: id,
			Detail: "opdeck " + r.row.Path()}); err != nil {
			return ctx, err
		}
	}
	return seen, nil
}
