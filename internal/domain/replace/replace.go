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
	next.Asked, next.Probe, next.Candidates = r.Now().UTC(), &p, nil
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
	was.Updated = j.Updated
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
