//go:build linux

package e2e

import (
	"fmt"
	"net/http"
	"time"
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

func heals(s *scene) { s.up.answers(nil) }

// reset makes the service good and does what the sentence says.
func reset(s *scene) {
	heals(s)
	if got := s.run("session", "reset", "--yes"); got.code != 0 {
		s.t.Errorf("session reset: %s", got.err)
	}
}

func (i incident) mended(how func(s *scene)) incident {
	i.mend = how
	return i
}

const webPage = "<!doctype html><html><body>Log in to the network</body></html>"

func serviceIncidents() map[string]incident {
	html := func(code int) http.HandlerFunc { return status(code, webPage, "Content-Type", "text/html") }
	return map[string]incident{
		"02 refused":           {begin: func(s *scene) { s.base = "http://127.0.0.1:9" }},
		"10 captive page":      answering(html(200)),
		"13 503 Retry-After":   answering(status(503, "", "Retry-After", "20")),
		"14 502":               answering(html(502)),
		"17 wrong password":    answering(status(401, `{"message":"Invalid credentials"}`)),
		"18 locked 423":        answering(status(423, `{}`)).mended(reset),
		"19 locked 403":        answering(status(403, `{"message":"Account is locked."}`)).mended(reset),
		"20 two-factor":        answering(status(401, `{"is2fa":true}`)).mended(reset),
		"21 no route":          answering(status(404, `{}`)),
		"22 login disabled":    answering(status(403, `{"message":"API login is disabled"}`)).mended(reset),
		"23 410":               answering(status(410, `{"message":"Use v3"}`)),
		"24 garbage":           answering(status(200, "garbage")),
		"70 live, then 503":    answering(status(503, "")).afterwards(),
		"71 live, then a page": answering(html(200)).afterwards(),
		"72 live, then 410":    answering(status(410, `{"message":"Use v3"}`)).afterwards(),
		"73 live, then 302":    answering(status(302, "", "Location", "https://sso.example.com/")).afterwards(),
		"25 slow": {live: true, after: 2 * time.Second, mend: heals, begin: func(s *scene) {
			s.up.answers(func(_ http.ResponseWriter, r *http.Request) { <-r.Context().Done() })
		}},
		"26 cut": answering(func(w http.ResponseWriter, _ *http.Request) {
			w.Header().Set("Content-Length", "1000")
			_, _ = fmt.Fprint(w, `{"items":[`)
			panic(http.ErrAbortHandler)
		}).afterwards(),
	}
}
