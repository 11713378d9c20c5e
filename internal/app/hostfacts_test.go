package app

import (
	"context"
	"encoding/json"
	"fmt"
	"net"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"strings"
	"sync/atomic"
	"syscall"
	"testing"
	"time"

	"opdeck/api"
	"opdeck/api/endpoint"
	"opdeck/api/limit"
	"opdeck/api/reach"
	"opdeck/api/session"
	"opdeck/internal/domain/answers"
	"opdeck/internal/domain/audit"
	"opdeck/internal/domain/lending"
	"opdeck/internal/domain/replace"
	"opdeck/internal/domain/verdict"
	"opdeck/internal/store"
	"opdeck/internal/store/accounts"
	"opdeck/internal/store/seal"
)

// watched opens an App on a service that answers with h, or on the built-in one without h.
func watched(t *testing.T, h http.Handler, more string) *App {
	t.Helper()
	dir := t.TempDir()
	conf := ""
	if h != nil {
		s := httptest.NewServer(h)
		t.Cleanup(s.Close)
		conf = fmt.Sprintf("[contexts.t]\nbase_url = %q\nlogin = \"m@example.com\"\nkind = \"test\"\n%s\n", s.URL, more)
	}
	file := filepath.Join(dir, "config.toml")
	if err := os.WriteFile(file, []byte(conf), 0o600); err != nil {
		t.Fatal(err)
	}
	a, err := Open(t.Context(), Options{ConfigFlag: file, StateFlag: filepath.Join(dir, "state"),
		Getenv: func(name string) string { return map[string]string{"PW": "pw", "HOME": dir}[name] }})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = a.Close() })
	return a
}

// said are the sentences that opdeck check --all prints, first to last.
func said(t *testing.T, a *App) string {
	t.Helper()
	var out []string
	for _, f := range Verdict(t.Context(), a).Findings {
		out = append(out, f.Line())
	}
	return strings.Join(out, "\n")
}

func (a *App) call(ctx context.Context) error {
	_, err := endpoint.Do(api.WithActor(ctx, a.LocalActor("command")), a.service, endpoint.ListUsers, struct{}{})
	return err
}

// answer is a service that answers each request in one way.
func answer(status int, body string, header ...string) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
		for i := 0; i+1 < len(header); i += 2 {
			w.Header().Set(header[i], header[i+1])
		}
		w.WriteHeader(status)
		_, _ = fmt.Fprint(w, body)
	})
}

const passwordEnv = `password_env = "PW"`

