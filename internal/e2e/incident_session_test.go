//go:build linux

package e2e

import (
	"fmt"
	"io"
	"net/http"
	"os/exec"
	"strconv"
	"strings"
	"sync"
	"sync/atomic"
	"syscall"
	"time"
)

// borrowerKey is the key of the borrower nightly.
const borrowerKey = "5e1d3c0f9a7b42866d0f3b7c1e94a8d25e1d3c0f9a7b42866d0f3b7c1e94a8d2"

// lends makes the server of a scene lend the session to the borrower nightly, which may use all that people may.
func (s *scene) lends() {
	s.env = append(s.env, "NIGHTLY="+borrowerKey)
	s.lent = s.free()
	s.rest += "[lend]\nlisten = \"" + s.lent + "\"\n[lend.borrowers.nightly]\nkey_env = \"NIGHTLY\"\nrole = \"viewer\"\n" +
		"priority = \"person\"\n"
}

// borrows makes one billing call as the borrower nightly.
func (s *scene) borrows() {
	s.t.Helper()
	req, err := http.NewRequest(http.MethodGet, "http://"+s.lent+"/v2/billing/operation", nil)
	if err != nil {
		s.t.Fatal(err)
	}
	req.Header.Set("X-Opdeck-Key", borrowerKey)
	resp, err := http.DefaultClient.Do(req)
	if err != nil {
		s.t.Fatal(err)
	}
	defer resp.Body.Close()
	if resp.StatusCode != http.StatusOK {
		text, _ := io.ReadAll(resp.Body)
		s.t.Fatalf("the borrower's call is answered with %s: %s", resp.Status, text)
	}
}

// later lets time pass for the session and the budgets: it moves the store's clock, and what was recorded by the clock
// of the host.
func (s *scene) later(d time.Duration) {
	s.t.Helper()
	s.stops()
	moved := func(name string) string {
		return fmt.Sprintf("'$.%s', strftime('%%Y-%%m-%%dT%%H:%%M:%%fZ', json_extract(body, '$.%s'), '-%f seconds')", name, name,
			d.Seconds())
	}
	s.alters("opdeck.db", fmt.Sprint("UPDATE store_clock SET offset_ns = offset_ns + ", int64(d)),
		"UPDATE session_event SET body = json_replace(body, "+moved("at")+", "+moved("served")+")")
	s.serves()
}

// ending is a service whose newest access token ends at an age, and is refused from then on.
type ending struct {
	age   time.Duration
	mu    sync.Mutex
	since time.Time // guarded by mu: when the newest token was made
}

func (e *ending) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	e.mu.Lock()
	defer e.mu.Unlock()
	switch {
	case isLogin(r):
		e.since = time.Now()
	case time.Since(e.since) > e.age:
		w.WriteHeader(http.StatusUnauthorized)
		return
	}
	good(w, r)
}

// holding starts a command and stops its process when its login or refresh has come in, which is never answered.
func (s *scene) holding(args ...string) {
	s.t.Helper()
	s.frees() // of an earlier try
	came := make(chan struct{}, 1)
	var held atomic.Bool // the first login or refresh
	s.up.answers(func(w http.ResponseWriter, r *http.Request) {
		if !isLogin(r) || !held.CompareAndSwap(false, true) {
			good(w, r)
			return
		}
		_, _ = io.Copy(io.Discard, r.Body) // else the server does not see that the client goes away
		came <- struct{}{}
		<-r.Context().Done()
	})
	s.configure()
	s.held = s.start(args...)
	s.t.Cleanup(s.frees)
	select {
	case <-came:
	case <-time.After(patience):
		s.t.Fatalf("no login or refresh: %s", s.held.Stderr)
	}
	s.signals(s.held, syscall.SIGSTOP)
}

func (s *scene) signals(cmd *exec.Cmd, sig syscall.Signal) {
	s.t.Helper()
	if err := cmd.Process.Signal(sig); err != nil {
		s.t.Fatal(err)
	}
}

// frees ends the process that was stopped.
func (s *scene) frees() {
	if s.held != nil {
		_ = s.held.Process.Kill()
		_ = s.held.Process.Signal(syscall.SIGCONT)
		_ = s.held.Wait()
		used.add(s.held.ProcessState)
		s.held = nil
	}
}

// held is how long a stopped process holds a login or refresh before another one takes over, and how much of that
// passes before it counts as stopped (api/session).
const (
	heldFor   = 15 * time.Second
	heldUntil = 11 * time.Second
)

// stopped is an incident of a process that was stopped in a login or refresh.
func stopped(args ...string) incident {
	return incident{begin: func(s *scene) { s.holding(args...) }, after: heldUntil, lasts: heldFor, mend: (*scene).frees}.
		says("host a, process 9", `[^ ]+, process \d+`)
}

func sessionIncidents() map[string]incident {
	return map[string]incident{
		"29 tokens end early": incident{live: true, begin: func(s *scene) {
			early := &ending{age: 10500 * time.Millisecond}
			s.up.answers(early.ServeHTTP)
			s.does("session", "refresh", "--yes")
			last := ""
			s.until(patience, func() string { return last }, func() bool {
				s.run(theCall...)
				last = s.run("check", "session").out
				return strings.Contains(last, "before they expire")
			})
		}, mend: func(s *scene) {
			heals(s)
			s.later(10 * time.Minute)
		}}.says("about 30s", `about 1\ds`),
		"50 password command hangs": corrected(func(s *scene) {
			s.password = "password_command = " + strconv.Quote(s.script("exec sleep 60"))
		}, func(s *scene) { s.password = `password_env = "PW"` }).needs(10*time.Second).
			says("password_command did not end within 10 s", `password_command did not end within 1\ds`),
		"54 holder stopped":            stopped("session", "refresh", "--yes").afterwards(),
		"54 holder stopped in a login": stopped("session", "login", "--yes"),
		"58 budget": incident{live: true, act: []string{"limits"}, prepare: func(s *scene) {
			s.billing = 4
			s.lends()
		}, begin: func(s *scene) {
			s.until(patience, func() string { return "the borrower has not used up the budget" }, func() bool {
				s.borrows()
				return strings.Contains(s.run("check", "budget").out, "used up")
			})
		}, mend: func(s *scene) { s.later(time.Minute + 10*time.Second) }}.
				says("borrower nightly used 12 of the 12", `borrower nightly on [^,]+ used \d of the 4(, [^,]+ used \d of the 4)*`),
	}
}
