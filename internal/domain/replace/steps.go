package replace

import (
	"context"
	"fmt"
	"os"
	"slices"
	"strings"
	"time"

	"opdeck/api"
	"opdeck/api/endpoint"
)

// advance takes one step.
func (r *Jobs) advance(ctx context.Context, j Job) (Job, error) {
	j.Problem = ""
	if j.stale() {
		return j, &api.Error{Op: "replace document", Kind: api.UnknownOutcome,
			Public: "This replacement comes from the backup of " + j.Restored.UTC().Format("2006-01-02 15:04:05 UTC") +
				". Its next step may have been taken after that.",
			Hint: "Check the documents of the operation and the customer's files. Then send the next step, or abandon " +
				"the replacement."}
	}
	switch j.Step {
	case Planned:
		return r.remove(ctx, j)
	case Removing:
		return r.check(ctx, j, j.removal(), Removed)
	case Removed:
		return r.upload(ctx, j)
	case Uploading:
		return r.afterUploading(ctx, j)
	case Uploaded:
		return r.attach(ctx, j)
	case Attaching:
		return r.check(ctx, j, j.attachment(j.NewGUID), Attached)
	case Abandoning:
		return r.putBack(ctx, j)
	}
	return j, fmt.Errorf("replace: unknown step %q", j.Step)
}

// removal and attachment are probes that show whether the step was done: that of the last sent call, else one without
// knowledge of the earlier state.
func (j Job) removal() api.Probe { return j.probe(api.ActRemoveDocument, j.OldGUID) }

func (j Job) attachment(guid string) api.Probe { return j.probe(api.ActAttachDocument, guid) }

func (j Job) probe(kind api.ActKind, guid string) api.Probe {
	if p := j.Probe; p != nil && p.Kind == kind && p.GUID == guid {
		return *p
	}
	return api.Probe{Kind: kind, OPID: j.OPID, GUID: guid}
}

func (r *Jobs) remove(ctx context.Context, j Job) (Job, error) {
	return r.send(ctx, j, Removing, Removed, func(ctx context.Context, _ *Job) error {
		_, err := endpoint.Do(ctx, r.Client, endpoint.RemoveDocument,
			api.RemoveDocument{OPID: j.OPID, GUID: j.OldGUID, Force: j.Force})
		if e := api.AsError(err); e != nil && e.Rule == api.RuleNotAttached && slices.Contains(j.Sent, Removing) {
			return nil // an earlier call of this job took effect after all
		}
		return err
	})
}

// check looks up a removal or an attachment with an unknown outcome.
func (r *Jobs) check(ctx context.Context, j Job, p api.Probe, after Step) (Job, error) {
	s, err := endpoint.Do(ctx, r.Client, endpoint.Look, p)
	switch {
	case s.Shown:
		return r.done(ctx, j.made(s.File), after)
	case r.refused(ctx, j):
		return r.stepBack(ctx, j)
	case after == Removed:
		return j, r.unknown(j, "The removal of "+j.OldName, err)
	}
	return j, r.unknown(j, "Attaching the new document", err)
}

// made is the job with the id of the object that the step created; "" changes nothing.
func (j Job) made(id string) Job {
	if id != "" {
		j.NewGUID, j.Candidates = id, nil
	}
	return j
}

// stepBack returns to the previous step, to send the call again.
func (r *Jobs) stepBack(ctx context.Context, j Job) (Job, error) {
	before := befores[j.Step]
	j.Asked, j.Problem = time.Time{}, ""
	return r.save(ctx, j, before)
}

func (r *Jobs) look(ctx context.Context, p api.Probe) (bool, error) {
	s, err := endpoint.Do(ctx, r.Client, endpoint.Look, p)
	return s.Shown, err
}

// unknown is the error of an unknown outcome of the current step, with what to do.
func (r *Jobs) unknown(j Job, what string, looked error) error {
	e := &api.Error{Op: "replace document", Kind: api.UnknownOutcome, Err: looked,
		Public: what + " was sent at " + j.Asked.UTC().Format("15:04:05 UTC") + " and is not visible yet.",
		Hint:   "Resume the replacement later to check again; opdeck sends nothing again by itself."}
	if r.late(j) {
		e.Public = what + " is not visible, " + r.LateAfter.String() + " after it was sent."
		e.Hint = "Decide whether to send it once more or to abandon the replacement."
	}
	if looked != nil {
		e.Public += " The last check failed: " + api.AsError(looked).Public
	}
	return e
}

func (r *Jobs) file(j Job) (api.Upload, error) {
	content, err := os.ReadFile(r.path(j))
	if err != nil || api.HashHex(content) != j.Digest {
		return api.Upload{}, &api.Error{Op: "replace document", Kind: api.Internal,
			Public: "The new file that was kept for this job is gone or changed.",
			Hint:   "Abandon the job (the old document is restored) and start again.", Err: err}
	}
	return api.Upload{CUID: j.CUID, FileName: j.FileName, Content: content, Type: j.Type, Info: j.Info}, nil
}

func (r *Jobs) upload(ctx context.Context, j Job) (Job, error) {
	u, err := r.file(j)
	if err != nil {
		return j, err
	}
	return r.send(ctx, j, Uploading, Uploaded, func(ctx context.Context, j *Job) error {
		f, err := endpoint.Do(ctx, r.Client, endpoint.UploadDocument, u)
		if err == nil {
			*j = j.made(string(f.ID))
		}
		return err
	})
}

// afterUploading looks for the uploaded file. It never sends it again: a person chooses among the files found.
func (r *Jobs) afterUploading(ctx context.Context, j Job) (Job, error) {
	s, err := endpoint.Do(ctx, r.Client, endpoint.Look, *j.Probe) // stored with the step
	if err == nil && s.Shown && s.File != "" {
		return r.done(ctx, j.made(s.File), Uploaded)
	}
	if r.refused(ctx, j) {
		return r.stepBack(ctx, j)
	}
	if err == nil {
		j.Candidates = s.Candidates
	}
	e := api.AsError(r.unknown(j, "The upload of "+j.FileName, err))
	if n := len(j.Candidates); n > 0 {
		e.Public = fmt.Sprintf(
			"The upload of %s was sent, and opdeck cannot identify the new file: %d files have that name and size (%s).",
			j.FileName, n, strings.Join(j.Candidates[:min(n, 5)], ", "))
	}
	if r.Undecided(j) {
		e.Hint = "Decide: take one of the customer's files as the uploaded one, upload the file once more, or abandon the " +
			"replacement, which restores the old document."
	}
	return j, e
}

func (r *Jobs) attach(ctx context.Context, j Job) (Job, error) {
	if slices.Contains(j.Sent, Attaching) { // an earlier call may have taken effect meanwhile
		if s, _ := endpoint.Do(ctx, r.Client, endpoint.Look, j.attachment(j.NewGUID)); s.Shown {
			return r.done(ctx, j.made(s.File), Attached)
		}
	}
	return r.send(ctx, j, Attaching, Attached, func(ctx context.Context, j *Job) error {
		op, err := endpoint.Do(ctx, r.Client, endpoint.AttachDocument,
			endpoint.Attachment{OPID: j.OPID, GUID: j.NewGUID, Name: j.FileName})
		if e := api.AsError(err); e != nil && e.Rule != api.RuleAttached { // else it is attached, as wanted
			return err
		}
		*j = j.made(op.Attached)
		return nil
	})
}
