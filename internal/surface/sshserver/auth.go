package sshserver

import (
	"bytes"
	"context"
	"crypto/rsa"
	"errors"
	"fmt"
	"io"
	"net/netip"
	"os"
	"slices"
	"strconv"
	"strings"
	"sync"
	"time"

	"charm.land/ssh"
	gossh "golang.org/x/crypto/ssh"

	"opdeck/api"
	"opdeck/api/untrusted"
	"opdeck/internal/system/filecheck"
	"opdeck/internal/system/listen"
)

// Permission extensions of a proven key. Sessions use only these to identify the person.
const (
	extName       = "opdeck-name"
	extRole       = "opdeck-role"
	extKey        = "opdeck-key"
	extLogin      = "opdeck-login"
	extCert       = "opdeck-cert"
	extSerial     = "opdeck-serial"
	extNoTerminal = "opdeck-no-terminal"
)

// attempts are the failed attempts of one connection.
type attempts struct {
	mu   sync.Mutex
	list []attempt // guarded by mu
	more int       // guarded by mu
}

type attempt struct{ user, key, reason, what string }

// add records an attempt; the library asks about the same key twice.
func (a *attempts) add(t attempt) {
	a.mu.Lock()
	defer a.mu.Unlock()
	switch {
	case slices.Contains(a.list, t):
	case len(a.list) < 6:
		a.list = append(a.list, t)
	default:
		a.more++
	}
}

// suspicious reports whether the failed attempts of a connection that finally logged in should be recorded: not those
// of a client that offers its keys one by one, but those under another name, or with a known certificate or key that
// is not valid.
func (a *attempts) suspicious(user string) bool {
	a.mu.Lock()
	defer a.mu.Unlock()
	return slices.ContainsFunc(a.list, func(t attempt) bool { return t.user != user || t.reason != "unknown_key" })
}

// summary is one line about all attempts, with the last name and the reasons.
func (a *attempts) summary() (line, last string, reasons []string) {
	a.mu.Lock()
	defer a.mu.Unlock()
	var out []string
	for _, t := range a.list {
		out = append(out, fmt.Sprintf("as '%s' with %s: %s", t.user, t.key, t.what))
		last, reasons = t.user, append(reasons, t.reason)
	}
	if a.more > 0 {
		out = append(out, fmt.Sprintf("and %d more", a.more))
	}
	return strings.Join(out, "; "), last, reasons
}

// config is the server configuration for one connection.
func (s *Server) config(ctx ssh.Context) *gossh.ServerConfig {
	c := connOf(ctx)
	return &gossh.ServerConfig{
		Config:                  gossh.Config{KeyExchanges: exchanges, Ciphers: ciphers, MACs: macs},
		MaxAuthTries:            s.opt.Limits.Tries,
		PublicKeyAuthAlgorithms: algorithms,
		PublicKeyCallback:       c.offered,
		VerifiedPublicKeyCallback: func(m gossh.ConnMetadata, key gossh.PublicKey, p *gossh.Permissions,
			_ string) (*gossh.Permissions, error) {
			return c.verified(m, key, p)
		},
	}
}

// offered checks an offered key before it is proven, and reports whether a proof would help.
func (c *conn) offered(m gossh.ConnMetadata, key gossh.PublicKey) (*gossh.Permissions, error) {
	p, err := c.srv.opt.Keys.authorize(key, m.User(), c.addr)
	if err != nil {
		c.noteAttempt(m.User(), key, err)
		return nil, errors.New("not accepted")
	}
	c.Heard() // a person may have to touch it or type a passphrase
	perms := &gossh.Permissions{Extensions: map[string]string{extName: p.Name, extRole: string(p.Role), extKey: p.Key,
		extLogin: p.Login, extCert: p.Cert, extSerial: p.Serial}}
	if p.NoTerminal {
		perms.Extensions[extNoTerminal] = "yes"
	}
	if cert, is := key.(*gossh.Certificate); is { // the library enforces source-address as well
		perms.CriticalOptions = cert.CriticalOptions
	}
	return perms, nil
}

// verified is called after the client has proven the key.
func (c *conn) verified(
	m gossh.ConnMetadata, key gossh.PublicKey, perms *gossh.Permissions,
) (*gossh.Permissions, error) {
	p := personOf(perms)
	if m.User() != p.Login {
		c.noteAttempt(m.User(), key, &Refusal{"other_name", "the key is " + p.Name + "'s"})
		return nil, &gossh.BannerError{Err: errors.New("not accepted"), Message: wrongUserBanner(p)}
	}
	disconnect, ok := c.srv.sessions.connect(p.Login)
	if !ok {
		c.noteAttempt(m.User(), key, &Refusal{"too_many_connections", "the person has too many connections"})
		return nil, &gossh.BannerError{Err: errors.New("not accepted"),
			Message: "You have reached the limit of open connections.\r\n"}
	}
	c.authenticate(p, key, m.User(), disconnect)
	kind := "key"
	if _, cert := key.(*gossh.Certificate); cert {
		kind = "certificate"
	}
	c.srv.opt.Log.Info("ssh: login", "person", p.Name, "role", string(p.Role), "from", c.addr.String(), "by", kind,
		"fingerprint", fingerprint(key))
	if c.attempts.suspicious(m.User()) {
		c.recordAttempts("before " + p.Name + " logged in: ")
	}
	return perms, nil
}

