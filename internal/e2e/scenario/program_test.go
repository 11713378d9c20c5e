//go:build unix

package scenario

import (
	"bytes"
	"errors"
	"fmt"
	"opdeck/internal/e2e/racedetector"
	"os"
	"os/exec"
	"path/filepath"
	"syscall"
	"testing"
	"time"
)

// program is how a scenario runs opdeck itself.
type program struct {
	t            testing.TB
	config, home string
	log          string
}

const configText = `default_context = "t"
[store]
url = %q
key_file = %q
[limits]
per_minute = { login = 500, refresh = 500, account = 10000, customer = 10000, billing = 10000, general = 10000 }
[contexts.t]
base_url = %q
login = %q
password_file = %q
`

func newProgram(t testing.TB, p place, s *service, password string) *program {
	t.Helper()
	dir := t.TempDir()
	x := &program{t: t, config: filepath.Join(dir, "opdeck.toml"), home: filepath.Join(dir, "home"), log: filepath.Join(dir, "log")}
	secret := filepath.Join(dir, "password")
	text := fmt.Sprintf(configText, p.url, p.keyFile, s.url(), account, secret)
	err := errors.Join(os.WriteFile(secret, []byte(password+"\n"), 0o600), os.WriteFile(x.config, []byte(text), 0o600), os.Mkdir(x.home, 0o700))
	if err != nil {
		t.Fatal(err)
	}
	return x
}

// run is a command under way.
type run struct {
	cmd      *exec.Cmd
	out, err bytes.Buffer
}

func (x *program) start(args ...string) *run {
	x.t.Helper()
	r := &run{cmd: exec.Command(os.Args[0], append([]string{"--config", x.config, "--state", filepath.Join(x.home, "state"), "--verbose", "--log-file", x.log}, args...)...)}
	r.cmd.Env = append(childEnv(), roleEnv+"=opdeck", "HOME="+x.home)
	r.cmd.Stdout, r.cmd.Stderr = &r.out, &r.err
	if err := r.cmd.Start(); err != nil {
		x.t.Fatal(err)
	}
	return r
}

// wait returns the exit code.
func (r *run) wait(t testing.TB) int {
	t.Helper()
	err := r.cmd.Wait()
	var exit *exec.ExitError
	if err != nil && !errors.As(err, &exit) {
		t.Fatal(err)
	}
	return r.cmd.ProcessState.ExitCode()
}

// S11: an interrupt while a refresh is on its way.
func TestS11Interrupt(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		name, fault string
		after, most time.Duration
		logins      int64
	}{
		{"answered in time", "late=refresh:3s#1", 2 * time.Second, 5 * time.Second, 1},
		{"never answered", "late=refresh:60s#1", 9 * time.Second, 13 * time.Second, 2},
	} {
		t.Run(c.name, func(t *testing.T) {
			stores(t, !racedetector.Enabled, func(t testing.TB, p place) {
				s := newService(t, long())
				x := newProgram(t, p, s, password)
				if first := x.start("operation", "list", "--live", "-o", "json"); first.wait(t) != 0 {
					t.Fatal(first.err.String())
				}
				s.faults(c.fault)
				r := x.start("session", "refresh", "--yes")
				until(t, "the refresh is sent", func() bool { return len(s.seen(refreshLine, time.Time{})) > 0 })
				time.Sleep(300 * time.Millisecond)
				began := time.Now()
				_ = r.cmd.Process.Signal(syscall.SIGINT)
				code := r.wait(t)
				took := time.Since(began)
				if took < c.after || took > c.most {
					t.Errorf("it ended %v after the interrupt, want %v to %v", took, c.after, c.most)
				}
				next := x.start("operation", "list", "--live", "-o", "json")
				if next.wait(t) != 0 {
					t.Error(next.err.String())
				}
				s.check(t, wants{logins: c.logins, refreshes: 1, unauthorized: 0})
				t.Logf("exit %d, %v after the interrupt", code, took.Round(time.Millisecond))
			})
		})
	}
}
