// Package replace replaces a document of an operation: remove, upload, attach
// (spec, Remove a document, rule 6), as one job whose every step is in a journal right
// before its call leaves, and no sooner: a step that is there was sent. The end of its
// process, however it comes, leaves a job that says where it stands; running it again
// finds out by reading what became of the step under way and goes on. A step is taken
// back on proof only: nothing was sent, or the service refused. While its outcome is not known the job waits, and after
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

	// Asked is when the call of an -ing step was sent, zero when its outcome is
	// proven. Sent lists the steps of which a call went out whose outcome was never
	// proven: it may take effect at any time.
	Asked time.Time `json:"asked,omitzero"`
	Sent  []Step    `json:"sent,omitempty"`
	// Probe finds what the step under way made; Candidates are the files that an upload may be.
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
	// Doubt finds the write that holds a claim, see api.Follower; may be nil.
	Doubt func(ctx context.Context, claim string, date time.Time) (*api.Doubt, error)
	// Verdict is what the trail says of the write with that reference, "" for nothing: a step
	// whose outcome the journal could not take is taken back by it; may be nil.
	Verdict func(ctx context.Context, ref string) api.Verdict
	// OnStep is told about every step; may be nil.
	OnStep func(Job)
}

// Plan checks the file and the operation and writes the job down. Nothing is
// sent that changes anything. op is the operation as the person saw it.
func (r *Jobs) Plan(ctx context.Context, op api.Operation, guid string, u api.Upload, force bool) (Job, error) {
	const what = "replace document"
	if err := r.doubted(ctx, string(op.OPID), guid); err != nil {
		return Job{}, err
	}
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

// doubted refuses while the removal that a job begins with, or its opposite, is in doubt: what
// the operation lists says nothing then.
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

// Run takes the steps that are left. It returns the job as it stands and, when
// it stopped before the end, why; Run again to go on. A canceled ctx stops it between
// steps: a call that left is awaited.
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

// stopped writes down why the job stands still.
func (r *Jobs) stopped(ctx context.Context, j Job, why error) (Job, error) {
	j.Problem = api.AsError(why).Public
	j, err := r.save(ctx, j, j.Step)
	return j, errors.Join(why, err)
}

// heldKey marks the context in which the steps of a job are taken: that call writes
// down what is seen meanwhile, and Settled leaves the job alone.
type heldKey struct{}

func hold(ctx context.Context, j Job) context.Context { return context.WithValue(ctx, heldKey{}, j.ID) }

func isHeld(ctx context.Context, j Job) bool { return ctx.Value(heldKey{}) == j.ID }

// saveTime bounds how long the journal is waited for.
const saveTime = 10 * time.Second

// save writes the job at a step, over the version that j is, whether or not anybody waits any
// more. After an error the job that it returns is j.
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

// begin writes down that the call of a step leaves now.
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

// done writes down that the wanted state was shown. The copy of the new file is
// removed with the end of the job.
func (r *Jobs) done(ctx context.Context, j Job, step Step) (Job, error) {
	j.Asked, j.Problem = time.Time{}, ""
	j, err := r.save(ctx, j, step)
	if err == nil && step.Ended() {
		_ = os.Remove(r.path(j)) // a file that stays harms nobody
	}
	return j, err
}

// send takes one step: it calls, writes down that the call leaves when it does, and then what
// it proved. When it is proven that the call did nothing, the job is what it was; an unknown
// outcome leaves it where it is. call changes the job by what came back.
func (r *Jobs) send(ctx context.Context, was Job, sending, after Step,
	call func(ctx context.Context, j *Job) error) (Job, error) {
	j, left := was, false
	var kept error
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

// refused reports whether the trail has it that the call of the step under way did nothing.
func (r *Jobs) refused(ctx context.Context, j Job) bool {
	if r.Verdict == nil || j.Probe == nil || j.Probe.Ref == "" {
		return false
	}
	v := r.Verdict(ctx, j.Probe.Ref)
	return v == api.Failed || v == api.Denied
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
