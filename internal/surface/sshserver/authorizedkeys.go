package sshserver

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"net/netip"
	"os"
	"slices"
	"sync/atomic"
	"time"

	gossh "golang.org/x/crypto/ssh"

	"opdeck/api"
	"opdeck/internal/system/filecheck"
)

// Person is a person with a proven key.
type Person struct {
	// Name is for display: from authorized_keys, or the certificate's key id.
	Name string
	Role api.Role
	// Key is the fingerprint of the key; with a certificate, of the certified one.
	Key string
	// Login is the person's login name; with a certificate one of its principals.
	Login string
	// Cert is the certificate's key id; Serial its serial number and its signer's fingerprint; "" without a
	// certificate.
	Cert, Serial string
	// NoTerminal is true for a certificate without permit-pty.
	NoTerminal bool
	// Until is when the key or certificate expires; zero: never.
	Until time.Time
}

// Refusal is why a key is not accepted. It is for our log and audit trail, not for the client.
type Refusal struct {
	Reason string // one of a few fixed words, for a counter
	What   string // a sentence
}

func (r *Refusal) Error() string { return r.What }

func refused(reason, what string) (Person, error) { return Person{}, &Refusal{reason, what} }

// AuthorizedKeys are the keys and authorities that may log in. Changed files are read again.
type AuthorizedKeys struct {
	files [2]string // authorized_keys and the file of authorities; "": none
	now   func() time.Time
	rules atomic.Pointer[rules]

	failed [2]int // used by Reload only: consecutive failures to read a file
}

// rules are the content of the files at one time.
type rules struct {
	keys map[string]entry
	ca   authority
	bad  []Mistake
	read [2][]byte // the text that they were parsed from
}

// LoadAuthorizedKeys reads authorized_keys and the file of authorities; either may be "". An unreadable file, or one
// that others can write, is an error; a bad line is not, see Mistakes.
func LoadAuthorizedKeys(keysFile, caFile string, now func() time.Time) (*AuthorizedKeys, error) {
	if keysFile == "" && caFile == "" {
		return nil, errors.New("set authorized_keys or trusted_ca: without them no one can log in")
	}
	a := &AuthorizedKeys{files: [2]string{keysFile, caFile}, now: now}
	a.rules.Store(&rules{})
	n, err := a.fresh()
	if err != nil {
		return nil, err
	}
	a.rules.Store(n)
	return a, nil
}

func readKeys(path string) ([]byte, error) {
	f, err := os.Open(path)
	if err != nil {
		if errors.Is(err, os.ErrNotExist) {
			return nil, fmt.Errorf("%s: there is no such file", path)
		}
		return nil, fmt.Errorf("%s: the file cannot be opened", path)
	}
	defer f.Close()
	st, err := f.Stat()
	switch {
	case err != nil || !st.Mode().IsRegular():
		return nil, fmt.Errorf("%s: it is not a regular file", path)
	case st.Size() > maxKeyFile:
		return nil, fmt.Errorf("%s: it is larger than %d bytes", path, maxKeyFile)
	}
	if err := filecheck.Trusted(path, st); err != nil {
		return nil, fmt.Errorf("%s: %w", path, err)
	}
	b, err := io.ReadAll(io.LimitReader(f, maxKeyFile))
	if err != nil {
		return nil, fmt.Errorf("%s: the file cannot be read", path)
	}
	return b, nil
}

// parse makes rules of the files' text.
func (a *AuthorizedKeys) parse(read [2][]byte) *rules {
	n := &rules{read: read}
	n.keys, n.bad = parseKeys(a.files[0], read[0])
	authority, bad := parseCA(a.files[1], read[1])
	n.ca, n.bad = authority, append(n.bad, bad...)
	return n
}

// fresh reads the files now, regardless of Reload.
func (a *AuthorizedKeys) fresh() (*rules, error) {
	var read [2][]byte
	for i, path := range a.files {
		if path == "" {
			continue
		}
		var err error
		if read[i], err = readKeys(path); err != nil {
			return nil, err
		}
	}
	if n := a.rules.Load(); n.keys != nil && bytes.Equal(n.read[0], read[0]) && bytes.Equal(n.read[1], read[1]) {
		return n, nil
	}
	return a.parse(read), nil
}