// wrongUserBanner says with which login name a proven key is accepted.
func wrongUserBanner(p KeyHolder) string {
	return fmt.Sprintf("This key is %s's. Connect under that name, as in: ssh %s@HOST\r\n",
		untrusted.Text(p.Name).Line(64), untrusted.Text(p.Login).Line(64))
}

func personOf(p *gossh.Permissions) KeyHolder {
	if p == nil {
		return KeyHolder{}
	}
	return KeyHolder{Name: p.Extensions[extName], Role: api.Role(p.Extensions[extRole]), Key: p.Extensions[extKey],
		Login: p.Extensions[extLogin],
		Cert:  p.Extensions[extCert], Serial: p.Extensions[extSerial], NoTerminal: p.Extensions[extNoTerminal] != ""}
}

// noteAttempt records a failed attempt.
func (c *conn) noteAttempt(user string, key gossh.PublicKey, err error) {
	t := attempt{user: untrusted.Text(user).Line(64), key: fingerprint(key), reason: "other", what: err.Error()}
	var r *Refusal
	if errors.As(err, &r) {
		t.reason = r.Reason
	}
	c.attempts.add(t)
}

func fingerprint(key gossh.PublicKey) string {
	if cert, is := key.(*gossh.Certificate); is {
		return fmt.Sprintf("certificate %d, id '%s'", cert.Serial, untrusted.Text(cert.KeyId).Line(64))
	}
	return gossh.FingerprintSHA256(key)
}

// failed counts and records a connection that ended without a proof.
func (c *conn) failed() {
	s := c.srv
	_, _, reasons := c.attempts.summary()
	if len(reasons) == 0 { // no attempt: a scanner, a probe, a broken connection
		reason := "no_attempt"
		if c.quiet.Load() {
			reason = "silent"
		}
		s.refused.add(reason)
		s.logRefused(c.addr, reason)
		return
	}
	for _, r := range reasons {
		s.refused.add(r)
	}
	c.recordAttempts("")
}

// logRefused logs a refused connection: one line a minute for each network and reason, with the number of connections
// since.
func (s *Server) logRefused(from netip.Addr, reason string, more ...any) {
	if n, ok := s.refusals.Allow(listen.SourceOf(from).String(), reason, time.Now()); ok {
		s.opt.Log.Warn("ssh: connection refused", append([]any{"from", from.String(), "reason", reason, "unlogged_before", n},
			more...)...)
	}
}

// recordAttempts records the failed attempts of a connection. The trail limits them.
func (c *conn) recordAttempts(before string) {
	line, last, reasons := c.attempts.summary()
	c.srv.logRefused(c.addr, strings.Join(reasons, ","), "person", last, "tries", before+line)
	who := api.Actor{Name: last, Via: "ssh", From: c.addr.String()} // by their own claim
	c.srv.note(context.Background(), who, api.Event{Name: eventRefused, Object: "ssh", Detail: before + line})
}

// maxCertLife is the longest accepted lifetime of a certificate, so that a person who leaves is locked out by the
// next day without a revocation.
const maxCertLife = 25 * time.Hour

// rolePrefix is the prefix of the principal with the role.
const rolePrefix = "role:"

// authority is the file trusted_ca: signing keys and revocations.
type authority struct {
	keys    map[string]bool
	revoked map[string]bool // "serial:42", "id:ana", or a key's bytes
}

// parseCA reads a file of public keys, one a line ("cert-authority" before them
// may be there), and of revocations:
//
//	@revoked serial:42
//	@revoked id:ana
//	@revoked ssh-ed25519 AAAA…
func parseCA(file string, b []byte) (authority, []Mistake) {
	a, bad := authority{map[string]bool{}, map[string]bool{}}, []Mistake(nil)
	eachLine(b, func(n int, line []byte) {
		if err := a.line(line); err != nil {
			bad = append(bad, Mistake{file, n, err.Error()})
		}
	})
	return a, bad
}

