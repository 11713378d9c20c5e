//go:build unix

package server_test

import (
	"crypto/rand"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
	"time"

	gossh "golang.org/x/crypto/ssh"

	"opdeck/api"
	"opdeck/api/apitest"
)

// certified signs a certificate for a person's key and writes who may sign.
func (p *place) certified(of, login, id string) gossh.Signer {
	t := p.t
	t.Helper()
	ca := p.people["ca"]
	if ca == nil {
		ca = newKey(t, p.file("ca"))
		p.people["ca"] = ca
		p.write("ca.pub", string(gossh.MarshalAuthorizedKey(ca.PublicKey())))
	}
	now := time.Now()
	c := &gossh.Certificate{Key: p.people[of].PublicKey(), Serial: 7, CertType: gossh.UserCert, KeyId: id,
		ValidPrincipals: []string{login, "role:operator"},
		ValidAfter:      uint64(now.Add(-time.Minute).Unix()), ValidBefore: uint64(now.Add(time.Hour).Unix())}
	if err := c.SignCert(rand.Reader, ca); err != nil {
		t.Fatal(err)
	}
	s, err := gossh.NewCertSigner(c, p.people[of])
	if err != nil {
		t.Fatal(err)
	}
	return s
}

// with runs a command as someone who logs in with a key or certificate.
func (p *place) with(login string, key gossh.Signer, command string) (said string, code int) {
	t := p.t
	t.Helper()
	c, err := gossh.Dial("tcp", p.ssh, &gossh.ClientConfig{User: login, Auth: []gossh.AuthMethod{gossh.PublicKeys(key)},
		HostKeyCallback: gossh.InsecureIgnoreHostKey(), Timeout: 30 * time.Second})
	if err != nil {
		t.Fatalf("%s: %v", login, err)
	}
	defer c.Close()
	s, err := c.NewSession()
	if err != nil {
		t.Fatal(err)
	}
	out, err := s.CombinedOutput(command)
	return string(out), exitOf(err)
}

// One private key, as a key and in certificates with other ids and names, is one
// person: none of them lets the others' requests pass, all of them may use what a
// second person approved for that login.
func TestOnePersonIsNotTwo(t *testing.T) {
	t.Parallel()
	p := inPairs(t)
	as := map[string]gossh.Signer{"p-operator ana-cert": p.certified("p-operator", "p-operator", "ana-cert"),
		"p-operator vault-9": p.certified("p-operator", "p-operator", "vault-9"),
		"somebody else":      p.certified("p-operator", "somebody", "else"),
		"bo p-operator":      p.certified("p-analyst", "bo", "p-operator"),
		"p-operator x":       p.certified("p-analyst", "p-operator", "x")}
	b, err := os.ReadFile(p.file("config.toml"))
	if err != nil {
		t.Fatal(err)
	}
	p.write("config.toml", strings.Replace(string(b), "[ssh]\n",
		"[ssh]\ntrusted_ca = \""+filepath.ToSlash(p.file("ca.pub"))+"\"\n", 1))
	p.start()
	opid, guid := p.opid()
	remove := "document remove " + opid + " " + guid + " --yes"
	r := p.ask(remove)
	if r.Requester.Login != "p-operator" || !strings.HasPrefix(r.Requester.Key, "SHA256:") || r.Requester.Cert != "" ||
		r.Requester.UID != "" {
		t.Errorf("the requester is %+v", r.Requester)
	}
	for who, key := range as {
		login, _, _ := strings.Cut(who, " ")
		if said, code := p.with(login, key, "approval approve --yes "+r.ID); code != 5 ||
			!strings.Contains(said, "own request") && !strings.Contains(said, "p-operator asked with the same key") {
			t.Errorf("%s: exit %d: %s", who, code, said)
		}
	}
	if got := p.requests("open"); len(got) != 1 || got[0].ID != r.ID {
		t.Fatalf("open: %+v", got)
	}
	other := p.certified("p-admin", "bea", "bea-1")
	if said, code := p.with("bea", other, "approval approve --yes "+r.ID); code != 0 {
		t.Fatalf("a second person: exit %d: %s", code, said)
	}
	if said, code := p.with("p-operator", as["p-operator x"], remove); code != 5 ||
		!strings.Contains(said, "second person") {
		t.Errorf("another key under the requester's login: exit %d: %s", code, said)
	}
	if said, code := p.with("p-operator", as["p-operator ana-cert"], remove); code != 0 {
		t.Errorf("the requester's key in a certificate: exit %d: %s", code, said)
	}
	if out, _, _ := p.run(api.Admin, "", "audit list -o json --event approval.approved"); !strings.Contains(out,
		`"login": "bea"`) || !strings.Contains(out, `"cert": "bea-1"`) ||
		!strings.Contains(out, gossh.FingerprintSHA256(p.people["p-admin"].PublicKey())) {
		t.Errorf("the trail shows: %s", out)
	}
}

