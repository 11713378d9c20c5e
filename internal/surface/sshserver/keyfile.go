package sshserver

import (
	"bytes"
	"errors"
	"fmt"
	"slices"
	"strings"
	"time"

	gossh "golang.org/x/crypto/ssh"

	"opdeck/api"
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
