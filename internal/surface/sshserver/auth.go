package sshserver

import (
	"context"
	"errors"
	"fmt"
	"net/netip"
	"slices"
	"strings"
	"sync"
	"time"

	"charm.land/ssh"
	gossh "golang.org/x/crypto/ssh"

	"opdeck/api"
	"opdeck/api/untrusted"
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
	c.keyKnown.Store(true)
	c.Working()
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
	c.srv.stats.add(&c.srv.stats.logins, kind)
	c.srv.opt.Log.Info("ssh: login", "person", p.Name, "role", string(p.Role), "from", c.addr.String(), "by", kind,
		"fingerprint", fingerprint(key))
	if c.attempts.suspicious(m.User()) {
		c.recordAttempts("before " + p.Name + " logged in: ")
	}
	return perms, nil
}

// wrongUserBanner says with which login name a proven key is accepted.
func wrongUserBanner(p Person) string {
	return fmt.Sprintf("This key is %s's. Connect under that name, as in: ssh %s@HOST\r\n",
		untrusted.Text(p.Name).Line(64), untrusted.Text(p.Login).Line(64))
}

func personOf(p *gossh.Permissions) Person {
	if p == nil {
		return Person{}
	}
	return Person{Name: p.Extensions[extName], Role: api.Role(p.Extensions[extRole]), Key: p.Extensions[extKey],
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
		if c.dropped.Load() {
			reason = "silent"
		}
		s.stats.add(&s.stats.refused, reason)
		s.logRefused(c.addr, reason)
		return
	}
	for _, r := range reasons {
		s.stats.add(&s.stats.refused, r)
	}
	c.recordAttempts("")
}

// logRefused logs a refused connection: one line a minute for each network and reason, with the number of connections
// since.
func (s *Server) logRefused(from netip.Addr, reason string, more ...any) {
	narrow, _ := networks(from)
	if n, ok := s.refusals.Allow(narrow.String(), reason, time.Now()); ok {
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
