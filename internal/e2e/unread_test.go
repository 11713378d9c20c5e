//go:build linux

package e2e

import (
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"strings"
	"sync/atomic"
	"syscall"
	"testing"
	"time"
)

const unreadPair = `{"accessToken":"SECRETaccess","refreshToken":"SECRETrefresh","accessTtl":300,"refreshTtl":900}`

// TestAnUnreadLogin: a login that is answered with 200 in a way that cannot be read is sent once in five minutes by all
// processes, killed ones and new ones as well, and every surface counts it.
func TestAnUnreadLogin(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct {
		answer func(w http.ResponseWriter)
		says   string
	}{
		"encoding": {func(w http.ResponseWriter) {
			w.Header().Set("Content-Encoding", "zstd")
			_, _ = io.WriteString(w, "\x28\xb5\x2f\xfdSECRET")
		}, "its Content-Encoding is zstd"},
		"prefix": {func(w http.ResponseWriter) { _, _ = io.WriteString(w, ")]}',\n"+unreadPair) }, `begins with “)]}', {"accessToken":"…"`},
		"cut": {func(w http.ResponseWriter) {
			w.Header().Set("Content-Length", "96")
			_, _ = io.WriteString(w, unreadPair[:40])
			_ = http.NewResponseController(w).Flush()
			panic(http.ErrAbortHandler)
		}, "it was cut off after 40 bytes"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			s := newScene(t)
			var logins atomic.Int64
			s.up.answers(func(w http.ResponseWriter, r *http.Request) {
				if !strings.HasSuffix(r.URL.Path, "/login") {
					good(w, r)
					return
				}
				_, _ = io.Copy(io.Discard, r.Body)
				logins.Add(1)
				c.answer(w)
			})
			want := func(what string, n int64) {
				t.Helper()
				var st struct {
					Warning string
					Counts  struct{ Logins int64 }
				}
				got := s.run("session", "status", "-o", "json")
				if err := json.Unmarshal([]byte(got.out), &st); err != nil || logins.Load() != n || st.Counts.Logins != n ||
					!strings.Contains(st.Warning, c.says) || strings.Contains(got.out+got.err, "SECRET") {
					t.Errorf("%s: %d logins, not %d: %s%s", what, logins.Load(), n, got.out, got.err)
				}
			}
			calls := func() {
				t.Helper()
				for range 3 {
					got := s.run(theCall...)
					if got.code != 3 || !strings.Contains(got.err, c.says) || !strings.Contains(got.err, "Next try in") ||
						strings.Contains(got.err, "SECRET") {
						t.Errorf("a command ends with %d: %s", got.code, got.err)
					}
				}
			}
			s.serves()
			calls()
			want("a server and three commands", 1)
			s.signals(s.served, syscall.SIGKILL)
			s.stops()
			s.serves()
			calls()
			want("after the server was killed", 1)
			if got := s.run("check", "--all"); got.code != 2 || !strings.Contains(got.out, c.says) {
				t.Errorf("check ends with %d: %s", got.code, got.out)
			}
			s.rest += "[service]\naccess_token_field = \"ticket\"\n"
			s.configure()
			calls()
			want("another config", 2)
			if got := s.run("session", "login", "--yes"); got.code != 3 {
				t.Errorf("session login ends with %d: %s", got.code, got.err)
			}
			want("a person's login", 3)
			s.later(5*time.Minute + time.Second) // restarts the server, which logs in
			s.until(patience, func() string { return fmt.Sprintf("%d logins after five minutes", logins.Load()) },
				func() bool { return logins.Load() == 4 })
			calls()
			want("after five minutes", 4)
			if text := s.log.String(); strings.Contains(text, "SECRET") {
				t.Errorf("the log: %s", text)
			}
		})
	}
}
