package cli

import (
	"context"

	"opdeck/api"
	"opdeck/api/endpoint"
	"opdeck/internal/app"
)

// wholeIDs replaces abbreviated operation ids by complete ones. Commands with many ids resolve each with operationOf.
func wholeIDs(r *root, ctx context.Context, a *app.App, args []string) ([]string, error) {
	out := append([]string(nil), args...)
	for i, arg := range r.row.Args {
		if arg.Name != "OPID" || arg.Many || i >= len(out) {
			continue
		}
		id, err := a.Index.Resolve(ctx, out[i], a.Now())
		if err != nil {
			return nil, err
		}
		out[i] = id
	}
	return out, nil
}

// operationOf reads the operation with an id or a prefix of it.
func operationOf(ctx context.Context, a *app.App, typed string) (api.Operation, error) {
	id, err := a.Index.Resolve(ctx, typed, a.Now())
	if err != nil {
		return api.Operation{}, err
	}
	return endpoint.Do(ctx, a.Client, endpoint.GetOperation, id)
}
