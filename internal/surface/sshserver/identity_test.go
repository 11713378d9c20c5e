package sshserver

import (
	"testing"
	"time"

	gossh "golang.org/x/crypto/ssh"

	"opdeck/api"
)

// One private key, plain and in certificates with other ids: key, login name and id are all recorded, so that no one
// takes these for two people.
func TestOneKeyIsOnePerson(t *testing.T) {
	h := open(t, nil)
	ana := h.signer("ana")
	in := func(change func(*gossh.Certificate)) gossh.Signer {
		s, err := gossh.NewCertSigner(certificate(t, ana, h.signer("ca"), change), ana)
		if err != nil {
			t.Fatal(err)
		}
		return s
	}
	fingerprint := gossh.FingerprintSHA256(ana.PublicKey())
	for _, c := range []struct {
		name, user string
		with       gossh.Signer
		want       api.Actor
	}{
		{"key", "ana", ana, api.Actor{Name: "ana", Login: "ana"}},
		{"certificate", "ana", in(func(c *gossh.Certificate) { c.KeyId = "ana-cert" }),
			api.Actor{Name: "ana-cert", Login: "ana", Cert: "ana-cert"}},
		{"another certificate", "ana", in(func(c *gossh.Certificate) { c.KeyId, c.Serial = "vault-root-7f", 7 }),
			api.Actor{Name: "vault-root-7f", Login: "ana", Cert: "vault-root-7f"}},
		{"another login", "anna", in(func(c *gossh.Certificate) {
			c.KeyId, c.ValidPrincipals = "x",
				[]string{"anna", "role:operator"}
		}), api.Actor{Name: "x", Login: "anna", Cert: "x"}},
	} {
		before := len(h.trail.find("console.open", ""))
		client, err := h.dial(c.user, c.with)
		if err != nil {
			t.Fatalf("%s: %v", c.name, err)
		}
		s, err := client.NewSession()
		if err != nil {
			t.Fatal(err)
		}
		_, _ = s.Output("who")
		notes := h.trail.find("console.open", "")
		if len(notes) != before+1 {
			t.Fatalf("%s: %d records", c.name, len(notes)-before)
		}
		got := notes[before].who
		if got.Name != c.want.Name || got.Login != c.want.Login || got.Cert != c.want.Cert || got.Key != fingerprint ||
			(got.Serial == "") != (c.want.Cert == "") || got.Host != h.srv.Fingerprint() || got.UID != "" {
			t.Errorf("%s: %+v", c.name, got)
		}
		again, err := h.srv.opt.Keys.AuthorizeAgain(got.Proof, got.Login, got.From)
		if err != nil || again.Key != got.Key || again.Role != api.Operator {
			t.Errorf("%s, judged again: %+v, %v", c.name, again, err)
		}
		for _, bad := range []struct{ proof, user, from string }{{"", got.Login, got.From}, {got.Proof, "bo", got.From}} {
			if p, err := h.srv.opt.Keys.AuthorizeAgain(bad.proof, bad.user, bad.from); err == nil {
				t.Errorf("%s, judged as %+v: %+v", c.name, bad, p)
			}
		}
		_ = client.Close()
	}
}

// A certificate's login name is a person's name, as that of a key is.
func TestLoginNamesOfCertificates(t *testing.T) {
	dir := t.TempDir()
	ca, person := key(t, dir, "ca"), key(t, dir, "person")
	rules, _ := parseCA("ca", []byte(line(ca)))
	for _, name := range []string{"аna", "ana\x1b", "1", "*"} {
		c := certificate(t, person, ca, func(c *gossh.Certificate) { c.ValidPrincipals = []string{name, "role:operator"} })
		if p, err := rules.authorize(c, name, addr("127.0.0.1"), time.Now()); err == nil {
			t.Errorf("%q came in as %+v", name, p)
		}
	}
}
