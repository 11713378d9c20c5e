package followup_test

import (
	"context"
	"encoding/json"
	"io"
	"maps"
	"net/http"
	"net/http/httptest"
	"slices"
	"strings"
	"testing"
	"time"

	"opdeck/api"
	"opdeck/api/endpoint"
	"opdeck/api/evidence"
	"opdeck/api/secret"
	"opdeck/internal/domain/audit"
	"opdeck/internal/domain/followup"
	"opdeck/internal/store"
	"opdeck/internal/store/journal"
	"opdeck/internal/store/storetest"
)

// ServeHTTP makes the model a service over real HTTP.
func (s *service) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	resp, err := s.RoundTrip(r)
	if err != nil {
		panic(http.ErrAbortHandler)
	}
	defer resp.Body.Close()
	maps.Copy(w.Header(), resp.Header)
	w.WriteHeader(resp.StatusCode)
	_, _ = io.Copy(w, resp.Body)
}

// still is the real store with a clock that only the test moves.
type still struct {
	*journal.Unsettled
	now *time.Time
}

func (s still) Now(context.Context) (time.Time, error) { return *s.now, nil }

// soon is late_after where the store's clock stands still: so short that the host's clock does not contradict it.
const soon = 2 * time.Second

// arrival is a process on a store that others share, with a service over HTTP.
type arrival struct {
	t    *testing.T
	core *store.DB
	svc  *service
	at   string // the service's address
	name string // of the account: rows of one do not meet those of another
	now  time.Time
}

func (x *arrival) process() *process {
	x.t.Helper()
	p := &process{}
	var err error
	if p.log, err = audit.New(audit.Options{Store: journal.NewAudit(x.core), Context: audit.Context{Account: x.name}}); err != nil {
		x.t.Fatal(err)
	}
	p.tracker = followup.New(followup.Options{Store: still{journal.NewUnsettled(x.core, x.name), &x.now},
		Trail: p.log.Intents, Context: audit.Context{Account: x.name}, LateAfter: soon})
	p.client, err = endpoint.New(api.Options{BaseURL: x.at, Transport: http.DefaultTransport, Session: anySession{}.Do,
		Timeout: time.Minute, Now: time.Now, Sleep: func(context.Context, time.Duration) error { return nil },
		SettleWait: time.Minute, Gate: &api.Gate{Audit: p.log, Follow: p.tracker, Now: time.Now}})
	if err != nil {
		x.t.Fatal(err)
	}
	p.tracker.Client = p.client
	return p
}

// says are the outcomes in the trail of a kind's writes in the account, oldest first.
func (x *arrival) says(p *process, kind api.ActKind) (out []audit.Result) {
	x.t.Helper()
	page, err := p.log.Reader.Find(api.WithActor(x.t.Context(), api.Actor{Name: "kim", Role: api.Admin}),
		audit.Query{Event: string(kind), Phase: audit.PhaseOutcome, Limit: 100})
	if err != nil {
		x.t.Fatal(err)
	}
	for _, e := range slices.Backward(page.Entries) {
		if e.Context.Account == x.name && e.Rule != string(api.RuleDoubt) {
			out = append(out, e.Outcome)
		}
	}
	return out
}

