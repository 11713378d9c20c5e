package api

import (
	"context"
	"errors"
	"net/http"
	"strings"
	"time"
)

// settleAt is when the reads that settle a write are made, as parts of
// Options.SettleWait: at once, then at growing distances. Four calls leave room in a budget
// of twelve calls a minute: looks that read pages are fewer.
var settleAt = []float64{0, 0.1, 0.4, 1}

// minLook is the least time that one look is given.
const minLook = 5 * time.Second

// Observation is what a look at the object of a write saw.
type Observation struct {
	Shown      bool     // the wanted state: the write is done
	File       string   // id of the uploaded file that was found
	Candidates []string // ids of files that may be the uploaded one

	Answer Answer // of the read that showed it
	Calls  int    // that it cost, where it reads pages; 0: one
}

// Date is the service's time when it answered the look; zero: not told.
func (s Observation) Date() time.Time {
	date, _ := http.ParseTime(s.Answer.Header.Get("Date"))
	return date
}

// settle looks until the wanted state shows or Options.SettleWait is over. The
// person may leave: the look under way ends, and no other one begins.
func (c *Client) settle(ctx context.Context, w Write, a Answer, out Outcome, lost error) (Answer, Outcome, error) {
	sent := a.At
	began := c.opt.Now()
	until := began.Add(c.opt.SettleWait)
	var looked time.Time // the last one that got an answer
	var lookErr error
	calls := 0
	for i, part := range settleAt {
		wait := began.Add(time.Duration(part * float64(c.opt.SettleWait))).Sub(c.opt.Now())
		if w.Look == nil || calls >= len(settleAt) || i > 0 && (c.opt.SettleWait <= 0 || c.opt.Now().After(until) ||
			c.opt.Sleep(ctx, max(wait, 0)) != nil) {
			break
		}
		bound, cancel := context.WithTimeout(context.WithoutCancel(ctx),
			max(until.Sub(c.opt.Now()), min(minLook, c.opt.Timeout)))
		s, err := w.Look(bound)
		cancel()
		calls += max(s.Calls, 1)
		if lookErr = err; err != nil {
			continue
		}
		if looked = c.opt.Now(); s.Shown {
			out.Verdict, out.Rule, out.After, out.Found = Done, "", HashHex(s.Answer.Body), s.File
			out.Detail = "no answer; confirmed by reading the object"
			s.Answer.Settled, s.Answer.File = true, s.File
			return s.Answer, out, nil
		}
	}
	out.Looked = looked
	return a, out, unsettled(w, a, sent, looked, errors.Join(lost, lookErr), AsError(lost))
}

// unsettled words an outcome that is not known yet.
func unsettled(w Write, a Answer, sent, looked time.Time, err error, lost *Error) *Error {
	const clock = "15:04:05 UTC"
	e := &Error{Op: w.Request.Op, Kind: UnknownOutcome, Status: a.Status, RequestID: a.RequestID, Err: err,
		Public: "Sent at " + sent.UTC().Format(clock) + ", and nothing shows yet whether it was done."}
	switch {
	case !looked.IsZero():
		e.Public = "Sent at " + sent.UTC().Format(clock) + ", not visible at " + looked.UTC().Format(clock) +
			": whether it was done is not known yet."
	case w.Look != nil:
		e.Public = "Sent at " + sent.UTC().Format(clock) +
			", and it could not be looked at since: whether it was done is not known yet."
	}
	e.Public += " " + strings.TrimRight(lost.Public, ".") + "."
	e.Remedy = w.Rule.Remedy()
	return e
}
