package api

import (
	"context"
	"errors"
	"slices"
	"strconv"
	"strings"
	"time"
)

// settleAt is when the reads that settle a write are made, as parts of
// Options.SettleWait: at once, then at growing distances. Four of them leave room
// in a budget of twelve calls a minute.
var settleAt = []float64{0, 0.1, 0.4, 1}

// minLook is the least time that one look is given.
const minLook = 5 * time.Second

// Sight is what a look at the object of a write saw.
type Sight struct {
	Shown      bool      // the wanted state: the write is done
	At         time.Time // when it was asked for
	File       string    // id of the uploaded file that was found
	Candidates []string  // ids of files that may be the uploaded one

	answer answer
}

// Look reads the object of a write once (one call; for an upload one a page of
// the customer's files). A sight that is not Shown proves nothing: a write that
// was held up may be done later. The error is UnknownOutcome when nothing can be
// read about this kind of write.
func (c *Client) Look(ctx context.Context, p Probe) (Sight, error) {
	ctx = context.WithValue(ctx, onceKey{}, true)
	s := Sight{At: c.opt.Now()}
	var err error
	switch {
	case !p.Readable():
		return s, &Error{Op: "look", Kind: UnknownOutcome, Public: "Nothing can be read that would tell what became of it."}
	case p.Kind == ActRemoveDocument || p.Kind == ActAttachDocument:
		if s.answer, err = c.get(ctx, request{op: "check operation", parts: operationPath(p.OPID)}, nil); err == nil {
			_, _ = c.operationOf(ctx, "check operation", s.answer) // the index sees it
		}
	case p.Kind == ActUploadDocument:
		return c.lookForFile(ctx, p)
	case p.Kind == ActSetHooks:
		s.answer, err = c.get(ctx, request{op: "check webhook settings", parts: []string{"/v2/hook/get"}}, nil)
	default:
		s.answer, err = c.get(ctx, request{op: "check application", parts: applicationPath(p.CUID)}, nil)
	}
	s.Shown = err == nil && p.shown(replyOf(s.answer.body), false)
	return s, err
}

func operationPath(opid string) []string { return []string{"/v2/billing/operation", ":" + opid} }

// onceKey marks a context whose reads are not retried: settling reads again later anyway.
type onceKey struct{}

// settle looks until the wanted state shows or Options.SettleWait is over. The
// person may leave: the look under way ends, and no other one begins.
func (c *Client) settle(ctx context.Context, w write, a answer, out Outcome, lost error) (answer, Outcome, error) {
	sent := a.at
	began := c.opt.Now()
	until := began.Add(c.opt.SettleWait)
	var looked time.Time // the last one that got an answer
	var lookErr error
	for i, part := range settleAt {
		wait := began.Add(time.Duration(part * float64(c.opt.SettleWait))).Sub(c.opt.Now())
		if !w.probe.Readable() || i > 0 && (c.opt.SettleWait <= 0 || c.opt.Now().After(until) || c.opt.Sleep(ctx, max(wait, 0)) != nil) {
			break
		}
		bound, cancel := context.WithTimeout(context.WithoutCancel(ctx), max(until.Sub(c.opt.Now()), min(minLook, c.opt.Timeout)))
		s, err := c.Look(bound, w.probe)
		cancel()
		if lookErr = err; err != nil {
			continue
		}
		if looked = c.opt.Now(); s.Shown {
			out.Verdict, out.Rule, out.After, out.Found = Done, "", HashHex(s.answer.body), s.File
			out.Detail = "the answer did not tell; a read shows that it was done"
			s.answer.settled, s.answer.file = true, s.File
			return s.answer, out, nil
		}
	}
	out.Looked = looked
	return a, out, unsettled(w, a, sent, looked, errors.Join(lost, lookErr), AsError(lost))
}

// unsettled words an outcome that is not known yet.
func unsettled(w write, a answer, sent, looked time.Time, err error, lost *Error) *Error {
	const clock = "15:04:05 UTC"
	e := &Error{Op: w.req.op, Kind: UnknownOutcome, Status: a.status, RequestID: a.id, Err: err,
		Public: "Sent at " + sent.UTC().Format(clock) + ", and nothing shows yet whether it was done."}
	switch {
	case !looked.IsZero():
		e.Public = "Sent at " + sent.UTC().Format(clock) + ", not visible at " + looked.UTC().Format(clock) + ": whether it was done is not known yet."
	case w.probe.Readable():
		e.Public = "Sent at " + sent.UTC().Format(clock) + ", and it could not be looked at since: whether it was done is not known yet."
	}
	e.Hint = strings.TrimRight(lost.Public, ".") + ". " + Advice(w.act.Kind)
	return e
}

// Advice says what to do while the outcome of a write is not known, or after it
// was not seen in time.
func Advice(kind ActKind) string {
	switch kind {
	case ActShare:
		return "Do not present this token again. A new one tells: the service answers 409 if the first was applied."
	case ActLink:
		return "Make another one: a link that nobody saw lapses by itself."
	}
	return "Do not repeat it yet: opdeck looks again by itself. opdeck audit unsettled follows it, --settle looks now."
}

// lookForFile looks for the uploaded file among the customer's: by name and size,
// and new since the upload.
func (c *Client) lookForFile(ctx context.Context, p Probe) (Sight, error) {
	s := Sight{At: c.opt.Now()}
	files, whole, err := c.filesNamed(ctx, p)
	if err != nil {
		return s, err
	}
	var fresh []string
	for _, f := range files {
		id := string(f.ID)
		if CheckID("file id", id) != nil || slices.Contains(p.Before, id) {
			continue
		}
		s.Candidates = append(s.Candidates, id)
		if p.Whole || !f.made().Before(p.Since) {
			fresh = append(fresh, id)
		}
	}
	if s.Shown = len(fresh) == 1 && whole; s.Shown {
		s.File = fresh[0]
	}
	return s, nil
}

// maxFilePages bounds what a look for an upload costs.
const maxFilePages = 6

// filesNamed lists the customer's files of the probe's name and size. whole is
// false when there are more files than were read.
func (c *Client) filesNamed(ctx context.Context, p Probe) (files []CustomerFile, whole bool, err error) {
	seen := map[string]bool{}
	for n := range maxFilePages {
		page, err := c.CustomerFiles(ctx, p.CUID, n)
		if err != nil {
			return files, false, err
		}
		fresh := false
		for _, f := range page.Items {
			if key := string(f.ID) + "\x00" + string(f.Raw); !seen[key] {
				fresh, seen[key] = true, true
				if f.is(p.FileName, p.Size) {
					files = append(files, f)
				}
			}
		}
		total, err := strconv.Atoi(string(page.Total))
		if !fresh || err == nil && total > 0 && len(seen) >= total {
			return files, true, nil
		}
	}
	return files, false, nil
}

// ProbeUpload notes what is there before a file is uploaded, so that it can be
// told apart afterwards (one customer call a page of files). A list that cannot
// be read is no hindrance: then the file's own time must tell.
func (c *Client) ProbeUpload(ctx context.Context, u Upload) Probe {
	p := Probe{Kind: ActUploadDocument, CUID: u.CUID, FileName: u.FileName, Size: int64(len(u.Content)), Since: c.opt.Now().UTC(),
		IDField: c.opt.Service.UploadIDField}
	if dry(ctx) {
		return p
	}
	files, whole, err := c.filesNamed(context.WithValue(ctx, onceKey{}, true), p)
	if err == nil {
		for _, f := range files {
			p.Before = append(p.Before, string(f.ID))
		}
		p.Whole = whole
	}
	return p
}
