package followup_test

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"os"
	"slices"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"opdeck/api"
	"opdeck/api/endpoint"
	"opdeck/api/secret"
	"opdeck/internal/domain/audit"
	"opdeck/internal/domain/followup"
	"opdeck/internal/e2e/racedetector"
)

// samples are all kinds of write, as one call each.
var samples = map[api.ActKind]func(context.Context, endpoint.Caller) error{
	api.ActRemoveDocument: sample(endpoint.RemoveDocument, api.RemoveDocument{OPID: theOp, GUID: theDoc}),
	api.ActAttachDocument: sample(endpoint.AttachDocument, endpoint.Attachment{OPID: theOp, GUID: "doc-new", Name: "n.pdf"}),
	api.ActUploadDocument: sample(endpoint.UploadDocument, api.Upload{CUID: theCustomer, FileName: "n.pdf",
		Content: []byte(ourContent)}),
	api.ActDeleteFile: sample(endpoint.DeleteFile, api.DeleteFile{CUID: theCustomer, ID: theFile}),
	api.ActShare:      sample(endpoint.Share, endpoint.ShareToken{CUID: theCustomer, Token: secret.New("share-token-1")}),
	api.ActLink:       sample(endpoint.MakeLink, theCustomer),
	api.ActFinalize:   sample(endpoint.Finalize, theCustomer),
	api.ActSetApplication: sample(endpoint.SetApplication, endpoint.NewApplication{CUID: theCustomer,
		Body: json.RawMessage(`{"individual":{"application":{"firstName":"Ana"}}}`)}),
	api.ActSetHooks: sample(endpoint.SetHooks, api.HookSettings{Enabled: true, HookURL: "https://h.example",
		JWTSecret: secret.New("0123456789abcdef0123456789abcdef"), HookCustomer: true}),
}

func sample[In, Out any](e endpoint.Endpoint[In, Out], in In) func(context.Context, endpoint.Caller) error {
	return func(ctx context.Context, c endpoint.Caller) error { _, err := endpoint.Do(ctx, c, e, in); return err }
}

// process is one of those that share the store.
type process struct {
	log     *audit.Log
	tracker *followup.Tracker
	client  *endpoint.Wire
	opt     api.Options
}

// killed ends a process: nothing of it runs any more.
type killed struct{}

// start is a further process with a client of the service.
func (r *rig) start(s *service) *process {
	r.t.Helper()
	p := &process{}
	p.log, p.tracker = r.process()
	p.opt = api.Options{BaseURL: "https://service.invalid", Transport: s, Session: anySession{}.Do, Timeout: 15 * time.Second,
		SettleWait: 2 * time.Second, Now: time.Now, Gate: &api.Gate{Audit: p.log, Follow: p.tracker, Now: time.Now}}
	r.remake(p)
	return p
}

func (r *rig) remake(p *process) {
	r.t.Helper()
	client, err := endpoint.New(p.opt)
	if err != nil {
		r.t.Fatal(err)
	}
	p.client, p.tracker.Client, r.gate = client, client, p.opt.Gate
}

// do makes a write; a process that is killed meanwhile returns an error.
func (r *rig) do(p *process, ctx context.Context, kind api.ActKind) (err error) {
	defer func() {
		if x := recover(); x != nil {
			if _, ok := x.(killed); !ok {
				panic(x)
			}
			err = errors.New("killed")
		}
	}()
	return samples[kind](api.WithActor(ctx, api.Actor{Name: "ana", Role: api.Admin}), p.client)
}

// results are what the trail says of all writes of a kind, in order.
func (r *rig) results(kind api.ActKind) (out []audit.Result) {
	r.t.Helper()
	page, err := r.log.Reader.Find(api.WithActor(r.t.Context(), api.Actor{Name: "kim", Role: api.Admin}),
		audit.Query{Event: string(kind), Phase: audit.PhaseOutcome, Limit: 100})
	if err != nil {
		r.t.Fatal(err)
	}
	for _, e := range page.Entries {
		out = append(out, e.Outcome)
	}
	slices.Reverse(out)
	return out
}

// died makes the process of the newest write of a kind one that has ended.
func (r *rig) died(kind api.ActKind) {
	r.t.Helper()
	page, err := r.log.Reader.Find(api.WithActor(r.t.Context(), api.Actor{Name: "kim", Role: api.Admin}),
		audit.Query{Event: string(kind), Phase: audit.PhaseIntent, Limit: 1})
	if err != nil || len(page.Entries) != 1 {
		r.t.Fatal(page, err)
	}
	r.gone[page.Entries[0].Boot] = true
}

