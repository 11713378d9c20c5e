package sshserver

import (
	"net"
	"os"
	"strings"
	"testing"
	"time"
	"unicode"
	"unsafe"

	gossh "golang.org/x/crypto/ssh"

	"opdeck/api"
	"opdeck/api/apitest"
	"opdeck/internal/system/listen"
)

func TestWhoComesIn(t *testing.T) {
	h := open(t, nil)
	out, err := run1(h, "ana", "operation get 'o 1'")
	if got := exitOf(err); got != 7 || out != "ana operator ssh [\"operation\" \"get\" \"o 1\"]\n" {
		t.Errorf("ana ran %q, exit %d (%v)", out, got, err)
	}
	stranger := key(t, h.dir, "stranger")
	if _, err := h.dial("ana", stranger); err == nil {
		t.Error("a stranger came in as ana")
	}
	apitest.Soon(t, "the refusal is recorded", func() bool { return len(h.trail.find("ssh.refused", "as 'ana'")) == 1 })
	for _, want := range []string{`msg="ssh: login" person=ana role=operator from=127.0.0.1 by=key fingerprint=SHA256:`,
		`msg="ssh: connection refused" from=127.0.0.1 reason=unknown_key unlogged_before=0 person=ana tries="as 'ana' with`} {
		if !strings.Contains(h.log.String(), want) {
			t.Errorf("no %s in the log:\n%s", want, h.log)
		}
	}
	if n := h.srv.Refused()["unknown_key"]; n != 1 {
		t.Errorf("%d refusals counted", n)
	}
	for _, method := range []gossh.AuthMethod{gossh.Password("x"),
		gossh.KeyboardInteractive(func(_, _ string, q []string, _ []bool) ([]string, error) {
			return make([]string, len(q)),
				nil
		})} {
		if _, err := gossh.Dial("tcp", h.addr, &gossh.ClientConfig{User: "ana", Auth: []gossh.AuthMethod{method},
			HostKeyCallback: gossh.InsecureIgnoreHostKey()}); err == nil {
			t.Errorf("%T let somebody in", method)
		}
	}
	if _, err := gossh.Dial("tcp", h.addr, &gossh.ClientConfig{User: "ana",
		HostKeyCallback: gossh.InsecureIgnoreHostKey()}); err == nil {
		t.Error("nothing at all let somebody in")
	}
}

// run1 runs one command as a person on a connection of its own.
func run1(h *fixture, user, command string) (string, error) {
	h.t.Helper()
	c := h.login(user)
	defer c.Close()
	s, err := c.NewSession()
	if err != nil {
		return "", err
	}
	out, err := s.Output(command)
	return string(out), err
}

func exitOf(err error) int {
	if err == nil {
		return 0
	}
	if e, ok := err.(*gossh.ExitError); ok {
		return e.ExitStatus()
	}
	return -1
}

// The identity is that of the key that was proven, whatever was tried before and
// whatever name is given.
func TestAnotherPersonsKey(t *testing.T) {
	h := open(t, nil)
	ana, bo, stranger := h.signer("ana"), h.signer("bo"), key(t, h.dir, "stranger")
	if _, err := h.dial("bo", ana); err == nil {
		t.Error("ana's key came in under bo's name")
	}
	apitest.Soon(t, "both names are recorded", func() bool {
		n := h.trail.find("ssh.refused", "the key is ana's")
		return len(n) == 1 && strings.Contains(n[0].event.Detail, "as 'bo'")
	})

	// A first attempt under ana's name, then bo's name with ana's key, on one
	// connection, as the library asks.
	nc, _ := net.Pipe()
	c := &conn{Bounded: new(listen.Conns).Bound(nc), srv: h.srv, gone: make(chan struct{}), disconnect: func() {}}
	if _, err := c.offered(meta("ana"), stranger.PublicKey()); err == nil {
		t.Fatal("a stranger's key was welcome")
	}
	perms, err := c.offered(meta("bo"), ana.PublicKey())
	if err != nil {
		t.Fatal(err)
	}
	if _, err := c.verified(meta("bo"), ana.PublicKey(), perms); err == nil || c.authenticated.Load() {
		t.Error("bo came in with ana's key")
	}
	line, last, _ := c.attempts.summary()
	if !strings.Contains(line, "as 'ana'") || !strings.Contains(line, "as 'bo'") || last != "bo" {
		t.Errorf("the attempts are reported as %q", line)
	}

	// Offering bo's key and proving ana's makes ana (S02).
	client, err := h.dial("ana", onlyOffered{bo}, ana)
	if err != nil {
		t.Fatal(err)
	}
	defer client.Close()
	s, _ := client.NewSession()
	if out, _ := s.Output("who"); !strings.HasPrefix(string(out), "ana operator") {
		t.Errorf("the session is %q", out)
	}
}

