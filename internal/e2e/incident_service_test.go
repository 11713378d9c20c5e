//go:build linux

package e2e

import (
	"fmt"
	"io"
	"net/http"
	"os"
	"regexp"
	"strings"
	"time"

	"opdeck/internal/domain/verdict/verdicttest"
)

// status answers every request in one way.
func status(code int, body string, header ...string) http.HandlerFunc {
	return func(w http.ResponseWriter, _ *http.Request) {
		for i := 0; i+1 < len(header); i += 2 {
			w.Header().Set(header[i], header[i+1])
		}
		w.WriteHeader(code)
		_, _ = fmt.Fprint(w, body)
	}
}

// answering is an incident in which the service answers every login and call in one way, and then properly again.
func answering(h http.HandlerFunc) incident {
	return incident{begin: func(s *scene) { s.up.answers(h) }, mend: heals}
}

// afterwards is an incident of a live session.
func (i incident) afterwards() incident {
	i.live = true
	return i
}

// failing is an incident of a live session whose calls, and logins, are answered in one way.
func failing(h http.HandlerFunc) incident { return answering(h).afterwards().mended(asked) }

func heals(s *scene) { s.up.answers(nil) }

// waited makes the service good and lets the time pass that opdeck waits until its next try.
func waited(d time.Duration) func(s *scene) {
	return func(s *scene) {
		heals(s)
		s.later(d)
	}
}

// asked makes the service good and asks it: the server's own next call may be far away.
func asked(s *scene) {
	heals(s)
	s.run(theCall...)
}

// reset makes the service good and does what the sentence says.
func reset(s *scene) {
	heals(s)
	if got := s.run("session", "reset", "--yes"); got.code != 0 {
		s.t.Errorf("session reset: %s", got.err)
	}
}

// logsIn is reset with a login by a person.
func logsIn(s *scene) {
	heals(s)
	if got := s.run("session", "login", "--yes"); got.code != 0 {
		s.t.Errorf("session login: %s", got.err)
	}
}

// says replaces a part of the sentence by a regular expression.
func (i incident) says(old, here string) incident {
	i.as = append(i.as, old, here)
	return i
}

// needs is how long the evidence takes.
func (i incident) needs(d time.Duration) incident {
	i.after = d
	return i
}

// slowly: each surface waits for the evidence, so they are read at the same time.
func (i incident) slowly() incident {
	i.slow = true
	return i
}

// unlike names a surface that does not say it.
func (i incident) unlike(f face, why string) incident {
	if i.without == nil {
		i.without = map[face]string{}
	}
	i.without[f] = why
	return i
}

func (i incident) mended(how func(s *scene)) incident {
	i.mend = how
	return i
}

const webPage = "<!doctype html><html><body>Log in to the network</body></html>"

