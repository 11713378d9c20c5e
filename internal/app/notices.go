package app

import (
	"context"
	"fmt"
	"maps"
	"net/http"
	"slices"
	"sync"
	"time"

	"github.com/google/uuid"

	"opdeck/api"
	"opdeck/api/secret"
	"opdeck/internal/app/config"
	"opdeck/internal/domain/approval"
	"opdeck/internal/domain/audit"
	"opdeck/internal/domain/index/filter"
	"opdeck/internal/domain/notify"
	"opdeck/internal/domain/verdict"
	"opdeck/internal/store/journal"
	"opdeck/internal/system/deliver"
	"opdeck/internal/system/listen"
)

// Notices are the rules of [notify.NAME] in one context.
type Notices struct{ app *App }

// NoticesOf returns those of an App.
func NoticesOf(a *App) Notices { return Notices{a} }

func (n Notices) store() notify.Store { return journal.NewNotices(n.app.Store.Core) }

// Start watches and sends until stop is called, and logs each change of the verdict. env has the secrets of the
// receivers.
func (n Notices) Start(ctx context.Context, env func(string) string) (stop func(), err error) {
	rules := n.app.Config.NotifyRules()
	senders := map[string]notify.Sender{}
	for _, r := range rules {
		if senders[r.Name], err = n.sender(r.Name, env); err != nil {
			return nil, err
		}
	}
	changes := &verdictLog{}
	watch := notify.New(notify.Options{Store: n.store(), Scope: n.app.Scope(), Owner: uuid.NewString(), Rules: rules,
		Senders: senders, Log: n.app.Log, Observe: func(ctx context.Context) notify.Observation {
			o := n.observe(ctx, notify.NeedsOf(rules))
			if ctx.Err() == nil {
				changes.log(n.app, o.Verdict)
			}
			return o
		}})
	ctx, cancel := context.WithCancel(ctx)
	var wg sync.WaitGroup
	wg.Go(func() { watch.Run(ctx) })
	return func() { cancel(); wg.Wait() }, nil
}

