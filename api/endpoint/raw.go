package endpoint

import (
	"context"
	"net/url"

	"opdeck/api"
)

// Raw is a read whose answer passes on as it is, for somebody who speaks the service's
// own paths.
type Raw struct {
	Route *Route // one that is lent to read; Match finds it
	IDs   []string
	Query url.Values
}

// GetRaw makes a read (one call of the route's class) and returns its answer, also when
// that is a refusal by the service. A query name that the route does not declare, or that
// the role may not use, is refused. Operations in the answer go to the observers when the
// Body is closed after its end.
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
