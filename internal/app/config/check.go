package config

import (
	"errors"
	"fmt"
	"maps"
	"net"
	"net/url"
	"path/filepath"
	"reflect"
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
	"opdeck/internal/field"
)

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

func (k *checker) oneOf(v string, words []string, path ...string) {
	if !slices.Contains(words, v) {
		k.add("must be one of "+strings.Join(words, ", "), path...)
	}
}

func (c *Config) check(file string, src []byte) Mistakes {
	k := &checker{file: file, src: src}
	c.checkGeneral(k)
	c.checkKeys(k)
	for name, x := range c.Contexts {
		x.check(k, name)
		c.checkPlace(k, name, x)
	}
	if c.DefaultContext != "" {
		if _, ok := c.Contexts[c.DefaultContext]; !ok && c.DefaultContext != "sandbox" {
			k.add(fmt.Sprintf("there is no [contexts.%s]", c.DefaultContext), "default_context")
		}
	}
	slices.SortStableFunc(k.bad, func(a, b Mistake) int { return a.Line - b.Line })
	return k.bad
}

var queryName = regexp.MustCompile(`^[A-Za-z0-9_.\[\]-]{1,64}$`)

// checkPaging checks the names for paging, and that each way has those that it needs.
func (c *Config) checkPaging(k *checker) {
	s := c.Service
	k.oneOf(s.Paging, []string{"auto", "page", "offset", "cursor", "none"}, "service", "paging")
	if s.FirstPage != 0 && s.FirstPage != 1 {
		k.add("must be 0 or 1", "service", "first_page")
	}
	for key, name := range map[string]string{"page_name": s.PageName, "page_size_name": s.PageSizeName} {
		if !queryName.MatchString(name) {
			k.add("must be the name of a query parameter", "service", key)
		}
	}
	if s.CursorName != "" && !queryName.MatchString(s.CursorName) {
		k.add("must be the name of a query parameter", "service", "cursor_name")
	}
	if f := s.CursorField; f != "" && !listField.MatchString(f) {
		k.add(`must be the name of a field, or names with dots between them ("meta.next")`, "service", "cursor_field")
	}
	if s.Paging == "cursor" && (s.CursorName == "" || s.CursorField == "") {
		k.add(`with "cursor", cursor_name and cursor_field are required`, "service", "paging")
	}
}

// checkProxy checks the proxy's address. It may hold a password, so the mistake does not repeat it.
func (c *Config) checkProxy(k *checker) {
	p := c.Service.Proxy
	if p == "" || p == EnvironmentProxy {
		return
	}
	u, err := url.Parse(p)
	if err != nil || u.Host == "" || strings.Trim(u.Path, "/") != "" || u.RawQuery != "" ||
		!slices.Contains([]string{"http", "https", "socks5", "socks5h"}, u.Scheme) {
		k.add(`must be "environment", or an address such as http://proxy.example.com:3128`, "service", "proxy")
	}
}

