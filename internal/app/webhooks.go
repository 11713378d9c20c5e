package app

import (
	"bytes"
	"context"
	"crypto/tls"
	"encoding/json"
	"errors"
	"io"
	"net/netip"
	"os"
	"slices"
	"strings"
	"sync"
	"time"

	"opdeck/api"
	"opdeck/api/endpoint"
	"opdeck/api/hook"
	"opdeck/api/limit"
	"opdeck/api/untrusted"
	"opdeck/internal/domain/audit"
	"opdeck/internal/domain/index"
	"opdeck/internal/domain/mask"
	"opdeck/internal/domain/receiver"
	"opdeck/internal/sandbox"
	"opdeck/internal/store"
	"opdeck/internal/store/inbox"
)

// Hooks are the webhooks of one context: the receiver, the inbox, and the merging into the index.
type Hooks struct{ app *App }

func (a *App) Hooks() Hooks { return Hooks{a} }

// Inbox is the inbox of this account's webhooks, which all processes on the store share.
func (h Hooks) Inbox() *inbox.Inbox { return h.app.inboxIn(h.app.Store) }

func (a *App) inboxIn(s *store.Store) *inbox.Inbox {
	key := a.Session.Key()
	return inbox.New(s.Bulk, key.BaseURL, key.Account)
}

// rules are the ways to authenticate a delivery that [webhooks] allows.
func (h Hooks) rules() hook.Rules {
	w := h.app.Config.Webhooks
	r := hook.Rules{Algorithms: w.Algorithms, MaxAge: w.MaxAge.D()}
	if r.MaxAge == 0 {
		r.MaxAge = -1 // no limit
	}
	return r
}

// Meanings are the words that the service says over REST for the codes of events.
func (h Hooks) Meanings(ctx context.Context) (hook.Meanings, error) { return h.Inbox().Words(ctx) }

// Secrets reads the secret of [webhooks] from its configured source.
func (h Hooks) Secrets(env func(string) string) (hook.Secrets, error) {
	if h.app.Config.Webhooks.Verify == hook.VerifyNone {
		return hook.Secrets{}, nil
	}
	v, err := h.app.Config.HookSecret(env)
	switch {
	case err != nil:
		return hook.Secrets{}, hookConfig("[webhooks]: "+err.Error()+".", err)
	case v.Empty():
		return hook.Secrets{}, hookConfig("[webhooks] has no secret.", nil)
	}
	return hook.ParseSecrets(v.Reveal()), nil
}

func hookConfig(what string, err error) error {
	return &api.Error{Kind: api.BadConfig, Public: what,
		Remedy: api.Remedy{Kind: api.FixSettings, ID: "[webhooks]", Names: []string{"secret_env", "secret_file"}}, Err: err}
}

// Receiver returns the configured webhook receiver; without network it verifies nothing, and only Replay works. The
// caller closes it.
func (h Hooks) Receiver(env func(string) string, network bool) (*receiver.Receiver, error) {
	w := h.app.Config.Webhooks
	opt := receiver.Options{Inbox: h.Inbox(), Rejects: h.Inbox().Reject, Header: w.Header, Path: w.Path, Log: h.app.Log,
		Now: h.app.Now}
	if network {
		secrets, err := h.Secrets(env)
		if err != nil {
			return nil, err
		}
		if opt.Verifier, err = h.rules().Verifier(w.Verify, w.Header, secrets); err != nil {
			return nil, hookConfig("The webhook secret cannot be used: "+err.Error()+".", err)
		}
		if w.BehindProxy { // the proxy is on this host
			opt.Proxies = []netip.Prefix{netip.MustParsePrefix("127.0.0.0/8"), netip.MustParsePrefix("::1/128")}
		}
	}
	rec, err := receiver.New(opt)
	if err != nil {
		return nil, &api.Error{Kind: api.Internal, Public: "The receiver cannot be started: " + err.Error(), Err: err}
	}
	return rec, nil
}

