//go:build linux

package e2e

import (
	"bufio"
	"encoding/json"
	"fmt"
	"io"
	"net"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
	"time"

	"opdeck/internal/store/storetest"
)

// served is opdeck serve on the built-in service, where writes need two people.
type served struct {
	t          *testing.T
	home, port string
}

// serveSSH starts the server for people of a role each; their keys are made by
// ssh-keygen and their sessions by the OpenSSH client.
func serveSSH(t *testing.T, people map[string]string) *served {
	t.Helper()
	for _, tool := range []string{"ssh", "ssh-keygen"} {
		if _, err := exec.LookPath(tool); err != nil {
			storetest.Missing(t, "ssh", "the OpenSSH client is not installed ("+tool+")")
		}
	}
	s := &served{t: t, home: t.TempDir()}
	s.key("host")
	keys := ""
	for name, role := range people {
		keys += fmt.Sprintf("name=%q,role=%q %s", name, role, s.key(name))
	}
	s.write("keys", keys)
	s.write("config.toml", fmt.Sprintf(`[contexts.box]
sandbox = true
approval = "second_person"
[limits]
per_minute = { login = 1000, refresh = 1000, account = 1000, customer = 1000, billing = 1000, general = 1000 }
[ssh]
listen = "127.0.0.1:0"
host_key = %q
authorized_keys = %q
[notify]
command = ["/bin/sh", "-c", 'cat >> "%s"']
`, s.file("host"), s.file("keys"), s.file("notices")))
	cmd := exec.Command(binary, "serve", "--still", "--config", s.file("config.toml"), "--state", s.file("state"))
	cmd.Env = []string{"HOME=" + s.home, "PATH=" + os.Getenv("PATH")}
	cmd.Stderr = os.Stderr
	out, err := cmd.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		_ = cmd.Process.Signal(syscall.SIGTERM)
		if err := cmd.Wait(); err != nil {
			t.Errorf("the server ended with %v", err)
		}
	})
	lines := bufio.NewScanner(out)
	for s.port == "" {
		if !lines.Scan() {
			t.Fatal("the server did not begin")
		}
		if at, is := strings.CutPrefix(lines.Text(), "ssh "); is {
			_, s.port, _ = net.SplitHostPort(strings.TrimSuffix(strings.Fields(at)[0], ","))
		}
	}
	go func() { _, _ = io.Copy(io.Discard, out) }()
	host, err := os.ReadFile(s.file("host.pub"))
	if err != nil {
		t.Fatal(err)
	}
	s.write("known_hosts", "[127.0.0.1]:"+s.port+" "+string(host))
	return s
}

func (s *served) file(name string) string { return filepath.Join(s.home, name) }

func (s *served) write(name, text string) {
	s.t.Helper()
	if err := os.WriteFile(s.file(name), []byte(text), 0o600); err != nil {
		s.t.Fatal(err)
	}
}

// key makes a key pair and gives its public half.
func (s *served) key(name string) string {
	s.t.Helper()
	if out, err := exec.Command("ssh-keygen", "-q", "-t", "ed25519", "-N", "", "-f",
		s.file(name)).CombinedOutput(); err != nil {
		s.t.Fatalf("%v: %s", err, out)
	}
	b, err := os.ReadFile(s.file(name + ".pub"))
	if err != nil {
		s.t.Fatal(err)
	}
	return string(b)
}

func (s *served) args(name string, more ...string) []string {
	return append([]string{"-F", "none", "-p", s.port, "-i", s.file(name), "-o", "IdentitiesOnly=yes", "-o",
		"BatchMode=yes", "-o", "IdentityAgent=none",
		"-o", "UserKnownHostsFile=" + s.file("known_hosts"), "-o", "StrictHostKeyChecking=yes", name + "@127.0.0.1"}, more...)
}

// console is someone's console in a terminal of its own.
func (s *served) console(name string) *terminal {
	s.t.Helper()
	return startProgram(s.t, "ssh", 100, 30, s.home, nil, s.args(name)...).shows("SANDBOX", name).matches(`\d+ operations`)
}

