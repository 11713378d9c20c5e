//go:build linux

package e2e

import (
	"net"
	"net/http"
	"strings"
	"sync/atomic"
	"syscall"
	"time"
)

func hostIncidents() map[string]incident {
	var taken net.Listener
	return map[string]incident{
		"45 port in use": incident{begin: func(s *scene) {
			var err error
			if taken, err = net.Listen("tcp", "127.0.0.1:0"); err != nil {
				s.t.Fatal(err)
			}
			s.env = append(s.env, "HOOK="+hookSecret)
			s.rest = "[webhooks]\nlisten = \"" + taken.Addr().String() + "\"\nsecret_env = \"HOOK\"\n"
		}, mend: func(s *scene) {
			_ = taken.Close()
			s.serves()
		}}.unlike(healthz, "the server does not start").says("127.0.0.1:8788: the address is in use",
			`127\.0\.0\.1:\d+: another program uses the address`),
		"serve was ended": away(func(s *scene) { s.stops() }),
		"serve was killed": away(func(s *scene) {
			_ = s.served.Process.Kill()
			s.stops()
		}),
		"serve stands still": incident{live: true, slow: true, begin: func(s *scene) {
			s.holds("opdeck.db", func() { _ = s.served.Process.Signal(syscall.SIGSTOP) }, // else it may stop with the lock
				"UPDATE session_instance SET seen_ns = seen_ns - 180000000000")
		}, mend: func(s *scene) {
			_ = s.served.Process.Signal(syscall.SIGCONT)
			last := ""
			s.until(patience, func() string { return last }, func() bool {
				last = s.run("check").out
				return !strings.Contains(last, "opdeck serve on")
			})
		}}.unlike(healthz, "the server does not answer").unlike(metrics, "the server does not answer").
			says("serve on a (process 7)", `serve on \S+ \(process \d+\)`),
		"49 password missing": corrected(func(s *scene) { s.password = `password_env = "NONE"` },
			func(s *scene) { s.password = `password_env = "PW"` }).
			says("the variable OPDECK_PASSWORD is empty", `the environment variable NONE \(password_env\) is empty or not set`),
		"28 foreign": {live: true, begin: func(s *scene) {
			var again atomic.Bool // a login after that of the other client
			s.up.answers(func(w http.ResponseWriter, r *http.Request) {
				switch {
				case strings.HasSuffix(r.URL.Path, "/auth/login"):
					again.Store(true)
				case !again.Load():
					w.WriteHeader(http.StatusUnauthorized)
					return
				}
				good(w, r)
			})
		}, mend: func(s *scene) {
			heals(s)
			s.later(10 * time.Minute)
		}},
	}
}

// away is an incident in which the server does not run until it is started again.
func away(begin func(s *scene)) incident {
	return incident{live: true, begin: begin, mend: (*scene).serves}.unlike(healthz, "there is no server").
		says("run on a.", `run on \S+\.`)
}