func (c *Config) checkGeneral(k *checker) {
	u := c.Store.URL
	postgres := strings.HasPrefix(u, "postgres://") || strings.HasPrefix(u, "postgresql://")
	if u != "sqlite" && u != "memory" && !strings.HasPrefix(u, "sqlite:") && !postgres {
		k.add(`must be "sqlite", "sqlite:/path", "memory" or "postgres://…"`, "store", "url")
	}
	if postgres && c.Store.KeyFile == "" {
		k.add("is required with PostgreSQL: the hosts must share the key that seals the tokens", "store", "key_file")
	}
	k.oneOf(c.Store.Migrate, []string{"command", AutoMigrate}, "store", "migrate")
	c.checkBackup(k)
	k.oneOf(c.Limits.Policy, []string{"wait", "warn"}, "limits", "policy")
	for class, n := range c.Limits.PerMinute {
		if !slices.Contains(limit.Classes, class) {
			k.add("is not an endpoint class; use login, refresh, account, customer, billing, general",
				"limits", "per_minute", string(class))
		}
		if n < 1 || n > 10_000 {
			k.add("must be from 1 to 10000 calls", "limits", "per_minute", string(class))
		}
	}
	if n := c.Service.ListPageSize; n < 1 || n > 1000 {
		k.add("must be from 1 to 1000", "service", "list_page_size")
	}
	c.checkPaging(k)
	c.checkProxy(k)
	if c.Service.ShareTokenField == "" {
		k.add("must not be empty", "service", "share_token_field")
	}
	if f := c.Service.ListField; f != "" && !listField.MatchString(f) {
		k.add(`must be a field's name, or names with dots between them, like "operations" or "data.rows"`,
			"service", "list_field")
	}
	for _, name := range c.Service.AmountIgnore {
		if name == "" || api.IsAmountPart(name) {
			k.add(`must be names of members that do not change an amount, like "formatted"`, "service", "amount_ignore")
		}
	}
	for word, phase := range c.Service.StatusWords {
		k.oneOf(phase, []string{"open", "completed", "failed", "canceled"}, "service", "status_words", word)
	}
	k.oneOf(c.UI.Theme, []string{"auto", "dark", "light", "mono", "high-contrast"}, "ui", "theme")
	k.oneOf(c.UI.TimeZone, []string{"local", "UTC"}, "ui", "time_zone")
	if v := c.UI.IdleVeil.D(); v != 0 && (v < 10*time.Second || v > 24*time.Hour) {
		k.add("must be from 10s to 24h, or 0 for never", "ui", "idle_veil")
	}
	k.columns(c.UI.Columns, "ui", "columns")
	for name, v := range c.Views {
		k.columns(v.Columns, "views", name, "columns")
	}
	k.positive(c.Limits.MaxWait, "limits", "max_wait")
	k.positive(c.Index.MaxAge, "index", "max_age")
	k.positive(c.Writes.LateAfter, "writes", "late_after")
	if w := c.Writes.SettleWait.D(); w < 0 || w > 5*time.Minute {
		k.add("must be from 0 to 5m", "writes", "settle_wait")
	}
	if n := c.Index.MaxPageSize; n < 1 || n > 10_000 {
		k.add("must be from 1 to 10000", "index", "max_page_size")
	}
	k.positive(c.SSH.IdleTimeout, "ssh", "idle_timeout")
	if c.SSH.MaxSessions < 1 {
		k.add("must be at least 1", "ssh", "max_sessions")
	}
	c.checkListeners(k)
	c.checkLend(k)
	c.checkAudit(k)
	c.checkRetention(k)
	c.Notify.check(k)
}

// checkRetention checks the ages: less than a day is too short to settle everything.
func (c *Config) checkRetention(k *checker) {
	r := c.Retention
	for name, a := range map[string]Age{"inbox": r.Inbox, "history": r.History, "gone": r.Gone, "ended": r.Ended,
		"audit": r.Audit} {
		if a != 0 && (a.D() < day || a.D() > 36500*day) {
			k.add(`must be from "1d" to "36500d", or "forever"`, "retention", name)
		}
	}
}

// checkBackup checks the public keys that snapshots are sealed for.
func (c *Config) checkBackup(k *checker) {
	for _, s := range c.Backup.Recipients {
		if _, err := age.ParseX25519Recipient(s); err != nil {
			k.add("contains an entry that is not a public key as age-keygen prints it (age1…)", "backup", "recipients")
		}
	}
}

// checkAudit checks the folder of the archive and the keys of other hosts.
func (c *Config) checkAudit(k *checker) {
	if a := c.Audit.Archive; a != "" && !filepath.IsAbs(a) {
		k.add("must be an absolute path", "audit", "archive")
	}
	for _, s := range c.Audit.Keys {
		if _, _, err := audit.ReadVerifierKey(s); err != nil {
			k.add("contains an entry that is not a key as opdeck audit checkpoint prints it", "audit", "keys")
		}
	}
}

var listField = regexp.MustCompile(`^[^\s.]+(\.[^\s.]+){0,2}$`)

