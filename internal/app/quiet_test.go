package app

import (
	"context"
	"crypto/sha256"
	"fmt"
	"log/slog"
	"math/rand/v2"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"opdeck/api"
	"opdeck/api/endpoint"
	"opdeck/api/hook"
	"opdeck/internal/domain/notify"
	"opdeck/internal/domain/notify/notifytest"
	"opdeck/internal/domain/receiver"
	"opdeck/internal/domain/receiver/receivertest"
	"opdeck/internal/domain/verdict"
	"opdeck/internal/store"
)

// quietClock is a host's clock in virtual time, for the session and for the accounts in the store.
type quietClock struct{ began time.Time }

func (quietClock) Wall() time.Time { return time.Now().Round(0) }

func (c quietClock) Steady() time.Duration { return 24*time.Hour + time.Since(c.began) }

func (quietClock) now() time.Duration { return time.Duration(time.Now().UnixNano()) }

func (c quietClock) Time(context.Context, store.Querier) (time.Duration, error) { return c.now(), nil }

func (quietClock) Column() string { return "0" }

func (c quietClock) Settle(int64) time.Duration { return c.now() }

// storeClock is quietClock as a store.Clock.
type storeClock struct{ quietClock }

func (storeClock) Wall(time.Duration) time.Time { return time.Now().Round(0) }

func (storeClock) Boot() string { return "one" }

const quietConfig = `[contexts.prod]
base_url = "https://service.test"
login = "machine@example.com"
password_env = "PASSWORD"
timeout = "30s"
[webhooks]
listen = "127.0.0.1:8788"
secret_env = "HOOK_SECRET"
`

// quietWorld is a service without faults, and a host with some instances of opdeck serve.
type quietWorld struct {
	t       *testing.T
	rnd     *rand.Rand
	service *calmService
	around  *around
	config  string
	state   string
	running []*quietInstance
	hooks   int
}

// quietInstance is what opdeck serve runs of one App, with the reads of a person.
type quietInstance struct {
	*App
	receiver *receiver.Receiver
	ctx      context.Context
	cancel   func()
	parts    *sync.WaitGroup
	ends     []func()
}

func quietEnv(name string) string {
	return map[string]string{"PASSWORD": "right", "HOOK_SECRET": "0123456789abcdef0123456789abcdef"}[name]
}

func newQuietWorld(t *testing.T, seed uint64) *quietWorld {
	t.Helper()
	dir := t.TempDir()
	clock := quietClock{time.Now()}
	w := &quietWorld{t: t, rnd: rand.New(rand.NewPCG(seed, 1)), service: newCalmService(seed),
		config: filepath.Join(dir, "config.toml"), state: filepath.Join(dir, "state")}
	w.around = &around{clock: clock, stored: storeClock{clock}, service: w.service}
	if err := os.WriteFile(w.config, []byte(quietConfig), 0o600); err != nil {
		t.Fatal(err)
	}
	return w
}

func (w *quietWorld) open() *App {
	w.t.Helper()
	a, err := Open(context.Background(), Options{ConfigFlag: w.config, StateFlag: w.state, Getenv: quietEnv,
		around: w.around})
	if err != nil {
		w.t.Fatal(err)
	}
	return a
}

// begin starts an instance.
func (w *quietWorld) begin() *quietInstance {
	w.t.Helper()
	i := &quietInstance{App: w.open(), parts: new(sync.WaitGroup)}
	rec, err := i.Hooks().Receiver(quietEnv, true)
	if err != nil {
		w.t.Fatal(err)
	}
	who := i.LocalActor("service")
	i.receiver = rec
	i.ctx, i.cancel = context.WithCancel(api.WithActor(context.Background(), who))
	if err := i.Audit.Start(i.ctx, who); err != nil {
		w.t.Fatal(err)
	}
	i.parts.Go(func() { i.Audit.Run(i.ctx) })
	i.parts.Go(func() { _ = i.Session.Keep(i.ctx) })
	i.parts.Go(func() { i.Hooks().Apply(i.ctx, rec) })
	NoteServe(i.ctx, i.App, nil, false)
	i.ends = []func(){i.StartFollow(i.ctx), Retain(i.ctx, i.App), i.Mirror().Start(i.ctx)}
	return i
}

