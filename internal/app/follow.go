package app

import (
	"context"
	"sync"

	"opdeck/api"
	"opdeck/api/endpoint"
	"opdeck/internal/domain/audit"
	"opdeck/internal/domain/followup"
	"opdeck/internal/store/journal"
)

// openFollow creates the tracker that settles writes with an unknown outcome.
func (a *App) openFollow() {
	a.Follow = followup.New(followup.Options{Store: journal.NewUnsettled(a.Store.Core, a.Scope()), Trail: a.Audit.Intents,
		LateAfter: a.Config.Writes.LateAfter.D(), Log: a.Log, Date: a.Gate.Date,
		Context: audit.Context{BaseURL: a.Context.BaseURL, Account: a.Context.Login}})
	a.Gate.Follow = a.Follow
}

// followers registers the observers of outcomes that are found later.
func (a *App) followers() {
	a.Follow.Client = a.service
	a.Follow.Follow(func(ctx context.Context, s followup.Settled) error {
		if s.Row.Approval == "" {
			return nil
		}
		return a.Approvals.Settle(ctx, s.Row.Approval, s.Outcome)
	})
	a.Follow.Follow(func(ctx context.Context, s followup.Settled) error {
		return a.Jobs.Settled(ctx, s.Row.Probe, s.Outcome)
	})
	a.Follow.Follow(func(ctx context.Context, s followup.Settled) error {
		return a.Journeys.Settled(ctx, s.Row.Kind, s.Row.ID, s.Row.Who, s.Outcome)
	})
}

// StartFollow checks writes with an unknown outcome in the background until stop is called.
func (a *App) StartFollow(ctx context.Context) (stop func()) {
	ctx, cancel := context.WithCancel(api.WithActor(ctx, api.Actor{Name: "follow-up", Role: api.Viewer, Via: "service"}))
	var wg sync.WaitGroup
	wg.Go(func() { a.Follow.Run(ctx) })
	return func() { cancel(); wg.Wait() }
}

// jobClient is the client of replacements: outcomes that a job sees are settled for all.
type jobClient struct {
	endpoint.Caller
	tracker *followup.Tracker
}

// Call implements endpoint.Caller.
func (c jobClient) Call(ctx context.Context, r endpoint.Request) (any, error) {
	out, err := c.Caller.Call(ctx, r)
	if s, is := out.(api.Observation); is && s.Shown {
		c.tracker.Shown(ctx, r.In.(api.Probe), s)
	}
	return out, err
}

// Trail is the audit trail for people: its unsettled acts include writes whose first outcome was unknown.
type Trail struct {
	*audit.Reader
	*audit.Prover
	log     *audit.Log
	tracker *followup.Tracker
}

// Trail returns the trail for people.
func (a *App) Trail() Trail { return Trail{a.Audit.Reader, a.Audit.Prover, a.Audit, a.Follow} }

// Health is the state of the trail.
func (t Trail) Health() audit.Health { return t.log.Health() }

// Unsettled lists the intents without a known outcome, oldest first.
func (t Trail) Unsettled(ctx context.Context) ([]audit.Entry, error) {
	rows, err := t.tracker.Pending(ctx)
	if err != nil {
		return nil, err
	}
	var out []audit.Entry
	for _, r := range rows {
		if r.State == followup.NotSeen {
			continue
		}
		e, err := t.log.Intents.Entry(ctx, r.Ref)
		if err != nil {
			return nil, err
		}
		out = append(out, e)
	}
	return out, nil
}

// Settle closes an act with what a person found.
func (t Trail) Settle(ctx context.Context, who api.Actor, ref, note string) error {
	return t.tracker.Conclude(ctx, who, ref, note)
}