func (k *checker) columns(list []string, path ...string) {
	if _, err := field.ParseColumns(list); err != nil {
		k.add(err.Error(), path...)
	}
}

func (k *checker) positive(d Duration, path ...string) {
	if d.D() <= 0 || d.D() > 24*time.Hour {
		k.add("must be above zero and at most 24h", path...)
	}
}

func (c *Config) checkListeners(k *checker) {
	w := c.Webhooks
	k.oneOf(w.Verify, []string{"jwt", "header", "none"}, "webhooks", "verify")
	if !strings.HasPrefix(w.Path, "/") {
		k.add("must begin with /", "webhooks", "path")
	}
	if len(w.Algorithms) == 0 {
		k.add("must name at least one of HS256, HS384, HS512", "webhooks", "algorithms")
	}
	for _, a := range w.Algorithms {
		k.oneOf(a, []string{"HS256", "HS384", "HS512"}, "webhooks", "algorithms")
	}
	if w.MaxAge.D() < 0 || w.MaxAge.D() > 30*24*time.Hour {
		k.add("must be from 0s (no bound) to 720h", "webhooks", "max_age")
	}
	if w.Listen != "" {
		loop := k.listen(w.Listen, "webhooks", "listen")
		if w.Verify == "none" && !loop {
			k.add(`"none" is allowed on a loopback address only`, "webhooks", "verify")
		}
		if w.Verify != "none" && w.SecretEnv == "" && w.SecretFile == "" {
			k.add("secret_env or secret_file is required to verify deliveries", "webhooks", "listen")
		}
		if !loop && !w.BehindProxy && (w.TLSCert == "" || w.TLSKey == "") {
			k.add("needs tls_cert and tls_key, or behind_proxy = true, on an address that is not loopback", "webhooks", "listen")
		}
	}
	if c.SSH.Listen != "" {
		k.listen(c.SSH.Listen, "ssh", "listen")
		if c.SSH.HostKey == "" {
			k.add("host_key is required to serve over SSH", "ssh", "listen")
		}
		if c.SSH.AuthorizedKeys == "" && c.SSH.TrustedCA == "" {
			k.add("authorized_keys or trusted_ca is required to serve over SSH", "ssh", "listen")
		}
	}
	if c.Serve.Metrics != "" {
		k.listen(c.Serve.Metrics, "serve", "metrics")
	}
	k.oneOf(c.Serve.LogFormat, []string{"logfmt", "json"}, "serve", "log_format")
	k.oneOf(c.Serve.LogLevel, []string{"debug", "info", "warn", "error"}, "serve", "log_level")
}

// listen checks a listen address and reports whether it is loopback.
func (k *checker) listen(addr string, path ...string) bool {
	host, _, err := net.SplitHostPort(addr)
	if err != nil {
		k.add("must be an address with a port, like 127.0.0.1:8788", path...)
		return false
	}
	ip := net.ParseIP(host)
	return ip != nil && ip.IsLoopback()
}

// contextLetters are allowed in names of contexts and borrowers.
const contextLetters = "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789-_."

func (x Context) check(k *checker, name string) {
	at := func(key string) []string { return []string{"contexts", name, key} }
	if name == "" || strings.Trim(name, contextLetters) != "" {
		k.add("a context's name consists of letters, digits, dots, dashes and underscores", "contexts", name)
	}
	k.oneOf(string(x.Kind), []string{string(Test), string(Production)}, at("kind")...)
	k.oneOf(x.Approval, []string{"none", "second_person"}, at("approval")...)
	if !x.Role.Valid() {
		k.add("must be viewer, analyst, operator, oncall or admin", at("role")...)
	}
	k.positive(x.Timeout, at("timeout")...)
	if x.Sandbox {
		return
	}
	if err := CheckBaseURL(x.BaseURL); err != nil {
		k.add(err.Error(), at("base_url")...)
	}
	if x.Login == "" {
		k.add("is required", at("login")...)
	}
	n := 0
	for _, s := range []string{x.PasswordEnv, x.PasswordFile, x.PasswordCommand} {
		if s != "" {
			n++
		}
	}
	if n != 1 {
		k.add("exactly one of password_env, password_file and password_command is needed", "contexts", name)
	}
}

