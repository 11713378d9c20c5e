// Package config reads opdeck's TOML file, strictly: an unknown key, a wrong
// type or a value out of range is an error that names file, line and key, and
// never shows a value that could be a secret.
package config

import (
	"cmp"
	"fmt"
	"net/url"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/BurntSushi/toml"

	"opdeck/api"
	"opdeck/api/limit"
	"opdeck/internal/domain/index/filter"
	"opdeck/internal/domain/lending"
	"opdeck/internal/domain/verdict"
)

// Config is the whole file with defaults filled in.
type Config struct {
	DefaultContext string             `toml:"default_context"`
	Store          Store              `toml:"store"`
	Backup         Backup             `toml:"backup"`
	Contexts       map[string]Context `toml:"contexts"`
	Limits         Limits             `toml:"limits"`
	Service        Service            `toml:"service"`
	Writes         Writes             `toml:"writes"`
	Index          Index              `toml:"index"`
	Retention      Retention          `toml:"retention"`
	Webhooks       Webhooks           `toml:"webhooks"`
	SSH            SSH                `toml:"ssh"`
	Serve          Serve              `toml:"serve"`
	Lend           Lend               `toml:"lend"`
	Audit          Audit              `toml:"audit"`
	UI             UI                 `toml:"ui"`
	Views          map[string]View    `toml:"views"`
	Keys           map[string]any     `toml:"keys"` // by the names of docs/keys.md; see Presses
	Notify         Notify             `toml:"notify"`

	// Path is the file that was read, "" for none.
	Path string `toml:"-"`
}

// Store says where the shared state is.
type Store struct {
	URL     string `toml:"url"`
	KeyFile string `toml:"key_file"`
	Migrate string `toml:"migrate"` // command, auto
}

// AutoMigrate as Migrate lets every program that opens an older store migrate it, after a snapshot.
const AutoMigrate = "auto"

// Backup says how opdeck backup seals snapshots: for recipients if there are any, else with a passphrase.
type Backup struct {
	Recipients     []string `toml:"recipients"` // public keys of age
	PassphraseFile string   `toml:"passphrase_file"`
}

// Kind says how serious a mistake in a context is.
type Kind string

// The kinds of context.
const (
	Test       Kind = "test"
	Production Kind = "production"
)

// Context is one account at one service.
type Context struct {
	BaseURL         string   `toml:"base_url"`
	Login           string   `toml:"login"`
	PasswordEnv     string   `toml:"password_env"`
	PasswordFile    string   `toml:"password_file"`
	PasswordCommand string   `toml:"password_command"`
	Kind            Kind     `toml:"kind"`
	ReadOnly        bool     `toml:"read_only"`
	CAFile          string   `toml:"ca_file"`
	Timeout         Duration `toml:"timeout"`
	Approval        string   `toml:"approval"` // none, second_person
	Role            api.Role `toml:"role"`
	Sandbox         bool     `toml:"sandbox"`
	Serve           Place    `toml:"serve"`

	// Name is the context's key in the file.
	Name string `toml:"-"`
	// Proxy is copied from [service]: "", EnvironmentProxy or an address.
	Proxy string `toml:"-"`
}

// Place is where opdeck serve -c NAME listens, and for whom, where that differs from the sections of the file; "": as
// they say.
type Place struct {
	SSH            string `toml:"ssh"`
	AuthorizedKeys string `toml:"authorized_keys"`
	Webhooks       string `toml:"webhooks"`
	SecretFile     string `toml:"secret_file"` // of webhooks
	Lend           string `toml:"lend"`
	Socket         string `toml:"socket"` // of lend
	Metrics        string `toml:"metrics"`
}

// Off as an address of a Place turns that part off.
const Off = "off"

// In returns the config as opdeck serve uses it in a context.
func (c Config) In(x Context) Config {
	for to, value := range map[*string]string{&c.SSH.Listen: x.Serve.SSH, &c.SSH.AuthorizedKeys: x.Serve.AuthorizedKeys,
		&c.Webhooks.Listen: x.Serve.Webhooks, &c.Webhooks.SecretFile: x.Serve.SecretFile, &c.Lend.Listen: x.Serve.Lend,
		&c.Lend.Socket: x.Serve.Socket, &c.Serve.Metrics: x.Serve.Metrics} {
		switch value {
		case "":
		case Off:
			*to = ""
		default:
			*to = value
		}
	}
	if x.Serve.SecretFile != "" {
		c.Webhooks.SecretEnv = ""
	}
	return c
}

// Served reports whether there is anything for opdeck serve to do.
func (c Config) Served() bool {
	return c.SSH.Listen != "" || c.Webhooks.Listen != "" || c.Serve.Metrics != "" || c.Lend.Socket != "" ||
		c.Lend.Listen != "" || c.Notify.On()
}