// honest fails when a request was reported as done that no answer confirmed, a state that is not there, or one was sent
// twice.
func (r *rig) honest(s *service, kind api.ActKind, err error) {
	r.t.Helper()
	s.mu.Lock()
	sent, did := s.sent[kind], s.did[kind]
	s.mu.Unlock()
	results := r.results(kind)[r.base:]
	if slices.Contains(results, audit.ResultOK) {
		r.t.Errorf("no answer came, and the trail says %v", results)
	}
	if seen := slices.Contains(results, audit.ResultSeen) || err == nil; seen && did == 0 {
		r.t.Errorf("reported as there, and it was not: %v, the trail says %v", err, results)
	}
	if sent > 1 && !endpoint.Rule(kind).Again {
		r.t.Errorf("sent %d times", sent)
	}
}

// story is what happens around one write.
type story struct {
	name string
	only []api.ActKind // kinds that it can happen to; none: all
	run  func(r *rig, s *service, kind api.ActKind)
}

// afterwards lets half an hour pass, in which the write is looked for.
func (r *rig) afterwards(p *process) { r.run(p.tracker, 30*time.Minute) }

// around makes a write while the service behaves in some way, and looks for it afterwards.
func around(set func(r *rig, s *service)) func(*rig, *service, api.ActKind) {
	return func(r *rig, s *service, kind api.ActKind) {
		set(r, s)
		p := r.start(s)
		err := r.do(p, r.t.Context(), kind)
		r.honest(s, kind, err)
		r.afterwards(p)
		r.honest(s, kind, err)
	}
}

var stories = []story{
	{name: "opposite act in doubt", only: []api.ActKind{api.ActRemoveDocument, api.ActAttachDocument}, run: oppositeInDoubt},
	{name: "the same act by three processes at once", run: threeAtOnce},
	{name: "lost, and a colleague makes a twin", run: around(func(_ *rig, s *service) { s.how.lose, s.colleague = true, twin })},
	{name: "done 5 s after its answer", run: around(func(_ *rig, s *service) { s.how = reaction{does: true, late: 5 * time.Second} })},
	{name: "done, answer lost", run: around(func(_ *rig, s *service) { s.how = reaction{does: true, lose: true} })},
	{name: "lost, and the reader's pages shift", run: around(func(_ *rig, s *service) {
		s.how.lose, s.perPage = true, 1
		s.colleague = func(s *service) { s.between = func(s *service) { s.files = s.files[1:] } }
	})},
	{name: "lost, pages shift, and no file can be read by itself", run: around(func(_ *rig, s *service) {
		s.how.lose, s.perPage, s.listsOnly = true, 1, true
		s.colleague = func(s *service) { s.between = func(s *service) { s.files = s.files[1:] } }
	})},
	{name: "store's clock an hour ahead", run: clockStep(time.Hour, 0)},
	{name: "store's clock an hour back", run: clockStep(-time.Hour, 0)},
	{name: "service's clock an hour ahead", run: clockStep(0, time.Hour)},
	{name: "service's clock an hour back", run: clockStep(0, -time.Hour)},
	{name: "interrupted or killed at each step", run: endedAtEachStep},
}

// TestEveryWriteEveryStory: whatever happens around a write, it is not reported as done without
// proof, is sent once at most, and what left is listed until it is settled. Each write has every second story, each story
// every second write; OPDECK_TEST_LONG=1: all.
func TestEveryWriteEveryStory(t *testing.T) {
	racedetector.Skip(t)
	long := os.Getenv("OPDECK_TEST_LONG") == "1"
	writes := 0
	for _, route := range endpoint.All() {
		if !route.Writes() {
			continue
		}
		kind := route.Kind
		if samples[kind] == nil {
			t.Errorf("%s has no sample", kind)
			continue
		}
		writes++
		for n, st := range stories {
			if len(st.only) > 0 && !slices.Contains(st.only, kind) || len(st.only) == 0 && !long && (n+writes)%2 > 0 {
				continue
			}
			t.Run(string(kind)+"/"+st.name, func(t *testing.T) {
				synctest.Test(t, func(t *testing.T) {
					r := newRig(t)
					st.run(r, newService(), kind)
					if err := r.st.Close(); err != nil {
						t.Error(err)
					}
				})
			})
		}
	}
}

