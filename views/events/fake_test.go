package events

import (
	"context"
	"crypto/sha256"
	"fmt"
	"strings"
	"testing"
	"time"

	tea "github.com/charmbracelet/bubbletea"

	"opdeck/api"
	"opdeck/api/endpoint"
	"opdeck/api/endpoint/endpointtest"
	"opdeck/api/hook"
	"opdeck/api/secret"
	"opdeck/internal/domain/receiver"
	"opdeck/ui"
	"opdeck/ui/keymap"
	"opdeck/ui/uitest"
	"opdeck/ui/uitest/shelltest"
)

// fake is inbox, feed and service; it counts what is asked of it. A function that is
// left nil panics in the test that calls it, as does a method of the inbox that a screen does not need.
type fake struct {
	receiver.Inbox
	calls    int
	rows     []receiver.Stored // newest first
	err      error
	queries  []receiver.Filter
	codes    hook.Meanings
	bad      receiver.Trouble
	rejected []receiver.Rejection

	rejectedErr error
	coming      [][]receiver.Stored // what the stream brings; then it ends
	broken      error               // how the stream ends; nil: with the screen
	waits       []int64
	replay      func(key string) error
	hooks       func() (api.HookSettings, error)
	set         func(api.HookSettings) error
}

func (f *fake) List(_ context.Context, q receiver.Filter) ([]receiver.Stored, error) {
	f.calls++
	f.queries = append(f.queries, q)
	var out []receiver.Stored
	for _, s := range f.rows {
		if q.Match(s) && (q.Before == 0 || s.Seq < q.Before) && len(out) < q.Limit {
			out = append(out, s)
		}
	}
	return out, f.err
}
func (f *fake) LastSeq(context.Context) (int64, error) {
	f.calls++
	if len(f.rows) == 0 {
		return 0, f.err
	}
	return f.rows[0].Seq, f.err
}
func (f *fake) Counts(context.Context) ([]receiver.Count, error) {
	f.calls++
	n := map[receiver.Status]int64{}
	for _, s := range f.rows {
		n[s.Status]++
	}
	var out []receiver.Count
	for st, c := range n {
		out = append(out, receiver.Count{Type: hook.TypeOperation, Status: st, N: c})
	}
	return out, nil
}
func (f *fake) Next(_ context.Context, seq int64) ([]receiver.Stored, error) {
	f.calls++
	f.waits = append(f.waits, seq)
	if len(f.coming) == 0 {
		if f.broken != nil {
			return nil, f.broken
		}
		return nil, context.Canceled
	}
	next := f.coming[0]
	f.coming = f.coming[1:]
	return next, nil
}
func (f *fake) Codes(context.Context) (hook.Meanings, error)      { f.calls++; return f.codes, nil }
func (f *fake) Trouble(context.Context) (receiver.Trouble, error) { f.calls++; return f.bad, nil }
func (f *fake) Rejected(context.Context) ([]receiver.Rejection, error) {
	f.calls++
	return f.rejected, f.rejectedErr
}
func (f *fake) Replay(_ context.Context, key string) error {
	f.calls++
	return f.replay(key)
}

func (f *fake) caller() endpoint.Caller {
	var c endpointtest.Fake
	endpointtest.On(&c, endpoint.GetHooks, func(context.Context, struct{}) (api.HookSettings, error) {
		f.calls++
		return f.hooks()
	})
	endpointtest.On(&c, endpoint.SetHooks, func(_ context.Context, h api.HookSettings) (api.Result, error) {
		f.calls++
		return api.Result{}, f.set(h)
	})
	return &c
}

var noon = time.Date(2026, 3, 2, 12, 0, 0, 0, time.UTC)

const opid = "0f0e6c5e-1111-4222-8333-444455556666"

func hookID(n int64) string { return fmt.Sprintf("%08d-0000-4000-8000-000000000000", n) }

// stored is a delivery as the inbox holds it, bound by its signature.
func stored(seq int64, typ hook.Type, object hook.Object, data string) receiver.Stored {
	raw := fmt.Sprintf(`{"hook_id":%q,"hook_type":%d,"Data":{%q:%s}}`, hookID(seq), typ, object, data)
	s := receiver.Stored{Seq: seq, Deliveries: 1, LastAt: noon.Add(-time.Duration(20-seq) * time.Minute)}
	s.Record = receiver.Record{Key: hookID(seq), HookID: hookID(seq), Type: typ, Object: object, Raw: []byte(raw), Hash: sha256.Sum256([]byte(raw)), ReceivedAt: s.LastAt,
		Source: "127.0.0.1:5050", Verdict: hook.Verdict{Verifier: "jwt", Authenticated: true, Bound: true}, Status: receiver.Verified}
	if e, err := s.Event(); err == nil {
		s.ObjectID, s.CUID = e.ObjectID, e.CUID
	}
	return s
}