// EnvironmentProxy as Proxy means HTTPS_PROXY and NO_PROXY from the environment.
const EnvironmentProxy = "environment"

type Limits struct {
	Policy    string              `toml:"policy"` // wait, warn
	MaxWait   Duration            `toml:"max_wait"`
	PerMinute map[limit.Class]int `toml:"per_minute"`
}

// Service holds settings for what the service's documents leave open.
type Service struct {
	Proxy           string            `toml:"proxy"` // between opdeck and the service; "", EnvironmentProxy or an address
	ShareTokenField string            `toml:"share_token_field"`
	ListField       string            `toml:"list_field"`
	UploadIDField   string            `toml:"upload_id_field"`
	LinkField       string            `toml:"link_field"`
	AccessToken     string            `toml:"access_token_field"`
	RefreshToken    string            `toml:"refresh_token_field"`
	AccessTTL       string            `toml:"access_ttl_field"`
	RefreshTTL      string            `toml:"refresh_ttl_field"`
	ListPageSize    int               `toml:"list_page_size"`
	Paging          string            `toml:"paging"` // auto, page, offset, cursor, none
	PageName        string            `toml:"page_name"`
	PageSizeName    string            `toml:"page_size_name"`
	FirstPage       int               `toml:"first_page"`
	CursorName      string            `toml:"cursor_name"`
	CursorField     string            `toml:"cursor_field"`
	StatusWords     map[string]string `toml:"status_words"`
	AmountIgnore    []string          `toml:"amount_ignore"` // members beside an amount that do not change it
}

// Writes says how long the outcome of a write is looked up.
type Writes struct {
	SettleWait Duration `toml:"settle_wait"`
	LateAfter  Duration `toml:"late_after"`
}

// Index is the local mirror of operations.
type Index struct {
	Enabled     bool     `toml:"enabled"`
	MaxAge      Duration `toml:"max_age"`
	MaxPageSize int      `toml:"max_page_size"`
	Memory      bool     `toml:"memory"`
}

// Retention says how long the store keeps ended things.
type Retention struct {
	Inbox   Age `toml:"inbox"`   // deliveries of webhooks, rejected ones too
	History Age `toml:"history"` // earlier states of operations, and notes
	Gone    Age `toml:"gone"`    // operations that the service no longer has
	Ended   Age `toml:"ended"`   // replacements and requests for approval
	Audit   Age `toml:"audit"`   // records, before they move to the archive
}

// Webhooks configures the receiver.
type Webhooks struct {
	Listen      string   `toml:"listen"`
	Path        string   `toml:"path"`
	Verify      string   `toml:"verify"`
	Header      string   `toml:"header"`
	Algorithms  []string `toml:"algorithms"`
	MaxAge      Duration `toml:"max_age"`
	SecretEnv   string   `toml:"secret_env"`
	SecretFile  string   `toml:"secret_file"`
	TLSCert     string   `toml:"tls_cert"`
	TLSKey      string   `toml:"tls_key"`
	BehindProxy bool     `toml:"behind_proxy"`
}

// SSH configures the console's SSH server.
type SSH struct {
	Listen         string   `toml:"listen"`
	HostKey        string   `toml:"host_key"`
	AuthorizedKeys string   `toml:"authorized_keys"`
	TrustedCA      string   `toml:"trusted_ca"`
	IdleTimeout    Duration `toml:"idle_timeout"`
	MaxSessions    int      `toml:"max_sessions"`
}

// Serve configures what `opdeck serve` offers besides SSH and webhooks.
type Serve struct {
	Metrics   string `toml:"metrics"`
	LogFormat string `toml:"log_format"` // logfmt, json
	LogLevel  string `toml:"log_level"`  // debug, info, warn, error
}

// Lend configures lending the session to scripts.
type Lend struct {
	Socket    string              `toml:"socket"`
	Listen    string              `toml:"listen"`
	Borrowers map[string]Borrower `toml:"borrowers"`
}

// Borrower is a script with a key.
type Borrower struct {
	KeyEnv    string   `toml:"key_env"`
	KeyFile   string   `toml:"key_file"`
	Role      api.Role `toml:"role"`
	Priority  string   `toml:"priority"` // background, person
	PerMinute int      `toml:"per_minute"`
	Reveal    bool     `toml:"reveal"` // answers are not masked; each one is recorded

	Lines BorrowerLines `toml:"-"`
}

// BorrowerLines are the lines of a borrower's settings in the file; 0: not known.
type BorrowerLines struct{ Key, Role int }