func (a authority) line(line []byte) error {
	rest, revoked := bytes.CutPrefix(line, []byte("@revoked "))
	word := string(bytes.TrimSpace(rest))
	if revoked && (strings.HasPrefix(word, "serial:") || strings.HasPrefix(word, "id:")) {
		if n, is := strings.CutPrefix(word, "serial:"); is {
			if _, err := strconv.ParseUint(n, 10, 64); err != nil {
				return errors.New("not a serial number")
			}
		}
		a.revoked[word] = true
		return nil
	}
	pub, _, options, _, err := gossh.ParseAuthorizedKey(rest)
	if err != nil {
		return errors.New("not a public key in OpenSSH format")
	}
	if revoked {
		a.revoked[string(pub.Marshal())] = true
		return nil
	}
	for _, o := range options {
		if o != "cert-authority" {
			return errors.New("options are not allowed here: an authority signs for everyone")
		}
	}
	if err := usable(pub); err != nil {
		return err
	}
	a.keys[string(pub.Marshal())] = true
	return nil
}

// authorize checks a certificate for a login as user. The SSH exchange proves that the client holds the key.
func (a authority) authorize(c *gossh.Certificate, user string, from netip.Addr, now time.Time) (KeyHolder, error) {
	switch {
	case c.CertType != gossh.UserCert:
		return refused("host_certificate", "the certificate is for a host")
	case !a.keys[string(c.SignatureKey.Marshal())]:
		return refused("unknown_ca", "the certificate is signed by an unknown authority")
	case a.isRevoked(c):
		return refused("revoked", "the certificate is revoked")
	}
	if err := usable(c.Key); err != nil {
		return refused("weak_key", err.Error())
	}
	for name := range c.CriticalOptions {
		if name != "source-address" {
			return refused("critical_option", "the certificate has an unknown critical option")
		}
	}
	if list, has := c.CriticalOptions["source-address"]; has {
		if s, err := parseSources(list); err != nil || !s.allow(from) {
			return refused("source_address", "the certificate is not for this address")
		}
	}
	if err := checkLife(c, now); err != nil {
		return KeyHolder{}, err
	}
	role, err := principals(c.ValidPrincipals, user)
	if err != nil {
		return KeyHolder{}, err
	}
	switch {
	case c.KeyId == "" || checkName(c.KeyId) != nil:
		return refused("key_id", "the certificate's key id is not a valid name")
	case checkName(user) != nil:
		return refused("principal", "the login name is not a valid name")
	case c.Signature == nil || weakSignature(c.Signature.Format):
		return refused("weak_signature", "the certificate is signed with SHA-1")
	}
	// The signature, and everything again by the library.
	check := gossh.CertChecker{SupportedCriticalOptions: []string{"source-address"},
		Clock: func() time.Time { return now }}
	if err := check.CheckCert(user, c); err != nil {
		return refused("certificate", "the certificate is not valid")
	}
	_, pty := c.Extensions["permit-pty"]
	return KeyHolder{Name: c.KeyId, Role: role, Key: gossh.FingerprintSHA256(c.Key), Login: user, Cert: c.KeyId,
		Serial:     strconv.FormatUint(c.Serial, 10) + " of " + gossh.FingerprintSHA256(c.SignatureKey),
		NoTerminal: !pty, Until: time.Unix(int64(c.ValidBefore), 0)}, nil
}

func (a authority) isRevoked(c *gossh.Certificate) bool {
	for _, w := range []string{"serial:" + strconv.FormatUint(c.Serial, 10), "id:" + c.KeyId,
		string(c.Key.Marshal()), string(c.SignatureKey.Marshal()), string(c.Marshal())} {
		if a.revoked[w] {
			return true
		}
	}
	return false
}

func checkLife(c *gossh.Certificate, now time.Time) error {
	const last = 1 << 62
	if c.ValidBefore == gossh.CertTimeInfinity || c.ValidBefore > last || c.ValidAfter > last ||
		c.ValidBefore < c.ValidAfter || c.ValidBefore-c.ValidAfter > uint64(maxCertLife/time.Second) {
		_, err := refused("lifetime", "the certificate is valid for more than 25 hours")
		return err
	}
	switch at := uint64(max(now.Unix(), 0)); {
	case at < c.ValidAfter:
		_, err := refused("not_yet", "the certificate is not yet valid")
		return err
	case at >= c.ValidBefore:
		_, err := refused("expired", "the certificate has expired")
		return err
	}
	return nil
}

// principals finds the role in a certificate's principals. The login name must be another of them.
func principals(list []string, user string) (role api.Role, err error) {
	if len(list) == 0 {
		_, err := refused("no_principals", "the certificate has no principals")
		return "", err
	}
	var roles []string
	for _, p := range list {
		if r, is := strings.CutPrefix(p, rolePrefix); is {
			roles = append(roles, r)
		}
	}
	switch {
	case len(roles) != 1:
		_, err = refused("role", "the certificate does not name exactly one role")
	case !api.Role(roles[0]).Valid():
		_, err = refused("role", "the certificate names an unknown role")
	case strings.HasPrefix(user, rolePrefix) || !slices.Contains(list, user):
		_, err = refused("principal", "the certificate is not for this login name")
	default:
		role = api.Role(roles[0])
	}
	return role, err
}

