//go:build unix

package scenario

import (
	"bytes"
	"encoding/base64"
	"encoding/hex"
	"io/fs"
	"net/url"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"syscall"
	"testing"
	"time"
)

// traces are the ways in which a marker could show: as it is, in hex and in
// base64, wherever it begins.
func traces() [][]byte {
	var all [][]byte
	for _, m := range []string{"MARKERtoken", "MARKERpassword", "MARKERwrong"} {
		all = append(all, []byte(m), []byte(hex.EncodeToString([]byte(m))))
		for shift := range 3 {
			text := base64.RawStdEncoding.EncodeToString([]byte(strings.Repeat(" ", shift) + m))
			all = append(all, []byte(text[4:len(text)-2]))
		}
	}
	return all
}

// clean fails the test if a marker shows in text.
func clean(t testing.TB, where string, text []byte) {
	t.Helper()
	for _, m := range traces() {
		if i := bytes.Index(text, m); i >= 0 {
			grave(t, "%s holds a secret: %q", where, text[max(0, i-80):min(len(text), i+40)])
			return
		}
	}
}

// S34: no token and no password is anywhere but in the path of a refresh, the
// body of a login and the Authorization of a call.
func TestS34Leaks(t *testing.T) {
	stores(t, false, func(t testing.TB, p place) {
		s := newService(t, long())
		x, y := newProgram(t, p, s, password), newProgram(t, p, s, "pw-MARKERwrong")
		commands(t, s, x, y)
		dump := quit(t, p, s)
		for name, text := range map[string][]byte{"the dump of a worker": dump, "the log": read(t, x.log), "the other log": read(t, y.log)} {
			if len(text) == 0 {
				t.Errorf("%s is empty", name)
			}
			clean(t, name, text)
		}
		folders := []string{x.home, y.home}
		if p.sqlite() {
			folders = append(folders, filepath.Dir(strings.TrimPrefix(p.url, "sqlite:")))
		} else if u, err := url.Parse(p.direct); err == nil && u.Host == "" {
			var oid string
			if err := p.open(t).Core.QueryRow(t.Context(), "SELECT oid FROM pg_database WHERE datname = current_database()").Scan(&oid); err != nil {
				t.Error(err)
			}
			data := filepath.Join(u.Query().Get("host"), "data")
			folders = append(folders, filepath.Join(data, "base", oid), filepath.Join(data, "pg_wal"))
		}
		files := 0
		for _, f := range folders {
			files += scan(t, f)
		}
		requests := wire(t, s)
		t.Logf("%d files, %d requests, %d bytes of log", files, requests, len(read(t, x.log)))
	})
}

// commands runs opdeck through good and bad times; what it says must be clean.
func commands(t testing.TB, s *service, x, y *program) {
	t.Helper()
	for _, c := range []struct {
		x     *program
		fault string
		args  string
	}{
		{x, "", "operation list --live -o json"}, {x, "", "session refresh --yes"}, {x, "drop=refresh", "session refresh --yes"}, {x, "reset=refresh", "session refresh --yes"},
		{x, "redirect=refresh:http://127.0.0.1:9/x", "session refresh --yes"}, {x, "status=refresh:500", "session refresh --yes"}, {x, "truncate=refresh", "session refresh --yes"},
		{x, "rubbish=login", "session login --yes"}, {x, "", "session reset --yes"}, {x, "status=login:403", "session login --yes"}, {x, "", "session reset --yes"}, {x, "", "session login --yes"},
		{x, "status=api:401", "operation list --live"}, {x, "drop=api", "operation list --live"}, {x, "", "session status -o json"}, {x, "", "session status"},
		{x, "", "doctor"}, {x, "", "audit list -o json"}, {x, "", "limits"}, {x, "", "config show"}, {x, "", "nonsense"},
		{x, "", "session reset --yes"}, {y, "", "operation list --live"}, {y, "", "session status -o json"}, {x, "", "session reset --yes"}, {x, "", "session login --yes"}, {x, "down", "operation list --live"}, {x, "down", "session refresh --yes"}, {x, "down", "doctor"},
	} {
		if c.fault == "down" {
			s.cut()
		} else {
			s.pass()
			s.faults(c.fault)
		}
		r := c.x.start(strings.Fields(c.args)...)
		code := r.wait(t)
		if code == 0 && c.fault != "" && !strings.HasPrefix(c.args, "session") {
			t.Errorf("%s went well with %s", c.args, c.fault)
		}
		clean(t, "the output of "+c.args, r.out.Bytes())
		clean(t, "the errors of "+c.args, r.err.Bytes())
	}
	s.pass()
	s.faults("")
}

// quit makes a worker with a pair and a call on its way dump its stacks.
func quit(t testing.TB, p place, s *service) []byte {
	t.Helper()
	w := start(t, p, s)
	noErrors(t, w.do(order{Do: "calls"}).Calls)
	s.faults("delay=api:2s")
	began := time.Now()
	w.order(order{Do: "calls", Parallel: 3})
	until(t, "calls are on their way", func() bool { return len(s.seen("GET /v2/billing", began)) > 0 })
	w.signal(syscall.SIGQUIT)
	<-w.gone
	_ = w.cmd.Wait()
	s.faults("")
	return []byte(w.stderr.String())
}

func read(t testing.TB, file string) []byte {
	t.Helper()
	text, err := os.ReadFile(file)
	if err != nil {
		t.Error(err)
	}
	return text
}

// scan looks through all files of a folder that this user may read.
func scan(t testing.TB, dir string) (files int) {
	t.Helper()
	err := filepath.WalkDir(dir, func(path string, d fs.DirEntry, err error) error {
		if err != nil || !d.Type().IsRegular() {
			return nil // a server's files come and go
		}
		if text, err := os.ReadFile(path); err == nil {
			files++
			clean(t, path, text)
		}
		return nil
	})
	if err != nil {
		t.Error(err)
	}
	return files
}

var (
	refreshPath   = regexp.MustCompile(`(?m)^GET /v2/auth/refresh/\S+ HTTP/1\.1\r$`)
	authorization = regexp.MustCompile(`(?m)^Authorization: Bearer \S+\r$`)
	loginBody     = regexp.MustCompile(`\{"login":"[^"]+","password":"[^"]+"\}$`)
)

// wire takes the three places out of every request and looks at the rest.
func wire(t testing.TB, s *service) int {
	t.Helper()
	hits := s.seen("", time.Time{})
	for _, h := range hits {
		rest := h.Raw
		switch {
		case strings.HasPrefix(h.Line, refreshLine):
			rest = refreshPath.ReplaceAllString(rest, "")
		case strings.HasPrefix(h.Line, loginLine):
			rest = loginBody.ReplaceAllString(rest, "")
		default:
			rest = authorization.ReplaceAllString(rest, "")
		}
		clean(t, "a request", []byte(rest))
	}
	return len(hits)
}