// TestFromTheSourceToTheSentence: each source of a fact ends in its sentence, and a command that fails without a
// session
// says the same one.
func TestFromTheSourceToTheSentence(t *testing.T) {
	for name, c := range map[string]struct {
		service http.Handler
		config  string
		source  func(t *testing.T, a *App) error // the error of a command, if one fails
		want    []string
	}{
		"locked": {answer(423, `{"message":"Account is locked"}`), passwordEnv, called,
			[]string{`has locked the machine account m•••@example.com. It says: "Account is locked".`, "Ask for the machine account to be unlocked."}},
		"gone": {answer(410, `{"message":"Use v3"}`), passwordEnv, called,
			[]string{`no longer offers this version of its interface (410). It says: "Use v3".`}},
		"redirection": {answer(302, "", "Location", "https://sso.example/"), passwordEnv, called,
			[]string{"redirects calls to https://sso.example/"}},
		"wrong password": {answer(401, `{"message":"Invalid credentials"}`), passwordEnv, called,
			[]string{`refuses the login or password of m•••@example.com. It says: "Invalid credentials".`, "Correct the password in the config"}},
		"wait at a refusal": {answer(403, `{"message":"Maintenance window"}`, "Retry-After", "240"), passwordEnv, called,
			[]string{"It asks to wait until "}},
		"no password": {answer(500, ""), `password_env = "NONE"`, called,
			[]string{"The password of the machine account is not available: the environment variable NONE (password_env) is " +
				"empty"}},
		"password command": {answer(500, ""), `password_command = "echo gpg: no key >&2; exit 2"`, called,
			[]string{`password_command failed: exit status 2; it says: "gpg: no key"`}},
		"audit": {nil, "", func(t *testing.T, a *App) error {
			if err := observations(a).Put(t.Context(), auditPart, "verified",
				[]byte(`{"broken":["record 3 was changed."]}`)); err != nil {
				t.Fatal(err)
			}
			return nil
		}, []string{"The audit trail does not verify: record 3 was changed."}},
		"replacement": {nil, "", func(t *testing.T, a *App) error {
			at := time.Now().Add(-time.Hour)
			err := a.Jobs.Store.Save(t.Context(), replace.Job{ID: "j", OPID: "o", Step: replace.Removed, Created: at,
				Updated: at},
				time.Time{})
			if err != nil {
				t.Fatal(err)
			}
			return nil
		}, []string{"1 replacement was interrupted between two steps."}},
		"certificate": {nil, "", func(t *testing.T, a *App) error {
			return a.answers.Put(t.Context(), a.Scope(), []answers.Answer{{Class: "general", Route: "GET /a", By: "alpha",
				Certificate: time.Now().Add(72 * time.Hour)}})
		}, []string{"The certificate of ", " ends on "}},
		"budget": {nil, "", func(t *testing.T, a *App) error {
			ctx := limit.By(t.Context(), callerOf(api.WithActor(t.Context(), api.Actor{Name: "nightly", Via: lending.Via}),
				"alpha"))
			for range limit.Recommended()[limit.Billing] {
				if _, err := a.Limits.Take(ctx, limit.Billing); err != nil {
					t.Fatal(err)
				}
			}
			return nil
		}, []string{"The budget of billing calls is used up until ", "borrower nightly on alpha used 12 of the 12."}},
		"deleted store": {nil, "", func(t *testing.T, a *App) error {
			if err := os.Rename(a.Store.Core.Path(), a.Store.Core.Path()+".away"); err != nil {
				t.Fatal(err)
			}
			return nil
		}, []string{"was deleted or replaced.", "Stop every opdeck process."}},
		"new tokens": {nil, "", func(t *testing.T, a *App) error {
			st, err := a.Session.Status(t.Context())
			if err != nil {
				t.Fatal(err)
			}
			refused := session.Event{Kind: session.EventPremature, By: "GET /a", At: st.AsOf.Add(-time.Minute)}
			st.History = []session.Event{refused, refused}
			for accepted, want := range map[time.Duration]int{0: 2, -2 * time.Minute: 2, -time.Second: 0} {
				if st.Accepted = st.AsOf.Add(accepted); accepted == 0 {
					st.Accepted = time.Time{}
				}
				if got := sessionFact(st).Unaccepted; got != want {
					t.Errorf("accepted %s ago: %d, want %d", -accepted, got, want)
				}
			}
			return nil
		}, nil},
		"refreshes that never work": {nil, "", func(t *testing.T, a *App) error {
			st, err := a.Session.Status(t.Context())
			if err != nil {
				t.Fatal(err)
			}
			page := session.Event{Kind: session.EventRefresh, Outcome: session.Unknown, Status: 200, At: st.AsOf,
				Fault: reach.Fault{Class: reach.Page, Status: 200}}
			login := session.Event{Kind: session.EventLogin, Outcome: session.OK, At: st.AsOf}
			refused, works := page, page
			refused.Fault.Class, works.Outcome = reach.Refused, session.OK
			for _, c := range []struct {
				refresh []session.Event
				want    int
			}{{[]session.Event{page, page, page}, 3}, {[]session.Event{page, page, works}, 0},
				{[]session.Event{refused, refused, refused}, 3}} {
				st.History = nil
				for _, e := range c.refresh {
					st.History = append(st.History, e, login)
				}
				if got := sessionFact(st); got.Unrefreshed != c.want {
					t.Errorf("%d, want %d", got.Unrefreshed, c.want)
				}
			}
			return nil
		}, nil},
		"stopped holder": {nil, "", func(t *testing.T, a *App) error {
			st, err := a.Session.Status(t.Context())
			if err != nil {
				t.Fatal(err)
			}
			st.Holder, st.Phase, st.HeldFor = &session.Owner{Host: "alpha", PID: 7}, session.SentLogin, 12*time.Second
			v := verdict.Conclude(verdict.Facts{Now: st.AsOf, Session: verdict.Known(sessionFact(st), "x", st.AsOf,
				time.Minute)})
			if f, _ := v.First(); !strings.HasPrefix(f.Sentence, "A login by alpha, process 7 does not end") {
				t.Error(f.Sentence)
			}
			return nil
		}, nil},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			a := watched(t, c.service, c.config)
			err := c.source(t, a)
			got := said(t, a)
			for _, want := range c.want {
				if !strings.Contains(got, want) {
					t.Errorf("no %q in %s", want, got)
				}
			}
			if c.service == nil || len(c.want) == 0 {
				return
			}
			if e := api.AsError(err); !strings.Contains(e.Public, c.want[0]) {
				t.Errorf("the command says %s", e.Public)
			}
		})
	}
}