// Audit configures the trail's archive.
type Audit struct {
	Checkpoints string `toml:"checkpoints"`
	KeyFile     string `toml:"key_file"`
	Archive     string `toml:"archive"`
	// Keys are the keys of other hosts that sign for the same store, as printed by opdeck audit checkpoint.
	Keys []string `toml:"keys"`
}

// UI configures the look of the console.
type UI struct {
	Theme    string `toml:"theme"`
	TimeZone string `toml:"time_zone"`
	Mask     bool   `toml:"mask"`
	// IdleVeil is the time without a key after which the local console is blanked; 0: never.
	IdleVeil Duration `toml:"idle_veil"`
	// Mouse lets wheel and clicks move, select and open; then the terminal selects text only while shift is held.
	Mouse bool `toml:"mouse"`
	// Columns are the default columns of the operations list, by their names in package field; empty: the usual ones.
	Columns []string `toml:"columns"`
}

// View is a saved view of the operations list.
type View struct {
	Filter  string   `toml:"filter"`
	Sort    string   `toml:"sort"`
	Columns []string `toml:"columns"` // empty: those of UI
}

// Duration is a time.Duration written as text ("15s", "5m").
type Duration time.Duration

// UnmarshalText parses a duration above zero.
func (d *Duration) UnmarshalText(b []byte) error {
	v, err := time.ParseDuration(string(b))
	if err != nil {
		return errDuration
	}
	*d = Duration(v)
	return nil
}

// MarshalText formats the duration as Go does.
func (d Duration) MarshalText() ([]byte, error) { return []byte(time.Duration(d).String()), nil }

func (d Duration) D() time.Duration { return time.Duration(d) }

// Age is how long something is kept: days ("90d"), a duration ("36h"), or 0 for ever, written "forever".
type Age time.Duration

// UnmarshalText parses an age.
func (a *Age) UnmarshalText(b []byte) error {
	if string(b) == forever {
		*a = 0
		return nil
	}
	if days, is := strings.CutSuffix(string(b), "d"); is {
		n, err := strconv.ParseUint(days, 10, 16)
		*a = Age(time.Duration(n) * day)
		return orAge(err)
	}
	v, err := time.ParseDuration(string(b))
	*a = Age(v)
	return orAge(err)
}

// MarshalText formats whole days as days.
func (a Age) MarshalText() ([]byte, error) {
	switch d := a.D(); {
	case d == 0:
		return []byte(forever), nil
	case d%day == 0:
		return append(strconv.AppendInt(nil, int64(d/day), 10), 'd'), nil
	default:
		return []byte(d.String()), nil
	}
}

// D returns the age as a duration; 0 for ever.
func (a Age) D() time.Duration { return time.Duration(a) }

const (
	forever = "forever"
	day     = 24 * time.Hour
)

func orAge(err error) error {
	if err != nil {
		return errAge
	}
	return nil
}

// Default is the configuration without a file. It has no context, so the built-in service is used.
func Default() Config {
	return Config{
		Store:    Store{URL: "sqlite", Migrate: "command"},
		Backup:   Backup{Recipients: []string{}},
		Contexts: map[string]Context{},
		Keys:     map[string]any{},
		Limits:   Limits{Policy: "wait", MaxWait: Duration(30 * time.Second), PerMinute: limit.Recommended()},
		Service: Service{ShareTokenField: "token", ListPageSize: 100, Paging: "auto", PageName: api.PageName,
			PageSizeName: api.SizeName, StatusWords: map[string]string{}, AmountIgnore: []string{}},
		Writes: Writes{SettleWait: Duration(10 * time.Second), LateAfter: Duration(15 * time.Minute)},
		Index:  Index{Enabled: true, MaxAge: Duration(time.Minute), MaxPageSize: 1000},
		Retention: Retention{Inbox: Age(90 * day), History: Age(365 * day), Gone: Age(365 * day), Ended: Age(90 * day),
			Audit: Age(365 * day)},
		Webhooks: Webhooks{Path: "/hooks", Verify: "jwt", Header: "Authorization", Algorithms: []string{"HS256"},
			MaxAge: Duration(5 * time.Minute)},
		SSH:   SSH{IdleTimeout: Duration(15 * time.Minute), MaxSessions: 200},
		Serve: Serve{LogFormat: "logfmt", LogLevel: "info"},
		Lend:  Lend{Borrowers: map[string]Borrower{}},
		Audit: Audit{Keys: []string{}},
		UI:    UI{Theme: "auto", TimeZone: "local", Mask: true, IdleVeil: Duration(15 * time.Minute), Columns: []string{}},
		Views: map[string]View{}, Notify: Notify{Command: []string{}, Min: "warning"},
	}
}

