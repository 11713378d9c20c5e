// Package replace replaces a document of an operation: remove, upload, attach (spec, Remove a document, rule 6), as
// one job. A journal records every step right before its call is sent, and no sooner: a recorded step was sent. After
// a crash the job shows its state; running it again finds out by reads whether the current step was done, and
// continues. A step is undone only with proof that nothing was sent or the service refused. While the outcome is
// unknown the job waits, and after LateAfter it asks a person. Nothing is sent twice on a guess, and no job ends
// while its operation lacks the document.
package replace

import (
	"cmp"
	"context"
	"crypto/rand"
	"encoding/hex"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"opdeck/api"
	"opdeck/api/endpoint"
	"opdeck/internal/system/wholefile"
)

// Step is the state of a job. The -ing steps were begun and may or may not be done.
type Step string

// The steps, in order.
const (
	Planned   Step = "planned"
	Removing  Step = "removing"
	Removed   Step = "removed"
	Uploading Step = "uploading"
	Uploaded  Step = "uploaded"
	Attaching Step = "attaching"
	Attached  Step = "attached" // done

	Abandoning Step = "abandoning" // restoring the old document
	Abandoned  Step = "abandoned"  // cancelled; the old document is attached or was never removed
)

// Ended reports whether the job is finished.
func (s Step) Ended() bool { return s == Attached || s == Abandoned }

// Job is one replacement.
type Job struct {
	ID       string    `json:"id"`
	OPID     string    `json:"opid"`
	CUID     string    `json:"cuid"`
	OldGUID  string    `json:"old_guid"`
	OldName  string    `json:"old_name"` // safe to draw
	NewGUID  string    `json:"new_guid,omitempty"`
	FileName string    `json:"file_name"`
	Type     string    `json:"type,omitempty"`
	Info     string    `json:"info,omitempty"`
	Digest   string    `json:"digest"` // SHA-256 of the new content
	Force    bool      `json:"force,omitempty"`
	Reason   string    `json:"reason,omitempty"` // of each of its writes
	Step     Step      `json:"step"`
	Refused  bool      `json:"refused,omitempty"` // the service refused the call of the next step, and changed nothing
	Problem  string    `json:"problem,omitempty"` // why it stopped
	Owner    string    `json:"owner"`
	Created  time.Time `json:"created"`
	Updated  time.Time `json:"updated"`

	// Asked is when the call of an -ing step was sent, zero once its outcome is proven. Sent lists the steps with a
	// call whose outcome was never proven: it may take effect at any time.
	Asked time.Time `json:"asked,omitzero"`
	Sent  []Step    `json:"sent,omitempty"`
	// Probe finds what the current step created; Candidates are the files that may be the upload.
	Probe      *api.Probe `json:"probe,omitempty"`
	Candidates []string   `json:"candidates,omitempty"`
	// Restored is when the backup was taken from which the job comes; zero: none. Its next step may have been taken
	// since, so a person decides whether it is sent.
	Restored time.Time `json:"restored,omitzero"`
}

// ErrTaken: another process changed the job meanwhile.
var ErrTaken error = &api.Error{Op: "replace document", Kind: api.Refused, Rule: api.RuleChanged,
	Public: "Another process is working on this replacement.", Hint: "Wait for it, then reload."}

// Store stores jobs. Save creates a job, or replaces the version whose Updated is prev; else it returns ErrTaken.
type Store interface {
	Save(ctx context.Context, j Job, prev time.Time) error
	Unfinished(ctx context.Context) ([]Job, error)
	Job(ctx context.Context, id string) (Job, error)
}

// Jobs runs jobs. Files are kept in Dir (0600) until their job has ended, in case the original file is lost.
type Jobs struct {
	Store  Store
	Client endpoint.Caller
	Dir    string
	Now    func() time.Time
	// LateAfter is how long to wait for an unknown outcome before asking a person.
	LateAfter time.Duration
	// Doubt returns the write that holds a claim, see api.Follower; may be nil.
	Doubt func(ctx context.Context, claim string, date time.Time) (*api.Doubt, error)
	// Verdict is the trail's outcome of the write with that reference, "" if not known: it undoes a step whose
	// outcome could not be recorded in the journal; may be nil.
	Verdict func(ctx context.Context, ref string) api.Verdict
	// OnStep is called with every step; may be nil.
	OnStep func(Job)
}

