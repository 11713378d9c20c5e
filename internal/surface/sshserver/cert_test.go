package sshserver

import (
	"crypto/rand"
	"errors"
	"testing"
	"time"

	gossh "golang.org/x/crypto/ssh"

	"opdeck/api"
)

// certificate is a good one for ana, changed by change and signed by ca.
func certificate(t testing.TB, of, ca gossh.Signer, change func(*gossh.Certificate)) *gossh.Certificate {
	t.Helper()
	now := time.Now()
	c := &gossh.Certificate{Key: of.PublicKey(), Serial: 42, CertType: gossh.UserCert, KeyId: "ana",
		ValidPrincipals: []string{"ana", "role:operator"}, ValidAfter: uint64(now.Add(-time.Minute).Unix()),
		ValidBefore: uint64(now.Add(time.Hour).Unix()),
		Permissions: gossh.Permissions{CriticalOptions: map[string]string{}, Extensions: map[string]string{"permit-pty": ""}}}
	if change != nil {
		change(c)
	}
	if err := c.SignCert(rand.Reader, ca); err != nil {
		t.Fatal(err)
	}
	return c
}

// Every bad certificate is refused with its own reason (security cases S03, S04).
func TestCertificates(t *testing.T) {
	dir := t.TempDir()
	ca, other, person, host := key(t, dir, "ca"), key(t, dir, "other"), key(t, dir, "person"), key(t, dir, "h")
	rules, bad := parseCA("ca", []byte("# signs\ncert-authority "+line(ca)+"rubbish\n@revoked serial:13\n@revoked "+
		"id:eve\n@revoked "+line(host)+"@revoked serial:x\n"))
	if len(bad) != 2 || bad[0].Line != 3 || len(rules.keys) != 1 {
		t.Fatalf("%v, %d authorities", bad, len(rules.keys))
	}
	now := time.Now()
	at := func(d time.Duration) uint64 { return uint64(now.Add(d).Unix()) }
	type change = func(*gossh.Certificate)
	for _, c := range []struct {
		name   string
		user   string
		change change
		reason string // "": accepted
	}{
		{"good", "ana", nil, ""},
		{"good from here", "ana", func(
			c *gossh.Certificate) {
			c.CriticalOptions["source-address"] = "192.0.2.0/24,127.0.0.1"
		}, ""},
		{"two names", "anna", func(c *gossh.Certificate) { c.ValidPrincipals = []string{"ana", "anna", "role:viewer"} }, ""},
		{"host certificate", "ana", func(c *gossh.Certificate) { c.CertType = gossh.HostCert }, "host_certificate"},
		{"no principals", "ana", func(c *gossh.Certificate) { c.ValidPrincipals = nil }, "no_principals"},
		{"wrong principal", "bo", nil, "principal"},
		{"the role as name", "role:operator", nil, "principal"},
		{"no role", "ana", func(c *gossh.Certificate) { c.ValidPrincipals = []string{"ana"} }, "role"},
		{"two roles", "ana", func(c *gossh.Certificate) { c.ValidPrincipals = append(c.ValidPrincipals, "role:admin") },
			"role"},
		{"role root", "ana", func(c *gossh.Certificate) { c.ValidPrincipals = []string{"ana", "role:root"} }, "role"},
		{"expired", "ana", func(c *gossh.Certificate) { c.ValidAfter, c.ValidBefore = at(-2*time.Hour), at(-time.Hour) },
			"expired"},
		{"not yet", "ana", func(c *gossh.Certificate) { c.ValidAfter = at(10 * time.Minute) }, "not_yet"},
		{"for ever", "ana", func(c *gossh.Certificate) { c.ValidAfter, c.ValidBefore = 0, gossh.CertTimeInfinity },
			"lifetime"},
		{"26 hours", "ana", func(c *gossh.Certificate) { c.ValidBefore = at(26 * time.Hour) }, "lifetime"},
		{"backwards", "ana", func(c *gossh.Certificate) { c.ValidAfter, c.ValidBefore = at(time.Hour), at(-time.Hour) },
			"lifetime"},
		{"far future", "ana", func(c *gossh.Certificate) { c.ValidAfter, c.ValidBefore = 1<<63, 1<<63+60 }, "lifetime"},
		{"force-command", "ana", func(c *gossh.Certificate) { c.CriticalOptions["force-command"] = "/bin/sh" },
			"critical_option"},
		{"unknown option", "ana", func(c *gossh.Certificate) { c.CriticalOptions["verify-required"] = "" },
			"critical_option"},
		{"foreign network", "ana", func(c *gossh.Certificate) { c.CriticalOptions["source-address"] = "10.0.0.0/8" },
			"source_address"},
		{"rubbish network", "ana", func(c *gossh.Certificate) { c.CriticalOptions["source-address"] = "everywhere" },
			"source_address"},
		{"revoked serial", "ana", func(c *gossh.Certificate) { c.Serial = 13 }, "revoked"},
		{"revoked person", "ana", func(c *gossh.Certificate) { c.KeyId = "eve" }, "revoked"},
		{"revoked key", "ana", func(c *gossh.Certificate) { c.Key = host.PublicKey() }, "revoked"},
		{"no person", "ana", func(c *gossh.Certificate) { c.KeyId = "" }, "key_id"},
		{"hostile person", "ana", func(c *gossh.Certificate) { c.KeyId = "ana\x1b[2J" }, "key_id"},
	} {
		p, err := rules.authorize(certificate(t, person, ca, c.change), c.user, addr("127.0.0.1"), now)
		var r *Refusal
		switch {
		case c.reason == "" && (err != nil || p.Name != "ana" || p.NoTerminal):
			t.Errorf("%s: %+v, %v", c.name, p, err)
		case c.reason != "" && (!errors.As(err, &r) || r.Reason != c.reason):
			t.Errorf("%s: %v, want %s", c.name, err, c.reason)
		}
	}
	if _, err := rules.authorize(certificate(t, person, other, nil), "ana", addr("127.0.0.1"), now); err == nil {
		t.Error("a stranger's signature holds")
	}
	forged := certificate(t, person, ca, nil)
	forged.ValidPrincipals = []string{"ana", "role:admin"} // after it was signed
	if _, err := rules.authorize(forged, "ana", addr("127.0.0.1"), now); err == nil {
		t.Error("a changed certificate holds")
	}
}

