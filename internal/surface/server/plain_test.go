package server_test

import (
	"bufio"
	"io"
	"net"
	"os"
	"os/exec"
	"strings"
	"testing"
	"time"

	gossh "golang.org/x/crypto/ssh"

	"opdeck/api"
	"opdeck/internal/e2e/racedetector"
	"opdeck/internal/store/storetest"
)

// listener is the OpenSSH client of a person who only reads lines and answers.
type listener struct {
	t     *testing.T
	in    io.WriteCloser
	lines chan string
	cmd   *exec.Cmd
	whole strings.Builder
}

// listen begins a conversation by the real client and reads the greeting.
func (p *place) listen(role api.Role, term string, args ...string) *listener {
	t := p.t.(*testing.T)
	t.Helper()
	if _, err := exec.LookPath("ssh"); err != nil {
		storetest.Missing(t, "ssh", "the OpenSSH client is not installed")
	}
	name := "p-" + string(role)
	host, err := os.ReadFile(p.file("host"))
	if err != nil {
		t.Fatal(err)
	}
	signer, err := gossh.ParsePrivateKey(host)
	if err != nil {
		t.Fatal(err)
	}
	_, port, _ := net.SplitHostPort(p.ssh)
	p.write("known_hosts", "[127.0.0.1]:"+port+" "+string(gossh.MarshalAuthorizedKey(signer.PublicKey())))
	base := []string{"-F", "none", "-p", port, "-i", p.file(name), "-o", "IdentitiesOnly=yes", "-o", "BatchMode=yes", "-o",
		"LogLevel=ERROR", "-o", "UserKnownHostsFile=" + p.file("known_hosts"), "-o", "StrictHostKeyChecking=yes", "-o",
		"IdentityAgent=none"}
	l := &listener{t: t, lines: make(chan string, 10_000), cmd: exec.Command("ssh", append(base, args...)...)}
	l.cmd.Env = []string{"PATH=" + os.Getenv("PATH"), "HOME=" + p.dir, "TERM=" + term}
	l.cmd.WaitDelay = time.Second
	if l.in, err = l.cmd.StdinPipe(); err != nil {
		t.Fatal(err)
	}
	out, err := l.cmd.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := l.cmd.Start(); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = l.cmd.Process.Kill(); _ = l.cmd.Wait() })
	go func() {
		defer close(l.lines)
		b := bufio.NewReader(out)
		for {
			s, err := b.ReadString('\n')
			if err != nil {
				return
			}
			l.lines <- s
		}
	}()
	l.output()
	return l
}

// output reads lines up to the next prompt or the end.
func (l *listener) output() []string {
	l.t.Helper()
	var heard []string
	late := time.After(60 * time.Second)
	for {
		select {
		case s, ok := <-l.lines:
			if !ok {
				return heard
			}
			l.whole.WriteString(s)
			heard = append(heard, strings.TrimRight(s, "\r\n"))
			s = heard[len(heard)-1]
			for _, end := range []string{"help:", "anything else is No:", ", or back:", "goes back:"} {
				if strings.HasSuffix(s, end) {
					return heard
				}
			}
		case <-late:
			l.t.Fatalf("no prompt came:\n%s", l.whole.String())
		}
	}
}

// say answers and reads the output, which must contain each of want.
func (l *listener) say(line string, want ...string) {
	l.t.Helper()
	if _, err := io.WriteString(l.in, line+"\n"); err != nil {
		l.t.Fatal(err)
	}
	all := strings.Join(l.output(), "\n")
	for _, w := range want {
		if !strings.Contains(all, w) {
			l.t.Errorf("after %q nobody said %q:\n%s", line, w, all)
		}
	}
}

