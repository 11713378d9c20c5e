package app

import (
	"context"
	"errors"
	"io/fs"
	"net/http"
	"os"
	"path/filepath"
	"sync"
	"time"

	"opdeck/api"
	"opdeck/api/endpoint"
	"opdeck/api/hook"
	"opdeck/api/secret"
	"opdeck/internal/domain/approval"
	"opdeck/internal/domain/audit"
	"opdeck/internal/domain/followup"
	"opdeck/internal/domain/note"
	"opdeck/internal/domain/notify"
	"opdeck/internal/domain/receiver"
	"opdeck/internal/domain/verdict"
	"opdeck/internal/format"
	"opdeck/internal/present"
	"opdeck/internal/store/journal"
	"opdeck/internal/store/liveness"
	"opdeck/internal/system/listen"
)

// openFollow creates the tracker that settles writes with an unknown outcome.
func (a *App) openFollow() {
	a.Follow = followup.New(followup.Options{Store: journal.NewUnsettled(a.Store.Core, a.Scope()), Trail: a.Audit.Intents,
		LateAfter: a.Config.Writes.LateAfter.D(), Log: a.Log, Date: a.Gate.Date,
		Context: audit.Context{BaseURL: a.Context.BaseURL, Account: a.Context.Login}})
	a.Gate.Follow = a.Follow
}

// followers registers the observers of outcomes that are found later.
func (a *App) followers() {
	a.Follow.Client = a.service
	a.Follow.Follow(func(ctx context.Context, s followup.Settled) error {
		if s.Row.Approval == "" {
			return nil
		}
		return a.Approvals.Settle(ctx, s.Row.Approval, s.Outcome)
	})
	a.Follow.Follow(func(ctx context.Context, s followup.Settled) error {
		return a.Jobs.Settled(ctx, s.Row.Probe, s.Outcome)
	})
	a.Follow.Follow(func(ctx context.Context, s followup.Settled) error {
		return a.Journeys.Settled(ctx, s.Row.Kind, s.Row.ID, s.Row.Who, s.Outcome)
	})
}

// StartFollow checks writes with an unknown outcome in the background until stop is called.
func (a *App) StartFollow(ctx context.Context) (stop func()) {
	ctx, cancel := context.WithCancel(api.WithActor(ctx, api.Actor{Name: "follow-up", Role: api.Viewer, Via: "service"}))
	var wg sync.WaitGroup
	wg.Go(func() { a.Follow.Run(ctx) })
	return func() { cancel(); wg.Wait() }
}

// jobClient is the client of replacements: outcomes that a job sees are settled for all.
type jobClient struct {
	endpoint.Caller
	tracker *followup.Tracker
}

// Call implements endpoint.Caller.
func (c jobClient) Call(ctx context.Context, r endpoint.Request) (any, error) {
	out, err := c.Caller.Call(ctx, r)
	if s, is := out.(api.Observation); is && s.Shown {
		c.tracker.Shown(ctx, r.In.(api.Probe), s)
	}
	return out, err
}

// Trail is the audit trail for people: its unsettled acts include writes whose first outcome was unknown.
type Trail struct {
	*audit.Reader
	*audit.Prover
	log     *audit.Log
	tracker *followup.Tracker
}

// Trail returns the trail for people.
func (a *App) Trail() Trail { return Trail{a.Audit.Reader, a.Audit.Prover, a.Audit, a.Follow} }

// Health is the state of the trail.
func (t Trail) Health() audit.Health { return t.log.Health() }

// Unsettled lists the intents without a known outcome, oldest first.
func (t Trail) Unsettled(ctx context.Context) ([]audit.Entry, error) {
	rows, err := t.tracker.Pending(ctx)
	if err != nil {
		return nil, err
	}
	var out []audit.Entry
	for _, r := range rows {
		if r.State == followup.NotSeen {
			continue
		}
		e, err := t.log.Intents.Entry(ctx, r.Ref)
		if err != nil {
			return nil, err
		}
		out = append(out, e)
	}
	return out, nil
}

// Settle closes an act with what a person found.
func (t Trail) Settle(ctx context.Context, who api.Actor, ref, note string) error {
	return t.tracker.Conclude(ctx, who, ref, note)
}

// AuditKeyFile is the path of the key that signs the audit trail's checkpoints.
func (a *App) AuditKeyFile() string { return placesOf(a.Config, a.State).auditKey }

