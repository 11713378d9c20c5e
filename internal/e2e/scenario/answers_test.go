//go:build unix

package scenario

import (
	"net"
	"net/http"
	"net/http/httptest"
	"opdeck/internal/e2e/racedetector"
	"os"
	"strconv"
	"strings"
	"sync/atomic"
	"testing"
	"time"
)

// long is a pair that lives through the scenario unless it is renewed by hand.
func long() serviceOptions {
	return serviceOptions{Access: 5 * time.Minute, Refresh: 15 * time.Minute}
}

// S12: each third answer to a refresh is lost after it was processed.
func TestS12LostAnswers(t *testing.T) {
	stores(t, false, func(t testing.TB, p place) {
		s := newService(t, serviceOptions{Access: 3 * time.Second, Refresh: 20 * time.Second, Faults: "drop=refresh:3"})
		ws := startMany(t, 3, p, s)
		length := pick(18*time.Second, 2*time.Minute)
		r := joined(all(ws, order{Do: "calls", For: length, Gap: 300 * time.Millisecond}))
		noErrors(t, r)
		s.faults("")
		st := s.stats()
		lost := int64(len(s.seen(refreshLine, time.Time{}))) / 3
		if lost < 2 || st.Logins != 1+lost {
			t.Errorf("%d lost answers, %d logins; want 1 and one for each", lost, st.Logins)
		}
		s.unrepeated(t)
		t.Logf("%d refreshes sent, %d answers lost, %d logins, %d calls", len(s.seen(refreshLine, time.Time{})), lost, st.Logins, r.OK)
	})
}

// S13: the service processes a refresh and ends or resets the connection, with
// other connections warm. (HTTP/2: TestRefreshIsSentOnceToHTTP2Servers.)
func TestS13ReusedConnections(t *testing.T) {
	stores(t, false, func(t testing.TB, p place) {
		s := newService(t, long())
		w := start(t, p, s)
		for i, fault := range []string{"drop", "reset", "refuse", "truncate"} {
			noErrors(t, w.do(order{Do: "calls", Parallel: 8}).Calls)
			before := time.Now()
			s.faults(fault + "=refresh#1")
			w.do(order{Do: "refresh"})
			if n := len(s.seen(refreshLine, before)); n != 1 {
				t.Errorf("%s: the refresh came by %d times", fault, n)
			}
			noErrors(t, w.do(order{Do: "calls"}).Calls)
			s.check(t, wants{logins: int64(2 + i), refreshes: -1, unauthorized: 0})
		}
	})
}

// S14: a redirect leads nowhere.
func TestS14Redirect(t *testing.T) {
	stores(t, false, func(t testing.TB, p place) {
		var asked atomic.Int64
		second := httptest.NewServer(http.HandlerFunc(func(http.ResponseWriter, *http.Request) { asked.Add(1) }))
		defer second.Close()
		s := newService(t, long())
		w := start(t, p, s)
		noErrors(t, w.do(order{Do: "calls"}).Calls)
		s.faults("redirect=refresh:" + second.URL + "/elsewhere")
		w.do(order{Do: "refresh"})
		s.faults("redirect=login:" + second.URL + "/elsewhere")
		w.do(order{Do: "login"})
		s.faults("")
		if n := asked.Load(); n != 0 {
			t.Errorf("the second host was asked %d times", n)
		}
		noErrors(t, w.do(order{Do: "calls"}).Calls)
		s.unrepeated(t)
	})
}

// S15: rubbish of all kinds as the answer to a refresh.
func TestS15Rubbish(t *testing.T) {
	stores(t, false, func(t testing.TB, p place) {
		s := newService(t, long())
		w := start(t, p, s)
		noErrors(t, w.do(order{Do: "calls"}).Calls)
		for i, fault := range []string{"status=refresh:500", "after=refresh:502", "after=refresh:504", "rubbish=refresh", "truncate=refresh", "blank=refresh",
			"huge=refresh:10485760", "omit=refresh:accessToken", "omit=refresh:refreshToken"} {
			s.faults(fault + "#1")
			w.do(order{Do: "refresh"}) // says that it failed, except the last
			noErrors(t, w.do(order{Do: "calls"}).Calls)
			s.faults("")
			if fault == "omit=refresh:refreshToken" { // a pair all the same; the next rotation is the login
				w.must(order{Do: "refresh"})
			}
			s.check(t, wants{logins: int64(2 + i), refreshes: -1, unauthorized: 0})
			w.must(order{Do: "refresh"})
		}
		if kb := peakMemory(t, w); kb > 64<<10 && !racedetector.Enabled {
			t.Errorf("the process needed %d KiB", kb)
		} else {
			t.Logf("peak memory %d MiB", kb>>10)
		}
	})
}

