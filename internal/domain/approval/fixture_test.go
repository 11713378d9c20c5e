package approval_test

import (
	"context"
	"errors"
	"strings"
	"sync"
	"testing"
	"time"

	"opdeck/api"
	"opdeck/internal/domain/approval"
)

const (
	service = "https://stage.example.com"
	account = "machine@example.com"
)

var (
	ana = api.Actor{Name: "ana", Role: api.Operator, Via: "ssh", Key: "SHA256:ana", Login: "ana"}
	bo  = api.Actor{Name: "bo", Role: api.Operator, Via: "ssh", Key: "SHA256:bo", Login: "bo"}
	act = api.Act{Kind: api.ActRemoveDocument, Method: "DELETE", Path: "/v2/billing/operation/op-1/document/doc-1",
		Object: "operation", ID: "op-1", Item: "doc-1", Name: "invoice.pdf", Summary: "Remove invoice.pdf", Reason: "wrong file", Seen: "before"}
)

// trail is an api.Auditor that records, and can be made to fail.
type trail struct {
	mu     sync.Mutex
	events []string
	fail   error
}

func (t *trail) Intent(context.Context, api.Actor, api.Act) (string, error) { return "ref", nil }
func (t *trail) Outcome(context.Context, string, api.Outcome) error         { return nil }
func (t *trail) Note(_ context.Context, who api.Actor, e api.Event) error {
	t.mu.Lock()
	defer t.mu.Unlock()
	if t.fail != nil {
		return t.fail
	}
	t.events = append(t.events, e.Name+" "+who.Name)
	return nil
}

func (t *trail) take() string {
	t.mu.Lock()
	defer t.mu.Unlock()
	s := strings.Join(t.events, ", ")
	t.events = nil
	return s
}

// fixture is a Service with a time of its own.
type fixture struct {
	*approval.Service
	trail *trail
	now   time.Time
	open  func() approval.Store // another handle on the same database
	today map[string]api.Role   // roles that changed; "": the key is gone
}

// service is the Service of another process, or of another context.
func (f *fixture) service(service, account string) *approval.Service {
	return f.serviceOn(f.open(), service, account)
}

func (f *fixture) serviceOn(st approval.Store, service, account string) *approval.Service {
	d := approval.New(st, f.trail, service, account, func() time.Time { return f.now })
	d.SetRoleLookup(f.standing)
	return d
}

// standing is a RoleLookup: everyone is an operator, but for those whom a test put into
// f.today.
func (f *fixture) standing(p approval.Person) (api.Role, error) {
	switch role, changed := f.today[p.Name]; {
	case !changed:
		return api.Operator, nil
	case role == "":
		return "", errors.New("the key is unknown")
	default:
		return role, nil
	}
}

// overSSH is someone with a key of their own.
func overSSH(name string) api.Actor {
	return api.Actor{Name: name, Role: api.Operator, Via: "ssh", Key: "SHA256:" + name, Login: name}
}

func as(a api.Actor) context.Context { return api.WithActor(context.Background(), a) }

// check is an attempt; it returns the id of the approval or the rule that stopped it.
func (f *fixture) check(t *testing.T, who api.Actor, a api.Act) (string, api.Rule) {
	t.Helper()
	id, err := f.Check(as(who), who, a)
	if err == nil {
		return id, ""
	}
	e := api.AsError(err)
	if e.Kind != api.Refused || e.Public == "" || e.Hint == "" && e.Remedy.Kind == "" || id != "" {
		t.Fatalf("no refusal with a hint: %q, %#v", id, e)
	}
	return "", e.Rule
}

// filed attempts the act, which files a request, and returns it.
func (f *fixture) filed(t *testing.T, who api.Actor, a api.Act) approval.Request {
	t.Helper()
	if _, rule := f.check(t, who, a); rule != api.RuleApproval {
		t.Fatalf("rule %q", rule)
	}
	list, err := f.List(as(who), approval.Open)
	if err != nil {
		t.Fatal(err)
	}
	for _, r := range list {
		if r.Digest == a.Digest() {
			return r
		}
	}
	t.Fatalf("no open request for %+v", a)
	return approval.Request{}
}

func (f *fixture) state(t *testing.T, id string) approval.State {
	t.Helper()
	r, err := f.Show(as(ana), id)
	if err != nil {
		t.Fatal(err)
	}
	return r.State
}
