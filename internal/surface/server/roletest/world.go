package roletest

import (
	"cmp"
	"context"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"opdeck/api"
	"opdeck/api/endpoint"
	"opdeck/internal/app"
	"opdeck/internal/domain/audit"
	"opdeck/internal/domain/journey"
	"opdeck/internal/domain/receiver/receivertest"
)

// World is the built-in service with objects to act on: each attempt gets its own, so that acts do not affect each
// other.
type World struct {
	T   testing.TB
	App *app.App

	dir    string
	rows   int          // tried so far
	ahead  atomic.Int64 // how far the clock is ahead of the host's
	writes atomic.Int64 // changing calls sent to the service
	ops    []api.Operation
	apply  []api.Customer // not shared, with an application to finalize
	n      int
}

// Config is a context of the built-in service with ample budgets.
const Config = `
[contexts.box]
sandbox = true
[limits]
policy = "warn"
per_minute = { login = 1000, refresh = 1000, account = 1000, customer = 1000, billing = 1000, general = 1000 }
[notify]
command = ["true"]
`

// Open opens a separate App with its World.
func Open(t testing.TB) (*World, *app.App) {
	t.Helper()
	dir := t.TempDir()
	file := filepath.Join(dir, "config.toml")
	if err := os.WriteFile(file, []byte(Config), 0o600); err != nil {
		t.Fatal(err)
	}
	w := &World{}
	a, err := app.Open(t.Context(), app.Options{ConfigFlag: file, StateFlag: filepath.Join(dir, "state"),
		Getenv: func(string) string { return "" }, Now: w.Now})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := a.Close(); err != nil {
			t.Error(err)
		}
	})
	w.Use(t, a)
	return w, a
}

// Now is the clock of the App.
func (w *World) Now() time.Time { return time.Now().Add(time.Duration(w.ahead.Load())) }

// Use takes an open App and finds objects.
func (w *World) Use(t testing.TB, a *app.App) {
	t.Helper()
	w.T, w.App, w.dir = t, a, t.TempDir()
	a.OnCall(func(c api.Call) {
		if c.Write && c.Phase == api.CallEnded {
			w.writes.Add(1)
		}
	})
	ctx := w.as("keeper", api.Admin)
	for page := range 5 {
		p, err := endpoint.Do(ctx, a.Client, endpoint.ListOperations, api.OperationQuery{Page: page, Size: 100})
		if err != nil {
			t.Fatal(err)
		}
		for _, op := range p.Items {
			if string(op.Status) == "PENDING" && len(op.Documents) > 0 && unlocked(op) {
				w.ops = append(w.ops, op)
			}
		}
	}
	customers, err := endpoint.Do(ctx, a.Client, endpoint.ListCustomers, api.CustomerQuery{Size: 100})
	if err != nil {
		t.Fatal(err)
	}
	for _, c := range customers.Items {
		j, err := a.Journeys.Read(ctx, string(c.CUID))
		if err == nil && inState(j, "share", journey.Todo, journey.Optional) &&
			inState(j, "finalize", journey.Todo, journey.Optional) {
			w.apply = append(w.apply, c)
		}
	}
	t.Logf("%d operations and %d customers to act on", len(w.ops), len(w.apply))
}

func unlocked(op api.Operation) bool {
	for _, d := range op.Documents {
		if d.Lock.Is() {
			return false
		}
	}
	return true
}

// inState reports whether a step of a verification is in one of the states.
func inState(j journey.Journey, key string, states ...journey.State) bool {
	return slices.ContainsFunc(j.Steps, func(s journey.Step) bool {
		return s.Key == key && slices.Contains(states, s.State)
	})
}

func (w *World) as(name string, role api.Role) context.Context {
	return api.WithActor(w.T.Context(), api.Actor{Name: name, Role: role, Via: "command"})
}

// Later is called before each row. Every seventh time it moves the clock past the minute in which refused attempts
// are counted: a row has at most eight refusals, and 60 a minute are recorded in full. It does not do so every time,
// because for the session the host's clock jumps: tokens would seem to die early, and calls would wait.
func (w *World) Later() {
	if w.rows++; w.rows%7 == 0 {
		w.ahead.Add(int64(61 * time.Second))
	}
}

// Objects returns new objects for an attempt at a row.
func (w *World) Objects(r Row) Words {
	w.T.Helper()
	ctx, a := w.as("keeper", api.Admin), w.App
	if len(w.ops) == 0 {
		w.T.Fatal("no operation is left")
	}
	op := w.ops[0]
	w.n++
	words := Words{"op": string(op.OPID), "doc": string(op.Documents[0].GUID), "cuid": string(op.Customer.CUID),
		"new": filepath.Join(w.dir, fmt.Sprintf("new-%d.jsonl", w.n)), "file": filepath.Join(w.dir, "a.pdf")}
	content := []byte("%PDF-1.4\n%%EOF\n")
	for _, o := range w.ops {
		for _, side := range []api.Party{o.Source, o.Destination} {
			if side.Account != nil {
				words["account"] = cmp.Or(words["account"], string(side.Account.ID))
			}
			if side.CounterpartyAccount != nil {
				words["payee"] = cmp.Or(words["payee"], string(side.CounterpartyAccount.Counterparty.SUID))
			}
		}
	}
	if err := os.WriteFile(words["file"], content, 0o600); err != nil {
		w.T.Fatal(err)
	}
	if !strings.Contains(r.Command+strings.Join(r.Keys, ""), "{free}") {
		return w.more(r, op, words)
	}
	f, err := endpoint.Do(ctx, a.Client, endpoint.UploadDocument,
		api.Upload{CUID: words["cuid"], FileName: fmt.Sprintf("free-%d.pdf", w.n),
			Content: fmt.Appendf(content, "%% %d\n", w.n)})
	if err != nil {
		w.T.Fatal(err)
	}
	words["free"] = string(f.ID)
	return w.more(r, op, words)
}