func called(t *testing.T, a *App) error {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), 20*time.Second)
	defer cancel()
	err := a.call(ctx)
	if err == nil {
		t.Fatal("answered")
	}
	return err
}

// TestPortFaults: the reasons why a port cannot be opened are words, not the system's.
func TestPortFaults(t *testing.T) {
	for err, want := range map[error]string{syscall.EADDRINUSE: "another program uses the address",
		syscall.EACCES:        "the system does not allow it to this user",
		syscall.EADDRNOTAVAIL: "this host does not have the address"} {
		if got := portFault(&net.OpError{Op: "listen", Err: os.NewSyscallError("bind", err)}); got != want {
			t.Errorf("%v: %s", err, got)
		}
	}
}

// TestMistakesOfTheConfig: what the config's check finds is a finding, with how many there are.
func TestMistakesOfTheConfig(t *testing.T) {
	file := filepath.Join(t.TempDir(), "config.toml")
	for _, c := range []struct{ file, text, want string }{
		{file, "[nonsense]\nx = 1\n", file + ":1: nonsense: unknown key."},
		{file, "[store]\nulr = \"memory\"\n", file + ":2: store.ulr: unknown key; did you mean url?"},
		{"nowhere.toml", "", "nowhere.toml: no such file or directory."},
	} {
		if c.text != "" {
			if err := os.WriteFile(file, []byte(c.text), 0o600); err != nil {
				t.Fatal(err)
			}
		}
		_, err := Open(t.Context(), Options{ConfigFlag: c.file, Getenv: func(string) string { return "" }})
		f, wrong := Unopened(err, time.Now()).First()
		if !wrong || f.Sentence != "The config has 1 mistake: "+c.want {
			t.Errorf("%q of %v", f.Sentence, err)
		}
	}
}

// TestUntilIsOneTime: until when no call is sent after a 429 is the same instant at each read.
func TestUntilIsOneTime(t *testing.T) {
	pair := answer(200, `{"accessToken":"a","refreshToken":"r","accessTtl":300,"refreshTtl":900}`,
		"Content-Type", "application/json")
	a := watched(t, http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if strings.Contains(r.URL.Path, "/auth/") {
			pair.ServeHTTP(w, r)
			return
		}
		w.Header().Set("Retry-After", "60")
		w.WriteHeader(http.StatusTooManyRequests)
	}), passwordEnv)
	_ = called(t, a)
	until := map[time.Time]bool{}
	for range 3 {
		for _, b := range Facts(t.Context(), a).Budgets {
			if b.Value.Asked {
				until[b.Value.Until] = true
			}
		}
	}
	if len(until) != 1 {
		t.Errorf("until %v", until)
	}
}

