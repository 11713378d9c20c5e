// Package replace replaces a document of an operation: remove, upload, attach
// (spec, Remove a document, rule 6), as one job whose every step is in a journal
// before it is taken. A crash at any moment leaves a job that tells where it
// stood; running it again finds out by reading what became of the step under way
// and goes on. A step is taken back on proof only: nothing was sent, or the
// service refused. While its outcome is not known the job waits, and after
// LateAfter it asks a person. Nothing is sent twice on a guess, and no job ends
// while its operation lacks the document.
package replace

import (
	"context"
	"crypto/rand"
	"encoding/hex"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"sync"
	"time"

	"opdeck/api"
	"opdeck/api/endpoint"
	"opdeck/internal/system/wholefile"
)

// Step is where a job stands. The -ing steps were begun and may or may not have
// happened.
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

	Abandoning Step = "abandoning" // the old document is being put back
	Abandoned  Step = "abandoned"  // given up; the old document is attached or was never removed
)

// Ended reports whether nothing is left to do.
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
	Step     Step      `json:"step"`
	Problem  string    `json:"problem,omitempty"` // why it stands still
	Owner    string    `json:"owner"`
	Created  time.Time `json:"created"`
	Updated  time.Time `json:"updated"`
	Began    time.Time `json:"began,omitzero"` // of the upload

	// Asked is when the call of an -ing step was sent, zero when its outcome is
	// proven. Sent lists the steps of which a call went out whose outcome was never
	// proven: it may take effect at any time.
	Asked time.Time `json:"asked,omitzero"`
	Sent  []Step    `json:"sent,omitempty"`
	// Mark is the trail's last record from before the call, plus one; Runner the mark
	// of the process that made it. With both it can be proven that a process which
	// was killed had not sent anything yet.
	Mark   int64  `json:"mark,omitempty"`
	Runner string `json:"runner,omitempty"`
	// Probe finds the upload; Candidates are the files that it may be.
	Probe      *api.Probe `json:"probe,omitempty"`
	Candidates []string   `json:"candidates,omitempty"`
}

// ErrTaken means that another process moved the job meanwhile.
var ErrTaken error = &api.Error{Op: "replace document", Kind: api.Refused, Rule: api.RuleChanged,
	Public: "Another process is working on this replacement.", Hint: "Wait for it, then reload."}

// Store keeps jobs. Save creates a job, or writes over the version whose Updated
// is prev; else it returns ErrTaken.
type Store interface {
	Save(ctx context.Context, j Job, prev time.Time) error
	Unfinished(ctx context.Context) ([]Job, error)
	Job(ctx context.Context, id string) (Job, error)
}

// SendProof proves that a process which took a step has ended, and whether it began
// to send.
type SendProof interface {
	// Hold marks this process as runner until release is called or it ends.
	Hold(runner string) (release func(), ok bool)
	// Gone reports that a runner, which began a step at asked, has ended; false when
	// in doubt.
	Gone(runner string, asked time.Time) bool
	// Last is the number of the audit trail's newest record.
	Last(ctx context.Context) (int64, error)
	// Began reports whether an act on that object was begun after a record: what was
	// not begun was not sent.
	Began(ctx context.Context, after int64, event, id string) (bool, error)
}

// Jobs runs jobs. Files are kept in Dir (0600) until their job has ended, so
// that a job survives the loss of the original file.
type Jobs struct {
	Store  Store
	Client endpoint.Caller
	Dir    string
	Now    func() time.Time
	// LateAfter is how long a call whose outcome is not known is waited for before
	// a person is asked.
	LateAfter time.Duration
	// SendProof proves that a call was never sent; nil: nothing does.
	SendProof SendProof
	// OnStep is told about every step; may be nil.
	OnStep func(Job)
}

