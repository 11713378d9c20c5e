// Package replace replaces a document of an operation: remove, upload, attach
// (spec, Remove a document, rule 6), as one job whose every step is in a journal
// before it is taken. A crash at any moment leaves a job that tells where it
// stood; Resume finds out by reading what became of the step under way and goes
// on. Nothing is sent twice on a guess.
package replace

import (
	"context"
	"crypto/rand"
	"encoding/hex"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"time"

	"opdeck/api"
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
	Attached  Step = "attached"  // done
	Abandoned Step = "abandoned" // given up; the old document was put back or never removed
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
}

// ErrTaken means that another process moved the job meanwhile.
var ErrTaken error = &api.Error{Op: "replace document", Kind: api.Refused, Rule: api.RuleChanged,
	Public: "Another process is at this replacement.", Hint: "Wait for it, then reload."}

// Store keeps jobs. Save creates a job, or writes over the version whose Updated
// is prev; else it returns ErrTaken.
type Store interface {
	Save(ctx context.Context, j Job, prev time.Time) error
	Unfinished(ctx context.Context) ([]Job, error)
	Job(ctx context.Context, id string) (Job, error)
}

// Client is what a job needs of the service.
type Client interface {
	Operation(ctx context.Context, opid string) (api.Operation, error)
	RemoveDocument(ctx context.Context, r api.RemoveDocument) (api.Operation, error)
	UploadDocument(ctx context.Context, u api.Upload) (api.CustomerFile, error)
	FindUpload(ctx context.Context, u api.Upload, began time.Time) (api.CustomerFile, api.Verdict, error)
	AttachDocument(ctx context.Context, opid, guid, name string) (api.Operation, error)
}

// Jobs runs jobs. Files are kept in Dir (0600) until their job has ended, so
// that a job survives the loss of the original file.
type Jobs struct {
	Store  Store
	Client Client
	Dir    string
	Now    func() time.Time
	// OnStep is told about every step; may be nil.
	OnStep func(Job)
}

