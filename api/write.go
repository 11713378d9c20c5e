package api

import "context"

// Write is a write before it is sent.
type Write struct {
	Act     Act
	Request Request
	Rule    WriteRule
	Guard   func() error // the console's own check of the object; nil for none
	Probe   Probe        // what would prove that it was done
	// reads the object once; nil: nothing can be read that would tell
	Look func(ctx context.Context) (Observation, error)
}

// Write is the one way of a write to the wire: dry run, gate, call, and where the
// answer proves nothing reads that settle it (docs/outcomes.md). The error is nil
// only when it is proven that the write was done. The answer is then the write's
// own, or that of the read that showed it.
func (c *Client) Write(ctx context.Context, w Write) (Answer, error) {
	if acts, ok := ctx.Value(dryRunKey{}).(*[]Act); ok {
		*acts = append(*acts, w.Act)
		return Answer{}, ErrDryRun
	}
	permit, err := c.opt.Gate.Begin(ctx, w.Rule, w.Act, w.Guard)
	if err != nil {
		return Answer{}, err
	}
	w.Probe.Kind = w.Act.Kind
	if err := c.opt.Gate.follow(ctx, w.Rule, permit, w.Probe); err != nil {
		return Answer{}, err
	}
	w.Request.write, w.Request.OwnToken = true, w.Rule.OwnToken
	a, err := c.exchange(ctx, w.Request)
	out, err := decide(w.Rule, w.Probe, w.Request.Op, a, err)
	if out.Verdict == Unclear {
		a, out, err = c.settle(ctx, w, a, out, err)
	}
	if endErr := c.opt.Gate.End(ctx, permit, out); endErr != nil {
		c.opt.Log.Error("outcome of a write not stored", "op", w.Request.Op, "request_id", out.RequestID, "err", endErr)
	}
	return a, err
}