// Replay puts a stored delivery through the receiver and the index again and returns it.
func (h Hooks) Replay(ctx context.Context, env func(string) string, key string) (receiver.Stored, error) {
	rec, err := h.Receiver(env, false)
	if err != nil {
		return receiver.Stored{}, err
	}
	defer func() { _ = rec.Close(context.WithoutCancel(ctx)) }()
	s, err := rec.Replay(ctx, key)
	var bad *hook.Malformed
	switch {
	case errors.As(err, &bad):
		return s, &api.Error{Op: "replay event", Kind: api.Refused, Public: "The event still cannot be used: " + bad.Detail +
			".", Err: err}
	case err != nil:
		return s, err
	}
	return s, h.Merge(ctx, s)
}

// Server opens the configured port for rec.
func (h Hooks) Server(ctx context.Context, rec *receiver.Receiver) (*receiver.Server, error) {
	w := h.app.Config.Webhooks
	opt := receiver.ServerOptions{Listen: w.Listen}
	if w.TLSCert != "" {
		cert, err := tls.LoadX509KeyPair(w.TLSCert, w.TLSKey)
		if err != nil {
			return nil, &api.Error{Kind: api.BadConfig, Public: "The certificate of [webhooks] cannot be used.",
				Remedy: api.Remedy{Kind: api.FixSettings, ID: "[webhooks]", Names: []string{"tls_cert", "tls_key"}}, Err: err}
		}
		opt.TLS = &tls.Config{MinVersion: tls.VersionTLS12, Certificates: []tls.Certificate{cert}}
	}
	srv, err := receiver.Listen(ctx, rec, opt)
	if err != nil {
		kind := api.BadConfig
		if errors.As(err, new(*os.SyscallError)) {
			kind = api.Unavailable
		}
		return nil, &api.Error{Kind: kind, Public: "Webhooks cannot be received: " + err.Error() + ".", Err: err}
	}
	return srv, nil
}

// take merges a stored event into the index. It is a fact only if its authentication covers its body; else it is a
// hint to read the operation again. Events of other objects, and unusable ones, change nothing.
func (h Hooks) take(ctx context.Context, s receiver.Stored, l hook.Meanings) error {
	if s.Object != hook.ObjectOperation || s.Status == receiver.Quarantined || s.Status == receiver.Conflict {
		return nil
	}
	e, err := hook.Decode(s.Raw)
	if err != nil {
		return err
	}
	if s.Verdict.Authenticated && s.Verdict.Bound {
		_, err := h.app.Index.Event(ctx, indexEvent(e, s.ReceivedAt, l))
		return err
	}
	return h.app.Index.Owe(ctx, string(e.ObjectID))
}

// indexEvent converts an event for the index, with the words of those codes whose meaning is known.
func indexEvent(e hook.Envelope, seen time.Time, l hook.Meanings) index.Event {
	word := func(f hook.Field, c hook.Code) string {
		if !c.Given {
			return ""
		}
		return string(l.Word(f, c.Value))
	}
	out := index.Event{OPID: string(e.ObjectID), CUID: string(e.CUID), Seen: seen,
		Status: word(hook.FieldStatus, e.Status), Type: word(hook.FieldType, e.OperationType),
		PaymentType: word(hook.FieldPaymentType, e.PaymentType)}
	if o := e.Operation; o != nil {
		out.From, out.To = sideOf(o.Source), sideOf(o.Destination)
	}
	out.Created, _ = e.CreatedAt.Time()
	out.Updated, _ = e.UpdatedAt.Time()
	if e.IsVisible != hook.NotGiven {
		v := e.IsVisible == hook.Yes
		out.Visible = &v
	}
	for to, amount := range map[**api.Money]api.Amount{&out.Source: e.SourceAmount, &out.Destination: e.DestinationAmount,
		&out.Commission: e.CommissionAmount, &out.Balance: e.CurrentBalanceAmount} {
		if !amount.Sum.Empty() {
			*to = &amount.Sum
		}
	}
	return out
}

// sideOf is one side as an operation has it, with its identifier only.
func sideOf(s hook.Side) (p api.Party) {
	if s.Account != "" {
		p.Account = &api.PartyAccount{ID: s.Account}
	}
	if s.Beneficiar != "" {
		p.CounterpartyAccount = &api.CounterpartyAccount{ID: s.Beneficiar}
	}
	return p
}

// joined is how many of the newest events of an operation are compared with a read of it.
const joined = 200