func (a *App) openAudit(ctx context.Context, how Options) error {
	at := placesOf(a.Config, a.State)
	made := ""
	opt := audit.Options{Store: journal.NewAudit(a.Store.Core), Build: a.Version, Now: a.Now, Checkpoints: at.checkpoints,
		Context: audit.Context{Name: a.Context.Name, BaseURL: a.Context.BaseURL, Account: a.Context.Login},
		Alarm: func(err error) {
			if err != nil {
				a.Log.Error("audit", "err", err)
			}
		}}
	if boots := liveness.NewBoots(a.Store.Core); boots != nil {
		opt.Alive, a.alive = boots, boots
	}
	if a.Config.Store.URL == "memory" {
		opt.Checkpoints = ""
	} else if err := os.MkdirAll(at.checkpoints, 0o700); err != nil {
		return &api.Error{Kind: api.Unavailable, Public: "The folder for audit checkpoints cannot be created.", Err: err}
	} else if opt.Key, made, err = a.auditKey(ctx, opt, how.NewAuditKey); errors.Is(err, errNewHost) {
		opt.Unrecorded = err
	} else if err != nil {
		return err
	}
	var err error
	if opt.Trusted, err = otherHosts(a.Config.Audit.Keys); err != nil {
		return err
	}
	if a.Audit, err = audit.New(opt); err != nil {
		return &api.Error{Kind: api.Internal, Public: "The audit trail cannot be opened: " + err.Error(), Err: err}
	}
	if made != "" {
		if err := a.Audit.Note(ctx, a.LocalActor("command"), api.Event{Name: audit.EventKey, Object: "audit",
			ID: audit.Fingerprint(opt.Key.Public()), Detail: "a new key was created on request, although " + made}); err != nil {
			return err
		}
	}
	if said, err := a.Audit.Prover.BeginEpoch(ctx); err != nil {
		return &api.Error{Kind: api.Unavailable, Err: err,
			Public: "The audit trail of an older program cannot be verified: " + err.Error()}
	} else if said != "" {
		a.Log.Warn(said)
	}
	a.closers = append(a.closers, func() error {
		ctx, cancel := context.WithTimeout(context.Background(), 5*time.Second)
		defer cancel()
		return a.Audit.Close(ctx)
	})
	a.Approvals = approval.New(journal.NewApprovals(a.Store.Core), a.Audit, a.Context.BaseURL, a.Context.Login, a.Now)
	a.Approvals.SetRoleLookup(a.localRole)
	a.Gate = &api.Gate{ReadOnly: a.ReadOnly, Audit: a.Audit, Now: a.Now}
	if a.Context.Approval == "second_person" {
		a.Gate.Approve = a.Approvals
	}
	return nil
}

// errNoAuditKey: this host has signed checkpoints, and its key is gone.
var errNoAuditKey = errors.New("the audit key of this host is missing")

// errNewHost: the store has a trail, and this host never signed for it. Reads need no key.
var errNewHost = errors.New("the trail began on another host")

// auditKey reads the key that signs checkpoints. A new one is made for a trail that has not begun, or when a person
// asked for one; made then says what had begun without it.
func (a *App) auditKey(ctx context.Context, opt audit.Options, anew bool) (k *audit.Key, made string, err error) {
	file := a.AuditKeyFile()
	bad := func(err error) error {
		return &api.Error{Kind: api.BadConfig, Public: "The audit key cannot be used: " + err.Error(), Err: err}
	}
	k, err = audit.ReadKey(file)
	switch {
	case err == nil:
		return k, "", nil
	case !errors.Is(err, fs.ErrNotExist):
		return nil, "", bad(err)
	}
	head, err := opt.Store.Head(ctx)
	if err != nil {
		return nil, "", err
	}
	signed, err := hasCheckpoints(opt.Checkpoints)
	if err != nil {
		return nil, "", err
	}
	begun := ""
	switch {
	case head.N > 0:
		begun = "the trail has " + format.Plural(int(head.N), "record", "records")
	case signed:
		begun = "there are checkpoints in " + opt.Checkpoints
	}
	if begun != "" && !anew {
		if k, err := audit.ReadKey(file); err == nil { // the process that began the trail has made it meanwhile
			return k, "", nil
		}
		return nil, "", noAuditKey(file, begun, signed)
	}
	if k, _, err = audit.CreateKey(file); err != nil {
		return nil, "", bad(err)
	}
	return k, begun, nil
}

// noAuditKey is the error of a missing key. A host that has signed checkpoints does not start without its key; one that
// never did reads, and refuses with this error what must be recorded.
func noAuditKey(file, begun string, signed bool) error {
	if signed {
		return &api.Error{Kind: api.BadConfig, Err: errNoAuditKey,
			Public: "The audit key " + file + " is missing, but " + begun + ". opdeck does not create a new one by itself.",
			Hint: "Restore the file from the backup (mode 0600). If the key is lost for good: opdeck audit checkpoint " +
				"--new-key makes one, and the trail records it."}
	}
	return &api.Error{Kind: api.Refused, Rule: api.RuleAudit, Unsent: true, Err: errNewHost,
		Public: "This host has no audit key (" + file + "), but " + begun + ", so opdeck sends no writes from here.",
		Hint: "opdeck audit checkpoint --new-key makes the key of a new host. If this host had one, restore the file (mode " +
			"0600)."}
}