// SandboxContext is the context of the built-in service.
func SandboxContext() Context {
	c := defaultContext("sandbox")
	c.Sandbox, c.BaseURL, c.Login = true, "https://sandbox.invalid", "machine@sandbox"
	return c
}

func defaultContext(name string) Context {
	return Context{Name: name, Kind: Test, Timeout: Duration(15 * time.Second), Approval: "none", Role: api.Admin}
}

// filled returns b with defaults for what the file omits.
func (b Borrower) filled() Borrower {
	b.Role, b.Priority = cmp.Or(b.Role, api.Viewer), cmp.Or(b.Priority, string(lending.Background))
	return b
}

// LendingMistakes are what only config check reports: keys that are there and can be guessed, and borrowers whose role
// no context of the file allows.
func (c Config) LendingMistakes(env func(string) string) (bad Mistakes) {
	for name, b := range c.Lend.Borrowers {
		add := func(line int, key, what string) {
			bad = append(bad, Mistake{File: c.Path, Line: line, Key: "lend.borrowers." + name + "." + key, What: what})
		}
		if key, err := c.BorrowerKey(b, env); err != nil && !key.Empty() {
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

// Notify is who is told what is wrong.
type Notify struct {
	Command    []string `toml:"command"`
	URL        string   `toml:"url"`
	SecretEnv  string   `toml:"secret_env"`
	SecretFile string   `toml:"secret_file"`
	Min        string   `toml:"min"` // warning, critical
}

// On reports whether anyone is told.
func (n Notify) On() bool { return len(n.Command) > 0 || n.URL != "" }

// Least is the mildest cause that is told. The file is valid.
func (n Notify) Least() verdict.Severity {
	if n.Min == verdict.Critical.String() {
		return verdict.Critical
	}
	return verdict.Warning
}

// To is the program, or scheme and host of the address: the rest may hold a secret.
func (n Notify) To() string {
	if len(n.Command) > 0 {
		return n.Command[0]
	}
	if u, err := url.Parse(n.URL); err == nil && u.Host != "" {
		return u.Scheme + "://" + u.Host
	}
	return ""
}

func (n Notify) check(k *checker) {
	k.oneOf(n.Min, []string{verdict.Warning.String(), verdict.Critical.String()}, "notify", "min")
	if len(n.Command) > 0 {
		if n.URL != "" {
			k.add("command and url exclude each other", "notify", "url")
		}
		if p := n.Command[0]; p == "" || strings.ContainsRune(p, filepath.Separator) && !filepath.IsAbs(p) {
			k.add("the program must be an absolute path, or a name that PATH finds", "notify", "command")
		}
		if n.SecretEnv != "" || n.SecretFile != "" {
			k.add("a secret belongs to url; a command gets none", "notify")
		}
	} else if n.URL != "" {
		if err := checkNotifyURL(n.URL); err != nil {
			k.add(err.Error(), "notify", "url")
		}
		if (n.SecretEnv == "") == (n.SecretFile == "") {
			k.add("exactly one of secret_env and secret_file is needed with url", "notify", "url")
		}
	}
}

// checkNotifyURL is CheckBaseURL for the receiver of notices, whose path and query are its own.
func checkNotifyURL(s string) error {
	bare, _, _ := strings.Cut(s, "?")
	if err := CheckBaseURL(strings.ReplaceAll(bare, "/v2", "/")); err != nil {
		return err
	}
	if strings.Contains(s, "#") {
		return fmt.Errorf("must not contain a fragment")
	}
	return nil
}

// meant suggests the name that is probably meant.
func meant(s string, names []string) string {
	if near := filter.Nearest(s, names); near != "" {
		return "; did you mean " + near + "?"
	}
	return ""
}

// Presses are the keys of [keys] by name, written with dots or as one word in quotes: document.remove = "D".
func (c Config) Presses() map[string]string {
	out := map[string]string{}
	presses(c.Keys, "", func(name string, value any) {
		if press, ok := value.(string); ok {
			out[name] = press
		}
	})
	return out
}

func presses(all map[string]any, prefix string, f func(name string, value any)) {
	for name, value := range all {
		if more, ok := value.(map[string]any); ok {
			presses(more, prefix+name+".", f)
		} else {
			f(prefix+name, value)
		}
	}
}

func keyPath(name string) []string { return append([]string{"keys"}, strings.Split(name, ".")...) }

// KeyMistake is a mistake in the value of a key of [keys].
func (c Config) KeyMistake(what, name string) Mistake { return c.MistakeAt(what, keyPath(name)...) }

func (c *Config) checkKeys(k *checker) {
	presses(c.Keys, "", func(name string, value any) {
		if _, ok := value.(string); !ok {
			k.add(`must be a key in quotes, like "D"`, keyPath(name)...)
		}
	})
}
