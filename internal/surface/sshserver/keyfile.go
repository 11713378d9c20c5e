package sshserver

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"net/netip"
	"os"
	"slices"
	"strings"
	"sync/atomic"
	"time"

	gossh "golang.org/x/crypto/ssh"

	"opdeck/api"
	"opdeck/internal/system/filecheck"
)

// Mistake is an ignored line of a key file.
type Mistake struct {
	File string
	Line int
	What string
}

// Error names file and line, without the line's text.
func (m Mistake) Error() string { return fmt.Sprintf("%s:%d: %s", m.File, m.Line, m.What) }

// entry is one line of authorized_keys.
type entry struct {
	name  string
	role  api.Role
	from  sources   // nil: from anywhere
	until time.Time // zero: forever
	line  int
}

// parseKeys parses authorized_keys. A bad line is ignored and reported; it does not affect others.
func parseKeys(file string, b []byte) (map[string]entry, []Mistake) {
	keys, bad := map[string]entry{}, []Mistake(nil)
	eachLine(b, func(n int, line []byte) {
		key, e, err := parseKeyLine(line)
		e.line = n
		if err == nil {
			if was, twice := keys[string(key)]; twice {
				err = fmt.Errorf("repeats the key of line %d", was.line)
			}
		}
		if err != nil {
			bad = append(bad, Mistake{file, n, err.Error()})
			return
		}
		keys[string(key)] = e
	})
	return keys, bad
}

// eachLine calls fn with every line that is neither empty nor a comment.
func eachLine(b []byte, fn func(n int, line []byte)) {
	n := 0
	for line := range bytes.SplitSeq(b, []byte{'\n'}) {
		n++
		if line = bytes.TrimSpace(line); len(line) > 0 && line[0] != '#' {
			fn(n, line)
		}
	}
}

func parseKeyLine(line []byte) (key []byte, e entry, err error) {
	pub, behind, options, _, err := gossh.ParseAuthorizedKey(line)
	if err != nil {
		return nil, e, errors.New("not a public key in OpenSSH format")
	}
	if len(options) == 0 && slices.ContainsFunc(optionNames, func(o string) bool {
		return strings.HasPrefix(behind, o+`="`) || strings.Contains(behind, ","+o+`="`)
	}) {
		return nil, e, fmt.Errorf(`the options are behind the key; put them in front: name="…",role="…" %s AAAA…`, pub.Type())
	}
	if _, cert := pub.(*gossh.Certificate); cert {
		return nil, e, errors.New("this is a certificate; trusted_ca names the authorities that may sign them")
	}
	if err := usable(pub); err != nil {
		return nil, e, err
	}
	for _, o := range options {
		if err := e.option(o); err != nil {
			return nil, e, err
		}
	}
	switch {
	case e.name == "":
		return nil, e, errors.New(`the option name="…" is missing`)
	case e.role == "":
		return nil, e, errors.New(`the option role="…" is missing`)
	}
	return pub.Marshal(), e, nil
}

// optionNames are the options with a value.
var optionNames = []string{"name", "role", "from", "expiry-time"}

// option parses one option. An unknown one makes the line invalid, because it may be a restriction.
func (e *entry) option(o string) (err error) {
	name, value, has := strings.Cut(o, "=")
	value = strings.ReplaceAll(strings.TrimSuffix(strings.TrimPrefix(value, `"`), `"`), `\"`, `"`)
	name = strings.ToLower(name)
	switch name {
	case "no-port-forwarding", "no-agent-forwarding", "no-x11-forwarding", "no-user-rc": // never offered here
		return nil
	}
	switch {
	case slices.Contains(optionNames, name) && (!has || value == ""):
		return fmt.Errorf("the option %s has no value", name)
	case !slices.Contains(optionNames, name):
		return errors.New("an option is unknown; the options are name, role, from and expiry-time")
	}
	switch name {
	case "name":
		if e.name != "" {
			return errors.New("the option name is given twice")
		}
		e.name = value
		return checkName(value)
	case "role":
		if e.role != "" {
			return errors.New("the option role is given twice")
		}
		if e.role = api.Role(value); !e.role.Valid() {
			return errors.New("the role must be viewer, analyst, operator, oncall or admin")
		}
	case "from":
		if e.from, err = parseSources(value); err != nil {
			return fmt.Errorf("from: %w", err)
		}
	case "expiry-time":
		if e.until, err = parseExpiry(value); err != nil {
			return err
		}
	}
	return nil
}

// checkName returns an error unless the name is safe to display and easy to distinguish.
func checkName(s string) error {
	const more = "0123456789._-@+"
	if len(s) > 64 {
		return errors.New("the name is longer than 64 characters")
	}
	for i, c := range s {
		letter := c >= 'a' && c <= 'z' || c >= 'A' && c <= 'Z'
		if !letter && (i == 0 || !strings.ContainsRune(more, c)) {
			return errors.New("a name starts with a letter a-z and contains only letters, digits and . - _ @ +")
		}
	}
	return nil
}

// parseExpiry parses OpenSSH's YYYYMMDD[HHMM[SS]][Z], local time without the Z.
func parseExpiry(s string) (time.Time, error) {
	digits, utc := strings.CutSuffix(s, "Z")
	where := time.Local
	if utc {
		where = time.UTC
	}
	for _, form := range []string{"20060102", "200601021504", "20060102150405"} {
		if len(digits) == len(form) {
			if t, err := time.ParseInLocation(form, digits, where); err == nil {
				return t, nil
			}
		}
	}
	return time.Time{}, errors.New("expiry-time must be a time like 20270131 or 202701311800Z")
}

// KeyHolder is a person with a proven key.
type KeyHolder struct {
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

func refused(reason, what string) (KeyHolder, error) { return KeyHolder{}, &Refusal{reason, what} }

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
func (a *AuthorizedKeys) authorize(key gossh.PublicKey, user string, from netip.Addr) (KeyHolder, error) {
	return a.rules.Load().authorize(key, user, from, a.now())
}

func (n *rules) authorize(key gossh.PublicKey, user string, from netip.Addr, now time.Time) (KeyHolder, error) {
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
	return KeyHolder{Name: e.name, Role: e.role, Key: gossh.FingerprintSHA256(key), Login: e.name, Until: e.until}, nil
}

// AuthorizeAgain is authorize for a person who is logged in as user from an address, with the proven key or
// certificate in authorized_keys format. It reads the files again; an unreadable one authorizes no one.
func (a *AuthorizedKeys) AuthorizeAgain(proof, user, from string) (KeyHolder, error) {
	key, _, _, _, err := gossh.ParseAuthorizedKey([]byte(proof))
	if err != nil {
		return refused("no_proof", "the proven key is missing")
	}
	n, err := a.fresh()
	if err != nil {
		return KeyHolder{}, err
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