// more adds the objects that only some rows use.
func (w *World) more(r Row, op api.Operation, words Words) Words {
	w.T.Helper()
	switch {
	case r.Kind == api.ActShare, r.Kind == api.ActFinalize:
		if len(w.apply) == 0 {
			w.T.Fatal("no customer is left")
		}
		words["cuid"] = string(w.apply[0].CUID)
		words["token"] = "demo-" + strings.ToLower(string(w.apply[0].Type)) + "-ok-" + string(w.apply[0].CUID)
	case r.Need == api.MayApprove:
		words["request"] = w.request(op)
	case r.Need == api.MayHooks:
		words["event"] = w.event(op)
	}
	return words
}

// used marks the objects of a permitted act, so that they are not used again.
func (w *World) used(r Row) {
	if r.Kind == api.ActShare || r.Kind == api.ActFinalize {
		w.apply = w.apply[1:]
	}
	if r.Need == api.MayDocuments {
		w.ops = w.ops[1:]
	}
}

// Known gives a person a key, like people over SSH have.
func Known(who api.Actor) api.Actor {
	who.Key, who.Login = "SHA256:"+who.Name, who.Name
	return who
}

// request files another person's write that waits for approval.
func (w *World) request(op api.Operation) string {
	asker := Known(api.Actor{Name: fmt.Sprintf("asker-%d", w.n), Role: api.Operator, Via: "ssh"})
	_, err := w.App.Approvals.Check(api.WithActor(w.T.Context(), asker), asker,
		api.Act{Kind: api.ActRemoveDocument, Method: "DELETE", Path: "/x", Object: "operation", ID: string(op.OPID),
			Item: "d"})
	if e := api.AsError(err); e == nil || e.Rule != api.RuleApproval {
		w.T.Fatal(err)
	}
	list, err := w.App.Approvals.List(w.as("keeper", api.Admin))
	if err != nil || len(list) == 0 || list[0].Requester.Name != asker.Name {
		w.T.Fatal(list, err)
	}
	return list[0].ID
}

// event is the key of a stored event.
func (w *World) event(op api.Operation) string {
	s, ok := receivertest.Deliver(w.T, w.App.Hooks().Inbox(), fmt.Appendf(nil,
		`{"hook_id":"6f1c1f0e-8a4b-4c8e-9d4f-%012d","hook_type":1,"Data":{"Operation":{"opid":%q,"status":2,"type":1}}}`, w.n,
		op.OPID))
	if !ok {
		w.T.Fatal("the event was not accepted")
	}
	return s.Key
}

// Mark is the state before an attempt.
type Mark struct {
	writes int64
	seq    int64
}

// Mark returns the current state.
func (w *World) Mark() Mark {
	w.T.Helper()
	return Mark{w.writes.Load(), w.newest("")}
}

// newest is the number of a person's newest record, 0 for none.
func (w *World) newest(name string) int64 {
	w.T.Helper()
	p, err := w.App.Audit.Reader.Find(w.as("keeper", api.Admin), audit.Query{Actor: name, Limit: 1})
	if err != nil {
		w.T.Fatal(err)
	}
	if len(p.Entries) == 0 {
		return 0
	}
	return p.Entries[0].Seq
}

// Became reports what trail and service know of an attempt since m: calls is the number of changes sent, done whether
// the act is recorded as permitted, denied how often as refused.
func (w *World) Became(m Mark, r Row, name string) (calls int64, done bool, denied int) {
	w.T.Helper()
	p, err := w.App.Audit.Reader.Find(w.as("keeper", api.Admin), audit.Query{Actor: name, Limit: 50})
	if err != nil {
		w.T.Fatal(err)
	}
	for _, e := range p.Entries {
		switch {
		case e.Seq <= m.seq:
		case e.Event == r.Event:
			done = true
		case e.Event == audit.EventDenied || e.Event == "approval.refused":
			denied++
		}
	}
	return w.writes.Load() - m.writes, done, denied
}

// Check compares an attempt of a role with the table. said is the whole output for the person; sent are additional
// calls of the act, as the upload before.
func (w *World) Check(m Mark, r Row, way string, role api.Role, name, said string, refused bool) {
	w.T.Helper()
	calls, done, denied := w.Became(m, r, name)
	may := role.May(r.Need)
	bad := func(format string, args ...any) {
		w.T.Helper()
		w.T.Errorf("%s, %s as %s: %s; reported: %q", r.Name, way, role, fmt.Sprintf(format, args...), said)
	}
	writes := r.Kind != "" && !endpoint.Of(r.Kind).TouchesSession()
	switch {
	case may && refused:
		bad("refused")
	case may && (denied > 0 || r.Event != "" && !done):
		bad("recorded as done: %v, %d times as refused", done, denied)
	case may && writes && calls == 0:
		bad("nothing was sent")
	case !may && !refused:
		bad("not refused")
	case !may && calls > 0:
		bad("%d changes were sent", calls)
	case !may && (done || denied != 1):
		bad("recorded as done: %v, %d times as refused", done, denied)
	}
	if may {
		w.used(r)
	}
}
