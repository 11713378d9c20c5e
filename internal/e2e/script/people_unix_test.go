//go:build unix

package script

import (
	"context"
	"fmt"
	"net/http/httptest"
	"net/url"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strings"
	"syscall"
	"testing"

	"opdeck/internal/e2e/racedetector"
	"opdeck/internal/sandbox"
	"opdeck/internal/store"
	"opdeck/internal/store/storetest"
)

// people are users of this host who share a service and a PostgreSQL store.
type people struct {
	t       *testing.T
	dir     string
	program string
	service string
	store   string
	role    string // of their context
}

func newPeople(t *testing.T, role string) *people {
	t.Helper()
	if os.Getuid() != 0 {
		t.Skip("only root can be several users")
	}
	if racedetector.Enabled {
		t.Skip("the test binary is not the program under the race detector")
	}
	p := &people{t: t, dir: t.TempDir(), store: storetest.URL(t, store.Postgres), role: role}
	open := []string{p.dir, filepath.Dir(p.dir)}
	if u, err := url.Parse(p.store); err == nil && strings.Contains(u.Query().Get("host"), "opdeck-pg-") { // the throw-away server's socket
		open = append(open, u.Query().Get("host"))
	}
	for _, dir := range open {
		if err := os.Chmod(dir, 0o755); err != nil {
			t.Fatal(err)
		}
	}
	svc, err := sandbox.Open(context.Background(), sandbox.Options{})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = svc.Close() })
	srv := httptest.NewServer(svc.Handler())
	t.Cleanup(srv.Close)
	p.service, p.program = srv.URL, filepath.Join(p.dir, "opdeck")
	self, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	b, err := os.ReadFile(self)
	if err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(p.program, b, 0o755); err != nil {
		t.Fatal(err)
	}
	return p
}

// run runs a command as a user id, who says that their name is $USER.
func (p *people) run(uid uint32, user, command string) (said string, code int) {
	p.t.Helper()
	return p.exec(uid, user, strings.Fields(command)...)
}

// exec is run for arguments with spaces.
func (p *people) exec(uid uint32, user string, args ...string) (said string, code int) {
	p.t.Helper()
	home := filepath.Join(p.dir, fmt.Sprint(uid))
	if _, err := os.Stat(home); err != nil {
		key, config := filepath.Join(home, "key"), filepath.Join(home, "config.toml")
		for _, err := range []error{os.Mkdir(home, 0o700), os.WriteFile(key, []byte(strings.Repeat("0f", 32)+"\n"), 0o600),
			os.WriteFile(config, fmt.Appendf(nil, "[store]\nurl = %q\nkey_file = %q\n[limits]\npolicy = \"warn\"\n[contexts.a]\nbase_url = %q\nlogin = %q\npassword_env = \"PW\"\nrole = %q\napproval = \"second_person\"\n",
				p.store, key, p.service, sandbox.DefaultLogin, p.role), 0o600),
			os.Chown(home, int(uid), int(uid)), os.Chown(key, int(uid), int(uid)), os.Chown(config, int(uid), int(uid))} {
			if err != nil {
				p.t.Fatal(err)
			}
		}
	}
	cmd := exec.Command(p.program, args...)
	cmd.Dir = home
	cmd.Env = []string{"HOME=" + home, "USER=" + user, "LOGNAME=" + user, "PW=" + sandbox.DefaultPassword,
		"OPDECK_CONFIG=" + filepath.Join(home, "config.toml"), "OPDECK_STATE=" + filepath.Join(home, "state")}
	cmd.SysProcAttr = &syscall.SysProcAttr{Credential: &syscall.Credential{Uid: uid, Gid: uid}}
	out, err := cmd.CombinedOutput()
	if cmd.ProcessState == nil {
		p.t.Fatal(err)
	}
	return string(out), cmd.ProcessState.ExitCode()
}

func (p *people) want(uid uint32, user, command string, exit int, says string) string {
	p.t.Helper()
	said, code := p.run(uid, user, command)
	if code != exit || !strings.Contains(said, says) {
		p.t.Errorf("uid %d as %s: %s: exit %d, want %d and %q: %s", uid, user, command, code, exit, says, said)
	}
	return said
}

// Two users that are in every /etc/passwd.
const daemon, bin = 1, 2

// requestID is the id of a request for approval.
var requestID = regexp.MustCompile(`r[0-9a-f]{11}`)

// unlocked is an operation and a document of it that may be removed.
func (p *people) unlocked(uid uint32) (op, doc string) {
	p.t.Helper()
	said := p.want(uid, "alice", "operation list --live --limit 50 --filter status:PENDING -o json", 0, "opid")
	ops := regexp.MustCompile(`"opid": "([^"]+)"`).FindStringSubmatch(said)
	if ops == nil {
		p.t.Fatal(said)
	}
	docs := regexp.MustCompile(`"isLock": false[^}]*?"guid": "([^"]+)"|"guid": "([^"]+)"[^}]*?"isLock": false`)
	found := docs.FindStringSubmatch(p.want(uid, "alice", "document list "+ops[1]+" -o json", 0, "guid"))
	if found == nil {
		p.t.Fatal("no unlocked document")
	}
	return ops[1], found[1] + found[2]
}

// Locally a person is a user id of this host. $USER makes no one another one, and an
// id without an entry in /etc/passwd asks, but does not approve.
func TestLocalPeople(t *testing.T) {
	p := newPeople(t, "operator")
	const nobody = 54321
	op, doc := p.unlocked(daemon)
	for _, uid := range []uint32{daemon, bin, nobody} { // before the first record; root only reads
		p.want(uid, "alice", "session status", 0, "")
	}
	remove := "document remove " + op + " " + doc + " --yes"
	for _, requester := range []uint32{daemon, nobody} {
		r := requestID.FindString(p.want(requester, "alice", remove, 5, "second person"))
		p.want(requester, "bob", "approval approve "+r+" --yes", 5, "own request")
		switch requester {
		case daemon:
			p.want(nobody, "bob", "approval approve "+r+" --yes", 5, "has no entry in /etc/passwd")
			p.want(bin, "alice", "approval show "+r, 0, "local uid 1")
			p.want(bin, "alice", "approval approve "+r+" --yes", 0, "Approved")
			p.want(bin, "alice", remove, 5, "second person") // theirs is another request
			p.want(daemon, "zoe", remove, 0, "Removed")
		default:
			p.want(bin, "alice", "approval approve "+r+" --yes", 5, "has no entry in /etc/passwd")
		}
		remove = "document restore " + op + " " + doc + " --yes"
	}
	p.want(0, "root", "audit list", 0, "(local uid 54321, which has no entry in /etc/passwd)")
	p.want(0, "root", "session status", 0, "audit checkpoint --new-key")
}
