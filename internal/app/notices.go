package app

import (
	"context"
	"net/http"
	"sync"
	"time"

	"github.com/google/uuid"

	"opdeck/api"
	"opdeck/api/secret"
	"opdeck/internal/domain/approval"
	"opdeck/internal/domain/audit"
	"opdeck/internal/domain/notify"
	"opdeck/internal/domain/verdict"
	"opdeck/internal/store/journal"
	"opdeck/internal/system/deliver"
	"opdeck/internal/system/listen"
)

// Notices are those of [notify] in one context.
type Notices struct{ app *App }

// NoticesOf returns those of an App.
func NoticesOf(a *App) Notices { return Notices{a} }

// Start watches and sends until stop is called, and logs each change of the verdict. env has the secrets of the
// receiver.
func (n Notices) Start(ctx context.Context, env func(string) string) (stop func(), err error) {
	c := n.app.Config.Notify
	opt := notify.Options{Store: journal.NewNotices(n.app.Store.Core), Scope: n.app.Scope(), Owner: uuid.NewString(),
		Min: c.Least(), Log: n.app.Log}
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
		return deliver.Command{Argv: c.Command, Getenv: env}, nil
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
	return deliver.Webhook{URL: c.URL, Client: deliver.NewClient(http.RoundTripper(t)), Now: n.app.Now,
		Secret: func() (secret.Value, error) { return c.Secret(env) }}, nil
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
	o.RequestsKnown = err == nil
	host := n.app.Now()
	for _, q := range list {
		o.Requests = append(o.Requests, notify.Request{ID: q.ID, Act: string(q.Act.Kind), Object: q.Act.Object,
			ObjectID: q.Act.ID, Requester: q.Requester.Name, Expires: v.At.Add(q.Expires.Sub(host))}) // the store's time
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
