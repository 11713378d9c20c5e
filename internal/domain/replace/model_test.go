package replace_test

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"testing"
	"time"

	"pgregory.net/rapid"

	"opdeck/api"
	"opdeck/api/endpoint"
	"opdeck/api/endpoint/endpointtest"
	"opdeck/api/untrusted"
	"opdeck/internal/domain/replace"
	"opdeck/internal/store"
	"opdeck/internal/store/journal"
)

// fickle is a service with all outcomes that the api distinguishes: done, refused, not sent, or unknown with an
// effect now, later or never. It dies with its process at any of these points.
type fickle struct {
	t       *rapid.T
	docs    []string
	files   []string
	later   []func()
	uploads int           // that took effect
	jobs    *replace.Jobs // learns of each sight, as in the program
}

// fall lets what was held up happen.
func (w *fickle) fall() {
	for _, f := range w.later {
		f()
	}
	w.later = nil
}

func (w *fickle) write(ctx context.Context, name string, p api.Probe, effect func()) error {
	if rapid.IntRange(0, 7).Draw(w.t, "kept") == 0 {
		return &api.Error{Kind: api.Interrupted, Public: "stopped before it left"}
	}
	if err := api.Leaves(ctx, p); err != nil {
		return err
	}
	how := rapid.SampledFrom([]string{"done", "done", "refused", "not sent", "unknown done", "unknown late", "unknown never"}).Draw(w.t, name)
	switch how {
	case "done", "unknown done":
		effect()
	case "unknown late":
		w.later = append(w.later, effect)
	}
	if rapid.IntRange(0, 5).Draw(w.t, "dies") == 0 {
		panic(crash{})
	}
	switch how {
	case "done":
		return nil
	case "refused":
		return &api.Error{Kind: api.Refused, Public: "no"}
	case "not sent":
		return &api.Error{Kind: api.Unavailable, Public: "no connection"}
	}
	return &api.Error{Kind: api.UnknownOutcome, Public: "unknown"}
}

func (w *fickle) op() api.Operation {
	o := api.Operation{OPID: "op1"}
	for _, d := range w.docs {
		o.Documents = append(o.Documents, api.Document{GUID: untrusted.Text(d), Lock: api.Unlocked})
	}
	return o
}

func (w *fickle) removeDocument(ctx context.Context, r api.RemoveDocument) (api.Operation, error) {
	if !slices.Contains(w.docs, r.GUID) {
		return api.Operation{}, api.Refusal("remove", api.RuleNotAttached, "not attached")
	}
	return api.Operation{}, w.write(ctx, "remove", api.Probe{Kind: api.ActRemoveDocument, OPID: r.OPID, GUID: r.GUID}, func() { w.docs = slices.DeleteFunc(w.docs, func(d string) bool { return d == r.GUID }) })
}

func (w *fickle) attachDocument(ctx context.Context, a endpoint.Attachment) (api.Operation, error) {
	return api.Operation{}, w.write(ctx, "attach", api.Probe{Kind: api.ActAttachDocument, OPID: a.OPID, GUID: a.GUID}, func() {
		if !slices.Contains(w.docs, a.GUID) {
			w.docs = append(w.docs, a.GUID)
		}
	})
}

func (w *fickle) uploadDocument(ctx context.Context, _ api.Upload) (api.CustomerFile, error) {
	id := fmt.Sprintf("f%d-%d", len(w.files)+1, w.uploads)
	p := api.Probe{Kind: api.ActUploadDocument, Before: slices.Clone(w.files), Whole: true}
	err := w.write(ctx, "upload", p, func() { w.files, w.uploads = append(w.files, id), w.uploads+1 })
	return api.CustomerFile{ID: untrusted.Text(id)}, err
}

func (w *fickle) look(ctx context.Context, p api.Probe) (api.Observation, error) {
	s, err := w.sight(p)
	if s.Shown {
		if err := w.jobs.Settled(ctx, p, api.Outcome{Verdict: api.Done, Found: s.File}); err != nil {
			w.t.Fatal(err)
		}
	}
	return s, err
}

func (w *fickle) sight(p api.Probe) (api.Observation, error) {
	if rapid.IntRange(0, 4).Draw(w.t, "look fails") == 0 {
		return api.Observation{}, &api.Error{Kind: api.Unavailable, Public: "no answer"}
	}
	switch p.Kind {
	case api.ActRemoveDocument:
		return api.Observation{Shown: !slices.Contains(w.docs, p.GUID)}, nil
	case api.ActAttachDocument:
		return api.Observation{Shown: slices.Contains(w.docs, p.GUID)}, nil
	}
	var s api.Observation
	for _, f := range w.files {
		if !slices.Contains(p.Before, f) {
			s.Candidates = append(s.Candidates, f)
		}
	}
	if s.Shown = len(s.Candidates) == 1; s.Shown {
		s.File = s.Candidates[0]
	}
	return s, nil
}