// Join stores the words that a read of an operation has for the codes of its authenticated events. Errors are only
// logged.
func (h Hooks) Join(ctx context.Context, op api.Operation) {
	if err := h.join(ctx, op); err != nil {
		h.app.Log.Warn("codes", "opid", untrusted.Text(op.OPID).Line(64), "err", err)
	}
}

func (h Hooks) join(ctx context.Context, op api.Operation) error {
	rows, err := h.Inbox().List(ctx, receiver.Filter{Object: hook.ObjectOperation, ObjectID: string(op.OPID),
		Statuses: []receiver.Status{receiver.Verified}, Limit: joined})
	if err != nil || len(rows) == 0 {
		return err
	}
	var events []hook.Event
	for _, s := range rows {
		if e, err := s.Event(); err == nil {
			events = append(events, e)
		}
	}
	known, err := h.Meanings(ctx)
	if err != nil {
		return err
	}
	fresh := slices.DeleteFunc(hook.Join(events, op), func(s hook.Said) bool {
		return slices.ContainsFunc(known.Of(s.Field, s.Code), func(k hook.Said) bool { return k.Word == s.Word })
	})
	if len(fresh) == 0 {
		return nil
	}
	return h.Inbox().AddWords(ctx, fresh)
}

// receiverActor merges events: not a person, without a role.
var receiverActor = api.Actor{Name: "receiver", Via: "service"}

const (
	inboxEvery = 5 * time.Second  // how often the inbox is read with webhooks configured
	inboxIdle  = 30 * time.Second // the same without: for deliveries of other processes
)

// Apply merges the deliveries of rec, and of other processes, into the index until ctx ends, and retries those that
// failed. rec is nil without a receiver. The position is stored with the index, so that events acknowledged before a
// crash are merged after it; merging is idempotent. A living built-in service changes meanwhile.
func (h Hooks) Apply(ctx context.Context, rec *receiver.Receiver) {
	ctx = api.WithActor(ctx, receiverActor) // the person in ctx may see less than is merged
	received := make(chan struct{}, 1)
	every := inboxIdle
	if rec != nil {
		defer rec.Notify(received)()
		every = inboxEvery
	}
	if h.app.Living {
		defer h.live(ctx, received)()
	}
	reads := newEventReads(api.WithActor(ctx, api.Actor{Name: "receiver", Role: api.Viewer, Via: "service"}), h.app)
	defer reads.stop()
	m := h.merger()
	m.Passed = func(ctx context.Context, s receiver.Stored) {
		h.auditAlarm(ctx, s)
		h.app.Follow.ObjectChanged(ctx, string(s.ObjectID))
		if s.Object == hook.ObjectOperation {
			reads.add(string(s.ObjectID))
		}
	}
	m.Run(ctx, received, every)
}

// live lets the built-in service change until stop is called and puts its webhooks directly into the inbox; received
// is notified of each.
func (h Hooks) live(ctx context.Context, received chan<- struct{}) (stop func()) {
	rec, err := h.inProcess()
	if err != nil {
		h.app.Log.Error("the built-in service does not change: no receiver", "err", err)
		return func() {}
	}
	ctx, cancel := context.WithCancel(ctx)
	stopNotify := rec.Notify(received)
	h.app.Sandbox.Receive(rec)
	var lives sync.WaitGroup
	lives.Go(func() { h.app.Sandbox.Live(ctx) })
	return func() {
		h.app.Sandbox.Receive(nil)
		cancel()
		lives.Wait()
		stopNotify()
		_ = rec.Close(context.WithoutCancel(ctx))
	}
}

// meaningsHold is how long the merger keeps the meanings of codes.
const meaningsHold = 5 * time.Second

// merger merges the events of this account into its index.
func (h Hooks) merger() *receiver.Merger {
	var known hook.Meanings
	var at time.Time // when they were read
	take := func(ctx context.Context, s receiver.Stored) error {
		if time.Since(at) > meaningsHold {
			l, err := h.Meanings(ctx)
			if err != nil {
				return err
			}
			known, at = l, time.Now()
		}
		return h.take(ctx, s, known)
	}
	return &receiver.Merger{Inbox: h.Inbox(), Ledger: h.app.ledger, Take: take, Now: h.app.Now, Log: h.app.Log}
}

