package config

import (
	"cmp"
	"errors"
	"fmt"
	"net"
	"net/url"
	"path/filepath"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"time"

	"filippo.io/age"
	"github.com/BurntSushi/toml"

	"opdeck/api"
	"opdeck/api/limit"
	"opdeck/internal/domain/audit"
	"opdeck/internal/domain/index"
	"opdeck/internal/domain/index/filter"
	"opdeck/internal/domain/lending"
	"opdeck/internal/field"
)

// Checks of one value. An empty text is one that is not set.

func oneOf[T ~string](words ...T) func(T) error {
	return func(v T) error {
		if slices.Contains(words, v) {
			return nil
		}
		list := make([]string, len(words))
		for i, w := range words {
			list[i] = string(w)
		}
		return errors.New("must be one of " + strings.Join(list, ", "))
	}
}

func between(least, most int) func(int) error {
	return func(n int) error {
		if n < least || n > most {
			return fmt.Errorf("must be from %d to %d", least, most)
		}
		return nil
	}
}

func within(least, most time.Duration) func(Duration) error {
	return func(d Duration) error {
		if d.D() < least || d.D() > most {
			return fmt.Errorf("must be from %s to %s", least, most)
		}
		return nil
	}
}

func positive(d Duration) error {
	if d.D() <= 0 || d.D() > 24*time.Hour {
		return errors.New("must be above zero and at most 24h")
	}
	return nil
}

func veil(d Duration) error {
	if d != 0 && within(10*time.Second, 24*time.Hour)(d) != nil {
		return errors.New("must be from 10s to 24h, or 0 for never")
	}
	return nil
}

func each(check func(string) error) func([]string) error {
	return func(list []string) error {
		for _, s := range list {
			if err := check(s); err != nil {
				return err
			}
		}
		return nil
	}
}

func matches(form, what string) func(string) error {
	re := regexp.MustCompile(form)
	return func(s string) error {
		if s != "" && !re.MatchString(s) {
			return errors.New(what)
		}
		return nil
	}
}

var (
	fieldName = matches(`^[^\s.]+(\.[^\s.]+){0,2}$`, `must be the name of a field, or names with dots between them, like `+
		`"operations" or "data.rows"`)
	parameter = matches(`^[A-Za-z0-9_.\[\]-]{1,64}$`, "must be the name of a query parameter")
	absolute  = matches(`^(off|/.*|[A-Za-z]:[\\/].*)$`, "must be an absolute path")
	fromRoot  = matches(`^/`, "must begin with /")
)

func given(s string) error {
	if s == "" {
		return errors.New("must not be empty")
	}
	return nil
}

func some(list []string) error {
	if len(list) == 0 {
		return errors.New("must name at least one")
	}
	return nil
}

func role(r api.Role) error {
	if !r.Valid() {
		return errors.New("must be viewer, analyst, operator, oncall or admin")
	}
	return nil
}

func isPostgres(u string) bool {
	return strings.HasPrefix(u, "postgres://") || strings.HasPrefix(u, "postgresql://")
}

func storeURL(u string) error {
	if u != "sqlite" && u != "memory" && !strings.HasPrefix(u, "sqlite:") && !isPostgres(u) {
		return errors.New(`must be "sqlite", "sqlite:/path", "memory" or "postgres://…"`)
	}
	return nil
}

// proxy checks the proxy's address. It may hold a password, so the error does not repeat it.
func proxy(p string) error {
	if p == "" || p == EnvironmentProxy {
		return nil
	}
	u, err := url.Parse(p)
	if err != nil || u.Host == "" || strings.Trim(u.Path, "/") != "" || u.RawQuery != "" ||
		!slices.Contains([]string{"http", "https", "socks5", "socks5h"}, u.Scheme) {
		return errors.New(`must be "environment", or an address such as http://proxy.example.com:3128`)
	}
	return nil
}

func recipient(s string) error {
	if _, err := age.ParseX25519Recipient(s); err != nil {
		return errors.New("contains an entry that is not a public key as age-keygen prints it (age1…)")
	}
	return nil
}

func auditKey(s string) error {
	if _, _, err := audit.ReadVerifierKey(s); err != nil {
		return errors.New("contains an entry that is not a key as opdeck audit checkpoint prints it")
	}
	return nil
}

func classes(perMinute map[limit.Class]int) error {
	for class, n := range perMinute {
		if !slices.Contains(limit.Classes, class) {
			return fmt.Errorf("%s is not an endpoint class; use login, refresh, account, customer, billing, general", class)
		}
		if n < 1 || n > 10_000 {
			return fmt.Errorf("%s must be from 1 to 10000 calls", class)
		}
	}
	return nil
}

func phases(words map[string]string) error {
	for word, phase := range words {
		if err := oneOf("open", "completed", "failed", "canceled")(phase); err != nil {
			return fmt.Errorf("%s %w", word, err)
		}
	}
	return nil
}

