package sshd

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"net/netip"
	"os"
	"sync/atomic"
	"time"

	gossh "golang.org/x/crypto/ssh"

	"opdeck/api"
	"opdeck/internal/host/filecheck"
)

// Person is who proved to hold a key.
type Person struct {
	// Name is what people read: that of authorized_keys, or the certificate's key id.
	Name string
	Role api.Role
	// Key is the fingerprint of the key, of the certified one where a certificate was
	// used.
	Key string
	// Login is the name that the person logs in with: a principal of the certificate.
	Login string
	// Cert is the certificate's key id; Serial its serial number and the fingerprint of
	// who signed it. "" without a certificate.
	Cert, Serial string
	// NoTerminal is true for a certificate without permit-pty.
	NoTerminal bool
	// Until is when the key or certificate lapses; zero: never.
	Until time.Time
}

// Refusal says why a key is not accepted. It is for our log and audit trail; the
// other side learns nothing of it.
type Refusal struct {
	Reason string // one of a few fixed words, for a counter
	What   string // a sentence
}

func (r *Refusal) Error() string { return r.What }

func refused(reason, what string) (Person, error) { return Person{}, &Refusal{reason, what} }

// Ring holds the keys and authorities that let people in. It reads its files
// again when they changed.
type Ring struct {
	keysFile, caFile string
	now              func() time.Time
	rules            atomic.Pointer[rules]

	keys, ca fileState // touched by Reload only
}

// rules are what the files said at one moment.
type rules struct {
	keys map[string]entry
	ca   authority
	bad  []Mistake

	keysFile, caFile []byte // what they were read from
}

// fileState is what is known of a file.
type fileState struct {
	b      []byte
	failed int // times in a row that it could not be read
}

// NewRing reads authorized_keys and the file of authorities; either may be "".
// A file that cannot be read, or that others may write, is an error; a bad line
// is not, see Mistakes.
func NewRing(keysFile, caFile string, now func() time.Time) (*Ring, error) {
	if keysFile == "" && caFile == "" {
		return nil, errors.New("neither authorized_keys nor trusted_ca is named: nobody could come in")
	}
	r := &Ring{keysFile: keysFile, caFile: caFile, now: now}
	for _, f := range []struct {
		path string
		st   *fileState
	}{{keysFile, &r.keys}, {caFile, &r.ca}} {
		if f.path == "" {
			continue
		}
		var err error
		if f.st.b, err = readKeys(f.path); err != nil {
			return nil, err
		}
	}
	r.parse()
	return r, nil
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
	if err := filecheck.Trusted(st); err != nil {
		return nil, fmt.Errorf("%s: %w", path, err)
	}
	b, err := io.ReadAll(io.LimitReader(f, maxKeyFile))
	if err != nil {
		return nil, fmt.Errorf("%s: the file cannot be read", path)
	}
	return b, nil
}

func (r *Ring) parse() { r.rules.Store(r.parsed(r.keys.b, r.ca.b)) }

func (r *Ring) parsed(keys, ca []byte) *rules {
	n := &rules{keysFile: keys, caFile: ca}
	n.keys, n.bad = parseKeys(r.keysFile, keys)
	signers, bad := parseCA(r.caFile, ca)
	n.ca, n.bad = signers, append(n.bad, bad...)
	return n
}

// fresh is what the files say at this moment, whatever Reload has seen.
func (r *Ring) fresh() (*rules, error) {
	var b [2][]byte
	for i, path := range []string{r.keysFile, r.caFile} {
		if path == "" {
			continue
		}
		var err error
		if b[i], err = readKeys(path); err != nil {
			return nil, err
		}
	}
	if n := r.rules.Load(); bytes.Equal(n.keysFile, b[0]) && bytes.Equal(n.caFile, b[1]) {
		return n, nil
	}
	return r.parsed(b[0], b[1]), nil
}

// Reload reads the files again. changed is true when they hold something else
// than before. A file that cannot be read twice in a row counts as empty: a key
// that may have been taken away lets nobody in. It is not safe for concurrent
// use; Judge may go on meanwhile.
func (r *Ring) Reload() (changed bool, err error) {
	for _, f := range []struct {
		path string
		st   *fileState
	}{{r.keysFile, &r.keys}, {r.caFile, &r.ca}} {
		if f.path == "" {
			continue
		}
		b, readErr := readKeys(f.path)
		if readErr != nil {
			err = errors.Join(err, readErr)
			if f.st.failed++; f.st.failed < 2 {
				continue
			}
			b = nil
		} else {
			f.st.failed = 0
		}
		if !bytes.Equal(b, f.st.b) {
			f.st.b, changed = b, true
		}
	}
	if changed {
		r.parse()
	}
	return changed, err
}

// Mistakes are the lines that were left out.
func (r *Ring) Mistakes() []Mistake { return r.rules.Load().bad }

// Len is the number of keys and of authorities.
func (r *Ring) Len() (keys, authorities int) {
	n := r.rules.Load()
	return len(n.keys), len(n.ca.keys)
}

// Judge says whose a key is, for a login as user from an address. The error is a
// *Refusal. Whether the key is held, and whether the login name of a plain key
// agrees, is for the caller.
func (r *Ring) Judge(key gossh.PublicKey, user string, from netip.Addr) (Person, error) {
	return r.rules.Load().judge(key, user, from, r.now())
}

func (n *rules) judge(key gossh.PublicKey, user string, from netip.Addr, now time.Time) (Person, error) {
	if c, is := key.(*gossh.Certificate); is {
		return n.ca.judge(c, user, from, now)
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
		return refused("expired", "the key has lapsed")
	}
	return Person{Name: e.name, Role: e.role, Key: gossh.FingerprintSHA256(key), Login: e.name, Until: e.until}, nil
}

// Standing judges once more who logged in before as user from an address, with the
// key or certificate that they proved, as authorized_keys has it. The files are read
// anew; one that cannot be read lets nobody stand.
func (r *Ring) Standing(proof, user, from string) (Person, error) {
	key, _, _, _, err := gossh.ParseAuthorizedKey([]byte(proof))
	if err != nil {
		return refused("no_proof", "nothing is kept of the key")
	}
	n, err := r.fresh()
	if err != nil {
		return Person{}, err
	}
	p, err := n.judge(key, user, hostOf(from), r.now())
	if err == nil && p.Login != user {
		return refused("other_name", "the key is "+p.Name+"'s")
	}
	return p, err
}