// Plan checks the file and the operation and records the job. It sends no write. op is the operation that the person
// saw.
func (r *Jobs) Plan(ctx context.Context, op api.Operation, guid string, u api.Upload, force bool) (Job, error) {
	const what = "replace document"
	if err := r.doubted(ctx, string(op.OPID), guid); err != nil {
		return Job{}, err
	}
	doc, ok := op.Document(guid)
	locked := api.LockGuard(doc.Lock, force, what, "document", "removed, so it cannot be replaced")
	switch {
	case !ok && !op.DocumentsReported():
		return Job{}, api.Refusal(what, "", "The service's answer does not list the documents of this operation.")
	case !ok:
		return Job{}, api.Refusal(what, api.RuleNotAttached, "The document is not attached to this operation.")
	case locked != nil:
		return Job{}, locked
	}
	if err := api.CheckUpload(u); err != nil {
		return Job{}, err
	}
	now := r.Now().UTC()
	j := Job{ID: newID(), OPID: string(op.OPID), CUID: u.CUID, OldGUID: guid, OldName: doc.FileName.Line(80),
		FileName: u.FileName, Type: u.Type, Info: u.Info, Digest: api.HashHex(u.Content), Force: force, Step: Planned,
		Reason: cmp.Or(api.ConsentOf(ctx).Reason, "replace"),
		Owner:  api.ActorOf(ctx).Name, Created: now, Updated: now}
	if err := r.keep(j, u.Content); err != nil {
		return Job{}, err
	}
	return j, r.Store.Save(ctx, j, time.Time{})
}

// doubted refuses a job while its removal, or the opposite, is in doubt: then the operation's list proves nothing.
func (r *Jobs) doubted(ctx context.Context, opid, guid string) error {
	if r.Doubt == nil {
		return nil
	}
	act := api.Act{Kind: api.ActRemoveDocument, Object: "operation", ID: opid, Item: guid}
	d, err := r.Doubt(ctx, endpoint.Rule(act.Kind).Claim(act), time.Time{})
	if err == nil && d != nil {
		return api.InDoubt(act, *d)
	}
	return err
}

func newID() string {
	b := make([]byte, 8)
	_, _ = rand.Read(b) // never fails
	return hex.EncodeToString(b)
}

func (r *Jobs) path(j Job) string { return filepath.Join(r.Dir, "replace-"+j.ID) }

func (r *Jobs) keep(j Job, content []byte) error {
	if err := os.MkdirAll(r.Dir, 0o700); err != nil {
		return fmt.Errorf("replace: %w", err)
	}
	if err := wholefile.Create(r.path(j), content); err != nil {
		return fmt.Errorf("replace: %w", err)
	}
	return nil
}

// Run takes the remaining steps. It returns the job and, if it stopped early, why; call Run again to continue. A
// canceled ctx stops it between steps; it waits for a call that was sent.
func (r *Jobs) Run(ctx context.Context, j Job) (Job, error) {
	ctx = hold(ctx, j)
	for !j.Step.Ended() {
		if ctx.Err() != nil {
			return j, &api.Error{Op: "replace document", Kind: api.Interrupted, Public: "Stopped.", Err: context.Cause(ctx)}
		}
		next, err := r.advance(ctx, j)
		if errors.Is(err, ErrTaken) {
			return j, err
		}
		if err != nil {
			return r.stopped(ctx, next, err)
		}
		j = next
	}
	return j, nil
}

// stopped records why the job stopped.
func (r *Jobs) stopped(ctx context.Context, j Job, why error) (Job, error) {
	j.Problem = api.AsError(why).Public
	j, err := r.save(ctx, j, j.Step)
	return j, errors.Join(why, err)
}

// heldKey marks a context in which a job's steps are taken: Run itself records what is seen meanwhile, and Settled
// leaves the job alone.
type heldKey struct{}

