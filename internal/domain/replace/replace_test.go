package replace_test

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"os"
	"slices"
	"testing"
	"time"

	"opdeck/api"
	"opdeck/api/endpoint"
	"opdeck/api/endpoint/endpointtest"
	"opdeck/api/untrusted"
	"opdeck/internal/domain/replace"
	"opdeck/internal/store"
	"opdeck/internal/store/journal"
)

// world is a service with one operation. die, when it reaches zero, ends the
// "process" by a panic: before a call has its effect (even) or after (odd).
type world struct {
	docs    []api.Document
	files   []api.CustomerFile
	calls   []string
	die     int
	lose    string // the call whose answer is lost, once
	refused error
	blind   bool                                         // looks fail
	before  func(ctx context.Context, name string) error // what comes between a call and its leaving; nil: nothing
	linkID  string                                       // the id that an attached document gets; "": its own
}

type crash struct{}

func (w *world) tick() {
	if w.die--; w.die == 0 {
		panic(crash{})
	}
}

func (w *world) act(ctx context.Context, name string, p api.Probe, effect func()) error {
	if w.before != nil {
		if err := w.before(ctx, name); err != nil {
			return err
		}
	}
	if err := api.Leaves(ctx, p); err != nil {
		return err
	}
	w.calls = append(w.calls, name)
	w.tick()
	effect()
	w.tick()
	if w.lose == name {
		w.lose = ""
		return &api.Error{Kind: api.UnknownOutcome, Public: "lost"}
	}
	return nil
}

func (w *world) op() api.Operation {
	return api.Operation{OPID: "op1", Customer: api.CustomerRef{CUID: "c1"}, Documents: slices.Clone(w.docs)}
}

func (w *world) removeDocument(ctx context.Context, r api.RemoveDocument) (api.Operation, error) {
	if w.refused != nil {
		if api.AsError(w.refused).Status != 0 { // by the service
			if err := api.Leaves(ctx, api.Probe{Kind: api.ActRemoveDocument, OPID: r.OPID, GUID: r.GUID, Ref: "r1"}); err != nil {
				return api.Operation{}, err
			}
		}
		return api.Operation{}, w.refused
	}
	if _, ok := w.op().Document(r.GUID); !ok {
		return api.Operation{}, errors.New("removed twice")
	}
	err := w.act(ctx, "remove", api.Probe{Kind: api.ActRemoveDocument, OPID: r.OPID, GUID: r.GUID, Ref: "r1"}, func() {
		w.docs = slices.DeleteFunc(w.docs, func(d api.Document) bool { return string(d.GUID) == r.GUID })
	})
	return w.op(), err
}

func (w *world) uploadDocument(ctx context.Context, u api.Upload) (api.CustomerFile, error) {
	f := api.CustomerFile{ID: untrusted.Text(fmt.Sprintf("f%d", len(w.files)+1)), Name: untrusted.Text(u.FileName), Size: int64(len(u.Content))}
	p := api.Probe{Kind: api.ActUploadDocument, CUID: u.CUID, FileName: u.FileName, Size: int64(len(u.Content)), Whole: true, Ref: "r2"}
	for _, f := range w.files {
		p.Before = append(p.Before, string(f.ID))
	}
	err := w.act(ctx, "upload", p, func() { w.files = append(w.files, f) })
	return f, err
}

func (w *world) look(_ context.Context, p api.Probe) (api.Observation, error) {
	if w.blind {
		return api.Observation{}, &api.Error{Kind: api.Unavailable, Public: "No answer."}
	}
	_, is := w.op().Document(p.GUID)
	switch p.Kind {
	case api.ActRemoveDocument:
		return api.Observation{Shown: !is}, nil
	case api.ActAttachDocument:
		return api.Observation{Shown: is}, nil
	}
	var s api.Observation
	for _, f := range w.files {
		if !slices.Contains(p.Before, string(f.ID)) {
			s.Candidates = append(s.Candidates, string(f.ID))
		}
	}
	if s.Shown = len(s.Candidates) == 1; s.Shown {
		s.File = s.Candidates[0]
	}
	return s, nil
}

func (w *world) attachDocument(ctx context.Context, a endpoint.Attachment) (api.Operation, error) {
	if _, ok := w.op().Document(a.GUID); ok {
		return api.Operation{}, errors.New("attached twice")
	}
	id := cmp.Or(w.linkID, a.GUID)
	err := w.act(ctx, "attach", api.Probe{Kind: api.ActAttachDocument, OPID: a.OPID, GUID: a.GUID, Ref: "r3"}, func() {
		w.docs = append(w.docs, api.Document{GUID: untrusted.Text(id), FileName: untrusted.Text(a.Name), Lock: api.Unlocked})
	})
	op := w.op()
	op.Attached = id
	return op, err
}

