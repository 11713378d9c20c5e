package sshserver

import (
	"bufio"
	"crypto/rand"
	"crypto/rsa"
	"encoding/binary"
	"io"
	"net"
	"slices"
	"strings"
	"testing"
	"time"

	gossh "golang.org/x/crypto/ssh"
)

func rsaKey(t *testing.T) gossh.Signer {
	t.Helper()
	k, err := rsa.GenerateKey(rand.Reader, 2048)
	if err != nil {
		t.Fatal(err)
	}
	s, err := gossh.NewSignerFromKey(k)
	if err != nil {
		t.Fatal(err)
	}
	return s
}

// offer is what the server offers in its SSH_MSG_KEXINIT (RFC 4253, section 7.1).
func offer(t *testing.T, at string) (names []string) {
	t.Helper()
	nc, err := net.Dial("tcp", at)
	if err != nil {
		t.Fatal(err)
	}
	defer nc.Close()
	_ = nc.SetDeadline(time.Now().Add(30 * time.Second))
	if _, err := io.WriteString(nc, "SSH-2.0-test\r\n"); err != nil {
		t.Fatal(err)
	}
	r := bufio.NewReader(nc)
	if _, err := r.ReadString('\n'); err != nil {
		t.Fatal(err)
	}
	head := make([]byte, 5)
	if _, err := io.ReadFull(r, head); err != nil {
		t.Fatal(err)
	}
	b := make([]byte, binary.BigEndian.Uint32(head)-1)
	if _, err := io.ReadFull(r, b); err != nil || b[0] != 20 {
		t.Fatal(err, b[0])
	}
	b = b[17:]
	for range 8 { // lists of names; the two of languages are not looked at
		n := binary.BigEndian.Uint32(b)
		names = append(names, strings.Split(string(b[4:4+n]), ",")...)
		b = b[4+n:]
	}
	return names
}

// Nothing that the server offers or takes rests on SHA-1.
func TestNoSHA1(t *testing.T) {
	host := rsaKey(t)
	h := open(t, func(_ *fixture, o *Options) { o.HostKey = host })
	h.host = host.PublicKey()
	names := offer(t, h.addr)
	for _, n := range names {
		if strings.Contains(n, "sha1") || n == gossh.KeyAlgoRSA || slices.Contains(gossh.InsecureAlgorithms().Ciphers, n) {
			t.Errorf("%s is offered", n)
		}
	}
	if !slices.Contains(names, gossh.KeyAlgoRSASHA512) || !slices.Contains(names, gossh.KeyExchangeCurve25519) ||
		!slices.Contains(names, "kex-strict-s-v00@openssh.com") {
		t.Errorf("offered: %v", names)
	}
	try := func(c gossh.ClientConfig) error {
		c.User, c.Auth, c.HostKeyCallback = "ana", []gossh.AuthMethod{gossh.PublicKeys(h.signer("ana"))},
			gossh.InsecureIgnoreHostKey()
		client, err := gossh.Dial("tcp", h.addr, &c)
		if err == nil {
			_ = client.Close()
		}
		return err
	}
	if err := try(gossh.ClientConfig{}); err != nil {
		t.Error(err)
	}
	for name, c := range map[string]gossh.ClientConfig{
		"a key exchange": {Config: gossh.Config{KeyExchanges: []string{gossh.InsecureKeyExchangeDH14SHA1}}},
		"a code": {Config: gossh.Config{MACs: []string{gossh.HMACSHA1},
			Ciphers: []string{gossh.CipherAES128CTR}}},
		"the host key": {HostKeyAlgorithms: []string{gossh.KeyAlgoRSA}},
		"a code, cut to 96 bits": {Config: gossh.Config{MACs: []string{gossh.InsecureHMACSHA196},
			Ciphers: []string{gossh.CipherAES128CTR}}},
		"a key exchange of 1024":        {Config: gossh.Config{KeyExchanges: []string{gossh.InsecureKeyExchangeDH1SHA1}}},
		"a cipher with known plaintext": {Config: gossh.Config{Ciphers: []string{gossh.InsecureCipherAES128CBC}}},
	} {
		if try(c) == nil {
			t.Errorf("%s with SHA-1 or a weak cipher is taken", name)
		}
	}
}

// A certificate that was signed with SHA-1 proves nothing.
func TestNoSHA1InCertificates(t *testing.T) {
	ca, person := rsaKey(t), key(t, t.TempDir(), "person")
	rules, bad := parseCA("ca", []byte(line(ca)))
	if len(bad) > 0 {
		t.Fatal(bad)
	}
	for format, ok := range map[string]bool{gossh.KeyAlgoRSASHA512: true, gossh.KeyAlgoRSASHA256: true,
		gossh.KeyAlgoRSA: false} {
		signer, err := gossh.NewSignerWithAlgorithms(ca.(gossh.AlgorithmSigner), []string{format})
		if err != nil {
			t.Fatal(err)
		}
		c := certificate(t, person, signer, nil)
		if c.Signature.Format != format {
			t.Fatalf("signed as %s", c.Signature.Format)
		}
		_, err = rules.authorize(c, "ana", addr("127.0.0.1"), time.Now())
		if (err == nil) != ok {
			t.Errorf("%s: %v", format, err)
		}
	}
}