// maxKeyFile bounds a file of keys, in bytes.
const maxKeyFile = 1 << 20

// LoadHostKey reads the server's private key. It must be a regular file of ours, mode 0400 or 0600, and not a link;
// it is never created.
func LoadHostKey(path string) (gossh.Signer, error) {
	b, err := readPrivate(path)
	if err != nil {
		return nil, fmt.Errorf("host key %s: %w", path, err)
	}
	key, err := gossh.ParsePrivateKey(b)
	clear(b)
	var locked *gossh.PassphraseMissingError
	switch {
	case errors.As(err, &locked):
		return nil, fmt.Errorf("host key %s: it is protected by a passphrase, which the server cannot ask for", path)
	case err != nil:
		return nil, fmt.Errorf("host key %s: not a private key in OpenSSH or PEM form", path)
	}
	if err := usable(key.PublicKey()); err != nil {
		return nil, fmt.Errorf("host key %s: %w", path, err)
	}
	return key, nil
}

// readPrivate reads a file that only its owner can read or write.
func readPrivate(path string) ([]byte, error) {
	st, err := os.Lstat(path)
	switch {
	case errors.Is(err, os.ErrNotExist):
		return nil, errors.New("there is no such file; create one with ssh-keygen -t ed25519 -N '' -f FILE")
	case err != nil:
		return nil, errors.New("the file cannot be examined")
	case !st.Mode().IsRegular():
		return nil, errors.New("it is not a regular file")
	}
	f, err := os.Open(path)
	if err != nil {
		return nil, errors.New("the file cannot be opened")
	}
	defer f.Close()
	now, err := f.Stat()
	if err != nil || !os.SameFile(st, now) { // replaced since
		return nil, errors.New("it is not a regular file")
	}
	if err := filecheck.Private(now); err != nil {
		return nil, err
	}
	return io.ReadAll(io.LimitReader(f, maxKeyFile))
}

// Algorithms of the key exchange, preferred ones first. None uses SHA-1; a test compares the lists with the server's
// offer.
var (
	exchanges = []string{gossh.KeyExchangeMLKEM768X25519, gossh.KeyExchangeCurve25519, gossh.KeyExchangeECDHP256,
		gossh.KeyExchangeECDHP384, gossh.KeyExchangeECDHP521, gossh.KeyExchangeDH16SHA512, gossh.KeyExchangeDH14SHA256}
	ciphers = []string{gossh.CipherChaCha20Poly1305, gossh.CipherAES256GCM, gossh.CipherAES128GCM, gossh.CipherAES256CTR,
		gossh.CipherAES192CTR, gossh.CipherAES128CTR}
	macs = []string{gossh.HMACSHA256ETM, gossh.HMACSHA512ETM, gossh.HMACSHA256, gossh.HMACSHA512}
)

// algorithms are the accepted signature algorithms of clients.
var algorithms = []string{gossh.KeyAlgoED25519, gossh.KeyAlgoSKED25519, gossh.KeyAlgoECDSA256, gossh.KeyAlgoSKECDSA256,
	gossh.KeyAlgoRSASHA512, gossh.KeyAlgoRSASHA256}

// weakSignature reports whether a signature format uses SHA-1: ssh-rsa. DSA keys are not accepted at all, see usable.
func weakSignature(format string) bool { return format == gossh.KeyAlgoRSA }

// usable returns an error for weak keys.
func usable(pub gossh.PublicKey) error {
	switch pub.Type() {
	case gossh.KeyAlgoED25519, gossh.KeyAlgoSKED25519, gossh.KeyAlgoECDSA256, gossh.KeyAlgoSKECDSA256:
		return nil
	case gossh.KeyAlgoRSA:
		if c, ok := pub.(gossh.CryptoPublicKey); ok {
			if k, ok := c.CryptoPublicKey().(*rsa.PublicKey); ok && k.N.BitLen() >= 2048 {
				return nil
			}
		}
		return errors.New("the RSA key has less than 2048 bits")
	}
	return errors.New("this type of key is not accepted; use ed25519, ecdsa-256 or rsa")
}

// withoutSHA1 prevents an RSA host key from signing with SHA-1.
func withoutSHA1(key gossh.Signer) (gossh.Signer, error) {
	if key.PublicKey().Type() != gossh.KeyAlgoRSA {
		return key, nil
	}
	s, ok := key.(gossh.AlgorithmSigner)
	if !ok {
		return nil, fmt.Errorf("ssh: a host key of type %s cannot sign without SHA-1", key.PublicKey().Type())
	}
	return gossh.NewSignerWithAlgorithms(s, []string{gossh.KeyAlgoRSASHA512, gossh.KeyAlgoRSASHA256})
}