// caller answers the calls of a job.
func (w *world) caller() endpoint.Caller {
	f := new(endpointtest.Fake)
	endpointtest.On(f, endpoint.RemoveDocument, w.removeDocument)
	endpointtest.On(f, endpoint.AttachDocument, w.attachDocument)
	endpointtest.On(f, endpoint.UploadDocument, w.uploadDocument)
	endpointtest.On(f, endpoint.Look, w.look)
	return f
}

// flaky is the journal, which cannot be written while it is down.
type flaky struct {
	*journal.Jobs
	down bool
}

func (f *flaky) Save(ctx context.Context, j replace.Job, prev time.Time) error {
	if f.down {
		return errors.New("the store does not answer")
	}
	return f.Jobs.Save(ctx, j, prev)
}

type rig struct {
	t       *testing.T
	w       *world
	st      *store.Store
	journal *flaky
	dir     string
	when    time.Time
}

func newRig(t *testing.T) *rig {
	st, err := store.Open(t.Context(), store.Options{URL: "memory"})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = st.Close() })
	return &rig{t: t, st: st, journal: &flaky{Jobs: journal.NewJobs(st.Core, "ctx")}, dir: t.TempDir(), when: time.Date(2026, 1, 2, 3, 4, 5, 0, time.UTC),
		w: &world{docs: []api.Document{{GUID: "old", FileName: "a.pdf", Lock: api.Unlocked}, {GUID: "other", Lock: api.Unlocked}}}}
}

// jobs is a fresh process over the same store, folder and service.
func (r *rig) jobs() *replace.Jobs {
	return &replace.Jobs{Store: r.journal, Client: r.w.caller(), Dir: r.dir, LateAfter: 15 * time.Minute, Now: func() time.Time {
		r.when = r.when.Add(time.Second)
		return r.when
	}}
}

func (r *rig) plan() replace.Job {
	j, err := r.jobs().Plan(r.t.Context(), r.w.op(), "old", api.Upload{CUID: "c1", FileName: "b.pdf", Content: []byte("%PDF-new")}, false)
	if err != nil {
		r.t.Fatal(err)
	}
	return j
}

// run takes steps until the end, a crash or an error.
func (r *rig) run(j replace.Job) (err error) {
	defer func() {
		if p := recover(); p != nil {
			if _, ok := p.(crash); !ok {
				panic(p)
			}
			err = errors.New("crashed")
		}
	}()
	_, err = r.jobs().Run(r.t.Context(), j)
	return err
}

// resume does what the next start does.
func (r *rig) resume() error {
	open, err := journal.NewJobs(r.st.Core, "ctx").Unfinished(r.t.Context())
	if err != nil || len(open) != 1 {
		r.t.Fatalf("%d unfinished jobs, %v", len(open), err)
	}
	return r.run(open[0])
}

// again is a person's decision to send once more what was not seen.
func (r *rig) again() error {
	open, err := journal.NewJobs(r.st.Core, "ctx").Unfinished(r.t.Context())
	if err != nil || len(open) != 1 {
		r.t.Fatalf("%d unfinished jobs, %v", len(open), err)
	}
	_, err = r.jobs().Again(r.t.Context(), open[0])
	return err
}

func (r *rig) want(calls ...string) {
	r.t.Helper()
	var got []string
	for _, d := range r.w.docs {
		got = append(got, string(d.GUID))
	}
	if !slices.Equal(got, []string{"other", "f1"}) {
		r.t.Errorf("documents are %v", got)
	}
	if calls != nil && !slices.Equal(r.w.calls, calls) {
		r.t.Errorf("calls were %v, want %v", r.w.calls, calls)
	}
	if left, _ := os.ReadDir(r.dir); len(left) != 0 {
		r.t.Errorf("%d files are left", len(left))
	}
}

func TestReplace(t *testing.T) {
	r := newRig(t)
	if err := r.run(r.plan()); err != nil {
		t.Fatal(err)
	}
	r.want("remove", "upload", "attach")
}

// TestCrashAtEachStep ends the process before and after the effect of each call
// and resumes: the result is the same, and nothing took effect twice. Where the
// effect does not show, the job waits, and after LateAfter a person decides.
func TestCrashAtEachStep(t *testing.T) {
	for at := 1; at <= 6; at++ {
		r := newRig(t)
		j := r.plan()
		r.w.die = at
		if err := r.run(j); err == nil || err.Error() != "crashed" {
			t.Fatalf("crash %d: %v", at, err)
		}
		if err := r.resume(); at%2 == 1 {
			if api.KindOf(err) != api.UnknownOutcome {
				t.Fatalf("crash %d: an effect that does not show: %v", at, err)
			}
			if err := r.again(); api.KindOf(err) != api.Refused {
				t.Fatalf("crash %d: sent again at once: %v", at, err)
			}
			r.when = r.when.Add(15 * time.Minute)
			err = r.again()
			if err != nil {
				t.Fatalf("crash %d: %v", at, err)
			}
		} else if err != nil {
			t.Fatalf("crash %d: %v", at, err)
		}
		r.want()
		if n := len(r.w.files); n != 1 {
			t.Errorf("crash %d: %d files were uploaded", at, n)
		}
	}
}