// peakMemory is the worker's peak memory, in KiB; 0 if the system does not report it.
func peakMemory(t testing.TB, w *process) int {
	t.Helper()
	text, err := os.ReadFile("/proc/" + strconv.Itoa(w.cmd.Process.Pid) + "/status")
	if err != nil {
		return 0
	}
	_, rest, _ := strings.Cut(string(text), "VmHWM:")
	fields := strings.Fields(rest)
	if len(fields) == 0 {
		return 0
	}
	n, err := strconv.Atoi(fields[0])
	if err != nil {
		t.Fatal(err)
	}
	return n
}

// authVia sends logins and refreshes through r.
func authVia(r *relay) func(*workerSettings) {
	return func(s *workerSettings) { s.AuthVia = r.addr }
}

// S16: no one listens where refreshes go, for a while.
func TestS16ConnectionRefused(t *testing.T) {
	stores(t, false, func(t testing.TB, p place) {
		access, gone := pick(9*time.Second, 120*time.Second), pick(2*time.Second, 60*time.Second)
		s := newService(t, serviceOptions{Access: access, Refresh: 3 * access})
		auth := newRelay(t, "tcp", s.addr)
		ws := startMany(t, 3, p, s, authVia(auth))
		noErrors(t, joined(all(ws, order{Do: "calls"})))
		due := access * 2 / 3
		if access > time.Minute {
			due = access - 15*time.Second
			gone = 5 * time.Second
		}
		time.Sleep(due - time.Second)
		auth.down()
		closed := time.Now()
		reports := make(chan callReport, 1)
		go func() {
			reports <- joined(all(ws, order{Do: "calls", For: gone + pick(3*time.Second, 10*time.Second), Gap: 300 * time.Millisecond}))
		}()
		time.Sleep(time.Second + gone)
		auth.up(t)
		noErrors(t, <-reports)
		s.check(t, wants{logins: 1, refreshes: 1, unauthorized: 0})
		if n := ws[0].events("not_sent"); n < 1 || n > 10 {
			t.Errorf("%d attempts while nobody listened", n)
		} else {
			t.Logf("%d attempts in %v", n, time.Since(closed).Round(time.Second))
		}
	})
}

// S37: refresh tokens with odd characters, and long ones.
func TestS37OddTokens(t *testing.T) {
	stores(t, false, func(t testing.TB, p place) {
		for _, suffix := range []string{"/a/b", "%2F%zz%", "+&=?#", "/../..", "..", ";,:@!$'()*~", `"<>\^{}|` + "`", strings.Repeat("x/%y", 2048)} {
			o := long()
			o.Suffix = suffix
			s := newService(t, o)
			w := start(t, p, s)
			noErrors(t, w.do(order{Do: "calls"}).Calls)
			for range 2 {
				w.must(order{Do: "refresh"})
			}
			noErrors(t, w.do(order{Do: "calls"}).Calls)
			s.check(t, wants{logins: 1, refreshes: 2, unauthorized: 0})
			w.kill()
		}
	})
}

// S38: two spellings of the address are one session.
func TestS38Spellings(t *testing.T) {
	stores(t, false, func(t testing.TB, p place) {
		s := newService(t, long())
		host, port, err := net.SplitHostPort(s.relay.addr)
		if err != nil {
			t.Fatal(err)
		}
		for _, url := range []string{"http://" + host + ":" + port, "HTTP://" + host + ":" + port + "/", "http://" + host + ":0" + port, "http://" + host + ":" + port + "//"} {
			w := start(t, p, s, func(set *workerSettings) { set.BaseURL = url })
			noErrors(t, w.do(order{Do: "calls"}).Calls)
		}
		s.check(t, wants{logins: 1, unauthorized: 0})
		var rows int
		if err := p.open(t).Core.QueryRow(t.Context(), "SELECT count(*) FROM session").Scan(&rows); err != nil || rows != 1 {
			t.Errorf("%d rows, %v", rows, err)
		}
	})
}
