//go:build unix

package scenario

import (
	"strings"
	"testing"
	"time"
)

// S20: 429 with Retry-After, on a refresh and on a login.
func TestS20Throttled(t *testing.T) {
	stores(t, false, func(t testing.TB, p place) {
		access, wait := pick(12*time.Second, 2*time.Minute), pick(2*time.Second, 12*time.Second) // a busy machine is late by as much again
		due := pick(8*time.Second, 105*time.Second)
		s := newService(t, serviceOptions{Access: access, Refresh: 3 * access})
		s.faults("busy=login:" + wait.String() + "#1")
		ws := startMany(t, 3, p, s)
		first := ws[0].do(order{Do: "calls", Deadline: time.Second})
		if first.Calls.Errors["service_unavailable"]+first.Calls.Errors["timed_out"] != 1 {
			t.Errorf("a caller without time got %v", first.Calls.Errors)
		}
		noErrors(t, joined(all(ws, order{Do: "calls"})))
		logins := s.seen(loginLine, time.Time{})
		if len(logins) != 2 || logins[1].At.Sub(logins[0].At) < wait {
			t.Errorf("%d logins, want 2 with %v between", len(logins), wait)
		}
		s.faults("busy=refresh:" + wait.String() + "#1")
		r := joined(all(ws, order{Do: "calls", For: due + wait + 4*time.Second, Gap: 300 * time.Millisecond}))
		noErrors(t, r)
		refreshes := s.seen(refreshLine, time.Time{})
		if len(refreshes) != 2 || refreshes[1].At.Sub(refreshes[0].At) < wait {
			t.Errorf("%d refreshes, want 2 with %v between", len(refreshes), wait)
		}
		if st := s.stats(); st.Logins != 1 || st.Refreshes != 1 || st.Unauthorized != 0 || st.MostPresentations != 1 {
			t.Errorf("%+v", st) // on the wire the token came twice: a 429 says that it was not looked at (D4)
		}
	})
}

// S21: the password is wrong; later it is corrected.
func TestS21WrongPassword(t *testing.T) {
	stores(t, false, func(t testing.TB, p place) {
		s := newService(t, long())
		wrong := func(set *workerSettings) { set.Password = "pw-MARKERwrong" }
		ws := startMany(t, pick(6, 32), p, s, wrong)
		length := pick(3*time.Second, 5*time.Minute)
		r := joined(all(ws, order{Do: "calls", For: length, Gap: 200 * time.Millisecond, Deadline: 2 * time.Second}))
		if r.OK != 0 || r.Errors["credentials_refused"] == 0 {
			t.Errorf("%d calls went well, errors %v", r.OK, r.Errors)
		}
		for _, w := range ws {
			w.kill()
		}
		joined(all(startMany(t, 4, p, s, wrong), order{Do: "calls", Deadline: 2 * time.Second}))
		n := s.stats().LoginsRefused
		if n < 1 || n > pick[int64](1, 2) {
			t.Errorf("%d logins with the wrong password, want 1, and 1 more after a minute", n)
		}
		began := time.Now()
		right := start(t, p, s)
		noErrors(t, right.do(order{Do: "calls"}).Calls)
		if took := time.Since(began); took > 3*time.Second {
			t.Errorf("the right password works after %v", took)
		}
		t.Logf("%d calls refused, %d logins sent", len(r.Took), n)
	})
}

// S22: two-factor authentication is demanded, at a login and at a refresh.
func TestS22TwoFactor(t *testing.T) {
	t.Parallel()
	for _, at := range []string{"login", "refresh"} {
		t.Run(at, func(t *testing.T) {
			stores(t, false, func(t testing.TB, p place) {
				s := newService(t, long())
				ws := startMany(t, 4, p, s)
				if at == "refresh" {
					noErrors(t, joined(all(ws, order{Do: "calls"})))
				}
				s.set(map[string]any{"totp_secret": "JBSWY3DPEHPK3PXP"})
				if at == "refresh" {
					if r := ws[0].do(order{Do: "refresh", Deadline: 3 * time.Second}); r.Kind != "two_factor" || !strings.Contains(r.Err, "two-factor") {
						t.Errorf("%s: %s", r.Kind, r.Err)
					}
				}
				before := len(s.seen(loginLine, time.Time{})) + len(s.seen(refreshLine, time.Time{}))
				r := joined(all(ws, order{Do: "calls", For: pick(2*time.Second, time.Minute), Gap: 200 * time.Millisecond, Deadline: 2 * time.Second}))
				sent := len(s.seen(loginLine, time.Time{})) + len(s.seen(refreshLine, time.Time{}))
				switch at {
				case "login":
					if sent != 1 || r.OK != 0 || r.Errors["two_factor"] == 0 {
						t.Errorf("%d attempts, %d calls went well, errors %v", sent, r.OK, r.Errors)
					}
				case "refresh": // the access token lives on
					noErrors(t, r)
					if sent != before {
						t.Errorf("%d attempts after the first", sent-before)
					}
				}
			})
		})
	}
}