func (s *served) command(name string, args ...string) string {
	s.t.Helper()
	out, err := exec.Command("ssh", s.args(name, args...)...).Output()
	if err != nil {
		s.t.Fatalf("%v: %v", args, err)
	}
	return string(out)
}

// TestSecondPerson: two people at their consoles over SSH. One asks, the other sees
// it at once, looks at it, decides; no one decides about their own; what was
// approved is done once, by who asked.
func TestSecondPerson(t *testing.T) {
	t.Parallel()
	s := serveSSH(t, map[string]string{"ana": "operator", "bo": "operator", "root": "admin"})
	var list struct{ Items []operation }
	if err := json.Unmarshal([]byte(s.command("root", "operation", "list", "--live", "--limit", "100", "-o", "json")),
		&list); err != nil {
		t.Fatal(err)
	}
	var op operation
	for _, o := range list.Items {
		if o.Status == "PENDING" && len(o.Documents) > 1 && !o.Documents[0].IsLock && !o.Documents[1].IsLock {
			op = o
			break
		}
	}
	if op.Opid == "" {
		t.Fatal("no operation with two documents")
	}
	held := func(n int) bool {
		return strings.Contains(s.command("root", "document", "list", op.Opid, "-o", "json"), op.Documents[n].GUID)
	}

	ana, bo := s.console("ana"), s.console("bo")
	ana.press("o").shows("Open an operation").types(op.Opid +
		enter).gone("Open an operation").matches(`\d documents`).press("d").matches(`1 of \d+`)
	ask := func() {
		ana.press("x").shows("Reason").types("wrong file" +
			enter).armed("Ask for approval").press("y").shows("needs a second person").closes("needs a second person")
	}
	ask()
	bo.shows("ana asks for approval: Remove document", op.Opid[:6], "1 to approve") // wherever bo is
	told := func() int {
		b, _ := os.ReadFile(s.file("notices"))
		return strings.Count(string(b), `"kind":"approval"`)
	}
	for end := time.Now().Add(patience); told() == 0 && time.Now().Before(end); time.Sleep(100 * time.Millisecond) {
	}
	bo.press("8").press("Q").shows("1 approval waits", "remove invoice.pdf", "ana")
	bo.press(".").shows("What it changes", "Exactly what is sent", "DELETE /v2/billing/operation/"+op.Opid,
		"Only detaches the document", "wrong file")
	bo.press(enter).shows("Operation " + op.Opid[:6]).press(esc).shows("Exactly what is sent") // and back
	if n := told(); n != 1 {
		t.Errorf("%d notices of the request", n)
	}

	ana.press("8").press("Q").shows("1 approval waits").press("+").shows("own request") // nobody lets their own pass
	ana.closes("Approvals").press(esc).gone("› Audit").matches(`1 of \d+`)

	bo.press("-").shows("Reason").types("no mandate" + enter).armed("Deny").press("y").shows("Denied").gone("1 to approve")
	ana.shows("bo denied: Remove document", "no mandate")
	if !held(0) {
		t.Error("what was denied was done")
	}

	ana.press("x").shows("Reason").types("wrong file" +
		enter).armed("Ask for approval").press("y").shows("bo denied this").closes("bo denied this")
	ana.press(down).matches(`2 of \d+`) // another document
	ask()
	bo.press(esc).shows("1 approval waits").press("g").press("+").armed("Approve").press("y").shows("Approved")
	ana.shows("bo approved: Remove document", "1 approved")
	if !held(1) {
		t.Error("the document went before who asked sent it")
	}
	ana.press("x").armed("Send now (approved by bo)").press("y").shows("Removed")
	if held(1) {
		t.Error("the document is still there")
	}
	trail := s.command("root", "audit", "list", "-o", "json", "--operation", op.Opid, "--limit", "100")
	for _, want := range []string{"approval.requested", "approval.denied", "approval.approved", `"outcome": "ok"`} {
		if !strings.Contains(trail, want) {
			t.Errorf("the trail has no %s: %s", want, trail)
		}
	}
	ana.press(ctrlC).leaves(0)
	bo.press(ctrlC).leaves(0)
}