// Plan checks the file and the operation and writes the job down. Nothing is
// sent that changes anything. op is the operation as the person saw it.
func (r *Jobs) Plan(ctx context.Context, op api.Operation, guid string, u api.Upload, force bool) (Job, error) {
	const what = "replace document"
	doc, ok := op.Document(guid)
	switch {
	case !ok:
		return Job{}, api.Refusal(what, api.RuleNotAttached, "The document is not attached to this operation.")
	case doc.IsLock:
		return Job{}, api.Refusal(what, api.RuleLocked, "The document is locked and cannot be removed, so it cannot be replaced.")
	}
	if err := api.CheckUpload(u); err != nil {
		return Job{}, err
	}
	now := r.Now().UTC()
	j := Job{ID: newID(), OPID: string(op.OPID), CUID: u.CUID, OldGUID: guid, OldName: doc.FileName.Line(80), FileName: u.FileName,
		Type: u.Type, Info: u.Info, Digest: api.HashHex(u.Content), Force: force, Step: Planned,
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
	f, err := os.OpenFile(r.path(j), os.O_WRONLY|os.O_CREATE|os.O_EXCL, 0o600)
	if err != nil {
		return fmt.Errorf("replace: %w", err)
	}
	_, err = f.Write(content)
	return errors.Join(err, f.Sync(), f.Close())
}

// Run takes the steps that are left. It returns the job as it stands and, when
// it stopped before the end, why; Run again to go on.
func (r *Jobs) Run(ctx context.Context, j Job) (Job, error) {
	for !j.Step.Ended() {
		next, err := r.advance(ctx, j)
		if errors.Is(err, ErrTaken) {
			return j, err
		}
		if err != nil {
			next.Problem = api.AsError(err).Public
			saved, saveErr := r.save(context.WithoutCancel(ctx), next, next.Step)
			return saved, errors.Join(err, saveErr)
		}
		j = next
	}
	_ = os.Remove(r.path(j)) // a file that stays is swept by no one, but harms no one
	return j, nil
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

// advance takes one step: the journal first, then the call, then the journal.
func (r *Jobs) advance(ctx context.Context, j Job) (Job, error) {
	j.Problem = ""
	switch j.Step {
	case Planned:
		return r.remove(ctx, j)
	case Removing:
		return r.afterRemoving(ctx, j)
	case Removed:
		return r.upload(ctx, j)
	case Uploading:
		return r.afterUploading(ctx, j)
	case Uploaded:
		return r.attach(ctx, j)
	case Attaching:
		return r.afterAttaching(ctx, j)
	}
	return j, fmt.Errorf("replace: unknown step %q", j.Step)
}

func (r *Jobs) remove(ctx context.Context, j Job) (Job, error) {
	j, err := r.save(ctx, j, Removing)
	if err != nil {
		return j, err
	}
	if _, err := r.Client.RemoveDocument(ctx, api.RemoveDocument{OPID: j.OPID, GUID: j.OldGUID, Force: j.Force, Reason: "replace"}); err != nil {
		return r.back(ctx, j, Planned, err)
	}
	return r.save(ctx, j, Removed)
}

// back returns to the step before when a call surely did nothing, so that
// resuming repeats it; an unknown outcome stays where it is.
func (r *Jobs) back(ctx context.Context, j Job, before Step, err error) (Job, error) {
	if api.KindOf(err) == api.UnknownOutcome {
		return j, err
	}
	saved, saveErr := r.save(context.WithoutCancel(ctx), j, before)
	return saved, errors.Join(err, saveErr)
}

func (r *Jobs) afterRemoving(ctx context.Context, j Job) (Job, error) {
	op, err := r.Client.Operation(ctx, j.OPID)
	if err != nil {
		return j, err
	}
	if _, still := op.Document(j.OldGUID); still {
		return r.save(ctx, j, Planned)
	}
	return r.save(ctx, j, Removed)
}

func (r *Jobs) file(j Job) (api.Upload, error) {
	content, err := os.ReadFile(r.path(j))
	if err != nil || api.HashHex(content) != j.Digest {
		return api.Upload{}, &api.Error{Op: "replace document", Kind: api.Internal,
			Public: "The new file that was kept for this job is gone or changed.",
			Hint:   "Abandon the job (the old document is put back) and begin again.", Err: err}
	}
	return api.Upload{CUID: j.CUID, FileName: j.FileName, Content: content, Type: j.Type, Info: j.Info}, nil
}

func (r *Jobs) upload(ctx context.Context, j Job) (Job, error) {
	u, err := r.file(j)
	if err != nil {
		return j, err
	}
	j.Began = r.Now().UTC()
	if j, err = r.save(ctx, j, Uploading); err != nil {
		return j, err
	}
	f, err := r.Client.UploadDocument(ctx, u)
	if err != nil {
		return r.back(ctx, j, Removed, err)
	}
	j.NewGUID = string(f.ID)
	return r.save(ctx, j, Uploaded)
}

func (r *Jobs) afterUploading(ctx context.Context, j Job) (Job, error) {
	u, err := r.file(j)
	if err != nil {
		return j, err
	}
	f, v, err := r.Client.FindUpload(ctx, u, j.Began)
	switch v {
	case api.Done:
		j.NewGUID = string(f.ID)
		return r.save(ctx, j, Uploaded)
	case api.Failed:
		return r.save(ctx, j, Removed)
	}
	return j, &api.Error{Op: "replace document", Kind: api.UnknownOutcome, Err: err,
		Public: "It cannot be told whether the new file arrived.",
		Hint:   "Look at the customer's documents; attach the new one by its id, or abandon the job."}
}

func (r *Jobs) attach(ctx context.Context, j Job) (Job, error) {
	j, err := r.save(ctx, j, Attaching)
	if err != nil {
		return j, err
	}
	if _, err := r.Client.AttachDocument(ctx, j.OPID, j.NewGUID, j.FileName); err != nil {
		return r.back(ctx, j, Uploaded, err)
	}
	return r.save(ctx, j, Attached)
}

func (r *Jobs) afterAttaching(ctx context.Context, j Job) (Job, error) {
	op, err := r.Client.Operation(ctx, j.OPID)
	if err != nil {
		return j, err
	}
	if _, is := op.Document(j.NewGUID); is {
		return r.save(ctx, j, Attached)
	}
	return r.save(ctx, j, Uploaded)
}

// Abandon gives a job up: the old document is put back if it was removed, and a
// new one that was attached already is left alone.
func (r *Jobs) Abandon(ctx context.Context, j Job) (Job, error) {
	if j.Step.Ended() {
		return j, nil
	}
	op, err := r.Client.Operation(ctx, j.OPID)
	if err != nil {
		return j, err
	}
	if _, still := op.Document(j.OldGUID); !still {
		if _, err := r.Client.AttachDocument(ctx, j.OPID, j.OldGUID, ""); err != nil {
			return j, err
		}
	}
	j.Problem = ""
	if j, err = r.save(ctx, j, Abandoned); err != nil {
		return j, err
	}
	_ = os.Remove(r.path(j))
	return j, nil
}
