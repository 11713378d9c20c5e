package api

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
)

// write is a write before it is sent.
type write struct {
	act   Act
	req   request
	guard func() error // the console's own check of the object; nil for none

	// settle reads what became of the write when its answer was lost. It must
	// not write. It returns UnknownOutcome's verdict when it cannot tell.
	settle func(ctx context.Context) (Verdict, error)
}

// send is the one way of a write to the wire: dry run, gate, call, and where the
// answer was lost a read that decides. It returns the answer of a write that was
// done; an answer without a status means that only the read told so.
func (c *Client) send(ctx context.Context, w write) (answer, error) {
	if acts, ok := ctx.Value(dryRunKey{}).(*[]Act); ok {
		*acts = append(*acts, w.act)
		return answer{}, ErrDryRun
	}
	permit, err := c.opt.Gate.Begin(ctx, w.act, w.guard)
	if err != nil {
		return answer{}, err
	}
	w.req.write = true
	a, err := c.exchange(ctx, w.req)
	out := c.verdict(a, err)
	if out.Verdict == Unclear {
		a, out, err = c.clearUp(ctx, w, a, out, err)
	}
	if endErr := c.opt.Gate.End(ctx, permit, out); endErr != nil {
		c.opt.Log.Error("audit outcome not stored", "op", w.req.op, "request_id", out.RequestID, "err", endErr)
	}
	return a, err
}

// verdict says what is known of a write from its own answer alone.
func (c *Client) verdict(a answer, err error) Outcome {
	out := Outcome{Status: a.status, RequestID: a.id, Verdict: Done}
	if err == nil {
		out.After = HashHex(a.body)
		return out
	}
	e := AsError(err)
	out.Rule, out.Detail = e.Rule, e.Public
	switch {
	case a.status >= 400 && a.status < 500:
		out.Verdict = Denied
	case a.sent:
		out.Verdict = Unclear
	default:
		out.Verdict = Failed
	}
	return out
}

// clearUp decides by a read. The person may have left; the read goes on.
func (c *Client) clearUp(ctx context.Context, w write, a answer, out Outcome, lost error) (answer, Outcome, error) {
	ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), settleTime)
	defer cancel()
	v, err := Unclear, errors.New("nothing can be read that would tell")
	if w.settle != nil {
		v, err = w.settle(ctx)
	}
	out.Verdict = v
	switch v {
	case Done:
		out.Detail = "answer lost; a read shows that it was done"
		return answer{id: a.id}, out, nil
	case Failed:
		out.Detail = "answer lost; a read shows that it was not done"
		e := AsError(lost)
		return a, out, &Error{Op: w.req.op, Kind: Unavailable, RequestID: a.id, Err: lost,
			Public: "The answer was lost, and a read shows that nothing was changed.",
			Hint:   "It can be tried again. " + e.Public}
	}
	out.Detail = "answer lost; a read could not tell"
	return a, out, &Error{Op: w.req.op, Kind: UnknownOutcome, RequestID: a.id, Err: errors.Join(lost, err),
		Public: "It was sent, the answer was lost, and a read could not tell what became of it.",
		Hint:   "Look at the object before anything is repeated; the audit trail keeps this as unknown."}
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