func amountNeighbour(name string) error {
	if name == "" || api.IsAmountPart(name) {
		return errors.New(`must be names of members that do not change an amount, like "formatted"`)
	}
	return nil
}

func columns(list []string) error {
	_, err := field.ParseColumns(list)
	return err
}

func aFilter(s string) error { _, err := filter.Parse(s); return err }

func aSort(s string) error { _, err := index.ParseSort(s); return err }

func anAddress(addr string) error {
	if _, _, err := net.SplitHostPort(addr); err != nil && addr != "" && addr != Off {
		return errors.New("must be an address with a port, like 127.0.0.1:8788")
	}
	return nil
}

func loopback(addr string) error {
	if err := anAddress(addr); err != nil || addr == "" || addr == Off || isLoopback(addr) {
		return err
	}
	return errors.New("must be a loopback address: the session is lent on this host only")
}

func isLoopback(addr string) bool {
	host, _, _ := net.SplitHostPort(addr)
	ip := net.ParseIP(host)
	return ip != nil && ip.IsLoopback()
}

func program(argv []string) error {
	if len(argv) > 0 && (argv[0] == "" || strings.ContainsRune(argv[0], filepath.Separator) && !filepath.IsAbs(argv[0])) {
		return errors.New("the program must be an absolute path, or a name that PATH finds")
	}
	return nil
}

func orEmpty(check func(string) error) func(string) error {
	return func(s string) error {
		if s == "" {
			return nil
		}
		return check(s)
	}
}

// noticeURL is CheckBaseURL for the receiver of notices, whose path and query are its own.
func noticeURL(s string) error {
	bare, _, _ := strings.Cut(s, "?")
	err := orEmpty(CheckBaseURL)(strings.ReplaceAll(bare, "/v2", "/"))
	if err == nil && strings.Contains(s, "#") {
		err = errors.New("must not contain a fragment")
	}
	return err
}

// CheckBaseURL returns an error unless the address is https://, or http:// to a literal loopback address, without an
// API version in the path (every call has it), user information, query or fragment (security rule 3.2.4).
func CheckBaseURL(s string) error {
	if s == "" {
		return errors.New("is required, for example https://stage.example.com")
	}
	u, err := url.Parse(s)
	if err != nil || strings.ContainsAny(s, "\\\n\r\t ") {
		return errors.New("is not an address; write it with https://, as https://stage.example.com")
	}
	host := u.Hostname()
	switch {
	case u.User != nil:
		return errors.New("must not contain a user name or password")
	case u.RawQuery != "" || u.ForceQuery || u.Fragment != "" || strings.Contains(s, "#"):
		return errors.New("must not contain a query or a fragment")
	case host == "" || strings.Contains(host, "%"):
		return errors.New("has no host")
	case !portOK(u.Port()):
		return errors.New("has no valid port")
	case slices.Contains(strings.Split(strings.ToLower(u.Path), "/"), "v2"):
		return fmt.Errorf(
			"must not contain /v2: every call adds it, so opdeck would call %s/auth/login; remove it and what follows",
			strings.TrimRight(u.Path, "/")+"/v2")
	case u.Scheme == "https":
		return nil
	case u.Scheme != "http":
		return errors.New("must begin with https://")
	}
	if ip := net.ParseIP(host); ip == nil || !ip.IsLoopback() {
		return ErrPlainHTTP
	}
	return nil
}

// ErrPlainHTTP refuses an address without encryption.
var ErrPlainHTTP = errors.New("plain http:// is refused except to a loopback address like 127.0.0.1")

func portOK(p string) bool {
	n, err := strconv.ParseUint(p, 10, 16)
	return p == "" || err == nil && n > 0
}

// Checks of several values.

// checker collects mistakes with the lines of their keys.
type checker struct {
	file string
	src  []byte
	bad  Mistakes
}

func (k *checker) add(what string, path ...string) {
	key := toml.Key(path)
	k.bad = append(k.bad, Mistake{File: k.file, Line: lineOf(k.src, key), Key: key.String(), What: what})
}

// when adds what if it is so.
func (k *checker) when(so bool, what string, path ...string) {
	if so {
		k.add(what, path...)
	}
}