func operation(seq int64, status, second int) receiver.Stored {
	return stored(seq, hook.TypeOperation, hook.ObjectOperation, fmt.Sprintf(`{"cuid":"c-1","opid":%q,"type":3,"status":%d,"payment_type":9,"is_visible":true,"created_at":{"seconds":1772450000},"updated_at":{"seconds":%d,"nanos":7},
		"source":{"account":"U1v72k"},"destination":{"beneficiar":"U6OFFp"},"source_amount":{"sum":{"currency_code":"USD","units":250,"nanos":%d}},"commission_amount":{"sum":{"currency_code":"JPY"}}}`, opid, status, 1772450000+second, seq))
}

const account = `{"suid":"a-1","cuid":"c-1","name":"main","currency_iso":"EUR","number":"DE00123456789012","status":3,"balance":{"money":{"currency_code":"EUR","units":5}},
	"requisites":[{"title":"SEPA","items":[{"id":"1","key":"IBAN","value":"DE00123456789012","order":1}]}]}`

// sample is one of each, newest first.
func sample() []receiver.Stored {
	unbound := stored(4, hook.TypeClient, hook.ObjectClient, `{"cuid":"c-1","status":3,"name":"Ana","lastname":"Lima"}`)
	unbound.Verdict.Bound, unbound.Deliveries = false, 3
	manual := stored(5, hook.TypeDepositAccountRequisite, hook.ObjectAccount, account)
	manual.Status, manual.Verdict, manual.Source = receiver.Unverified, hook.Verdict{Verifier: "manual"}, receiver.Manual
	bad := stored(6, 9, "", `{}`)
	bad.Status, bad.Reason, bad.Detail = receiver.Quarantined, hook.ReasonType, `hook_type is not listed: "9"`
	conflict := operation(2, 5, 60)
	conflict.Seq, conflict.Key, conflict.Status = 7, hookID(2)+"#ab", receiver.Conflict
	cp := stored(3, hook.TypeCounterparty, hook.ObjectCounterparty, `{"suid":"s-1","cuid":"c-1","description":"shop","accounts":[{"suid":"x","currency_iso":"EUR","status":1}]}`)
	return []receiver.Stored{operation(9, 1, 10), operation(8, 2, 90), conflict, bad, manual, unbound, cp, operation(2, 3, 60), operation(1, 1, 30)}
}

func meanings() hook.Meanings {
	return hook.Meanings{{Field: hook.FieldStatus, Code: 1, Word: "PENDING", OPID: opid}, {Field: hook.FieldStatus, Code: 2, Word: "FAILED", OPID: opid},
		{Field: hook.FieldStatus, Code: 2, Word: "SUCCESS", OPID: opid}, {Field: hook.FieldType, Code: 3, Word: "WITHDRAW", OPID: opid}}
}

func full() *fake { return &fake{rows: sample(), codes: meanings()} }

func settings() api.HookSettings {
	return api.HookSettings{Enabled: true, HookURL: "https://hooks.example.com/in", JWTSecret: secret.New("a-long-enough-secret-of-32-chars!"), HookOperation: true, HookCustomer: true}
}

var (
	place = ui.Place{Kind: ui.KindEvents}
	here  = Config{Listen: "127.0.0.1:8788/hooks", Verify: "jwt"}
)

func as(role api.Role) shelltest.Option {
	return func(o *ui.Options) {
		o.Context = api.WithActor(context.Background(), api.Actor{Name: "ana", Role: role})
	}
}

func open(t *testing.T, f *fake, cfg Config, opts ...shelltest.Option) (*uitest.Run, *uitest.Clock) {
	t.Helper()
	clock := uitest.NewClock()
	return shelltest.Open(t, clock, func(env *ui.Env, p ui.Place) ui.Screen {
		if p.Kind != ui.KindEvents {
			return &other{p: p}
		}
		return New(env, f, f, f.caller(), cfg, p.Arg)
	}, place, append([]shelltest.Option{as(api.Admin)}, opts...)...), clock
}

// other replaces all other screens.
type other struct {
	ui.Wanted
	p ui.Place
	h int
}

func (o *other) Init() tea.Cmd { return nil }
func (o *other) Update(msg tea.Msg) (tea.Model, tea.Cmd) {
	if size, ok := msg.(tea.WindowSizeMsg); ok {
		o.h = size.Height
	}
	return o, nil
}
func (o *other) View() string       { return o.p.Kind + " " + o.p.ID + strings.Repeat("\n", max(o.h-1, 0)) }
func (o *other) Keys() []keymap.Key { return nil }
func (o *other) Editing() bool      { return false }
func (o *other) Title() string      { return o.p.Kind }
func (o *other) Place() ui.Place    { return o.p }
func (o *other) Source() ui.Source  { return ui.Source{} }