func hold(ctx context.Context, j Job) context.Context { return context.WithValue(ctx, heldKey{}, j.ID) }

func isHeld(ctx context.Context, j Job) bool { return ctx.Value(heldKey{}) == j.ID }

// saveTime bounds a write of the journal.
const saveTime = 10 * time.Second

// save records the job at a step, over the version j, even if ctx has ended. After an error it returns j.
func (r *Jobs) save(ctx context.Context, j Job, step Step) (Job, error) {
	next := j
	next.Step, next.Updated = step, r.Now().UTC()
	if !next.Updated.After(j.Updated) {
		next.Updated = j.Updated.Add(time.Microsecond)
	}
	ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), saveTime)
	defer cancel()
	if err := r.Store.Save(ctx, next, j.Updated); err != nil {
		return j, err
	}
	if r.OnStep != nil {
		r.OnStep(next)
	}
	return next, nil
}

// begin records that the call of a step is about to be sent.
func (r *Jobs) begin(ctx context.Context, j Job, step Step, p api.Probe) (Job, error) {
	next := j
	next.Asked, next.Probe, next.Candidates, next.Refused = r.Now().UTC(), &p, nil, false
	if !slices.Contains(j.Sent, step) {
		next.Sent = append(slices.Clone(j.Sent), step)
	}
	next, err := r.save(ctx, next, step)
	if err != nil {
		return j, err
	}
	return next, nil
}

// done records that the wanted state was shown. At the end of the job it removes the copy of the new file.
func (r *Jobs) done(ctx context.Context, j Job, step Step) (Job, error) {
	j.Asked, j.Problem = time.Time{}, ""
	j, err := r.save(ctx, j, step)
	if err == nil && step.Ended() {
		_ = os.Remove(r.path(j)) // a left-over file is harmless
	}
	return j, err
}

// send takes one step: it calls, records that the call is sent when it is, and then what it proved. If the call
// provably did nothing, the job is unchanged; an unknown outcome leaves it at the step. call changes the job by the
// answer.
func (r *Jobs) send(ctx context.Context, was Job, sending, after Step,
	call func(ctx context.Context, j *Job) error) (Job, error) {
	j, left := was, false
	var kept error
	consent := api.ConsentOf(ctx)
	consent.Reason = cmp.Or(was.Reason, consent.Reason)
	ctx = api.WithConsent(ctx, consent)
	err := call(api.OnLeaving(ctx, func(p api.Probe) error {
		if j, kept = r.begin(ctx, was, sending, p); kept == nil {
			left = true
		}
		return kept
	}), &j)
	switch {
	case err == nil:
		return r.done(ctx, j, after)
	case kept != nil:
		return was, kept
	case !left:
		return was, err
	case api.KindOf(err) == api.UnknownOutcome:
		return j, err
	}
	was.Updated, was.Refused = j.Updated, api.AsError(err).Status != 0
	saved, saveErr := r.save(ctx, was, was.Step)
	return saved, errors.Join(err, saveErr)
}

// stale reports whether the next call of a job that comes from a backup may have been sent after the backup was taken.
func (j Job) stale() bool {
	return !j.Restored.IsZero() && (j.Step == Planned || j.Step == Removed || j.Step == Uploaded)
}

// refused reports whether, by the trail, the call of the current step did nothing.
func (r *Jobs) refused(ctx context.Context, j Job) bool {
	if r.Verdict == nil || j.Probe == nil || j.Probe.Ref == "" {
		return false
	}
	v := r.Verdict(ctx, j.Probe.Ref)
	return v == api.Failed || v == api.Denied
}

// late reports whether the call of the current step was not seen within LateAfter, so that a person decides.
func (r *Jobs) late(j Job) bool {
	return j.Asked.IsZero() || r.Now().Sub(j.Asked) >= r.LateAfter
}

// Undecided reports whether the job needs a person's decision: Again, Use or Abandon.
func (r *Jobs) Undecided(j Job) bool {
	return j.stale() || befores[j.Step] != "" && (len(j.Candidates) > 0 || r.late(j))
}

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