// check checks each value, and those that belong together.
func (c *Config) check(k *checker) {
	for _, s := range c.sections() {
		for _, key := range s.keys {
			if err := key.check(); err != nil {
				k.add(err.Error(), append(slices.Clone(s.at), key.name)...)
			}
		}
	}
	_, known := c.Contexts[c.DefaultContext]
	k.when(!known && c.DefaultContext != "" && c.DefaultContext != "sandbox",
		fmt.Sprintf("there is no [contexts.%s]", c.DefaultContext), "default_context")
	k.when(isPostgres(c.Store.URL) && c.Store.KeyFile == "",
		"is required with PostgreSQL: the hosts must share the key that seals the tokens", "store", "key_file")
	k.when(c.Service.Paging == "cursor" && (c.Service.CursorName == "" || c.Service.CursorField == ""),
		`with "cursor", cursor_name and cursor_field are required`, "service", "paging")
	n := c.Notify
	k.when(len(n.Command) > 0 && n.URL != "", "command and url exclude each other", "notify", "url")
	k.when(len(n.Command) > 0 && n.SecretEnv+n.SecretFile != "", "a secret belongs to url; a command gets none", "notify")
	k.when(len(n.Command) == 0 && n.URL != "" && (n.SecretEnv == "") == (n.SecretFile == ""),
		"exactly one of secret_env and secret_file is needed with url", "notify", "url")
	c.checkServers(k)
	for name, b := range c.Lend.Borrowers {
		at := []string{"lend", "borrowers", name}
		k.when(len(name) > maxBorrowerName || !nameOK(name),
			"a borrower's name is up to 40 letters, digits, dots, dashes and underscores", at...)
		k.when((b.KeyEnv == "") == (b.KeyFile == ""), "exactly one of key_env and key_file is needed", at...)
		k.when(b.Reveal && b.Role.Valid() && !b.Role.May(api.MayReveal),
			"needs a role that may reveal masked values: "+api.WhoMay(api.MayReveal), append(at, "reveal")...)
	}
	presses(c.Keys, "", func(name string, value any) {
		_, is := value.(string)
		k.when(!is, `must be a key in quotes, like "D"`, keyPath(name)...)
	})
	for name, x := range c.Contexts {
		at := []string{"contexts", name}
		k.when(!nameOK(name), "a context's name consists of letters, digits, dots, dashes and underscores", at...)
		c.checkPlace(k, name, x)
		if x.Sandbox {
			continue
		}
		if x.BaseURL == "" {
			k.add(CheckBaseURL("").Error(), append(at, "base_url")...)
		}
		k.when(x.Login == "", "is required", append(at, "login")...)
		sources := slices.DeleteFunc([]string{x.PasswordEnv, x.PasswordFile, x.PasswordCommand},
			func(s string) bool { return s == "" })
		k.when(len(sources) != 1, "exactly one of password_env, password_file and password_command is needed", at...)
	}
	slices.SortStableFunc(k.bad, func(a, b Mistake) int { return cmp.Compare(a.Line, b.Line) })
}

const maxBorrowerName = 40

func nameOK(name string) bool {
	return name != "" &&
		strings.Trim(name, "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789-_.") == ""
}

// checkServers checks that what listens has what it needs.
func (c *Config) checkServers(k *checker) {
	if w := c.Webhooks; w.Listen != "" {
		loop := isLoopback(w.Listen)
		k.when(w.Verify == "none" && !loop, `"none" is allowed on a loopback address only`, "webhooks", "verify")
		k.when(w.Verify != "none" && w.SecretEnv+w.SecretFile == "",
			"secret_env or secret_file is required to verify deliveries", "webhooks", "listen")
		k.when(!loop && !w.BehindProxy && (w.TLSCert == "" || w.TLSKey == ""),
			"needs tls_cert and tls_key, or behind_proxy = true, on an address that is not loopback", "webhooks", "listen")
	}
	if c.SSH.Listen != "" {
		k.when(c.SSH.HostKey == "", "host_key is required to serve over SSH", "ssh", "listen")
		k.when(c.SSH.AuthorizedKeys+c.SSH.TrustedCA == "",
			"authorized_keys or trusted_ca is required to serve over SSH", "ssh", "listen")
	}
	k.when(c.Lend.Listen != "" && len(c.Lend.Borrowers) == 0,
		"needs at least one [lend.borrowers.NAME]: on a port, a key identifies the caller", "lend", "listen")
}

// checkPlace checks the servers of a context as those of the sections are checked. What is wrong with the sections
// themselves is reported there.
func (c *Config) checkPlace(k *checker, name string, x Context) {
	if x.Serve == (Place{}) {
		return
	}
	in, own := c.In(x), &checker{}
	in.checkServers(own)
	for _, m := range own.bad {
		known := slices.ContainsFunc(k.bad, func(o Mistake) bool { return o.Key == m.Key && o.What == m.What })
		k.when(!known, m.Key+" "+m.What, "contexts", name, "serve")
	}
}

// LendingMistakes are what only opdeck config check reports: keys that can be guessed, and borrowers whose role no
// context of the file allows. at says where a named file is.
func (c Config) LendingMistakes(env, at func(string) string) (bad Mistakes) {
	for name, b := range c.Lend.Borrowers {
		b.KeyFile = at(b.KeyFile)
		if key, err := c.BorrowerKey(b, env); err != nil && !key.Empty() {
			bad = append(bad, c.MistakeIn(name, err))
		}
		var refused error
		for _, x := range c.Contexts {
			if refused = lending.Within(name, b.Role, x.Role); refused == nil {
				break
			}
		}
		if refused != nil {
			bad = append(bad, c.MistakeAt(refused.Error(), "lend", "borrowers", name, "role"))
		}
	}
	return bad
}