// sender returns what delivers the notices of a rule. Calls through it use no budget and no session of the service.
func (n Notices) sender(name string, env func(string) string) (notify.Sender, error) {
	c, known := n.app.Config.Notify[name]
	if !known {
		return nil, &api.Error{Kind: api.NotFound, Public: fmt.Sprintf("There is no [notify.%s] in the config.", name),
			Hint: "opdeck notify list shows the names."}
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

// observe reads what the rules need. What cannot be read is not known.
func (n Notices) observe(ctx context.Context, need notify.Needs) notify.Observation {
	ctx = api.WithActor(ctx, lowest)
	v := Verdict(ctx, n.app)
	host := n.app.Now()
	at := func(t time.Time) time.Time { return v.At.Add(t.Sub(host)) } // of this host's clock
	o := notify.Observation{Context: n.app.Context.Name, Verdict: v, Views: map[string]notify.Rows{}}
	if need.Requests {
		if list, err := n.app.Approvals.List(ctx); err == nil {
			o.RequestsKnown = true
			for _, q := range list {
				if host.Sub(q.Created) < 24*time.Hour {
					o.Requests = append(o.Requests, requestFact(q, at))
				}
			}
		}
	}
	if need.Doubts {
		if rows, err := n.app.Follow.Pending(ctx); err == nil {
			o.DoubtsKnown = true
			for _, w := range rows {
				o.Doubts = append(o.Doubts, notify.InDoubt{Ref: w.Ref, Act: string(w.Kind), Object: w.Object, ObjectID: w.ID,
					Sent: at(w.Sent)})
			}
		}
	}
	for _, name := range need.Views {
		if rows, err := n.viewRows(ctx, name, host); err == nil {
			o.Views[name] = rows
		}
	}
	return o
}

func requestFact(q approval.Request, at func(time.Time) time.Time) notify.Request {
	out := notify.Request{ID: q.ID, Act: string(q.Act.Kind), Object: q.Act.Object, ObjectID: q.Act.ID,
		Requester: q.Requester.Name, Denied: q.State == approval.Denied,
		Lapsed: q.State == approval.Lapsed && q.Decider == nil, Expires: at(q.Expires), Decided: at(q.Expires)}
	if q.Decider != nil {
		out.Decider, out.Decided = q.Decider.Name, at(q.Decided)
	}
	return out
}

// viewRows counts the rows of a saved view as the index has them. That a row is not there is sure while the index has
// read every page and the newest operations lately.
func (n Notices) viewRows(ctx context.Context, name string, host time.Time) (rows notify.Rows, err error) {
	expr, err := filter.Parse(n.app.Config.Views[name].Filter)
	if err != nil {
		return rows, err
	}
	if rows.Count, err = n.app.Index.Count(ctx, expr.For(ctx), host); err != nil {
		return rows, err
	}
	fresh, err := n.app.Index.Freshness(ctx)
	if err != nil {
		return rows, err
	}
	now, err := n.app.Index.StoreTime(ctx, host)
	late := max(newsLate, newsLateTimes*n.app.Config.Index.MaxAge.D())
	rows.Sure = fresh.Complete && !fresh.Progress.News.At.IsZero() && now.Sub(fresh.Progress.News.At) <= late
	return rows, err
}

// How old the last read of new operations may be for the index to be sure: five times its plan, at least five minutes.
const (
	newsLate      = 5 * time.Minute
	newsLateTimes = 5
)

// Try sends a marked test notice now. The error is the receiver's.
func (n Notices) Try(ctx context.Context, name string, env func(string) string) (notify.Notice, error) {
	no := notify.Example(name, n.app.Context.Name, n.app.Now().UTC())
	if err := api.Need(ctx, "notify test", api.MaySession); err != nil {
		return no, err
	}
	s, err := n.sender(name, env)
	if err != nil {
		return no, err
	}
	if err := n.record(ctx, audit.EventNotifyTested, name, ""); err != nil {
		return no, err
	}
	ctx, cancel := context.WithTimeout(ctx, notify.SendTimeout)
	defer cancel()
	if err := s.Send(ctx, no); err != nil {
		return no, &api.Error{Op: "notify test", Kind: api.Unavailable, Public: "The test notice was not sent: " +
			err.Error() + ".", Remedy: api.Remedy{Kind: api.FixSettings, ID: "[notify." + name + "]",
			Names: []string{"command", "url", "secret_env", "secret_file"}}, Err: err}
	}
	return no, nil
}

// Silence keeps a rule's notices from being sent until a time of this host's clock, at most notify.SilenceMost ahead;
// a time that is not ahead ends the silence.
func (n Notices) Silence(ctx context.Context, name string, until time.Time) (notify.Silence, error) {
	if err := api.Need(ctx, "notify silence", api.MaySession); err != nil {
		return notify.Silence{}, err
	}
	if _, known := n.app.Config.Notify[name]; !known {
		_, err := n.sender(name, nil)
		return notify.Silence{}, err
	}
	now, host := time.Time{}, n.app.Now()
	_, now, err := n.store().Shared(ctx, n.app.Scope())
	if err != nil {
		return notify.Silence{}, notStored(err)
	}
	who := api.ActorOf(ctx)
	s := notify.Silence{Until: now.Add(until.Sub(host)), By: who.Name, At: now}
	if err := n.record(ctx, audit.EventNotifySilenced, name, "until "+until.UTC().Format(time.RFC3339)); err != nil {
		return s, err
	}
	if err := n.store().Silence(ctx, n.app.Scope(), name, s); err != nil {
		return s, notStored(err)
	}
	s.Until, s.At = until, host
	return s, nil
}

func (n Notices) record(ctx context.Context, event, name, detail string) error {
	err := n.app.Audit.Note(ctx, api.ActorOf(ctx), api.Event{Name: event, Object: "notify", ID: name, Detail: detail})
	if err != nil {
		return &api.Error{Kind: api.Refused, Rule: api.RuleAudit,
			Public: "The audit trail cannot be written, so nothing was done.", Remedy: api.Remedy{Kind: api.CheckStore},
			Err: err}
	}
	return nil
}

func notStored(err error) error {
	return &api.Error{Kind: api.Unavailable, Public: "The notices cannot be read or changed in the store.",
		Remedy: api.Remedy{Kind: api.CheckStore}, Err: err}
}

// NoticeRule is a rule with what the store has of it, in this host's time.
type NoticeRule struct {
	Name   string
	Config config.Notify
	Gone   bool // the store knows it, the config does not
	notify.Summary
}

// List returns the rules of the config, and those that the store knows besides, by name.
func (n Notices) List(ctx context.Context) ([]NoticeRule, error) {
	if err := api.Need(ctx, "notify list", api.MayRead); err != nil {
		return nil, err
	}
	have, now, err := n.store().Summaries(ctx, n.app.Scope())
	if err != nil {
		return nil, notStored(err)
	}
	names := slices.Collect(maps.Keys(n.app.Config.Notify))
	for name := range have {
		if _, known := n.app.Config.Notify[name]; !known {
			names = append(names, name)
		}
	}
	slices.Sort(names)
	host, out := n.app.Now(), []NoticeRule{}
	for _, name := range names {
		c, known := n.app.Config.Notify[name]
		r := NoticeRule{Name: name, Config: c, Gone: !known, Summary: have[name]}
		if !r.Silence.Active(now) {
			r.Silence = notify.Silence{}
		} else {
			r.Silence.Until, r.Silence.At = host.Add(r.Silence.Until.Sub(now)), host.Add(r.Silence.At.Sub(now))
		}
		out = append(out, r)
	}
	return out, nil
}

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