// hasCheckpoints reports whether this host has signed any trail.
func hasCheckpoints(folder string) (bool, error) {
	there, err := filepath.Glob(filepath.Join(folder, "audit-*.jsonl"))
	return len(there) > 0, err
}

// otherHosts parses the configured keys of other hosts.
func otherHosts(verifiers []string) ([]audit.Trusted, error) {
	var keys []audit.Trusted
	for _, s := range verifiers {
		key, chain, err := audit.ReadVerifierKey(s)
		if err != nil {
			return nil, &api.Error{Kind: api.BadConfig, Err: err,
				Public: "A key in [audit] cannot be read: " + err.Error()}
		}
		keys = append(keys, audit.Trusted{Chain: chain, Key: key})
	}
	return keys, nil
}

// beside implements index.Beside with the records of the context.
type beside struct{ app *App }

// objectOperation is the kind of object of the writes to an operation and its documents.
const objectOperation = "operation"

func (b beside) InDoubt(ctx context.Context) ([]string, error) {
	return b.app.Follow.InDoubt(ctx, objectOperation)
}

// Waiting lists the operations with an approval to decide, an approved write to send, or a replacement to finish.
func (b beside) Waiting(ctx context.Context) (ids []string, err error) {
	list, err := b.app.Approvals.List(ctx, approval.Open, approval.Approved)
	if err != nil {
		return nil, err
	}
	who := api.ActorOf(ctx)
	for _, r := range list {
		if r.Act.Object == objectOperation && approval.WaitsFor(who, r) {
			ids = append(ids, r.Act.ID)
		}
	}
	if !who.Role.May(api.MayDocuments) {
		return ids, nil
	}
	jobs, err := b.app.Jobs.Store.Unfinished(ctx)
	for _, j := range jobs {
		ids = append(ids, j.OPID)
	}
	return ids, err
}

func (b beside) Find(ctx context.Context, text string, limit int) ([]note.Note, error) {
	return b.app.Notes.Find(ctx, text, limit)
}

// maxOfOne bounds the deliveries or records that are read about one operation.
const maxOfOne = 1000

// Of lists the deliveries about an operation, newest first.
func (h Hooks) Of(ctx context.Context, opid string) ([]present.Webhook, error) {
	list, err := h.Inbox().List(ctx, receiver.Filter{Object: hook.ObjectOperation, ObjectID: opid, Limit: maxOfOne})
	if err != nil || len(list) == 0 {
		return nil, err
	}
	meanings, err := h.Meanings(ctx)
	if err != nil {
		return nil, err
	}
	out := make([]present.Webhook, len(list))
	for i, s := range list {
		out[i] = present.WebhookOf(s, meanings)
	}
	return out, nil
}

// DocumentWrites lists the completed writes to an operation's documents; none for a person who may not read the audit
// trail. The read is recorded.
func (t Trail) DocumentWrites(ctx context.Context, opid string) ([]present.Write, error) {
	if !api.ActorOf(ctx).Role.May(api.MayAudit) {
		return nil, nil
	}
	page, err := t.Find(ctx, audit.Query{Object: "operation", ID: opid, Event: "document.*", Limit: maxOfOne})
	done := map[string]bool{} // by the intent's id
	for _, e := range page.Entries {
		if e.Phase == audit.PhaseOutcome && e.Outcome == audit.ResultOK && !e.Damaged {
			done[e.Ref] = true
		}
	}
	var out []present.Write
	for _, e := range page.Entries {
		if done[e.UID] && !e.Damaged {
			out = append(out, present.Write{Who: e.Actor.Name, Act: api.ActKind(e.Event), Item: e.Item, At: e.At})
		}
	}
	return out, err
}

// Notices are those of [notify] in one context.
type Notices struct{ app *App }

// NoticesOf returns those of an App.
func NoticesOf(a *App) Notices { return Notices{a} }

// Start watches and sends until stop is called, and logs each change of the verdict. env has the secrets of the
// receiver.
func (n Notices) Start(ctx context.Context, env func(string) string) (stop func(), err error) {
	c := n.app.Config.Notify
	opt := notify.Options{Store: journal.NewNotices(n.app.Store.Core), Scope: n.app.Scope(), Min: c.Least(),
		Log: n.app.Log}
	if c.On() {
		if opt.Sender, err = n.sender(env); err != nil {
			return nil, err
		}
	}
	changes := &verdictLog{}
	opt.Observe = func(ctx context.Context) notify.Observation {
		o := n.observe(ctx, c.On())
		if ctx.Err() == nil {
			changes.log(n.app, o.Verdict)
		}
		return o
	}
	ctx, cancel := context.WithCancel(ctx)
	var wg sync.WaitGroup
	wg.Go(func() { notify.New(opt).Run(ctx) })
	return func() { cancel(); wg.Wait() }, nil
}