func serviceIncidents() map[string]incident {
	html := func(code int) http.HandlerFunc { return status(code, webPage, "Content-Type", "text/html") }
	out := map[string]incident{
		"10 captive page":      answering(html(200)).mended(logsIn),
		"13 503 Retry-After":   answering(status(503, "", "Retry-After", "120")).mended(waited(2 * time.Minute)),
		"14 502":               answering(html(502)),
		"17 wrong password":    answering(status(401, `{"message":"Invalid credentials"}`)).mended(waited(time.Minute)),
		"18 locked 423":        answering(status(423, `{}`)).mended(reset),
		"19 locked 403":        answering(status(403, `{"message":"Account is locked."}`)).mended(reset),
		"20 two-factor":        answering(status(401, `{"is2fa":true}`)).mended(reset),
		"21 no route":          answering(status(404, `{}`)),
		"22 login disabled":    answering(status(403, `{"message":"API login is disabled"}`)).mended(reset),
		"23 410":               answering(status(410, `{"message":"Use v3"}`)),
		"24 garbage":           answering(status(200, "garbage")).mended(logsIn),
		"70 live, then 503":    failing(status(503, "")),
		"71 live, then a page": failing(html(200)),
		"72 live, then 410":    failing(status(410, `{"message":"Use v3"}`)),
		"73 live, then 302":    failing(status(302, "", "Location", "https://sso.example.com/")),
		"25 slow": {live: true, after: 2 * time.Second, mend: heals, begin: func(s *scene) {
			s.up.answers(func(_ http.ResponseWriter, r *http.Request) { <-r.Context().Done() })
		}},
		"26 cut": failing(func(w http.ResponseWriter, _ *http.Request) {
			w.Header().Set("Content-Length", "1000")
			_, _ = fmt.Fprint(w, `{"items":[`)
			panic(http.ErrAbortHandler)
		}),
		"27 billing 500": {live: true, mend: asked, begin: func(s *scene) {
			s.up.answers(func(w http.ResponseWriter, r *http.Request) {
				if strings.Contains(r.URL.Path, "/billing/operation") {
					w.WriteHeader(500)
					return
				}
				good(w, r)
			})
			s.run(theCall...)
			if got := s.run("customer", "list", "--limit", "1"); got.code != 0 {
				s.t.Error(got.err)
			}
		}},
		"15 429 at login": answering(status(429, "", "Retry-After", "120")).mended(waited(2 * time.Minute)),
		"16 429 billing": {live: true, begin: func(s *scene) {
			s.up.answers(status(429, "", "Retry-After", "60"))
		}, lasts: time.Minute, mend: waited(time.Minute)},
		"refused, wait": answering(status(403, "{}", "Retry-After", "240")).mended(reset),
		"answer too long": answering(func(w http.ResponseWriter, _ *http.Request) {
			_, _ = io.WriteString(w, `{"accessToken":"`+strings.Repeat("x", 9<<20)+`"}`)
		}).mended(logsIn),
		"login in br": answering(func(w http.ResponseWriter, r *http.Request) {
			w.Header().Set("Content-Encoding", "br")
			good(w, r)
		}).mended(logsIn),
		"30 refresh refused, login 503": {live: true, begin: func(s *scene) {
			s.up.answers(func(w http.ResponseWriter, r *http.Request) {
				switch {
				case strings.Contains(r.URL.Path, "/auth/login"):
					w.WriteHeader(503)
				default:
					w.WriteHeader(401)
				}
			})
		}, mend: heals},
		"31 life 5 s": {begin: func(s *scene) {
			s.up.answers(func(w http.ResponseWriter, r *http.Request) {
				if isLogin(r) {
					pair(w, 5)
					return
				}
				good(w, r)
			})
		}, mend: heals},
		"32 no tokens":       answering(status(200, `{"ok":true}`, "Content-Type", "application/json")).mended(logsIn),
		"33 clock behind":    dated(time.Hour + 30*time.Second),
		"34 clock ahead":     dated(-time.Hour - 30*time.Second),
		"500 everywhere":     answering(status(500, "")),
		"live, then 500":     failing(status(500, "")),
		"live, then 502":     failing(html(502)),
		"live, then 504":     failing(status(504, "")),
		"live, then garbage": failing(status(200, "garbage")),
		"live, then br":      failing(status(200, "{}", "Content-Encoding", "br")),
	}
	for _, one := range verdicttest.Shapes {
		kind := "application/json"
		if strings.HasPrefix(one.Body, "<") {
			kind = "text/html"
		}
		out["live, then "+one.Shape] = failing(status(one.Status, one.Body, "Content-Type", kind))
	}
	return out
}

// dated is an incident in which the service's clock differs from this host's.
func dated(by time.Duration) incident {
	host, _ := os.Hostname()
	return incident{begin: func(s *scene) {
		s.up.answers(func(w http.ResponseWriter, r *http.Request) {
			w.Header().Set("Date", time.Now().Add(by).UTC().Format(http.TimeFormat))
			good(w, r)
		})
	}, mend: func(s *scene) {
		heals(s)
		s.later(5 * time.Minute) // the next refresh shows it
	}}.says("clock of a is 1h 00m", "clock of "+regexp.QuoteMeta(host)+" is 1h 00m")
}
