package api

import (
	"context"
	"errors"
	"fmt"

	"opdeck/api/evidence"
)

// Write is a write before it is sent.
type Write struct {
	Act     Act
	Request Request
	Rule    WriteRule
	Guard   func() error // opdeck's own check of the object; nil for none
	Probe   Probe        // what would prove that it was done
	// Look reads the object once; nil: no read can show the outcome.
	Look func(ctx context.Context, p Probe) (Observation, error)
}

// Write is the only way of a write to the wire: dry run, gate, call and, if the answer proves nothing, reads that
// settle it (docs/outcomes.md). A nil error means that the wanted state is there. The answer is then the write's own,
// or that of the read that showed it.
func (c *Client) Write(ctx context.Context, w Write) (Answer, error) {
	if acts, ok := ctx.Value(dryRunKey{}).(*[]Act); ok {
		*acts = append(*acts, w.Act)
		return Answer{}, ErrDryRun
	}
	permit, err := c.opt.Gate.Begin(ctx, w.Rule, w.Act, w.Guard)
	if err != nil {
		return Answer{}, err
	}
	w.Probe.Kind, w.Probe.Ref = w.Act.Kind, permit.ref
	if err := c.opt.Gate.follow(ctx, w.Rule, permit, w.Probe); err != nil {
		return Answer{}, err
	}
	w.Request.write, w.Request.OwnToken = true, w.Rule.OwnToken
	w.Request.leaves = func() error { return Leaves(ctx, w.Probe) }
	w.Request.take = func(a Answer) error { // where no read can prove it, its 2xx is all that there is
		if w.Look == nil || w.Rule.Proves(w.Probe, ObjectOf(a.Body), true) {
			return nil
		}
		return errUnproven
	}
	a, err := c.exchange(ctx, w.Request)
	out, err := decide(w.Rule, w.Probe, w.Request.Op, a, err)
	out.Why = w.conclusion(a, out)
	if out.Verdict == Unclear {
		a, out, err = c.settle(ctx, w, permit.until, a, out, err)
	}
	a.Made = out.Found
	evidence.Note(ctx, out.Why)
	if out.Rule == RuleLocked && w.Act.Kind == ActRemoveDocument && c.opt.OnLocked != nil {
		c.opt.OnLocked(context.WithoutCancel(ctx), w.Act)
	}
	if endErr := c.opt.Gate.End(ctx, permit, out); endErr != nil {
		c.opt.Log.Error("outcome of a write not stored", "op", w.Request.Op, "request_id", out.RequestID, "err", endErr)
	}
	return a, err
}

var errUnproven = errors.New("the answer does not prove the write")

// conclusion is what a write's own answer proves.
func (w Write) conclusion(a Answer, out Outcome) evidence.Conclusion {
	e := a.Evidence(w.Request, w.Act.ID)
	e.Read = "the service's answer"
	why := evidence.Conclusion{Kind: evidence.Act, Object: w.Act.ID, Rests: []evidence.Evidence{e}}
	switch out.Verdict {
	case Done:
		why.Says, why.Rests[0].Shows = w.Rule.Past, w.Rule.Shows
	case Denied:
		why.Says, why.Rests[0].Shows = "refused", fmt.Sprintf("refuses it (%d): %s", a.Status, out.Detail)
	case Failed:
		why.Says, why.Rests, why.Open = "not sent", nil, out.Detail
	default:
		why.Says, why.Rests[0].Shows = "not known", "does not say whether it was done"
		if a.Status == 0 {
			why.Rests, why.Open = nil, "it was sent, but no usable answer came back"
		}
	}
	return why
}

type leavingKey struct{}

// OnLeaving makes each write in the returned context call fn right before it is sent, when it has its slot and
// session and nothing else can stop it. So what fn stores is about writes that were sent. An error of fn stops the
// write.
func OnLeaving(ctx context.Context, fn func(Probe) error) context.Context {
	return context.WithValue(ctx, leavingKey{}, fn)
}

// Leaves calls the function of OnLeaving; fakes of the service in tests call it too.
func Leaves(ctx context.Context, p Probe) error {
	if fn, ok := ctx.Value(leavingKey{}).(func(Probe) error); ok {
		return fn(p)
	}
	return nil
}