func oppositeInDoubt(r *rig, s *service, kind api.ActKind) {
	opposite := endpoint.Of(kind).Write.Opposite
	if kind == api.ActAttachDocument { // of the same document
		s.docs = append(s.docs, file{ID: "doc-new", Name: "n.pdf"})
	}
	s.how = reaction{does: true, late: 5 * time.Second}
	p := r.start(s)
	item := map[api.ActKind]string{api.ActRemoveDocument: theDoc, api.ActAttachDocument: "doc-new"}[kind]
	first := sample(endpoint.AttachDocument, endpoint.Attachment{OPID: theOp, GUID: item})
	if opposite == api.ActRemoveDocument {
		first = sample(endpoint.RemoveDocument, api.RemoveDocument{OPID: theOp, GUID: item})
	} else { // it is attached after it was taken off
		s.docs = slices.DeleteFunc(s.docs, func(f file) bool { return f.ID == item })
	}
	ctx := api.WithActor(r.t.Context(), api.Actor{Name: "bo", Role: api.Admin})
	if err := first(ctx, p.client); api.KindOf(err) != api.UnknownOutcome {
		r.t.Fatalf("the opposite is not in doubt: %v", err)
	}
	err := r.do(r.start(s), r.t.Context(), kind)
	if e := api.AsError(err); e == nil || e.Rule != api.RuleDoubt || s.sent[kind] != 0 {
		r.t.Errorf("sent %d times: %v", s.sent[kind], err)
	}
}

func threeAtOnce(r *rig, s *service, kind api.ActKind) {
	ready := make(chan struct{})
	var all sync.WaitGroup
	for range 3 {
		p := r.start(s)
		all.Go(func() { <-ready; r.honest(s, kind, r.do(p, r.t.Context(), kind)) })
	}
	close(ready)
	all.Wait()
	if s.sent[kind] == 0 {
		r.t.Error("nobody sent it")
	}
	r.afterwards(r.start(s))
	r.honest(s, kind, errors.New("not reported"))
}

// twin is what a colleague does at the same moment, which looks like each of our writes.
func twin(s *service) {
	s.docs = append(s.docs, file{ID: "theirs", Name: "n.pdf"})
	s.docs = slices.DeleteFunc(s.docs, func(f file) bool { return f.ID == "other" })
	s.addFile("n.pdf", "%PDF-them") // as long as ours
	s.files = s.files[1:]
	s.app = map[string]any{"status": "DRAFT", "individual": map[string]any{"firstName": "Bo"}}
	s.hooks = map[string]any{"enabled": true, "hookUrl": "https://h.example", "hookCustomer": true}
	s.shared = true
}

// clockStep sets a clock while a write that is not done is in doubt: it is not sent again
// before late_after is over by the clock that was left alone.
func clockStep(byStore, byService time.Duration) func(*rig, *service, api.ActKind) {
	return func(r *rig, s *service, kind api.ActKind) {
		s.how.lose = true
		p := r.start(s)
		r.honest(s, kind, r.do(p, r.t.Context(), kind))
		r.set += byStore
		s.mu.Lock()
		s.ahead += byService
		s.mu.Unlock()
		other := r.start(s)
		read := sample(endpoint.GetOperation, theOp) // it learns the service's time
		if err := read(api.WithActor(r.t.Context(), ana), other.client); err != nil {
			r.t.Fatal(err)
		}
		r.honest(s, kind, r.do(other, r.t.Context(), kind))
		r.run(other.tracker, time.Minute)
		r.honest(s, kind, r.do(other, r.t.Context(), kind))
		r.run(other.tracker, 2*lateAfter)
		if d, err := other.tracker.Doubt(r.t.Context(), r.claim(kind), time.Time{}); d != nil || err != nil {
			r.t.Errorf("in doubt for good: %+v, %v", d, err)
		}
	}
}

// claim is what the first write of a kind claimed.
func (r *rig) claim(kind api.ActKind) string {
	for _, row := range r.pending() {
		if row.Kind == kind && row.Claim != "" {
			return row.Claim
		}
	}
	return "none"
}

// steps of a write at which its process may end.
const (
	stepIntent = iota
	stepKept
	stepLeaves
	stepSent
	stepOutcome
	allSteps
)

// steppingLog, steppingTracker and steppingWire call at with each step that was taken.
type steppingLog struct {
	*audit.Log
	at func(step int)
}