// Plan checks the file and the operation and writes the job down. Nothing is
// sent that changes anything. op is the operation as the person saw it.
func (r *Jobs) Plan(ctx context.Context, op api.Operation, guid string, u api.Upload, force bool) (Job, error) {
	const what = "replace document"
	doc, ok := op.Document(guid)
	switch {
	case !ok && !op.DocumentsReported():
		return Job{}, api.Refusal(what, "", "The service's answer does not list the documents of this operation.")
	case !ok:
		return Job{}, api.Refusal(what, api.RuleNotAttached, "The document is not attached to this operation.")
	case doc.IsLock:
		return Job{}, api.Refusal(what, api.RuleLocked,
			"The document is locked and cannot be removed, so it cannot be replaced.")
	}
	if err := api.CheckUpload(u); err != nil {
		return Job{}, err
	}
	now := r.Now().UTC()
	j := Job{ID: newID(), OPID: string(op.OPID), CUID: u.CUID, OldGUID: guid, OldName: doc.FileName.Line(80),
		FileName: u.FileName, Type: u.Type, Info: u.Info, Digest: api.HashHex(u.Content), Force: force, Step: Planned,
		Owner: api.ActorOf(ctx).Name, Created: now, Updated: now}
	if err := r.keep(j, u.Content); err != nil {
		return Job{}, err
	}
	return j, r.Store.Save(ctx, j, time.Time{})
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

// Run takes the steps that are left. It returns the job as it stands and, when
// it stopped before the end, why; Run again to go on.
func (r *Jobs) Run(ctx context.Context, j Job) (Job, error) {
	ctx, release := r.hold(ctx, j)
	defer release()
	for !j.Step.Ended() {
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

// stopped writes down why the job stands still.
func (r *Jobs) stopped(ctx context.Context, j Job, why error) (Job, error) {
	j.Problem = api.AsError(why).Public
	j, err := r.save(context.WithoutCancel(ctx), j, j.Step)
	return j, errors.Join(why, err)
}

// heldKey marks the context in which the steps of a job are taken: that call writes
// down what is seen meanwhile, and Settled leaves the job alone.
type heldKey struct{}

// ownRunners are the runners of this process, whose own locks prove nothing to it.
var ownRunners sync.Map

// holder is the call that takes a job's steps.
type holder struct{ job, runner string }

func (r *Jobs) hold(ctx context.Context, j Job) (context.Context, func()) {
	if is, ok := ctx.Value(heldKey{}).(holder); ok && is.job == j.ID {
		return ctx, func() {}
	}
	is, release := holder{job: j.ID}, func() {}
	if r.SendProof != nil {
		runner := newID()
		if end, ok := r.SendProof.Hold(runner); ok {
			ownRunners.Store(runner, true)
			is.runner, release = runner, func() { ownRunners.Delete(runner); end() }
		}
	}
	return context.WithValue(ctx, heldKey{}, is), release
}

// unsent reports that the call of the step under way is proven not to have left:
// the process that was to send it has ended, and it never came to the intent that
// stands in the audit trail before anything is sent.
func (r *Jobs) unsent(ctx context.Context, j Job, kind api.ActKind, id string) bool {
	if r.SendProof == nil || j.Mark == 0 || j.Runner == "" || !r.SendProof.Gone(j.Runner, j.Asked) {
		return false
	}
	if _, ours := ownRunners.Load(j.Runner); ours {
		return false
	}
	began, err := r.SendProof.Began(ctx, j.Mark-1, string(kind), id)
	return err == nil && !began
}

// save writes the job at a step, over the version that j is.
func (r *Jobs) save(ctx context.Context, j Job, step Step) (Job, error) {
	prev := j.Updated
	j.Step, j.Updated = step, r.Now().UTC()
	if !j.Updated.After(prev) {
		j.Updated = prev.Add(time.Microsecond)
	}
	if err := r.Store.Save(ctx, j, prev); err != nil {
		j.Updated = prev
		return j, err
	}
	if r.OnStep != nil {
		r.OnStep(j)
	}
	return j, nil
}

// begin writes down that the call of a step goes out now.
func (r *Jobs) begin(ctx context.Context, j Job, step Step) (Job, error) {
	j.Asked, j.Mark, j.Runner = r.Now().UTC(), 0, ""
	if is, ok := ctx.Value(heldKey{}).(holder); ok && is.runner != "" {
		if last, err := r.SendProof.Last(ctx); err == nil {
			j.Mark, j.Runner = last+1, is.runner
		}
	}
	if !slices.Contains(j.Sent, step) {
		j.Sent = append(slices.Clone(j.Sent), step)
	}
	return r.save(ctx, j, step)
}

// done writes down that the wanted state was shown. The copy of the new file is
// removed with the end of the job.
func (r *Jobs) done(ctx context.Context, j Job, step Step) (Job, error) {
	j.Asked, j.Problem = time.Time{}, ""
	j, err := r.save(context.WithoutCancel(ctx), j, step)
	if err == nil && step.Ended() {
		_ = os.Remove(r.path(j)) // a file that stays harms nobody
	}
	return j, err
}

// send takes one step: it writes down that the call goes out, calls, and writes down
// what the call proved. When it is proven that the call did nothing, the job goes back
// to before; an unknown outcome leaves it where it is. call gets the steps that were
// sent before, and changes the job by what came back.
func (r *Jobs) send(ctx context.Context, j Job, before, sending, after Step,
	call func(j *Job, sent []Step) error) (Job, error) {
	sent := j.Sent
	j, err := r.begin(ctx, j, sending)
	if err != nil {
		return j, err
	}
	switch err := call(&j, sent); {
	case err == nil:
		return r.done(ctx, j, after)
	case api.KindOf(err) == api.UnknownOutcome:
		return j, err
	default:
		j.Asked, j.Sent = time.Time{}, sent
		saved, saveErr := r.save(context.WithoutCancel(ctx), j, before)
		return saved, errors.Join(err, saveErr)
	}
}

// late reports whether the call of the step under way was not seen within
// LateAfter, so that a person decides.
func (r *Jobs) late(j Job) bool {
	return j.Asked.IsZero() || r.Now().Sub(j.Asked) >= r.LateAfter
}

// Undecided reports that the job goes on only when a person decides: Again, Use or
// Abandon.
func (r *Jobs) Undecided(j Job) bool {
	return befores[j.Step] != "" && (len(j.Candidates) > 0 || r.late(j))
}