// TestABusyStoreIsNotLocked: that others wrote until a process no longer waited for its turn shows no lock; where nobody
// wrote meanwhile, somebody holds the file.
func TestABusyStoreIsNotLocked(t *testing.T) {
	file := filepath.Join(t.TempDir(), "opdeck.db")
	for what, age := range map[string]time.Duration{"written to": 0, "held": time.Hour, "held, and the clock was set back": -time.Hour} {
		for _, name := range []string{file, file + "-wal"} {
			if err := os.WriteFile(name, nil, 0o600); err != nil {
				t.Fatal(err)
			}
			if err := os.Chtimes(name, time.Time{}, time.Now().Add(-age)); err != nil {
				t.Fatal(err)
			}
		}
		for _, where := range []string{file, file + ".lock"} {
			f, wrong := Unopened(&store.Error{Kind: store.Busy, Where: where}, time.Now()).First()
			if wrong != (age != 0) || wrong && !strings.Contains(f.Sentence, "has locked the shared store") {
				t.Errorf("%s: %q", what, f.Sentence)
			}
		}
	}
}

// TestWhatIsNotProvenIsNotBroken: a check that this host cannot finish says nothing about the trail, and a later one
// that proves it ends the finding.
func TestWhatIsNotProvenIsNotBroken(t *testing.T) {
	a := watched(t, nil, "")
	ctx := t.Context()
	broken := audit.Report{Problems: []audit.Problem{{Text: "record 3 was changed"}}}
	unknown := audit.Report{Unknown: []string{"k"}}
	for i, step := range []struct {
		rep  audit.Report
		want bool
	}{{unknown, false}, {broken, true}, {unknown, true}, {audit.Report{}, false}} {
		NoteAudit(ctx, a, step.rep)
		if got := strings.Contains(said(t, a), "The audit trail does not verify: NOT intact"); got != step.want {
			t.Errorf("step %d: %v", i, got)
		}
	}
}

// TestASlowRotation: a process that waits for the answer to a refresh has not stopped while an answer may come.
func TestASlowRotation(t *testing.T) {
	for held, stopped := range map[time.Duration]bool{time.Second: false, 7 * time.Second: false, 10 * time.Second: false,
		12 * time.Second: true} {
		st := session.Status{Holder: &session.Owner{Host: "a", PID: 7}, Phase: session.SentRefresh, HeldFor: held}
		if got := sessionFact(st); (got.Holder != "") != stopped {
			t.Errorf("held for %s: %+v", held, got)
		}
	}
}

// TestSinceIsTheBeginning: a cause whose facts do not tell since when it lasts began when the first process saw it, for
// every process and at each read, and begins anew after its end.
func TestSinceIsTheBeginning(t *testing.T) {
	a := watched(t, answer(500, ""), `password_env = "NONE"`)
	key, password := "password_missing on "+a.Session.Owner().Host, ""
	b, err := Open(t.Context(), Options{ConfigFlag: a.Config.Path, StateFlag: a.State,
		Getenv: func(name string) string { return map[string]string{"NONE": password}[name] }})
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = b.Close() }()
	since := func(a *App) time.Time {
		first, _ := Verdict(t.Context(), a).First()
		return first.Since
	}
	began := time.Now().Add(-time.Hour).UTC().Truncate(time.Second)
	if at, err := observations(a).First(t.Context(), beganPart, key, began); err != nil || !at.Equal(began) {
		t.Fatal(at, err)
	}
	for range 2 {
		if first, again := since(a), since(b); !first.Equal(began) || !again.Equal(began) {
			t.Errorf("since %s, for another process since %s, want %s", first, again, began)
		}
	}
	password = "pw"
	if at := since(b); !at.IsZero() {
		t.Errorf("after its end since %s", at)
	}
	password = ""
	if at := since(b); time.Since(at) > time.Minute {
		t.Errorf("the next one began at %s", at)
	}
}