// Merge merges one event now. If it fails, the error says so, and any running process retries later.
func (h Hooks) Merge(ctx context.Context, s receiver.Stored) error {
	if err := h.merger().Merge(ctx, s); err != nil {
		return &api.Error{Op: "merge event", Kind: api.Unavailable,
			Public: "The event is stored, but the index could not apply it yet: " + err.Error() + ".",
			Remedy: api.Remedy{Kind: api.WaitingEvents}, Err: err}
	}
	return nil
}

// Trouble returns the unmerged and the rejected deliveries of all processes.
func (h Hooks) Trouble(ctx context.Context) (t receiver.Trouble, err error) {
	if t.Backlog, err = h.app.ledger.Backlog(ctx); err != nil {
		return t, err
	}
	t.Rejected, err = h.Inbox().RejectCounts(ctx)
	return t, err
}

// auditAlarm records events that a person should check.
func (h Hooks) auditAlarm(ctx context.Context, e receiver.Stored) {
	if !e.Alarming() {
		return
	}
	who := receiverActor
	who.From = string(e.Source)
	note := api.Event{Name: audit.EventQuarantine, Object: "event", ID: e.Key,
		Detail: string(e.Status) + ": " + string(e.Reason)}
	if err := h.app.Audit.Note(ctx, who, note); err != nil {
		h.app.Log.Error("audit", "err", err)
	}
}

// Start receives webhooks at the configured address, if any, and merges them until stop is called; addr is "" if
// nothing is received here. A busy address is not an error: another instance receives for all. In any case the
// unmerged deliveries of others are merged.
func (h Hooks) Start(ctx context.Context, env func(string) string) (addr string, stop func(), err error) {
	ctx, cancel := context.WithCancel(ctx)
	rec, srv, err := h.open(ctx, env)
	if err != nil {
		cancel()
		return "", nil, err
	}
	var parts sync.WaitGroup
	if srv != nil {
		addr = srv.Addr().String()
		parts.Go(func() { _ = srv.Serve(ctx) })
	}
	parts.Go(func() { h.Apply(ctx, rec) })
	return addr, func() {
		cancel()
		parts.Wait()
		if rec != nil {
			_ = rec.Close(context.WithoutCancel(ctx))
		}
	}, nil
}

// At says where webhooks are received; "" for nowhere.
func (h Hooks) At() string {
	switch {
	case h.app.Config.Webhooks.Listen != "":
		return h.app.Config.Webhooks.Listen + h.app.Config.Webhooks.Path
	case h.app.Living:
		return "no port: the built-in service hands them over in this process"
	}
	return ""
}

// inProcess is the receiver for the living built-in service.
func (h Hooks) inProcess() (*receiver.Receiver, error) {
	verifier, err := hook.NewVerifier(hook.VerifyJWT, "Authorization", hook.ParseSecrets(sandbox.DefaultHookSecret))
	if err != nil {
		return nil, err
	}
	return receiver.New(receiver.Options{Inbox: h.Inbox(), Rejects: h.Inbox().Reject, Verifier: verifier, Log: h.app.Log,
		Now: h.app.Now})
}

// open opens the configured address; both results are nil without one.
func (h Hooks) open(ctx context.Context, env func(string) string) (*receiver.Receiver, *receiver.Server, error) {
	if h.app.Config.Webhooks.Listen == "" {
		return nil, nil, nil
	}
	rec, err := h.Receiver(env, true)
	if err != nil {
		return nil, nil, err
	}
	srv, err := h.Server(ctx, rec)
	if err == nil {
		return rec, srv, nil
	}
	closeErr := rec.Close(context.WithoutCancel(ctx))
	if api.KindOf(err) == api.Unavailable && closeErr == nil {
		h.app.Log.Info("webhooks are received by another process", "err", err)
		return nil, nil, nil
	}
	return nil, nil, err
}

// maxMasked bounds an answer that is masked, in bytes: it is read whole.
const maxMasked = 16 << 20

