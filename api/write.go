package api

import (
	"context"
	"encoding/json"
	"fmt"
)

// write is a write before it is sent.
type write struct {
	act   Act
	req   request
	guard func() error // the console's own check of the object; nil for none
	probe Probe        // what would prove that it was done
}

// send is the one way of a write to the wire: dry run, gate, call, and where the
// answer proves nothing reads that settle it (docs/outcomes.md). The error is nil
// only when it is proven that the write was done. The answer is then the write's
// own, or that of the read that showed it.
func (c *Client) send(ctx context.Context, w write) (answer, error) {
	if acts, ok := ctx.Value(dryRunKey{}).(*[]Act); ok {
		*acts = append(*acts, w.act)
		return answer{}, ErrDryRun
	}
	permit, err := c.opt.Gate.Begin(ctx, w.act, w.guard)
	if err != nil {
		return answer{}, err
	}
	w.probe.Kind = w.act.Kind
	if err := c.opt.Gate.follow(ctx, permit, w.probe); err != nil {
		return answer{}, err
	}
	w.req.write, w.req.ownToken = true, rules[w.act.Kind].ownToken
	a, err := c.exchange(ctx, w.req)
	out, err := decide(w.probe, w.req.op, a, err)
	if out.Verdict == Unclear {
		a, out, err = c.settle(ctx, w, a, out, err)
	}
	if endErr := c.opt.Gate.End(ctx, permit, out); endErr != nil {
		c.opt.Log.Error("outcome of a write not stored", "op", w.req.op, "request_id", out.RequestID, "err", endErr)
	}
	return a, err
}

// newAct describes a write for the gate; body holds dots for secrets.
func newAct(kind ActKind, r request, object, id string, body any) Act {
	path, _ := paths(r.parts...)
	a := Act{Kind: kind, Method: r.method, Path: path, Object: object, ID: id}
	if body != nil {
		b, err := json.Marshal(body)
		if err != nil {
			panic(fmt.Sprintf("api: body of %s: %v", kind, err)) // bodies are plain maps and structs
		}
		a.Body = b
	}
	return a
}

func jsonBody(v any) []byte {
	b, err := json.Marshal(v)
	if err != nil {
		panic(fmt.Sprintf("api: body: %v", err))
	}
	return b
}