func (l steppingLog) Intent(ctx context.Context, who api.Actor, act api.Act) (string, error) {
	ref, err := l.Log.Intent(ctx, who, act)
	l.at(stepIntent)
	return ref, err
}

func (l steppingLog) Outcome(ctx context.Context, ref string, out api.Outcome) error {
	l.at(stepOutcome)
	return l.Log.Outcome(ctx, ref, out)
}

type steppingTracker struct {
	*followup.Tracker
	at func(step int)
}

func (t steppingTracker) Sending(ctx context.Context, p api.Pending) (*api.Doubt, error) {
	d, err := t.Tracker.Sending(ctx, p)
	t.at(stepKept)
	return d, err
}

type steppingWire struct {
	*service
	at func(step int)
}

func (w steppingWire) RoundTrip(r *http.Request) (*http.Response, error) {
	resp, err := w.service.RoundTrip(r)
	if r.Method != http.MethodGet || strings.HasSuffix(r.URL.Path, "/web_sdk_link") {
		w.at(stepSent)
	}
	return resp, err
}

func endedAtEachStep(r *rig, _ *service, kind api.ActKind) {
	for step := range allSteps {
		for _, kill := range []bool{true, false} {
			s := newService()
			s.how = reaction{does: true, lose: true}
			r.endedAt(s, kind, step, kill)
			time.Sleep(2 * lateAfter) // and whatever was left is over
			r.run(r.tracker, time.Minute)
			r.over(s, kind, fmt.Sprintf("step %d, kill %t", step, kill))
			time.Sleep(25 * time.Hour)
			r.run(r.tracker, time.Minute)
		}
	}
}

// over fails when a write whose process ended was reported as not done without proof: what was kept as sending and
// never arrived was not seen, which is all that reads can say of it.
func (r *rig) over(s *service, kind api.ActKind, what string) {
	r.t.Helper()
	s.mu.Lock()
	sent := s.sent[kind]
	s.mu.Unlock()
	results := r.results(kind)[r.base:]
	for i, is := range results {
		last := i == len(results)-1
		switch {
		case sent == 0 && is != audit.ResultFailed && is != audit.ResultNotSeen && is != audit.ResultUnknown,
			sent > 0 && is == audit.ResultFailed, last && is == audit.ResultUnknown:
			r.t.Errorf("%s: sent %d times, the trail says %v", what, sent, results)
		}
	}
}

// endedAt ends the process of a write at a step, by a kill or by what asks it to stop.
func (r *rig) endedAt(s *service, kind api.ActKind, step int, kill bool) {
	ctx, cancel := context.WithCancel(r.t.Context())
	defer cancel()
	p := r.start(s)
	end := func(now int) {
		if now == step && kill {
			panic(killed{})
		} else if now == step {
			cancel()
		}
	}
	p.opt.Gate = &api.Gate{Audit: steppingLog{p.log, end}, Follow: steppingTracker{p.tracker, end}, Now: time.Now}
	p.opt.Transport = steppingWire{s, end}
	r.remake(p)
	r.base = len(r.results(kind))
	err := r.do(p, api.OnLeaving(ctx, func(api.Probe) error { end(stepLeaves); return nil }), kind)
	s.mu.Lock()
	sent := s.sent[kind]
	s.mu.Unlock()
	r.honest(s, kind, err)
	if kill {
		r.died(kind)
	}
	pending, results := r.pending(), r.results(kind)[r.base:]
	what := fmt.Sprintf("step %d, kill %t: sent %d times, %v", step, kill, sent, err)
	listed := slices.ContainsFunc(pending, func(row followup.Row) bool { return row.Kind == kind && row.State != followup.NotSeen })
	switch settled := slices.ContainsFunc(results, func(is audit.Result) bool { return is != audit.ResultUnknown }); {
	case sent > 0 && !listed && !settled:
		r.t.Errorf("%s: what left is not listed", what)
	case sent == 0 && kill && step < stepKept && (listed || !slices.Equal(results, []audit.Result{audit.ResultFailed})):
		r.t.Errorf("%s: what never left is listed, the trail says %v", what, results)
	case sent == 0 && kill && step >= stepKept && (!listed || settled):
		r.t.Errorf("%s: what was kept as sending may have left; listed: %v, the trail says %v", what, listed, results)
	case sent == 0 && !kill && slices.Contains(results, audit.ResultUnknown):
		r.t.Errorf("%s: what never left is reported as unknown", what)
	}
}