// Reload reads the files again. changed: their content differs from before. A file that is unreadable twice in a row
// counts as empty, because a key may have been removed. It is not safe for concurrent use, but authorize may run
// meanwhile.
func (a *AuthorizedKeys) Reload() (changed bool, err error) {
	read := a.rules.Load().read
	for i, path := range a.files {
		if path == "" {
			continue
		}
		b, readErr := readKeys(path)
		if readErr != nil {
			err = errors.Join(err, readErr)
			if a.failed[i]++; a.failed[i] < 2 {
				continue
			}
			b = nil
		} else {
			a.failed[i] = 0
		}
		changed = changed || !bytes.Equal(b, read[i])
		read[i] = b
	}
	if changed {
		a.rules.Store(a.parse(read))
	}
	return changed, err
}

// Mistakes are the ignored lines.
func (a *AuthorizedKeys) Mistakes() []Mistake { return a.rules.Load().bad }

// Len is the number of keys and of authorities.
func (a *AuthorizedKeys) Len() (keys, authorities int) {
	n := a.rules.Load()
	return len(n.keys), len(n.ca.keys)
}

// authorize identifies the owner of a key, for a login as user from an address. The error is a *Refusal. The caller
// checks the proof of the key and, for a plain key, the login name.
func (a *AuthorizedKeys) authorize(key gossh.PublicKey, user string, from netip.Addr) (Person, error) {
	return a.rules.Load().authorize(key, user, from, a.now())
}

func (n *rules) authorize(key gossh.PublicKey, user string, from netip.Addr, now time.Time) (Person, error) {
	if c, is := key.(*gossh.Certificate); is {
		return n.ca.authorize(c, user, from, now)
	}
	raw := key.Marshal()
	e, known := n.keys[string(raw)]
	switch {
	case !known:
		return refused("unknown_key", "the key is unknown")
	case n.ca.revoked[string(raw)]:
		return refused("revoked", "the key is revoked")
	case e.from != nil && !e.from.allow(from):
		return refused("source_address", "the key is not for this address")
	case !e.until.IsZero() && !now.Before(e.until):
		return refused("expired", "the key has expired")
	}
	return Person{Name: e.name, Role: e.role, Key: gossh.FingerprintSHA256(key), Login: e.name, Until: e.until}, nil
}

// AuthorizeAgain is authorize for a person who is logged in as user from an address, with the proven key or
// certificate in authorized_keys format. It reads the files again; an unreadable one authorizes no one.
func (a *AuthorizedKeys) AuthorizeAgain(proof, user, from string) (Person, error) {
	key, _, _, _, err := gossh.ParseAuthorizedKey([]byte(proof))
	if err != nil {
		return refused("no_proof", "the proven key is missing")
	}
	n, err := a.fresh()
	if err != nil {
		return Person{}, err
	}
	p, err := n.authorize(key, user, hostOf(from), a.now())
	if err == nil && p.Login != user {
		return refused("other_name", "the key is "+p.Name+"'s")
	}
	return p, err
}

// Listed is an accepted line of authorized_keys.
type Listed struct {
	Name        string
	Role        api.Role
	Fingerprint string
	File        string
	Line        int
	Until       time.Time // when it expires; zero: never
	Revoked     bool      // by a line of the file of authorities
}

// List returns the accepted lines in order.
func (a *AuthorizedKeys) List() []Listed {
	n := a.rules.Load()
	var out []Listed
	for raw, e := range n.keys {
		key, err := gossh.ParsePublicKey([]byte(raw))
		if err != nil {
			continue // it was made from a parsed key
		}
		out = append(out, Listed{Name: e.name, Role: e.role, Fingerprint: gossh.FingerprintSHA256(key), File: a.files[0],
			Line: e.line, Until: e.until, Revoked: n.ca.revoked[raw]})
	}
	slices.SortFunc(out, func(a, b Listed) int { return a.Line - b.Line })
	return out
}