func TestCertificateLogin(t *testing.T) {
	h := open(t, nil)
	ca, person := h.signer("ca"), key(t, h.dir, "laptop")
	with := func(change func(*gossh.Certificate)) gossh.Signer {
		s, err := gossh.NewCertSigner(certificate(t, person, ca, change), person)
		if err != nil {
			t.Fatal(err)
		}
		return s
	}
	c, err := h.dial("ana", with(func(c *gossh.Certificate) {
		c.ValidPrincipals = []string{"ana",
			"role:" + string(api.OnCall)}
	}))
	if err != nil {
		t.Fatal(err)
	}
	x := h.console(c)
	x.shows(t, "hello ana (oncall)")
	open := h.trail.find("console.open", "")
	if len(open) != 1 || open[0].who.Key == "" || open[0].who.Session == "" || open[0].who.From == "" {
		t.Errorf("the opening is recorded as %+v", open)
	}

	// Without permit-pty there are commands, but no console.
	quiet, err := h.dial("ana", with(func(c *gossh.Certificate) { c.Extensions = nil }))
	if err != nil {
		t.Fatal(err)
	}
	defer quiet.Close()
	s, err := quiet.NewSession()
	if err != nil {
		t.Fatal(err)
	}
	if s.RequestPty("xterm", 24, 80, nil) == nil {
		t.Error("a terminal without permit-pty")
	}
	if out, err := s.Output("who"); exitOf(err) != 7 || len(out) == 0 {
		t.Errorf("a command without permit-pty: %q, %v", out, err)
	}

	write(t, h.ca(), line(h.signer("ca"))+"@revoked serial:42\n")
	if err := x.Wait(); err == nil {
		t.Error("a revoked certificate's session goes on")
	}
	if _, err := h.dial("ana", with(nil)); err == nil {
		t.Error("a revoked certificate lets people in")
	}
	_ = c.Close()
}
