package app

import (
	"context"
	"time"

	"opdeck/api"
	"opdeck/api/endpoint"
	"opdeck/internal/domain/mask"
	"opdeck/internal/domain/replace"
)

// Client is the service as people reach it: what it returns is masked unless the context
// lifts that (mask.Needed), whatever call it is of. What a route declares as not maskable passes
// as it is, after its record.
type Client struct {
	wire    *endpoint.Wire
	missing func(ctx context.Context, opid string, err error) error
	note    func(ctx context.Context, who api.Actor, e api.Event) error // of the audit trail
	explain func(ctx context.Context, r *endpoint.Route, err error) error
	named   func(ctx context.Context, out any) // gets each result, whole
}

// Call implements endpoint.Caller.
func (c *Client) Call(ctx context.Context, r endpoint.Request) (any, error) {
	route := r.Route
	if raw, is := r.In.(endpoint.Raw); is {
		route = raw.Route
	}
	if err := c.mayTake(ctx, route, r.In); err != nil {
		return nil, err
	}
	out, err := c.wire.Call(ctx, r)
	switch {
	case err == nil:
		c.named(ctx, out)
	case r.Route == endpoint.GetOperation.Route:
		err = c.missing(ctx, r.In.(string), err)
	}
	if err != nil { // of a write, one of a read before it
		err = c.explain(ctx, route, err)
	}
	whole := len(route.Masked.Only) > 0
	relayed, is := out.(*api.Relayed)
	if is && err == nil && mask.Needed(ctx) && (!whole || relayed.Status >= 300) {
		err = maskBody(r.Op, api.ActorOf(ctx).Role, relayed)
	}
	if is || whole {
		return out, err
	}
	return mask.For(ctx, out), err
}

// mayTake lets what cannot be masked through after its record in the trail, or says why not.
func (c *Client) mayTake(ctx context.Context, r *endpoint.Route, in any) error {
	if len(r.Masked.Only) == 0 {
		return nil
	}
	for _, p := range r.Masked.Only {
		if err := api.Need(ctx, string(r.Kind), p); err != nil {
			return err
		}
	}
	if err := c.note(ctx, api.ActorOf(ctx), r.Masked.Note(in)); err != nil {
		return api.NotRecorded(string(r.Kind), "nothing is read", err)
	}
	return nil
}

// Phase is what an operation's status word means.
func (c *Client) Phase(op api.Operation) api.Phase { return c.wire.Phase(op) }

// Known returns the newest known state of an operation, without a call.
func (a *App) Known(ctx context.Context, opid string) (api.Operation, time.Time, bool) {
	rec, err := a.Index.Get(ctx, opid)
	if err != nil || rec.Owed || len(rec.Op.Raw) == 0 {
		return api.Operation{}, time.Time{}, false
	}
	return rec.Op, rec.Seen, true
}

// OnOperation registers fn for every operation that is read or changed, masked for the person in ctx; stop removes
// it.
func (a *App) OnOperation(ctx context.Context, fn func(api.Operation)) (stop func()) {
	return a.changes.add(func(op api.Operation) { fn(mask.For(ctx, op)) })
}

// UnfinishedJobs lists the unfinished replacements on an operation ("": on any).
func (a *App) UnfinishedJobs(ctx context.Context, opid string) ([]replace.Job, error) {
	all, err := a.Jobs.Store.Unfinished(ctx)
	var out []replace.Job
	for _, j := range all {
		if opid == "" || j.OPID == opid {
			out = append(out, j)
		}
	}
	return mask.For(ctx, out), err
}
