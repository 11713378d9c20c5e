package followup

import (
	"context"
	"time"

	"opdeck/api"
	"opdeck/api/limit"
	"opdeck/internal/domain/audit"
)

// Run looks in the background, with what people leave of the budgets, until ctx
// ends. Any number of processes may run it: a row is looked at by one of them.
func (d *Tracker) Run(ctx context.Context) {
	ctx = limit.Background(ctx)
	timer := time.NewTimer(0)
	defer timer.Stop()
	for {
		select {
		case <-ctx.Done():
			return
		case <-d.wake:
		case <-timer.C:
		}
		if err := d.Look(ctx, false); err != nil && ctx.Err() == nil {
			d.opt.Log.Warn("unsettled writes could not be looked at", "err", err)
		}
		timer.Reset(d.notice(ctx))
	}
}

// notice tells what other processes settled since the last time, and how long
// nothing is due.
func (d *Tracker) notice(ctx context.Context) time.Duration {
	rows, err := d.opt.Store.Rows(ctx)
	if err != nil {
		return idle
	}
	now, err := d.opt.Store.Now(ctx)
	if err != nil {
		return idle
	}
	wait, is := idle, map[string]Row{}
	for _, r := range rows {
		if is[r.Ref] = r; r.State == NotSeen {
			continue
		}
		wait = min(wait, tense, max(r.Next.Sub(now), time.Second))
	}
	d.mu.Lock()
	was := d.known
	d.known = map[string]Row{}
	for ref, r := range is {
		if r.State == Unknown {
			d.known[ref] = r
		}
	}
	d.mu.Unlock()
	for ref, r := range was {
		if there, ok := is[ref]; !ok || there.State != Unknown {
			d.tellFound(ctx, r)
		}
	}
	return wait
}

// verdicts are the outcomes as the trail words them.
var verdicts = map[audit.Result]api.Verdict{audit.ResultOK: api.Done, audit.ResultDenied: api.Denied, audit.ResultFailed: api.Failed, audit.ResultNotSeen: api.NotSeen}

// tellFound tells what another process found.
func (d *Tracker) tellFound(ctx context.Context, r Row) {
	e, err := d.opt.Trail.Entry(ctx, r.Ref)
	if err != nil {
		return
	}
	last, some, err := d.opt.Trail.LastOutcome(ctx, e)
	v := verdicts[last.Outcome]
	if err != nil || !some || v == "" {
		return
	}
	d.say(Settled{Row: r, Outcome: api.Outcome{Verdict: v, Detail: audit.Reading(last.Error).Line(300)}})
}