// end stops an instance. One that is killed cannot store what it was doing.
func (i *quietInstance) end(killed bool) {
	if killed {
		_ = i.Store.Close()
	}
	i.cancel()
	for _, end := range i.ends {
		end()
	}
	i.parts.Wait()
	if !killed {
		NoteServe(context.WithoutCancel(i.ctx), i.App, nil, true)
	}
	_ = i.receiver.Close(context.Background())
	_ = i.Close()
}

// read is a call of a person, which lasts as long as the service takes.
func (w *quietWorld) read(i *quietInstance) {
	opid := opidOf(w.rnd.IntN(calmRows))
	i.parts.Go(func() {
		if _, err := endpoint.Do(i.ctx, i.Client, endpoint.GetOperation, opid); err != nil && i.ctx.Err() == nil {
			w.t.Errorf("a read failed at %s: %v", time.Now().Format(time.DateTime), err)
		}
	})
}

// deliver sends one webhook of the service to an instance.
func (w *quietWorld) deliver(to *quietInstance) {
	w.t.Helper()
	w.hooks++
	body := fmt.Appendf(nil, `{"hook_id":%q,"hook_type":1,"Data":{"Operation":{"cuid":"D7k3xbc-ERrj","opid":%q}}}`,
		opidOf(100+w.hooks), opidOf(w.hooks%calmRows))
	req := httptest.NewRequest(http.MethodPost, "/hooks", strings.NewReader(string(body)))
	req.RemoteAddr = "192.0.2.1:40000"
	receivertest.Sign(req.Header, to.Config.Webhooks.Header, "", quietEnv(to.Config.Webhooks.SecretEnv), body, time.Now())
	got := httptest.NewRecorder()
	to.receiver.ServeHTTP(got, req)
	if got.Code/100 != 2 {
		w.t.Fatalf("webhook: %d %s", got.Code, got.Body)
	}
}

// open hours of the customers: webhooks come then.
const quietFrom, quietTo = 8, 20

func isDay(t time.Time) bool { return t.Hour() >= quietFrom && t.Hour() < quietTo }

// week stores the deliveries of the days before.
func (w *quietWorld) week(a *App) {
	w.t.Helper()
	var list []receiver.Record
	now := time.Now()
	for at := now.AddDate(0, 0, -7); at.Before(now); at = at.Add(time.Duration(w.rnd.ExpFloat64() * float64(hookEvery))) {
		if !isDay(at) {
			continue
		}
		raw := fmt.Appendf(nil, `{"hook_id":"old-%d"}`, len(list))
		list = append(list, receiver.Record{Key: fmt.Sprint("old-", len(list)), HookID: fmt.Sprint("old-", len(list)),
			Type: hook.TypeOperation, Object: hook.ObjectOperation, ObjectID: "op", Raw: raw, Hash: sha256.Sum256(raw),
			ReceivedAt: at, Source: "192.0.2.1", Status: receiver.Verified,
			Verdict: hook.Verdict{Verifier: hook.VerifyJWT, Authenticated: true}})
	}
	for i, r := range list {
		got, err := a.Hooks().Inbox().Insert(context.Background(), r)
		if err == nil && i == len(list)-1 {
			err = a.ledger.Advance(context.Background(), got.Stored.Seq)
		}
		if err != nil {
			w.t.Fatal(err)
		}
	}
}

const hookEvery = time.Minute // on the mean, by day

// TestQuietHours: while nothing is wrong, nothing is found wrong. Three instances keep the session, sync and receive
// webhooks, a person reads, some answers take up to 20 s, instances are stopped, killed and started again, and the
// nights are quiet. OPDECK_TEST_LONG=1 is 100 hours, with 10,000 samples.
func TestQuietHours(t *testing.T) {
	length := 25 * time.Minute
	if os.Getenv("OPDECK_TEST_LONG") == "1" {
		length = 100 * time.Hour
	}
	synctest.Test(t, func(t *testing.T) { quietHours(t, length) })
}