// The same over the wire. A client's name is a string whose bytes change between
// two attempts: no other way makes x/crypto's client log in under two names.
func TestAnotherNameOnOneConnection(t *testing.T) {
	h := open(t, func(h *fixture, o *Options) {
		write(t, h.keys(), `name="eva",role="operator" `+line(key(t, h.dir, "eva"))+`name="bob",role="viewer" `+line(key(t,
			h.dir, "bob")))
		var err error
		if o.Keys, err = LoadAuthorizedKeys(h.keys(), "", time.Now); err != nil {
			t.Fatal(err)
		}
	})
	for _, c := range []struct {
		first, then, by string
		in              string // who is in; "" for no one
	}{
		{"eva", "bob", "eva", ""}, // bob's name, eva's key
		{"eva", "bob", "bob", "bob viewer"},
		{"bob", "eva", "eva", "eva operator"},
	} {
		name := []byte(c.first)
		turn := turning{h.signer(c.by), func() { copy(name, c.then) }}
		client, err := gossh.Dial("tcp", h.addr, &gossh.ClientConfig{User: unsafe.String(&name[0], len(name)),
			Auth:            []gossh.AuthMethod{gossh.PublicKeys(key(t, h.dir, "stranger"), turn)},
			HostKeyCallback: gossh.FixedHostKey(h.host), Timeout: 10 * time.Second})
		if c.in == "" {
			if err == nil {
				_ = client.Close()
				t.Errorf("%+v: somebody logged in", c)
			}
			apitest.Soon(t, "both names are recorded", func() bool {
				n := h.trail.find("ssh.refused", "as 'eva' with")
				return len(n) == 1 && strings.Contains(n[0].event.Detail, "as 'bob' with") &&
					strings.Contains(n[0].event.Detail, "the key is eva's")
			})
			continue
		}
		if err != nil {
			t.Fatalf("%+v: %v", c, err)
		}
		s, err := client.NewSession()
		if err != nil {
			t.Fatal(err)
		}
		if out, _ := s.Output("who"); !strings.HasPrefix(string(out), c.in) {
			t.Errorf("%+v: the session is %q", c, out)
		}
		_ = client.Close()
		apitest.Soon(t, "the first name is recorded", func() bool {
			return len(h.trail.find("ssh.refused", "before "+c.then+" logged in: as '"+c.first+"'")) == 1
		})
	}
}

// turning is a key that changes something when it is looked at.
type turning struct {
	gossh.Signer
	turn func()
}

func (s turning) PublicKey() gossh.PublicKey { s.turn(); return s.Signer.PublicKey() }

// Three proofs are tried on a connection, no more (security case S09).
func TestThreeTries(t *testing.T) {
	h := open(t, nil)
	strangers := []gossh.Signer{key(t, h.dir, "s1"), key(t, h.dir, "s2"), key(t, h.dir, "s3")}
	c, err := h.dial("ana", strangers[0], strangers[1], h.signer("ana"))
	if err != nil {
		t.Fatalf("a third key that is right: %v", err)
	}
	_ = c.Close()
	if c, err := h.dial("ana", append(strangers, h.signer("ana"))...); err == nil {
		_ = c.Close()
		t.Error("a fourth key was tried")
	}
	apitest.Soon(t, "the tries are recorded in one line", func() bool { return len(h.trail.find("ssh.refused", "")) == 1 })
	if n := strings.Count(h.trail.find("ssh.refused", "")[0].event.Detail, "the key is unknown"); n != 3 {
		t.Errorf("%d tries are recorded", n)
	}
}

