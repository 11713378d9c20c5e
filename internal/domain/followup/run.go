package followup

import (
	"context"
	"time"

	"opdeck/api"
	"opdeck/api/limit"
	"opdeck/internal/domain/audit"
)

// Run looks in the background, with spare budget, until ctx ends. Any number of processes may run it: one of them
// looks at a row.
func (t *Tracker) Run(ctx context.Context) {
	ctx = limit.Background(ctx)
	timer := time.NewTimer(0)
	defer timer.Stop()
	for {
		select {
		case <-ctx.Done():
			return
		case <-t.wake:
		case <-timer.C:
		}
		if t.opt.Trail.Unrecorded() != nil { // processes that can record look
			timer.Reset(t.notice(ctx))
			continue
		}
		if err := t.Look(ctx, false); err != nil && ctx.Err() == nil {
			t.opt.Log.Warn("writes with an unknown outcome could not be checked", "err", err)
		}
		timer.Reset(t.notice(ctx))
	}
}

// notice reports what other processes settled since the last call, and how long nothing is due.
func (t *Tracker) notice(ctx context.Context) time.Duration {
	rows, now, err := t.rows(ctx)
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
	t.mu.Lock()
	was := t.known
	t.known = map[string]Row{}
	for ref, r := range is {
		if r.State == Unknown || r.State == Seen {
			t.known[ref] = r
		}
	}
	t.mu.Unlock()
	for ref, r := range was {
		if there, ok := is[ref]; !ok || there.State != r.State {
			t.reportFound(ctx, r)
		}
	}
	return wait
}

// verdicts maps the trail's results to outcomes.
var verdicts = map[audit.Result]api.Verdict{audit.ResultOK: api.Done, audit.ResultDenied: api.Denied,
	audit.ResultFailed: api.Failed, audit.ResultSeen: api.Seen, audit.ResultNotSeen: api.NotSeen}

// Verdict is the outcome of a write by the trail, "" if not known.
func (t *Tracker) Verdict(ctx context.Context, ref string) api.Verdict {
	v, _ := t.verdict(ctx, ref)
	return v
}

func (t *Tracker) verdict(ctx context.Context, ref string) (api.Verdict, audit.Entry) {
	e, err := t.opt.Trail.Entry(ctx, ref)
	if err != nil {
		return "", e
	}
	last, some, err := t.opt.Trail.LastOutcome(ctx, e)
	if err != nil || !some {
		return "", last
	}
	return verdicts[last.Outcome], last
}

// reportFound reports what another process found.
func (t *Tracker) reportFound(ctx context.Context, r Row) {
	if v, last := t.verdict(ctx, r.Ref); v != "" {
		t.say(Settled{Row: r, Outcome: api.Outcome{Verdict: v, Detail: audit.Unquote(last.Error).Line(300)}})
	}
}