// sender returns what delivers notices. Calls through it use no budget and no session of the service.
func (n Notices) sender(env func(string) string) (notify.Sender, error) {
	c := n.app.Config.Notify
	if !c.On() {
		return nil, &api.Error{Kind: api.BadConfig, Public: "[notify] names no command and no url, so nobody is told.",
			Remedy: notifyRemedy}
	}
	if c.URL == "" {
		return notify.Command{Argv: c.Command, Env: n.app.Config.ChildEnv()}, nil
	}
	conf, err := tlsConfig(n.app.Context)
	if err != nil {
		return nil, err
	}
	to := n.app.Context // as the service is called: authorities, proxy
	to.BaseURL, to.Sandbox = c.URL, false
	proxy, err := outbound(to)
	if err != nil {
		return nil, err
	}
	t := newTransport(conf)
	t.Proxy, t.MaxResponseHeaderBytes = through(proxy), 64<<10
	n.app.closers = append(n.app.closers, func() error { t.CloseIdleConnections(); return nil })
	return notify.Webhook{URL: c.URL, Client: notify.NewClient(http.RoundTripper(t)), Now: n.app.Now,
		Secret: func() (secret.Value, error) { return n.app.Config.NoticeSecret(env) }}, nil
}

// lowest is the actor whose masks apply to notices.
var lowest = api.Actor{Name: "notify", Role: api.Viewer, Via: "service"}

// observe reads the verdict and, for notices, the requests for approval that wait. What cannot be read is not known.
func (n Notices) observe(ctx context.Context, requests bool) notify.Observation {
	ctx = api.WithActor(ctx, lowest)
	v := Verdict(ctx, n.app)
	o := notify.Observation{Context: n.app.Context.Name, Verdict: v}
	if !requests {
		return o
	}
	list, err := n.app.Approvals.List(ctx, approval.Open)
	o.Requests, o.RequestsKnown = list, err == nil
	for i, host := 0, n.app.Now(); i < len(list); i++ {
		list[i].Expires = v.At.Add(list[i].Expires.Sub(host)) // the store's time
	}
	return o
}

// Try sends a marked test notice now. The error is the receiver's.
func (n Notices) Try(ctx context.Context, env func(string) string) (notify.Notice, error) {
	no := notify.Example(n.app.Context.Name, n.app.Now().UTC())
	if err := api.Need(ctx, "notify test", api.MaySession); err != nil {
		return no, err
	}
	s, err := n.sender(env)
	if err != nil {
		return no, err
	}
	err = n.app.Audit.Note(ctx, api.ActorOf(ctx), api.Event{Name: audit.EventNotifyTested, Object: "notify", ID: no.ID})
	if err != nil {
		return no, &api.Error{Kind: api.Refused, Rule: api.RuleAudit,
			Public: "The audit trail cannot be written, so nothing was done.", Remedy: api.Remedy{Kind: api.CheckStore},
			Err: err}
	}
	ctx, cancel := context.WithTimeout(ctx, notify.SendTimeout)
	defer cancel()
	if err := s.Send(ctx, no); err != nil {
		return no, &api.Error{Op: "notify test", Kind: api.Unavailable, Public: "The test notice was not sent: " +
			err.Error() + ".", Remedy: notifyRemedy, Err: err}
	}
	return no, nil
}

var notifyRemedy = api.Remedy{Kind: api.FixSettings, ID: "[notify]",
	Names: []string{"command", "url", "secret_env", "secret_file"}}

// verdictLog logs changes of the verdict: one line a minute for each state and first cause, so that one that flaps
// fills nothing.
type verdictLog struct {
	known bool
	state verdict.State
	cause verdict.Cause
	lines listen.LogLimit
}

func (l *verdictLog) log(a *App, v verdict.Verdict) {
	f, wrong := v.First()
	if l.known && l.state == v.State() && l.cause == f.Cause {
		return
	}
	held, ok := l.lines.Allow("", v.State().String()+" "+string(f.Cause), v.At)
	if !ok {
		return // a later call logs it
	}
	l.known, l.state, l.cause = true, v.State(), f.Cause
	switch {
	case wrong:
		a.Log.Warn("verdict", "state", v.State().String(), "cause", string(f.Cause), "part", string(f.Part), "severity",
			f.Severity.String(), "says", f.Sentence, "since", f.Since.UTC().Format(time.RFC3339), "held_back", held)
	default:
		a.Log.Info("verdict", "state", v.State().String(), "says", v.Headline(), "held_back", held)
	}
}
