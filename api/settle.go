package api

import (
	"context"
	"errors"
	"strings"
	"time"

	"opdeck/api/evidence"
)

// settleAt says when the reads that settle a write are made, as fractions of Options.SettleWait: at once, then at
// growing intervals. Four calls leave room in a budget of twelve a minute; looks that read pages are fewer.
var settleAt = []float64{0, 0.1, 0.4, 1}

// minLook is the least time for one look.
const minLook = 5 * time.Second

// Observation is what a look at the object of a write found.
type Observation struct {
	Shown      bool     // the wanted state showed: the write is done
	File       string   // id of the created object, if found
	Candidates []string // ids of objects that the write may have created

	Evidence evidence.Evidence // what was read; zero: nothing
	Answer   Answer            // of the read that showed it
	Calls    int               // calls that the look cost; 0: one
}

// settle looks until the wanted state shows or Options.SettleWait is over. If the caller leaves, the current look
// ends and no other begins. A request without an answer may arrive until the given time: who made the state is then
// not known.
func (c *Client) settle(ctx context.Context, w Write, until time.Time, a Answer, out Outcome, lost error) (Answer,
	Outcome, error) {
	sent := a.At
	began := c.opt.Now()
	end := began.Add(c.opt.SettleWait)
	var looked time.Time // when the last look with an answer was made
	var lookErr error
	calls, cost := 0, 0 // of all looks, of the last one
	for i, part := range settleAt {
		wait := began.Add(time.Duration(part * float64(c.opt.SettleWait))).Sub(c.opt.Now())
		if w.Look == nil || i > 0 && (calls+cost > len(settleAt) || c.opt.SettleWait <= 0 || c.opt.Now().After(end) ||
			c.opt.Sleep(ctx, max(wait, 0)) != nil) {
			break
		}
		bound, cancel := context.WithTimeout(context.WithoutCancel(ctx),
			max(end.Sub(c.opt.Now()), min(minLook, c.opt.Timeout)))
		s, err := w.Look(bound, w.Probe)
		cancel()
		cost = max(s.Calls, 1)
		calls += cost
		if lookErr = err; err != nil {
			continue
		}
		looked = c.opt.Now()
		out.Why = evidence.Conclusion{Kind: evidence.Act, Says: "not known", Object: w.Act.ID,
			Rests: []evidence.Evidence{s.Evidence}}
		if s.Shown && s.Evidence.Flaw(evidence.Need{}) == evidence.Sound { // read by this call, after the write
			out.Verdict, out.Rule, out.After, out.Found = Done, "", HashHex(s.Answer.Body), s.File
			out.Why.Says, out.Why.Read = w.Rule.Past, true
			out.Detail = "the answer did not say so; confirmed by reading the object"
			if !w.Rule.answered(a) {
				out.Verdict, out.Detail = Seen, "no answer; a read of the object shows the wanted state"
				out.Why.Open = MayArrive(until)
			}
			s.Answer.Settled = true
			return s.Answer, out, nil
		}
	}
	out.Looked = looked
	return a, out, unsettled(w, a, sent, looked, errors.Join(lost, lookErr), AsError(lost))
}

// unsettled is the error of a write whose outcome is still unknown.
func unsettled(w Write, a Answer, sent, looked time.Time, err error, lost *Error) *Error {
	e := &Error{Op: w.Request.Op, Kind: UnknownOutcome, Status: a.Status, RequestID: a.RequestID, Err: err,
		Public: "Sent at " + sent.UTC().Format(clock) + ". The outcome is still unknown."}
	switch {
	case !looked.IsZero():
		e.Public = "Sent at " + sent.UTC().Format(clock) + ", not visible at " + looked.UTC().Format(clock) +
			". The outcome is still unknown."
	case w.Look != nil:
		e.Public = "Sent at " + sent.UTC().Format(clock) +
			". It could not be checked since, so the outcome is still unknown."
	}
	e.Public += " " + strings.TrimRight(lost.Public, ".") + "."
	e.Remedy = w.Rule.Remedy()
	return e
}
