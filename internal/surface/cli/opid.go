package cli

import (
	"context"

	"opdeck/api"
	"opdeck/api/endpoint"
	"opdeck/internal/app"
)

// wholeIDs puts whole ids in the place of operation ids of which only the beginning was
// given. Commands that take many resolve each on its own (operationOf).
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

// operationOf reads the operation that an id, or the beginning of one, means.
func operationOf(ctx context.Context, a *app.App, typed string) (api.Operation, error) {
	id, err := a.Index.Resolve(ctx, typed, a.Now())
	if err != nil {
		return api.Operation{}, err
	}
	return endpoint.Do(ctx, a.Client, endpoint.GetOperation, id)
}
