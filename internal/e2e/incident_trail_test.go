//go:build linux

package e2e

import (
	"errors"
	"fmt"
	"net/http"
	"os"
	"path/filepath"
	"strings"
	"time"
)

func trailIncidents() map[string]incident {
	return map[string]incident{
		"52 audit key": incident{live: true, begin: func(s *scene) {
			s.stops()
			for _, name := range []string{"audit.key", "checkpoints"} {
				if err := os.RemoveAll(s.file("state/" + name)); err != nil {
					s.t.Fatal(err)
				}
			}
			s.serves()
		}, mend: func(s *scene) {
			s.does("audit", "checkpoint", "--new-key")
			s.serves()
		}}.unlike(healthz, "the server does not start"),
		"53 audit bent": incident{live: true, begin: func(s *scene) {
			s.alters("opdeck.db", "DROP TRIGGER audit_no_update", "UPDATE audit SET actor = 'nobody' WHERE seq = 1")
			s.run("audit", "verify")
		}}.says("record 12 was changed.",
			`NOT intact: the column actor differs from record 1: [^.]*\.`),
		"another trail": incident{live: true, begin: func(s *scene) {
			s.recorded() // a checkpoint is signed
			s.stops()
			for _, name := range []string{"opdeck.db", "opdeck.db-wal", "opdeck.db-shm"} {
				if err := os.Remove(s.file("state/" + name)); err != nil && !os.IsNotExist(err) {
					s.t.Fatal(err)
				}
			}
			s.serves()
			s.run("audit", "verify")
		}, mend: func(s *scene) {
			files, err := filepath.Glob(s.file("state/checkpoints/*"))
			if err != nil || len(files) < 2 {
				s.t.Fatalf("%v, %v", files, err)
			}
			said := s.run("audit", "verify").out
			for _, file := range files {
				if strings.Contains(said, file) {
					err = errors.Join(err, os.Remove(file))
				}
			}
			if err != nil {
				s.t.Fatal(err)
			}
			s.does("audit", "verify")
		}}.says("audit-1.jsonl", `\S+\.jsonl`),
		"no write can be recorded": incident{live: true, begin: func(s *scene) {
			s.alters("opdeck.db", "CREATE TRIGGER refusing BEFORE INSERT ON unsettled BEGIN "+
				"SELECT RAISE(ABORT, 'permission denied for table unsettled'); END")
		}, act: []string{"hook", "set", "--url", "https://new.example.com/hooks", "--yes"},
			mend: func(s *scene) { s.alters("opdeck.db", "DROP TRIGGER refusing") }}.
			says("permission denied", "(constraint failed: )?permission denied"),
		"writes in doubt": {live: true, begin: (*scene).recorded, mend: func(s *scene) {
			s.up.answers(sendsHooks("https://new.example.com/hooks"))          // the write was done
			if got := s.run("audit", "unsettled", "--settle"); got.code != 7 { // its request may still arrive
				s.t.Errorf("audit unsettled --settle ends with %d: %s", got.code, got.err)
			}
		}},
		"replacement interrupted": {live: true, begin: func(s *scene) {
			at := time.Now().Add(-time.Hour).UTC()
			body := fmt.Sprintf(`{"id":"0123456789abcdef","opid":"o1","cuid":"c1","old_guid":"d1","old_name":"a.pdf",`+
				`"file_name":"b.pdf","digest":"00","step":"removed","owner":"ana","created":%q,"updated":%q}`,
				at.Format(time.RFC3339Nano), at.Format(time.RFC3339Nano))
			s.alters("opdeck.db", fmt.Sprintf("INSERT INTO job (id, kind, context, step, body, owner, created_us, updated_us) "+
				"SELECT '0123456789abcdef', 'replace_document', scope, 'removed', '%s', 'ana', %d, %d FROM answer LIMIT 1",
				body, at.UnixMicro(), at.UnixMicro()))
		}},
	}
}

// does runs a command that a next step names.
func (s *scene) does(args ...string) {
	s.t.Helper()
	if got := s.run(args...); got.code != 0 {
		s.t.Errorf("%v: %s", args, got.err)
	}
}

// sendsHooks is a service that sends webhooks to an address, and cuts the answer to a change of that.
func sendsHooks(to string) http.HandlerFunc {
	return func(w http.ResponseWriter, r *http.Request) {
		switch r.URL.Path {
		case "/v2/hook/get":
			writeJSON(w, map[string]any{"enabled": true, "hookUrl": to, "jwtSecret": hookSecret,
				"hookCustomer": true, "hookOperation": true, "hookDepositAccount": true, "hookCounterparty": true})
		case "/v2/hook/set":
			panic(http.ErrAbortHandler)
		default:
			good(w, r)
		}
	}
}

// recorded sends a write whose answer never comes.
func (s *scene) recorded() {
	s.t.Helper()
	s.up.answers(sendsHooks("https://old.example/"))
	if got := s.run("hook", "set", "--url", "https://new.example.com/hooks", "--yes"); got.code != 7 {
		s.t.Errorf("the write ends with %d: %s%s", got.code, got.out, got.err)
	}
}