// caller answers the calls of a job.
func (w *fickle) caller() endpoint.Caller {
	f := new(endpointtest.Fake)
	endpointtest.On(f, endpoint.RemoveDocument, w.removeDocument)
	endpointtest.On(f, endpoint.AttachDocument, w.attachDocument)
	endpointtest.On(f, endpoint.UploadDocument, w.uploadDocument)
	endpointtest.On(f, endpoint.Look, w.look)
	return f
}

// TestAnyAnswersAnyKills: whatever the answers and wherever the process dies, the
// job never ends with the operation lacking a document, it uploads a second time
// only when a person says so, and it can be brought to its end.
func TestAnyAnswersAnyKills(t *testing.T) {
	st, err := store.Open(t.Context(), store.Options{URL: "memory"})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = st.Close() })
	dir, n := t.TempDir(), 0
	rapid.Check(t, func(t *rapid.T) {
		n++
		scope := fmt.Sprintf("ctx%d", n)
		now := time.Date(2026, 1, 2, 3, 4, 5, 0, time.UTC)
		w := &fickle{t: t, docs: []string{"old", "other"}}
		jobs := func() *replace.Jobs {
			w.jobs = &replace.Jobs{Store: journal.NewJobs(st.Core, scope), Client: w.caller(), Dir: dir, LateAfter: 15 * time.Minute, Now: func() time.Time { now = now.Add(time.Second); return now }}
			return w.jobs
		}
		ctx := context.Background()
		j, err := jobs().Plan(ctx, w.op(), "old", api.Upload{CUID: "c1", FileName: "b.pdf", Content: []byte("%PDF-new")}, false)
		if err != nil {
			t.Fatal(err)
		}
		allowed := 1
		quietly := func(do func() error) (err error) {
			defer func() {
				if p := recover(); p != nil {
					if _, ok := p.(crash); !ok {
						panic(p)
					}
					err = errors.New("crashed")
				}
			}()
			return do()
		}
		check := func() {
			if j, err = journal.NewJobs(st.Core, scope).Job(ctx, j.ID); err != nil {
				t.Fatal(err)
			}
			has := slices.Contains(w.docs, "old") || j.NewGUID != "" && slices.Contains(w.docs, j.NewGUID)
			if j.Step.Ended() && !has {
				t.Fatalf("the job is %s and the operation lacks its document: %v, files %v", j.Step, w.docs, w.files)
			}
			if j.Step == replace.Attached && !slices.Contains(w.docs, j.NewGUID) {
				t.Fatalf("attached, and it is not: %v", w.docs)
			}
			if w.uploads > allowed {
				t.Fatalf("%d uploads, %d were asked for", w.uploads, allowed)
			}
		}
		steps := rapid.IntRange(1, 12).Draw(t, "steps")
		for range steps {
			switch rapid.IntRange(0, 7).Draw(t, "what") {
			case 0:
				now = now.Add(20 * time.Minute)
				w.fall()
			case 1:
				w.fall()
			case 2:
				if len(w.later) == 0 { // what comes later than LateAfter is a person's risk
					now = now.Add(16 * time.Minute)
					if j.Step == replace.Uploading {
						allowed++
					}
					_ = quietly(func() error { _, err := jobs().Again(ctx, j); return err })
				}
			case 3:
				if rapid.Bool().Draw(t, "really") {
					_ = quietly(func() error { _, err := jobs().Abandon(ctx, j); return err })
				}
			case 4: // the worker finds it
				_ = quietly(func() error {
					s, _ := w.sight(api.Probe{Kind: api.ActRemoveDocument, GUID: "old"})
					if s.Shown {
						return jobs().Settled(ctx, api.Probe{Kind: api.ActRemoveDocument, OPID: "op1", GUID: "old"}, api.Outcome{Verdict: api.Done})
					}
					return nil
				})
			default:
				if err := quietly(func() error { _, err := jobs().Run(ctx, j); return err }); errors.Is(err, replace.ErrTaken) {
					t.Fatal("it took the job from itself")
				}
			}
			check()
		}
		w.fall()
		check()
		for range 60 { // a person who keeps at it brings it to an end
			if j.Step.Ended() {
				return
			}
			w.fall()
			now = now.Add(16 * time.Minute)
			allowed++
			_ = quietly(func() error {
				var err error
				if j.Step == replace.Abandoning {
					_, err = jobs().Abandon(ctx, j)
				} else if len(j.Candidates) > 1 {
					_, err = jobs().Use(ctx, j, j.Candidates[0])
				} else {
					_, err = jobs().Again(ctx, j)
				}
				return err
			})
			check()
		}
		t.Fatalf("the job never ends: %+v", j)
	})
}