func quietHours(t *testing.T, length time.Duration) {
	const every = 36 * time.Second
	time.Sleep(quietTo*time.Hour - length/2) // a short run has the beginning of a night
	w := newQuietWorld(t, 1)
	for range 3 {
		w.running = append(w.running, w.begin())
	}
	defer func() {
		for _, i := range w.running {
			i.end(false)
		}
		time.Sleep(time.Minute) // one that was killed while it renewed the pair tries for so long to store it
	}()
	w.week(w.running[0].App)
	time.Sleep(2 * time.Minute) // the first login, and the first pass of the sync
	var v verdict.Verdict
	alarms, sent := 0, new(counted)
	watch := notify.New(notify.Options{Store: &notifytest.Memory{Now: time.Now}, Scope: "scope",
		Min: verdict.Warning, Sender: sent, Log: slog.New(slog.DiscardHandler),
		Observe: func(context.Context) notify.Observation { return notify.Observation{Verdict: v} }})
	restarts, samples := 0, int(length/every)
	for n := range samples {
		w.pass(time.Now().Add(every))
		if v = w.sample(n); (v.State() != verdict.Good || len(v.Findings) > 0) && alarms < 5 {
			alarms++
			t.Errorf("sample %d at %s: %s, %s %+v", n, time.Now().Format(time.DateTime), v.State(), v.Headline(), v.Findings)
		}
		watch.Step(t.Context())
		if w.rnd.IntN(15) == 0 {
			restarts += w.restart()
		}
	}
	if *sent > 0 {
		t.Errorf("%d notices", *sent)
	}
	s := w.service
	t.Logf("%d samples, %d starts again, %d logins, %d refreshes, %d refused; %d answers of %d calls after 5 s and more",
		samples, restarts, s.logins, s.renewals, s.refused, s.late, s.calls)
	if s.logins > 1+restarts || s.renewals < int(length/(6*time.Minute)) || s.calls < int(length/time.Minute) {
		t.Error("the service was not used as it should be")
	}
}

// counted counts notices.
type counted int

func (c *counted) Send(context.Context, notify.Notice) error { *c++; return nil }

// pass lets time go on, with webhooks by day and reads of people.
func (w *quietWorld) pass(until time.Time) {
	mean := hookEvery
	for {
		next := time.Now().Add(time.Duration(w.rnd.ExpFloat64() * float64(mean)))
		if next.After(until) {
			break
		}
		time.Sleep(time.Until(next))
		if to := w.running[w.rnd.IntN(len(w.running))]; isDay(time.Now()) {
			w.deliver(to)
			w.read(to)
		}
	}
	time.Sleep(time.Until(until))
}

// sample is the verdict of an instance, and now and then of opdeck check.
func (w *quietWorld) sample(n int) verdict.Verdict {
	ctx := api.WithActor(context.Background(), api.Actor{Name: "check", Role: api.Viewer, Via: "command"})
	if n%20 > 0 {
		return Verdict(ctx, w.running[w.rnd.IntN(len(w.running))].App)
	}
	a := w.open()
	defer a.Close()
	return Probed(ctx, a)
}

// restart ends one instance, or now and then all of them, and begins as many; it returns how many.
func (w *quietWorld) restart() int {
	which := []int{w.rnd.IntN(len(w.running))}
	if w.rnd.IntN(8) == 0 {
		which = []int{0, 1, 2}
	}
	time.Sleep(time.Duration(w.rnd.Int64N(int64(10 * time.Second))))
	for _, k := range which {
		w.running[k].end(w.rnd.IntN(2) == 0)
	}
	time.Sleep(time.Duration(w.rnd.Int64N(int64(20 * time.Second))))
	for _, k := range which {
		w.running[k] = w.begin()
	}
	return len(which)
}