// A document is removed and put back over ssh -T, on a dumb terminal, and by
// asking for lines, by someone who only reads lines and answers.
func TestPlainOverSSH(t *testing.T) {
	racedetector.Skip(t)
	t.Parallel()
	p := begin(t, "")
	opid, guid := p.opid()
	p.write("trap.pdf", "content of the server")
	for _, way := range []struct {
		term string
		args []string
	}{
		{"xterm-256color", []string{"-T", "p-operator@127.0.0.1"}},
		{"dumb", []string{"-tt", "p-operator@127.0.0.1"}},
		{"xterm-256color", []string{"p-operator@127.0.0.1", "plain"}},
	} {
		l := p.listen(api.Operator, way.term, way.args...)
		l.say("open "+opid, "Operation "+opid)
		l.say("documents", "1. ")
		l.say("upload", "Files here are on the server", "document upload - --customer")
		l.say("replace 1", "Files here are on the server", "document replace ")
		n := p.number(opid, guid)
		l.say("remove "+n, "id: "+guid, "Type yes to remove")
		l.say("no", "Nothing was sent.")
		l.say("remove "+n, "Type yes to remove")
		time.Sleep(500 * time.Millisecond) // a question ignores what is typed too early
		l.say("yes", "Done. Removed")
		if p.attached(opid, guid) {
			t.Error("the document is there")
		}
		l.say("restore", "Type yes to restore")
		time.Sleep(500 * time.Millisecond)
		l.say("yes", "Done. Restored")
		if !p.attached(opid, guid) {
			t.Error("the document is not there")
		}
		l.say("menu")
		l.say("1", "Operations 1 to")
		l.say("export "+p.file("new.csv"), "export cannot be used now.")
		l.say("quit", "Goodbye.")
		if err := l.cmd.Wait(); err != nil {
			t.Errorf("%v: leaving: %v", way, err)
		}
		all := l.whole.String()
		if strings.Contains(all, "\x1b") || strings.Contains(all, "content of the server") {
			t.Errorf("%v: it was said: %q", way, all)
		}
		if raw := way.term == "dumb"; strings.Count(all, "\n") != strings.Count(all, "\r\n") == raw {
			t.Errorf("%v: line ends are wrong: %.300q", way, all)
		}
	}
	if _, err := os.Stat(p.file("new.csv")); err == nil {
		t.Error("a file was made on the server")
	}
	out, _, _ := p.run(api.Admin, "", "audit list -o json --limit 400")
	if strings.Count(out, `"detail": "plain mode, `) != 3 {
		t.Error("the openings are not recorded")
	}
}

// TestPlainExportsAreCommands: who may export gets the command that does it from their own
// machine, on one line however narrow the terminal is, as the drawn console gives it.
func TestPlainExportsAreCommands(t *testing.T) {
	racedetector.Skip(t)
	t.Parallel()
	p := begin(t, "")
	p.opid() // a live read, which fills the list
	for _, way := range []struct {
		term string
		args []string
	}{{"dumb", []string{"-tt", "p-admin@127.0.0.1"}}, {"xterm-256color", []string{"-T", "p-admin@127.0.0.1"}}} {
		l := p.listen(api.Admin, way.term, way.args...)
		begins := "ssh -p " + p.ssh[strings.LastIndexByte(p.ssh, ':')+1:] + " p-admin@127.0.0.1 "
		l.say("1", "Operations 1 to")
		l.say("filter status:PENDING")
		l.say("export", "Files here are on the server", begins+"operation export - --filter status:PENDING --sort "+
			"-created -o csv > FILE", "-o jsonl")
		l.say("menu")
		l.say("8", "Audit")
		l.say("export", begins+"audit export > FILE")
		l.say("quit", "Goodbye.")
		if err := l.cmd.Wait(); err != nil {
			t.Errorf("%v: leaving: %v", way, err)
		}
	}
}

// number is the place of a document in its operation, from 1.
func (p *place) number(opid, guid string) string {
	p.t.Helper()
	out, errs, code := p.run(api.Admin, "", "document list "+opid)
	if code != 0 {
		p.t.Fatal(errs)
	}
	for i, line := range strings.Split(out, "\n") {
		if strings.Contains(line, guid) {
			return string(rune('0' + i))
		}
	}
	p.t.Fatal("the document is not there")
	return ""
}
