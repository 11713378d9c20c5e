package sshserver

import (
	"bytes"
	"errors"
	"net/netip"
	"slices"
	"strconv"
	"strings"
	"time"

	gossh "golang.org/x/crypto/ssh"

	"opdeck/api"
)

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
func (a authority) authorize(c *gossh.Certificate, user string, from netip.Addr, now time.Time) (Person, error) {
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
		return Person{}, err
	}
	role, err := principals(c.ValidPrincipals, user)
	if err != nil {
		return Person{}, err
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
	return Person{Name: c.KeyId, Role: role, Key: gossh.FingerprintSHA256(c.Key), Login: user, Cert: c.KeyId,
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
