package endpoint

import (
	"context"
	"net/url"

	"opdeck/api"
)

// Raw is a read whose answer is passed on unchanged, for callers that use the service's own paths.
type Raw struct {
	Route *Route // one that scripts may read; Match finds it
	IDs   []string
	Query url.Values
}

// GetRaw makes a read (one call of the route's class) and returns its answer, also if the service refuses. It refuses
// a query name that the route does not declare or the role may not use. When Body is closed after its end, the
// observers get the operations in it.
var GetRaw = composed(Route{Kind: "raw", Op: "read"}, func(ctx context.Context, w *Wire, in Raw) (*api.Relayed, error) {
	if err := in.Route.Asks(ctx, in.Query, w.client.Service().Paging); err != nil {
		return nil, err
	}
	r, err := in.Route.request(in.IDs...)
	if err != nil {
		return nil, err
	}
	r.Query = in.Query
	if see := in.Route.shown; see != nil {
		r.Shown = func(ctx context.Context, r api.Request, a api.Answer) { see(ctx, w, r, a) }
	}
	return w.client.Stream(ctx, r)
})
