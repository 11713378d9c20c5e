package config

import (
	"cmp"
	"fmt"
	"path/filepath"
	"slices"
	"strings"

	"github.com/BurntSushi/toml"

	"opdeck/api"
	"opdeck/api/secret"
	"opdeck/internal/domain/lending"
)

// filled returns b with defaults for what the file omits.
func (b Borrower) filled() Borrower {
	b.Role, b.Priority = cmp.Or(b.Role, api.Viewer), cmp.Or(b.Priority, string(lending.Background))
	return b
}

// Key reads the borrower's key from the configured source.
func (b Borrower) Key(env func(string) string) (secret.Value, error) {
	key := secret.Value{}
	if b.KeyFile != "" {
		var err error
		if key, err = SecretFile(b.KeyFile); err != nil {
			return key, err
		}
	} else if key = secret.New(env(b.KeyEnv)); key.Empty() {
		return key, fmt.Errorf("the environment variable %s (key_env) is empty or not set", b.KeyEnv)
	}
	return key, lending.CheckKey(key)
}

// LendingMistakes are what only config check reports: keys that are there and can be guessed, and borrowers whose role
// no context of the file allows.
func (c Config) LendingMistakes(env func(string) string) (bad Mistakes) {
	for name, b := range c.Lend.Borrowers {
		add := func(line int, key, what string) {
			bad = append(bad, Mistake{File: c.Path, Line: line, Key: "lend.borrowers." + name + "." + key, What: what})
		}
		if key, err := b.Key(env); err != nil && !key.Empty() {
			add(b.Lines.Key, b.keyName(), err.Error())
		}
		var refused error
		for _, x := range c.Contexts {
			if refused = lending.Within(name, b.Role, x.Role); refused == nil {
				break
			}
		}
		if refused != nil {
			add(b.Lines.Role, "role", refused.Error())
		}
	}
	slices.SortFunc(bad, func(a, b Mistake) int { return cmp.Compare(a.Line, b.Line) })
	return bad
}

// keyName is the name of the setting that says where the key is.
func (b Borrower) keyName() string {
	if b.KeyFile != "" {
		return "key_file"
	}
	return "key_env"
}

// read remembers where the file has the settings of a borrower.
func (b Borrower) read(src []byte, name string) Borrower {
	b = b.filled()
	at := func(key string) int { return lineOf(src, toml.Key{"lend", "borrowers", name, key}) }
	whole := lineOf(src, toml.Key{"lend", "borrowers", name})
	b.Lines = BorrowerLines{Key: cmp.Or(at(b.keyName()), whole), Role: cmp.Or(at("role"), whole)}
	return b
}

const maxBorrowerName = 40

// checkLend checks the lending addresses and borrowers.
func (c *Config) checkLend(k *checker) {
	if c.Lend.Listen != "" && !k.listen(c.Lend.Listen, "lend", "listen") {
		k.add("must be a loopback address: the session is lent on this host only", "lend", "listen")
	}
	if c.Lend.Listen != "" && len(c.Lend.Borrowers) == 0 {
		k.add("needs at least one [lend.borrowers.NAME]: on a port, a key identifies the caller", "lend", "listen")
	}
	if s := c.Lend.Socket; s != "" && !filepath.IsAbs(s) {
		k.add("must be an absolute path", "lend", "socket")
	}
	for name, b := range c.Lend.Borrowers {
		at := func(key string) []string { return []string{"lend", "borrowers", name, key} }
		if name == "" || len(name) > maxBorrowerName || strings.Trim(name, contextLetters) != "" {
			k.add("a borrower's name is up to 40 letters, digits, dots, dashes and underscores", "lend", "borrowers", name)
		}
		if (b.KeyEnv == "") == (b.KeyFile == "") {
			k.add("exactly one of key_env and key_file is needed", "lend", "borrowers", name)
		}
		if !b.Role.Valid() {
			k.add("must be viewer, analyst, operator, oncall or admin", at("role")...)
		}
		if b.Reveal && b.Role.Valid() && !b.Role.May(api.MayReveal) {
			k.add("needs a role that may reveal masked values: "+api.WhoMay(api.MayReveal), at("reveal")...)
		}
		k.oneOf(b.Priority, []string{string(lending.Background), string(lending.Person)}, at("priority")...)
		if b.PerMinute < 0 || b.PerMinute > 10_000 {
			k.add("must be from 0 (none) to 10000 calls", at("per_minute")...)
		}
	}
}