// An approval ends with the role or the key of who gave it: at once when it is to be
// used, and by itself when the server reads the keys again.
func TestApprovalEndsWithItsApprover(t *testing.T) {
	t.Parallel()
	cases := []struct {
		name    string
		line    func(string) string // what becomes of the approver's line of authorized_keys
		because string
	}{
		{"demoted", func(l string) string { return strings.Replace(l, `role="admin"`, `role="viewer"`, 1) },
			"their role is now viewer"},
		{"removed", func(string) string { return "" }, "the key is unknown"},
		{"another name", func(l string) string { return strings.Replace(l, `name="p-4"`, `name="eve"`, 1) },
			"the key is eve's"},
		{"lapsed", func(l string) string { return `expiry-time="20200101Z",` + l }, "the key has expired"},
	}
	for _, used := range []bool{true, false} { // one after the other: the signal reaches every server of this process
		t.Run(fmt.Sprintf("used %v", used), func(t *testing.T) {
			for _, c := range cases {
				t.Run(c.name, func(t *testing.T) {
					t.Parallel()
					p := inPairs(t)
					p.start()
					opid, guid := p.opid()
					remove := "document remove " + opid + " " + guid + " --yes"
					r := p.ask(remove)
					if said, code := p.with("p-4", p.people["p-4"], "approval approve --yes "+r.ID); code != 0 { // p-4 is an admin
						t.Fatal(said)
					}
					b, err := os.ReadFile(p.file("keys"))
					if err != nil {
						t.Fatal(err)
					}
					var keys strings.Builder
					for l := range strings.Lines(string(b)) {
						if strings.Contains(l, `name="p-4"`) {
							l = c.line(l)
						}
						keys.WriteString(l)
					}
					p.write("keys", keys.String())
					if used {
						// the server may have read the keys again by itself, and then it asks for a second person anew
						out, errs, code := p.run(api.Operator, "", remove)
						if said := out + errs; code != 5 || !strings.Contains(said, c.because) && !strings.Contains(said, "second person") {
							t.Errorf("exit %d: %s", code, said)
						}
					} else {
						if err := syscall.Kill(os.Getpid(), syscall.SIGHUP); err != nil {
							t.Fatal(err)
						}
						apitest.Soon(t, "the approval lapses", func() bool { return len(p.requests("lapsed")) == 1 })
					}
					if got := p.requests("lapsed"); len(got) != 1 || got[0].ID != r.ID || !strings.Contains(got[0].Ended, c.because) {
						t.Errorf("lapsed: %+v", got)
					}
					p.want(api.Operator, remove, 5, "second person") // a new request
					if !p.attached(opid, guid) {
						t.Error("the document was removed")
					}
				})
			}
		})
	}
}

// Over SSH a command sees the secrets that the config names and nothing else of the
// server's environment.
func TestSecretsOfTheConfigOverSSH(t *testing.T) {
	t.Parallel()
	p := begin(t, "")
	out, errs, code := p.run(api.Admin, "", "hook set --enabled --operations --url https://example.com/h --new-secret "+
		"--yes -o json")
	if code != 0 || !strings.Contains(errs, "opdeck uses the one configured in [webhooks]") ||
		strings.Contains(out+errs, secret) {
		t.Errorf("exit %d: %q %q", code, out, errs)
	}
}