// checkPlace checks the listeners of a context as those of the sections are checked. What is wrong with the sections
// themselves is reported there.
func (c *Config) checkPlace(k *checker, name string, x Context) {
	if x.Serve == (Place{}) {
		return
	}
	in := c.In(x)
	own := &checker{}
	in.checkListeners(own)
	in.checkLend(own)
	for _, m := range own.bad {
		if !slices.ContainsFunc(k.bad, func(o Mistake) bool { return o.Key == m.Key && o.What == m.What }) {
			k.add(m.Key+" "+m.What, "contexts", name, "serve")
		}
	}
}

// CheckBaseURL returns an error unless the address is https://, or http:// to a literal loopback address, without an
// API version in the path (every call has it), user information, query or fragment (security rule 3.2.4).
func CheckBaseURL(s string) error {
	if s == "" {
		return fmt.Errorf("is required, for example https://stage.example.com")
	}
	u, err := url.Parse(s)
	if err != nil || strings.ContainsAny(s, "\\\n\r\t ") {
		return fmt.Errorf("is not an address")
	}
	host := u.Hostname()
	switch {
	case u.User != nil:
		return fmt.Errorf("must not contain a user name or password")
	case u.RawQuery != "" || u.ForceQuery || u.Fragment != "" || strings.Contains(s, "#"):
		return fmt.Errorf("must not contain a query or a fragment")
	case host == "" || strings.Contains(host, "%"):
		return fmt.Errorf("has no host")
	case !portOK(u.Port()):
		return fmt.Errorf("has no valid port")
	case slices.Contains(strings.Split(strings.ToLower(u.Path), "/"), "v2"):
		return fmt.Errorf(
			"must not contain /v2: every call adds it, so opdeck would call %s/auth/login; remove it and what follows",
			strings.TrimRight(u.Path, "/")+"/v2")
	case u.Scheme == "https":
		return nil
	case u.Scheme != "http":
		return fmt.Errorf("must begin with https://")
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

// similar suggests the known key closest to an unknown one.
func similar(k toml.Key) string {
	return meant(k[len(k)-1], knownKeys(reflect.TypeFor[Config]()))
}

func knownKeys(t reflect.Type) []string {
	var out []string
	for f := range t.Fields() {
		name := f.Tag.Get("toml")
		if name == "" || name == "-" {
			continue
		}
		out = append(out, name)
		ft := f.Type
		if ft.Kind() == reflect.Map {
			ft = ft.Elem()
		}
		if ft.Kind() == reflect.Struct {
			out = append(out, knownKeys(ft)...)
		}
	}
	return out
}

const dots = "••••"

// WithoutSecrets returns the config without what may hold a secret: user and password in the addresses of the store and
// the proxy, the commands that print passwords, and how the receivers of notices are called.
func WithoutSecrets(c Config) Config {
	if u, err := url.Parse(c.Store.URL); err != nil || u.User != nil || u.RawQuery != "" {
		c.Store.URL = "postgres://" + dots
		if err == nil {
			c.Store.URL = u.Scheme + "://" + dots + "@" + u.Host + u.Path
		}
	}
	if u, err := url.Parse(c.Service.Proxy); err != nil {
		c.Service.Proxy = dots
	} else if u.User != nil {
		c.Service.Proxy = u.Scheme + "://" + dots + "@" + u.Host
	}
	c.Contexts = maps.Clone(c.Contexts)
	for name, x := range c.Contexts {
		if x.PasswordCommand != "" {
			x.PasswordCommand = dots
		}
		c.Contexts[name] = x
	}
	if n := &c.Notify; len(n.Command) > 1 { // an argument or a path can be a key
		n.Command = []string{n.Command[0], dots}
	} else if n.URL != "" {
		n.URL = n.To() + "/" + dots
	}
	return c
}