func TestLostAnswerIsReadNotRepeated(t *testing.T) {
	for _, call := range []string{"remove", "upload", "attach"} {
		r := newRig(t)
		r.w.lose = call
		if err := r.run(r.plan()); api.KindOf(err) != api.UnknownOutcome {
			t.Fatalf("%s: %v", call, err)
		}
		if err := r.resume(); err != nil {
			t.Fatal(err)
		}
		r.want("remove", "upload", "attach")
	}
}

func TestRefusedJobStopsWithAReason(t *testing.T) {
	for _, refusal := range []*api.Error{api.Refusal("x", api.RuleApproval, "A second person must approve."),
		{Kind: api.Refused, Status: 409, Public: "The operation is completed."}} {
		r := newRig(t)
		r.w.refused = refusal
		if err := r.run(r.plan()); api.KindOf(err) != api.Refused {
			t.Fatal(err)
		}
		open, err := journal.NewJobs(r.st.Core, "ctx").Unfinished(t.Context())
		if err != nil || len(open) != 1 || open[0].Step != replace.Planned || open[0].Problem != refusal.Public ||
			open[0].Refused != (refusal.Status != 0) || len(open[0].Sent) != 0 {
			t.Fatalf("%+v %v", open, err)
		}
		r.w.refused = nil
		if err := r.resume(); err != nil {
			t.Fatal(err)
		}
		r.want("remove", "upload", "attach")
	}
}

func TestAbandonPutsTheOldOneBack(t *testing.T) {
	r := newRig(t)
	j := r.plan()
	r.w.die = 3 // before the upload has an effect
	_ = r.run(j)
	open, _ := journal.NewJobs(r.st.Core, "ctx").Unfinished(t.Context())
	if _, err := r.jobs().Abandon(t.Context(), open[0]); err != nil {
		t.Fatal(err)
	}
	if _, ok := r.w.op().Document("old"); !ok {
		t.Error("the old document was not put back")
	}
	if open, _ := journal.NewJobs(r.st.Core, "ctx").Unfinished(t.Context()); len(open) != 0 {
		t.Error("the job is still open")
	}
}

func TestTwoProcessesAtOneJob(t *testing.T) {
	r := newRig(t)
	j := r.plan()
	if err := r.run(j); err != nil {
		t.Fatal(err)
	}
	if _, err := r.jobs().Run(t.Context(), j); !errors.Is(err, replace.ErrTaken) || api.KindOf(err) != api.Refused || api.AsError(err).Hint == "" {
		t.Errorf("the late one got %v", err)
	}
	r.want("remove", "upload", "attach")
}

func TestLostFileIsNoticedBeforeTheUpload(t *testing.T) {
	r := newRig(t)
	j := r.plan()
	r.w.die = 2
	_ = r.run(j) // removed
	left, _ := os.ReadDir(r.dir)
	if err := os.WriteFile(r.dir+"/"+left[0].Name(), []byte("other"), 0o600); err != nil {
		t.Fatal(err)
	}
	if err := r.resume(); api.KindOf(err) != api.Internal || len(r.w.files) != 0 {
		t.Errorf("%v, %d files", err, len(r.w.files))
	}
}

func TestGuards(t *testing.T) {
	r := newRig(t)
	for _, c := range []struct {
		lock  api.Lock
		force bool
		rule  api.Rule
	}{{api.Locked, true, api.RuleLocked}, {api.LockRefused, true, api.RuleLocked}, {api.LockUnknown, false, api.RuleLockUnknown}} {
		r.w.docs[0].Lock = c.lock
		_, err := r.jobs().Plan(t.Context(), r.w.op(), "old", api.Upload{FileName: "a.txt", Content: []byte("x")}, c.force)
		if e := api.AsError(err); e == nil || e.Rule != c.rule {
			t.Errorf("lock %d, force %t: %v", c.lock, c.force, err)
		}
	}
	_, err := r.jobs().Plan(t.Context(), r.w.op(), "gone", api.Upload{Content: []byte("x")}, true)
	if e := api.AsError(err); e == nil || e.Rule != api.RuleNotAttached {
		t.Errorf("not attached: %v", err)
	}
	_, err = r.jobs().Plan(t.Context(), r.w.op(), "other", api.Upload{FileName: "a.txt", Content: make([]byte, 2<<20)}, true)
	if e := api.AsError(err); e == nil || e.Rule != api.RuleFile {
		t.Errorf("too large: %v", err)
	}
	jobs := r.jobs()
	jobs.Doubt = func(context.Context, string, time.Time) (*api.Doubt, error) {
		return &api.Doubt{What: "Attaching x"}, nil
	}
	_, err = jobs.Plan(t.Context(), r.w.op(), "gone", api.Upload{Content: []byte("x")}, true)
	if e := api.AsError(err); e == nil || e.Rule != api.RuleDoubt {
		t.Errorf("its attachment is in doubt: %v", err)
	}
	if left, _ := os.ReadDir(r.dir); len(left) != 0 {
		t.Error("a refused plan leaves a file")
	}
	r.w.docs[0].Lock = api.LockUnknown
	if _, err := r.jobs().Plan(t.Context(), r.w.op(), "old", api.Upload{FileName: "a.txt", Content: []byte("x")}, true); err != nil {
		t.Errorf("a lock that is not known, with force: %v", err)
	}
}