// A login name is a message from outside: it is bounded and shown by marks in log
// and trail (security case S25).
func TestHostileLoginName(t *testing.T) {
	h := open(t, nil)
	for _, name := range []string{"ana\x1b[2J\r\nlevel=INFO msg=\"ana came in\"", "\u202eana", strings.Repeat("a", 30_000),
		"\xff\xfe"} {
		before := len(h.trail.find("ssh.refused", ""))
		if _, err := h.dial(name, h.signer("ana")); err == nil {
			t.Errorf("%.20q came in", name)
		}
		apitest.Soon(t, "it is recorded", func() bool { return len(h.trail.find("ssh.refused", "")) == before+1 })
		n := h.trail.find("ssh.refused", "")[before]
		if reported := n.who.Name + n.event.Detail; len(reported) > 600 ||
			strings.ContainsFunc(reported, func(r rune) bool { return !unicode.IsPrint(r) }) {
			t.Errorf("%.20q is recorded as %.700q", name, reported)
		}
	}
	if log := h.log.String(); strings.Contains(log, "\x1b") || strings.Count(log, "\n") != 1 { // one a minute
		t.Errorf("the log: %q", log)
	}
}

// onlyOffered has a public key and cannot sign with it.
type onlyOffered struct{ gossh.Signer }

type meta string

func (m meta) User() string        { return string(m) }
func (meta) SessionID() []byte     { return nil }
func (meta) ClientVersion() []byte { return nil }
func (meta) ServerVersion() []byte { return nil }
func (meta) RemoteAddr() net.Addr  { return nil }
func (meta) LocalAddr() net.Addr   { return nil }

func TestOneBadLineLocksNobodyOut(t *testing.T) {
	dir := t.TempDir()
	a, b, c, d := key(t, dir, "a"), key(t, dir, "b"), key(t, dir, "c"), key(t, dir, "d")
	file := strings.Join([]string{
		`# people`,
		`name="ana",role="operator" ` + line(a),
		`this is no key at all`,
		`name="x",role="emperor" ` + line(c),
		`name="x" ` + line(c),
		`role="viewer" ` + line(c),
		`name="bo",role="viewer",from="10.0.0.0/8,!10.6.*",expiry-time="20990101" ` + line(b),
		`name="x",role="admin",command="/bin/sh" ` + line(c),
		`name="x",role="admin",from="evil.example.com" ` + line(c),
		`name="x",role="admin",expiry-time="tomorrow" ` + line(c),
		`name="e\x1b[2J",role="admin" ` + line(c),
		`name="eve",role="admin" ` + line(a),
		`cert-authority,name="x",role="admin" ` + line(c),
		strings.Repeat("x", 10_000),
		`no-pty,name="x",role="admin" ` + line(c),
		`name="dora",role="admin",no-port-forwarding,no-X11-forwarding ` + line(d),
	}, "\n")
	keys, bad := parseKeys("f", []byte(strings.ReplaceAll(file, "\n\n", "\n")))
	if len(keys) != 3 || keys[string(a.PublicKey().Marshal())].name != "ana" ||
		keys[string(d.PublicKey().Marshal())].name != "dora" {
		t.Errorf("%d keys: %+v", len(keys), keys)
	}
	var lines []int
	for _, m := range bad {
		lines = append(lines, m.Line)
		if strings.Contains(m.Error(), "AAAA") || strings.Contains(m.Error(), "\x1b") {
			t.Errorf("a mistake shows the line: %s", m)
		}
	}
	if len(bad) != 12 {
		t.Errorf("%d mistakes at %v", len(bad), lines)
	}
	e := keys[string(b.PublicKey().Marshal())]
	for from, want := range map[string]bool{"10.1.2.3": true, "10.6.2.3": false, "192.0.2.1": false,
		"::ffff:10.1.2.3": true} {
		if e.from.allow(addr(from)) != want {
			t.Errorf("from %s: %v", from, !want)
		}
	}
	if e.until.Year() != 2099 {
		t.Errorf("until %s", e.until)
	}
}