// maskBody replaces the body by a masked one. Masking goes by member names, so an answer that is not JSON, or has
// JSON inside its texts, is refused.
func maskBody(op string, role api.Role, out *api.Relayed) error {
	raw, err := io.ReadAll(io.LimitReader(out.Body, maxMasked+1))
	_ = out.Body.Close() // before masking, so that the index gets what was read
	switch {
	case err != nil:
		return &api.Error{Op: op, Kind: api.Unavailable, Public: "The service's answer broke off.", RequestID: out.RequestID,
			Err: err}
	case len(raw) > maxMasked:
		return &api.Error{Op: op, Kind: api.Unavailable, Public: "The answer is larger than 16 MB and cannot be masked.",
			RequestID: out.RequestID,
			Remedy:    api.Remedy{Kind: api.AskForLess}}
	case len(bytes.TrimSpace(raw)) > 0 && !maskable(raw):
		e := api.LacksPermission(op, role, api.MayReveal)
		e.Public, e.RequestID = "The service's answer is not plain JSON, so it cannot be masked for your role.",
			out.RequestID
		return e
	}
	if out.Status >= 300 {
		raw = mask.Refusal(raw)
	} else {
		raw = mask.JSON(raw)
	}
	out.Body, out.Size = io.NopCloser(bytes.NewReader(raw)), int64(len(raw))
	out.Header.Del("Etag") // it belongs to the unmasked text
	return nil
}

// maskable reports whether b is JSON, without JSON in one of its texts.
func maskable(b []byte) bool {
	if !json.Valid(b) {
		return false
	}
	var v any
	return json.Unmarshal(b, &v) == nil && plain(v)
}

func plain(v any) bool {
	switch v := v.(type) {
	case map[string]any:
		for _, it := range v {
			if !plain(it) {
				return false
			}
		}
	case []any:
		return !slices.ContainsFunc(v, func(it any) bool { return !plain(it) })
	case string:
		inner := strings.TrimSpace(v)
		return !(strings.HasPrefix(inner, "{") || strings.HasPrefix(inner, "[")) || !json.Valid([]byte(inner))
	}
	return true
}

const (
	maxWaiting = 4               // operations that wait; the sync reads older ones
	slotWait   = 3 * time.Second // the wait for a slot for background work
)

// eventReads reads the operations that events left in doubt, newest first, with spare calls. Others stay owed in the
// index, and the background sync reads them later.
type eventReads struct {
	app   *App
	queue chan string
	end   context.CancelFunc
	done  chan struct{}
}

func newEventReads(ctx context.Context, a *App) *eventReads {
	ctx, end := context.WithCancel(limit.Background(ctx))
	p := &eventReads{app: a, queue: make(chan string, 256), end: end, done: make(chan struct{})}
	go p.run(ctx)
	return p
}

// add queues an operation; it never blocks.
func (p *eventReads) add(opid string) {
	select {
	case p.queue <- opid:
	default: // full: the sync reads it
	}
}

func (p *eventReads) stop() { p.end(); <-p.done }

func (p *eventReads) run(ctx context.Context) {
	defer close(p.done)
	var waiting []string
	for {
		if len(waiting) == 0 {
			select {
			case id := <-p.queue:
				waiting = append(waiting, id)
			case <-ctx.Done():
				return
			}
		}
		waiting = p.drain(waiting)
		last := len(waiting) - 1
		p.read(ctx, waiting[last])
		waiting = waiting[:last]
	}
}

// drain takes the queued operations, each once, and keeps the newest.
func (p *eventReads) drain(waiting []string) []string {
	for {
		select {
		case id := <-p.queue:
			kept := waiting[:0]
			for _, w := range waiting {
				if w != id {
					kept = append(kept, w)
				}
			}
			waiting = append(kept, id)
			if over := len(waiting) - maxWaiting; over > 0 {
				waiting = waiting[over:]
			}
		default:
			return waiting
		}
	}
}

func (p *eventReads) read(ctx context.Context, opid string) {
	ctx, cancel := context.WithTimeout(ctx, slotWait)
	defer cancel()
	rec, err := p.app.Index.Get(ctx, opid)
	if err != nil || !rec.Owed {
		return
	}
	if _, err := endpoint.Do(ctx, p.app.service, endpoint.GetOperation, opid); err != nil {
		p.app.Log.Info("an event's operation is left to the sync", "err", err)
	}
}