// TestStoppedAtAnyMoment: whatever keeps a call from leaving, or ends the wait for it, the job
// holds no step that did not leave, and the next run continues at once.
func TestStoppedAtAnyMoment(t *testing.T) {
	for _, call := range []string{"remove", "upload", "attach"} {
		for how, before := range map[string]func(r *rig, cancel context.CancelFunc) error{
			"interrupted before it left": func(_ *rig, cancel context.CancelFunc) error {
				cancel()
				return &api.Error{Kind: api.Interrupted, Public: "Stopped."}
			},
			"interrupted as it leaves": func(_ *rig, cancel context.CancelFunc) error { cancel(); return nil },
			"no room in the budget": func(*rig, context.CancelFunc) error {
				return &api.Error{Kind: api.RateLimited, Public: "no room"}
			},
			"the journal cannot be written": func(r *rig, _ context.CancelFunc) error { r.journal.down = true; return nil },
		} {
			t.Run(call+"/"+how, func(t *testing.T) {
				r := newRig(t)
				ctx, cancel := context.WithCancel(t.Context())
				r.w.before = func(_ context.Context, name string) error {
					if name != call {
						return nil
					}
					r.w.before = nil
					return before(r, cancel)
				}
				j := r.plan()
				if _, err := r.jobs().Run(ctx, j); err == nil && how != "interrupted as it leaves" {
					t.Fatal("it ran to its end")
				}
				r.journal.down = false
				is, err := r.journal.Job(t.Context(), j.ID)
				if err != nil {
					t.Fatal(err)
				}
				left := slices.Contains(r.w.calls, call)
				if slices.Contains(is.Sent, sending[call]) != left || is.Step == sending[call] && !left {
					t.Errorf("the journal is at %q, sent %v; calls were %v", is.Step, is.Sent, r.w.calls)
				}
				if !is.Step.Ended() {
					if err := r.resume(); err != nil {
						t.Fatal(err)
					}
				}
				r.want("remove", "upload", "attach")
			})
		}
	}
}

var sending = map[string]replace.Step{"remove": replace.Removing, "upload": replace.Uploading,
	"attach": replace.Attaching}

// TestOutcomeTheJournalMissed: where the trail has it that the call of a step did nothing, the
// step is taken again at once.
func TestOutcomeTheJournalMissed(t *testing.T) {
	for verdict, goesOn := range map[api.Verdict]bool{api.Failed: true, api.Denied: true, api.Unclear: false, "": false} {
		for at := range 3 {
			t.Run(fmt.Sprintf("%s/%d", verdict, at), func(t *testing.T) {
				r := newRig(t)
				j := r.plan()
				r.w.die = 1 + 2*at // before the effect
				if err := r.run(j); err == nil || err.Error() != "crashed" {
					t.Fatal(err)
				}
				open, err := r.journal.Unfinished(t.Context())
				if err != nil || len(open) != 1 {
					t.Fatal(open, err)
				}
				jobs := r.jobs()
				jobs.Verdict = func(_ context.Context, ref string) api.Verdict {
					if ref != fmt.Sprint("r", at+1) {
						t.Errorf("asked about %q", ref)
					}
					return verdict
				}
				if _, err = jobs.Run(t.Context(), open[0]); goesOn != (err == nil) {
					t.Errorf("got %v", err)
				}
				if goesOn {
					r.want()
				}
			})
		}
	}
}

// TestLinkHasAnIDOfItsOwn: the id under which the operation lists the new document is the job's.
func TestLinkHasAnIDOfItsOwn(t *testing.T) {
	r := newRig(t)
	r.w.linkID = "link-7"
	j, err := r.jobs().Run(t.Context(), r.plan())
	if err != nil || j.Step != replace.Attached || j.NewGUID != "link-7" {
		t.Errorf("%+v, %v", j, err)
	}
}