// TestColleagueMakesTheSameState: a gateway gives up on a write, and a colleague does the same. The state is there, exit
// 0, and the request is not: until its time is over, nothing that repeats or undoes it is sent, from any process, whether
// it arrives or never does. The trail does not say ok.
func TestColleagueMakesTheSameState(t *testing.T) {
	restore := sample(endpoint.AttachDocument, endpoint.Attachment{OPID: theOp, GUID: theDoc})
	remove := samples[api.ActRemoveDocument]
	attached := sample(endpoint.RemoveDocument, api.RemoveDocument{OPID: theOp, GUID: "doc-new"})
	otherHooks := sample(endpoint.SetHooks, api.HookSettings{HookURL: "https://other.example",
		JWTSecret: secret.New("fedcba9876543210fedcba9876543210")})
	otherApplication := sample(endpoint.SetApplication, endpoint.NewApplication{CUID: theCustomer,
		Body: json.RawMessage(`{"individual":{"firstName":"Bo"}}`)})
	acts := []struct {
		name     string
		kind     api.ActKind
		do       func(context.Context, endpoint.Caller) error // nil: the sample
		undo     func(context.Context, endpoint.Caller) error // nil: the same again
		undoKind api.ActKind
	}{
		{name: "remove", kind: api.ActRemoveDocument, undo: restore, undoKind: api.ActAttachDocument},
		{name: "attach", kind: api.ActAttachDocument, undo: attached, undoKind: api.ActRemoveDocument},
		{name: "restore", kind: api.ActAttachDocument, do: restore, undo: remove, undoKind: api.ActRemoveDocument},
		{name: "upload", kind: api.ActUploadDocument},
		{name: "delete-file", kind: api.ActDeleteFile},
		{name: "finalize", kind: api.ActFinalize},
		{name: "share", kind: api.ActShare},
		{name: "hook set", kind: api.ActSetHooks, undo: otherHooks, undoKind: api.ActSetHooks},
		{name: "set application", kind: api.ActSetApplication, undo: otherApplication, undoKind: api.ActSetApplication},
	}
	for _, e := range []store.Engine{store.SQLite, store.Postgres} {
		t.Run(e.String(), func(t *testing.T) {
			st := storetest.OpenURL(t, storetest.URL(t, e))
			made := 0
			for _, a := range acts {
				for story, arrives := range map[string]bool{"arrives late": true, "never arrives": false} {
					t.Run(a.name+" "+story, func(t *testing.T) {
						if a.do == nil {
							a.do = samples[a.kind]
						}
						if a.undo == nil {
							a.undo, a.undoKind = a.do, a.kind
						}
						svc := newService()
						made++
						svc.made = 10 * made // the trail knows what other writes made
						if a.name == "restore" {
							svc.docs = svc.docs[:1]
						}
						server := httptest.NewServer(svc)
						defer server.Close()
						x := &arrival{t: t, core: st.Core, svc: svc, at: server.URL, name: t.Name(),
							now: time.Now().UTC().Truncate(time.Microsecond)}
						x.story(a.kind, a.do, a.undoKind, a.undo, arrives)
					})
				}
			}
			log := (&arrival{t: t, core: st.Core, at: "https://service.invalid"}).process().log
			rep, err := log.Prover.Verify(api.WithActor(t.Context(), api.Actor{Name: "kim", Role: api.Admin}))
			if err != nil || !rep.Intact() {
				t.Errorf("the trail is not intact: %s %v", rep.Summary(), err)
			}
		})
	}
}

func (x *arrival) story(kind api.ActKind, do func(context.Context, endpoint.Caller) error, undoKind api.ActKind,
	undo func(context.Context, endpoint.Caller) error, arrives bool) {
	t, svc, book := x.t, x.svc, &evidence.Book{}
	ctx := evidence.In(api.WithActor(t.Context(), api.Actor{Name: "ana", Role: api.Admin}), book)
	p, other := x.process(), x.process()
	readable := kind != api.ActShare
	first, last := audit.ResultSeen, audit.ResultSeen
	if !readable {
		first, last = audit.ResultUnknown, audit.ResultNotSeen
	}
	until := x.now.Add(soon).Format("15:04:05 UTC")

	svc.how = reaction{hold: true}
	err := do(ctx, p.client)
	if said := book.About(""); readable && (err != nil || !strings.HasSuffix(said[0].Missing(), "may still arrive until "+until+".")) ||
		!readable && api.KindOf(err) != api.UnknownOutcome {
		t.Fatalf("%v, %+v", err, said)
	}
	sent := svc.sent[undoKind]
	refused := func(when string) {
		t.Helper()
		for _, act := range []func(context.Context, endpoint.Caller) error{do, undo} {
			e := api.AsError(act(ctx, other.client))
			if e == nil || e.Kind != api.Refused || e.Rule != api.RuleDoubt || !strings.Contains(e.Public, until) {
				t.Errorf("%s: %v", when, e)
			}
		}
		rows, err := other.tracker.Pending(t.Context())
		if err != nil || len(rows) != 1 || rows[0].Until.Format("15:04:05 UTC") != until ||
			readable != (rows[0].State == followup.Seen) {
			t.Errorf("%s: listed %+v, %v", when, rows, err)
		}
		if got := x.says(other, kind); !slices.Equal(got, []audit.Result{first}) {
			t.Errorf("%s: the trail says %v", when, got)
		}
	}
	look := func(p *process) {
		t.Helper()
		if err := p.tracker.Look(ctx, true); err != nil {
			t.Error(err)
		}
	}
	refused("at once")
	look(other)
	refused("after a look")
	x.now = x.now.Add(soon / 2)
	if arrives {
		svc.held()
		look(p)
		refused("after it arrived")
	}
	x.now = x.now.Add(soon)
	look(other)
	if rows, err := p.tracker.Pending(t.Context()); err != nil || readable && len(rows) != 0 {
		t.Errorf("afterwards: listed %+v, %v", rows, err)
	}
	if got := x.says(p, kind); !slices.Equal(got, []audit.Result{first, last}) {
		t.Errorf("afterwards: the trail says %v", got)
	}
	if svc.sent[undoKind] != sent {
		t.Errorf("sent %d times while in doubt", svc.sent[undoKind]-sent)
	}
	svc.how = reaction{does: true}
	if e := api.AsError(undo(ctx, other.client)); e != nil && e.Rule == api.RuleDoubt {
		t.Errorf("afterwards: %v", e)
	}
}