func TestKeysAreReadAgain(t *testing.T) {
	h := open(t, nil)
	ana := h.console(h.login("ana"))
	bo := h.console(h.login("bo"))
	ana.shows(t, "hello ana")
	bo.shows(t, "hello bo")

	// bo may do more now: the session that has the old role ends; ana stays.
	keys := "name=\"ana\",role=\"operator\" " + line(h.signer("ana")) + "name=\"bo\",role=\"operator\" " +
		line(h.signer("bo"))
	write(t, h.keys(), keys)
	ended := bo.Wait()
	if exitOf(ended) != api.Interrupted.Exit() || !strings.Contains(bo.out.String(), "Your role has changed") {
		t.Errorf("bo's session ended with %v: %s", ended, bo.out)
	}
	if out, _ := run1(h, "bo", "who"); !strings.HasPrefix(out, "bo operator") {
		t.Errorf("bo is now %q", out)
	}
	ana.key(t, "x")
	ana.shows(t, "x]")

	write(t, h.keys(), "name=\"bo\",role=\"operator\" "+line(h.signer("bo"))) // ana is gone
	if err := ana.Wait(); err == nil || !strings.Contains(ana.out.String(), "no longer accepted") {
		t.Errorf("ana's session ended with %v: %s", err, ana.out)
	}
	if _, err := h.dial("ana", h.signer("ana")); err == nil {
		t.Error("ana came in with a key that was taken away")
	}
	if err := os.Remove(h.keys()); err != nil { // no one may come in
		t.Fatal(err)
	}
	apitest.Soon(t, "bo is out", func() bool {
		c, err := h.dial("bo", h.signer("bo"))
		if err == nil {
			_ = c.Close()
		}
		return err != nil
	})
	if n := h.trail.find("config.reload", "ssh keys read again"); len(n) < 2 {
		t.Errorf("%d reloads recorded", len(n))
	}
	if n := h.trail.find("console.close", "revoked after"); len(n) != 1 {
		t.Errorf("the end by revocation is recorded %d times", len(n))
	}
}

func TestHostKey(t *testing.T) {
	dir := t.TempDir()
	key(t, dir, "good")
	for _, c := range []struct {
		name string
		make func(path string)
		want string
	}{
		{"missing", func(string) {}, "no such file"},
		{"open", func(p string) { copyFile(t, dir+"/good", p, 0o644) }, "0644"},
		{"group", func(p string) { copyFile(t, dir+"/good", p, 0o640) }, "0640"},
		{"garbage", func(p string) {
			write(t, p, "-----BEGIN OPENSSH PRIVATE KEY-----\nrubbish\n-----END OPENSSH PRIVATE KEY-----\n")
		}, "not a private key"},
		{"link", func(p string) { _ = os.Symlink(dir+"/good", p) }, "not a regular file"},
		{"folder", func(p string) { _ = os.Mkdir(p, 0o700) }, "not a regular file"},
		{"fine", func(p string) { copyFile(t, dir+"/good", p, 0o400) }, ""},
	} {
		path := dir + "/" + c.name
		c.make(path)
		_, err := LoadHostKey(path)
		if (err == nil) != (c.want == "") || err != nil && !strings.Contains(err.Error(), c.want) {
			t.Errorf("%s: %v", c.name, err)
		}
	}
	if _, err := os.Lstat(dir + "/missing"); err == nil {
		t.Error("a host key was made")
	}
}

func copyFile(t *testing.T, from, to string, mode os.FileMode) {
	t.Helper()
	b, err := os.ReadFile(from)
	if err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(to, b, mode); err != nil {
		t.Fatal(err)
	}
	if err := os.Chmod(to, mode); err != nil {
		t.Fatal(err)
	}
}

func TestNobodyWithoutRules(t *testing.T) {
	if _, err := LoadAuthorizedKeys("", "", time.Now); err == nil {
		t.Error("a ring without files")
	}
	path := t.TempDir() + "/keys"
	write(t, path, "")
	if err := os.Chmod(path, 0o666); err != nil {
		t.Fatal(err)
	}
	if _, err := LoadAuthorizedKeys(path, "", time.Now); err == nil || !strings.Contains(err.Error(), "others may write") {
		t.Errorf("a file that others may write: %v", err)
	}
	if _, err := New(Options{}); err == nil {
		t.Error("a server without keys")
	}
}