// TestSinceOfASlowRead: reading the facts may take long; what began an hour ago does not begin later by it. Each look
// at the clock takes three seconds here.
func TestSinceOfASlowRead(t *testing.T) {
	pair := answer(200, `{"accessToken":"a","refreshToken":"r","accessTtl":300,"refreshTtl":900}`,
		"Content-Type", "application/json")
	service := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if strings.Contains(r.URL.Path, "/auth/") {
			pair.ServeHTTP(w, r)
			return
		}
		w.WriteHeader(http.StatusInternalServerError)
	}))
	defer service.Close()
	dir := t.TempDir()
	file := filepath.Join(dir, "config.toml")
	if err := os.WriteFile(file, fmt.Appendf(nil, "[contexts.t]\nbase_url = %q\nlogin = \"m@example.com\"\nkind = \"test\"\n%s\n",
		service.URL, passwordEnv), 0o600); err != nil {
		t.Fatal(err)
	}
	var slow, looks atomic.Int64
	began := time.Now()
	a, err := Open(t.Context(), Options{ConfigFlag: file, StateFlag: filepath.Join(dir, "state"),
		Getenv: func(name string) string { return map[string]string{"PW": "pw", "HOME": dir}[name] },
		Now:    func() time.Time { return began.Add(time.Duration(looks.Add(slow.Load())) * 3 * time.Second) }})
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = a.Close() }()
	_ = called(t, a)
	slow.Store(1)
	for range 3 {
		first, wrong := Verdict(t.Context(), a).First()
		if off := first.Since.Sub(began); !wrong || off.Abs() > time.Second {
			t.Errorf("%q since %s after the beginning", first.Sentence, off)
		}
	}
}

// TestServeOfAHost: a server is told from what it noted and from its reports, on this host and on others; one that runs
// ends what an earlier one noted, and a port that its user has left is no longer taken.
func TestServeOfAHost(t *testing.T) {
	t.Parallel()
	a := watched(t, nil, "")
	note := func(id string, s verdict.Serve) {
		body, err := json.Marshal(s)
		if err == nil {
			err = observations(a).Put(t.Context(), servePart, id, body)
		}
		if err != nil {
			t.Fatal(err)
		}
	}
	says := func(want string) {
		t.Helper()
		if got := said(t, a); want == "" && strings.Contains(got, "serve") || !strings.Contains(got, want) {
			t.Errorf("%q is not in %q", want, got)
		}
	}
	host := a.Session.Owner().Host
	says("")
	a.Config.SSH.Listen = "127.0.0.1:2222"
	says("opdeck serve does not run on " + host + ".")
	taken, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	addr := taken.Addr().String()
	_, err = net.Listen("tcp", addr)
	NoteServe(t.Context(), a, []verdict.Port{ServePort("webhooks", addr, err)}, true)
	says("opdeck does not listen for webhooks on " + addr + ": another program uses the address.")
	_ = taken.Close()
	if got := said(t, a); strings.Contains(got, addr) || !strings.Contains(got, "opdeck serve does not run on "+host+".") {
		t.Errorf("the address is free: %s", got)
	}
	NoteServe(t.Context(), a, nil, false)
	note("older", verdict.Serve{Host: host, PID: 7}) // of a process that nobody knows
	says("")
	note("elsewhere", verdict.Serve{Host: "beta", PID: 8})
	says("opdeck serve does not run on beta.")
	owner := session.Owner{ID: "elsewhere", Host: "beta", PID: 8}
	key, err := seal.ReadKey(filepath.Join(a.State, "opdeck.db.key"))
	if err != nil {
		t.Fatal(err)
	}
	rows, err := accounts.New(a.Store.Core, accounts.Options{Key: key})
	if err == nil {
		err = rows.Beat(t.Context(), a.Session.Key(), owner)
	}
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = rows.Close() }()
	says("")
	if err := a.Store.Core.Exec(t.Context(), "UPDATE session_instance SET seen_ns = seen_ns - ?, "+
		`owner = replace(owner, ',"marked":true', '') WHERE owner_id = ?`, int64(3*time.Minute), owner.ID); err != nil {
		t.Fatal(err)
	}
	says("opdeck serve on beta (process 8) was seen last at ")
	note("elsewhere", verdict.Serve{Host: "beta", PID: 8, Ended: time.Now()})
	says("opdeck serve does not run on beta.")
	a.Config.SSH.Listen = ""
	NoteServe(t.Context(), a, nil, true) // of a host that needs no server any more
	if got := said(t, a); strings.Contains(got, "run on "+host) {
		t.Error(got)
	}
}
