package replace

import (
	"context"
	"errors"
	"slices"
	"time"

	"opdeck/api"
	"opdeck/api/endpoint"
)

// befores are the steps before those whose outcome may be unknown.
var befores = map[Step]Step{Removing: Planned, Uploading: Removed, Attaching: Uploaded}

// Again is a person's decision to resend the call of the current step after it was not seen within LateAfter. For an
// upload this makes a second file if the first one still arrives.
func (r *Jobs) Again(ctx context.Context, j Job) (Job, error) {
	ctx = hold(ctx, j)
	if j.stale() {
		j.Restored = time.Time{}
		return r.Run(ctx, j)
	}
	switch {
	case befores[j.Step] == "":
		return r.Run(ctx, j)
	case !r.late(j):
		return j, &api.Error{Op: "replace document", Kind: api.Refused, Rule: api.RuleChanged,
			Public: "What was sent at " + j.Asked.UTC().Format("15:04:05 UTC") +
				" has an unknown outcome, so nothing is sent again.",
			Hint: "It may still arrive. It can be sent again " + r.LateAfter.String() +
				" after it was sent; until then, resuming only checks."}
	}
	if next, err := r.advance(ctx, j); err == nil || next.Step != j.Step { // it shows after all
		if err != nil {
			return next, err
		}
		return r.Run(ctx, next)
	}
	j, err := r.stepBack(ctx, j)
	if err != nil {
		return j, err
	}
	return r.Run(ctx, j)
}

// Use is a person's decision that a file of the customer is the uploaded one.
func (r *Jobs) Use(ctx context.Context, j Job, file string) (Job, error) {
	if err := api.CheckID("file id", file); err != nil {
		return j, err
	}
	if j.Step != Uploading && j.Step != Removed {
		return j, &api.Error{Op: "replace document", Kind: api.Refused, Rule: api.RuleChanged,
			Public: "This job is not waiting for an uploaded file.",
			Hint:   "It is at step " + string(j.Step) + "."}
	}
	j.NewGUID, j.Candidates, j.Restored = file, nil, time.Time{}
	j, err := r.done(ctx, j, Uploaded)
	if err != nil {
		return j, err
	}
	return r.Run(ctx, j)
}

// Abandon cancels a job: it restores the old document if that was removed, and leaves a new one that is already
// attached. The job ends when a read or an answer shows the old document attached; until then it stays open.
func (r *Jobs) Abandon(ctx context.Context, j Job) (Job, error) {
	ctx = hold(ctx, j)
	switch {
	case j.Step.Ended():
		return j, nil
	case j.Step == Planned && !slices.Contains(j.Sent, Removing):
		return r.done(ctx, j, Abandoned) // nothing was ever sent
	case j.Step == Removing && !r.late(j): // it may still be removed later
		next, err := r.check(ctx, j, j.removal(), Removed)
		if err != nil {
			return next, err
		}
		j = next
	}
	if j.Step != Abandoning {
		var err error
		j.Asked, j.Problem = time.Time{}, ""
		if j, err = r.save(ctx, j, Abandoning); err != nil {
			return j, err
		}
	}
	next, err := r.putBack(ctx, j)
	if err != nil {
		return r.stopped(ctx, next, err)
	}
	return next, nil
}

// putBack attaches the old document unless it is attached. A call that did not show is repeated only after LateAfter.
// While the removal may still arrive, the document is not called attached.
func (r *Jobs) putBack(ctx context.Context, j Job) (Job, error) {
	if p := j.Probe; p == nil || p.Kind != api.ActAttachDocument {
		if err := r.doubted(ctx, j.OPID, j.OldGUID); err != nil {
			return j, err
		}
	}
	shown, err := r.look(ctx, j.attachment(j.OldGUID))
	if !shown && r.refused(ctx, j) {
		j.Asked = time.Time{}
	}
	switch {
	case shown:
		return r.done(ctx, j, Abandoned)
	case err != nil && !r.late(j):
		return j, r.unknown(j, "Putting "+j.OldName+" back", err)
	case err != nil:
		return j, err
	case !r.late(j):
		return j, r.unknown(j, "Putting "+j.OldName+" back", nil)
	}
	return r.send(ctx, j, Abandoning, Abandoned, func(ctx context.Context, _ *Job) error {
		_, err := endpoint.Do(ctx, r.Client, endpoint.AttachDocument, endpoint.Attachment{OPID: j.OPID, GUID: j.OldGUID})
		if e := api.AsError(err); e != nil && e.Rule == api.RuleAttached {
			return nil
		}
		return err
	})
}

// Settled applies an outcome that was found after the job's process had reported it as unknown: if the wanted state of
// the step is there, the job takes the step, and a person continues it.
func (r *Jobs) Settled(ctx context.Context, p api.Probe, out api.Outcome) error {
	if out.Verdict != api.Seen {
		return nil
	}
	open, err := r.Store.Unfinished(ctx)
	if err != nil {
		return err
	}
	for _, j := range open {
		next, ok := follows(j, p)
		if !ok || isHeld(ctx, j) {
			continue
		}
		if j.Step == Uploading && out.Found == "" {
			continue
		}
		if j.Step != Abandoning {
			j = j.made(out.Found)
		}
		if _, err = r.done(ctx, j, next); err != nil && !errors.Is(err, ErrTaken) {
			return err
		}
	}
	return nil
}

// follows returns the step that the proof of a write completes.
func follows(j Job, p api.Probe) (Step, bool) {
	switch here := j.OPID == p.OPID; {
	case j.Step == Removing && p.Kind == api.ActRemoveDocument && here && j.OldGUID == p.GUID:
		return Removed, true
	case j.Step == Uploading && p.Kind == api.ActUploadDocument && j.Probe != nil && j.Probe.Ref == p.Ref:
		return Uploaded, true
	case j.Step == Attaching && p.Kind == api.ActAttachDocument && here && j.NewGUID == p.GUID:
		return Attached, true
	case j.Step == Abandoning && p.Kind == api.ActAttachDocument && here && j.OldGUID == p.GUID:
		return Abandoned, true
	}
	return "", false
}
