//go:build linux

package e2e

import (
	"database/sql"
	"fmt"
	"net/http"
	"strings"
	"time"

	"github.com/google/uuid"
)

// receives makes the server of a scene receive webhooks on a port of its own.
func (s *scene) receives() {
	s.env = append(s.env, "HOOK="+hookSecret)
	s.rest += "[webhooks]\nlisten = \"" + s.free() + "\"\nverify = \"header\"\nheader = \"X-Secret\"\nsecret_env = \"HOOK\"\n"
}

// free is an address that nothing listens on.
func (s *scene) free() string {
	s.t.Helper()
	l, err := listenLocal()
	if err != nil {
		s.t.Fatal(err)
	}
	defer l.Close()
	return l.Addr().String()
}

// delivers sends webhooks to the server, signed with a secret.
func (s *scene) delivers(n int, secret string) {
	s.t.Helper()
	for range n {
		s.delivered(fmt.Sprintf(`{"hook_id":%q,"hook_type":1,"Data":{"Operation":{"opid":%q,"status":2,"type":1}}}`,
			uuid.NewString(), uuid.NewString()), secret)
	}
}

// delivered sends one webhook.
func (s *scene) delivered(body, secret string) {
	s.t.Helper()
	_, rest, _ := strings.Cut(s.rest, "[webhooks]\nlisten = \"")
	addr, _, _ := strings.Cut(rest, `"`)
	req, err := http.NewRequest(http.MethodPost, "http://"+addr+"/hooks", strings.NewReader(body))
	if err != nil {
		s.t.Fatal(err)
	}
	req.Header.Set("X-Secret", secret)
	req.Header.Set("Content-Type", "application/json")
	resp, err := http.DefaultClient.Do(req)
	if err != nil {
		s.t.Fatal(err)
	}
	_ = resp.Body.Close()
}

// alters changes a file of the store behind the program's back.
func (s *scene) alters(file string, statements ...string) {
	s.t.Helper()
	s.holds(file, func() {}, statements...)
}

// holds is alters, with something done while nobody else writes that file.
func (s *scene) holds(file string, do func(), statements ...string) {
	s.t.Helper()
	db, err := sql.Open("sqlite", "file:"+s.file("state/"+file)+"?_txlock=immediate&_pragma=busy_timeout(10000)")
	if err != nil {
		s.t.Fatal(err)
	}
	defer db.Close()
	tx, err := db.Begin()
	if err != nil {
		s.t.Fatal(err)
	}
	do()
	for _, one := range statements {
		if _, err := tx.Exec(one); err != nil {
			s.t.Fatal(one, err)
		}
	}
	if err := tx.Commit(); err != nil {
		s.t.Fatal(err)
	}
}

func feedIncidents() map[string]incident {
	return map[string]incident{
		"43 no webhooks": {live: true, prepare: (*scene).receives, begin: func(s *scene) {
			s.delivers(20, hookSecret)
			s.alters("opdeck-index.db", fmt.Sprintf("UPDATE hook SET received_us = %d + seq * 240000000, last_us = received_us",
				time.Now().Add(-time.Hour-20*4*time.Minute).UnixMicro()))
		}, mend: func(s *scene) { s.delivers(1, hookSecret) }},
		"57 index old": incident{live: true, begin: func(s *scene) {
			s.up.answers(func(w http.ResponseWriter, r *http.Request) {
				if strings.Contains(r.URL.Path, "/billing/operation") {
					w.WriteHeader(http.StatusForbidden) // the account may no longer read operations
					return
				}
				good(w, r)
			})
			s.later(6 * time.Hour)
		}, mend: heals, tail: ` The last sync failed: [^.]*\.`}.says("6h 00m", `6h 0\dm`),
		"44 wrong secret": incident{live: true, prepare: (*scene).receives, begin: func(s *scene) {
			s.delivers(3, "another-secret-another-secret-12")
			s.until(atMost(soon), func() string { return "not all three are counted" }, func() bool {
				return strings.Contains(s.run("check", "feed").out, "rejected 3")
			})
		}, mend: func(s *scene) {
			s.alters("opdeck-index.db", fmt.Sprint("UPDATE hook_rejected_count SET last_us = last_us - ",
				(11*time.Minute).Microseconds())) // so much time passes
			s.delivers(1, hookSecret)
		}}.says("signed with another secret than [webhooks] secret_env",
			`The secret in X-Secret does not match \[webhooks\]`),
	}
}
