// Package config reads opdeck's TOML file, strictly: an unknown key, a wrong type or a value out of range is an error
// that names file, line and key, and never shows a value that could be a secret. Each key is said once, in keys.go.
package config

import (
	"encoding/json"
	"maps"
	"net/url"
	"reflect"
	"slices"
	"strings"
	"time"

	"github.com/BurntSushi/toml"

	"opdeck/internal/domain/verdict"
)

// section is a section of the file: "" is its beginning.
type section struct {
	at   toml.Key
	help string // lines
	keys []key
	kept func() // puts what was read into Config, for a section with a name of its own; nil: it is there
}

// key is one key of the file.
type key struct {
	name, help string
	use        use
	to         any // a pointer to the value
	fill       func()
	check      func() error
}

// row says a key: its name, the place of its value, its default, help for the example file, and checks.
func row[T any](name string, to *T, def T, help string, checks ...func(T) error) key {
	return key{name: name, help: strings.TrimPrefix(help, "\n"), to: to,
		fill: func() { *to = def },
		check: func() error {
			for _, check := range checks {
				if err := check(*to); err != nil {
					return err
				}
			}
			return nil
		}}
}

// use is what a text is besides a text.
type use int

const (
	_           use = iota
	secretEnv       // the name of an environment variable that holds a secret: no child gets it
	secretText      // a file that holds a secret
	secretLines     // the same with up to two lines
	file            // another file that must be readable
	address         // where opdeck listens
	secretURL       // an address with a user, a password or a query: they are not shown
	secretPath      // an address of which only scheme and host are shown
	secretWords     // a command, whose arguments are not shown
)

func (k key) as(u use) key { k.use = u; return k }

// text is the value of a key with a use.
func (k key) text() string {
	if s, ok := k.to.(*string); ok {
		return *s
	}
	return ""
}

// Default is the configuration without a file. It has no context, so the built-in service is used.
func Default() Config {
	c := Config{Contexts: map[string]Context{}, Views: map[string]View{}, Keys: map[string]any{}}
	c.Lend.Borrowers = map[string]Borrower{}
	c.fill()
	return c
}

func (c *Config) fill() {
	for _, s := range c.sections() {
		for _, k := range s.keys {
			k.fill()
		}
		if s.kept != nil {
			s.kept()
		}
	}
}

// SandboxContext is the context of the built-in service.
func SandboxContext() Context {
	c := Config{Contexts: map[string]Context{"sandbox": {}}}
	c.fill()
	x := c.Contexts["sandbox"]
	x.Sandbox, x.BaseURL, x.Login = true, "https://sandbox.invalid", "machine@sandbox"
	return x
}

// Kind says how serious a mistake in a context is.
type Kind string

// The kinds of context.
const (
	Test       Kind = "test"
	Production Kind = "production"
)

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

// Duration is a time.Duration written as text ("15s", "5m").
type Duration time.Duration

// UnmarshalText parses a duration.
func (d *Duration) UnmarshalText(b []byte) error {
	v, err := time.ParseDuration(string(b))
	*d = Duration(v)
	return err
}

// MarshalText formats the duration as Go does, without minutes and seconds of 0.
func (d Duration) MarshalText() ([]byte, error) {
	s := time.Duration(d).String()
	for _, end := range []string{"m0s", "h0m"} {
		if strings.HasSuffix(s, end) {
			s = s[:len(s)-2]
		}
	}
	return []byte(s), nil
}

// D is the duration.
func (d Duration) D() time.Duration { return time.Duration(d) }

func seconds(n int) Duration { return Duration(time.Duration(n) * time.Second) }

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
	return strings.TrimSuffix(withoutSecret(n.URL, secretPath), "/"+dots)
}

const dots = "••••"

// withoutSecret is a text of that use as people may see it.
func withoutSecret(s string, of use) string {
	u, err := url.Parse(s)
	switch {
	case s == "" || of < secretURL:
		return s
	case of == secretWords || err != nil:
		return dots
	case of == secretPath:
		return u.Scheme + "://" + u.Host + "/" + dots
	case u.User == nil && u.RawQuery == "":
		return s
	}
	return u.Scheme + "://" + dots + "@" + u.Host + u.Path
}

// shown is the value of a key as it is written in the file, without secrets.
func (k key) shown() string {
	switch v := k.to.(type) {
	case *string:
		return literal(withoutSecret(*v, k.use))
	case *[]string:
		if k.use == secretWords && len(*v) > 1 { // an argument can be a key
			return literal([]string{(*v)[0], dots})
		}
	}
	return literal(reflect.ValueOf(k.to).Elem().Interface())
}

// literal is a value in TOML: but for maps, what JSON has for it.
func literal(v any) string {
	switch m := reflect.ValueOf(v); {
	case m.Kind() == reflect.Map && m.Len() > 0:
		var parts []string
		for name, value := range m.Seq2() {
			parts = append(parts, toml.Key{name.String()}.String()+" = "+literal(value.Interface()))
		}
		slices.Sort(parts)
		return "{ " + strings.Join(parts, ", ") + " }"
	case m.Kind() == reflect.Map:
		return "{}"
	case m.Kind() == reflect.Slice:
		var parts []string
		for _, value := range m.Seq2() {
			parts = append(parts, literal(value.Interface()))
		}
		return "[" + strings.Join(parts, ", ") + "]"
	}
	var b strings.Builder
	enc := json.NewEncoder(&b)
	enc.SetEscapeHTML(false)
	_ = enc.Encode(v) // all are texts, numbers, switches and lists of them
	return strings.TrimSpace(b.String())
}

// Text is the config as a file without secrets, each key with its value.
func (c Config) Text() string {
	var b strings.Builder
	for _, s := range c.sections() {
		s.write(&b, "", false)
	}
	if len(c.Keys) > 0 {
		b.WriteString("[keys]\n")
	}
	presses := c.Presses()
	for _, name := range slices.Sorted(maps.Keys(presses)) {
		b.WriteString(literal(name) + " = " + literal(presses[name]) + "\n")
	}
	return b.String()
}

// write writes the keys of a section, each line after begin.
func (s section) write(b *strings.Builder, begin string, help bool) {
	lines := func(text string) {
		for line := range strings.Lines(text) {
			if help {
				b.WriteString(begin + "# " + strings.TrimSpace(line) + "\n")
			}
		}
	}
	if b.Len() > 0 {
		b.WriteString(strings.TrimSpace(begin) + "\n")
	}
	lines(strings.TrimSpace(s.help))
	if len(s.at) > 0 {
		b.WriteString(begin + "[" + s.at.String() + "]\n")
	}
	for _, k := range s.keys {
		lines(k.help)
		b.WriteString(begin + k.name + " = " + k.shown() + "\n")
	}
}

// Example is config.example.toml: each key with its default and what it means.
func Example() string {
	var b strings.Builder
	b.WriteString("# opdeck's configuration: every key with its default. A key that opdeck does not\n" +
		"# know is an error, with its line. Without a config file opdeck opens on its\n# built-in service.\n")
	fixed := Default()
	for _, s := range fixed.sections() {
		s.write(&b, "", true)
	}
	named := Config{Contexts: map[string]Context{"stage": {}}, Views: map[string]View{"pending-eur": {}}}
	named.Lend.Borrowers = map[string]Borrower{"nightly": {}}
	named.fill()
	x, v := named.Contexts["stage"], named.Views["pending-eur"]
	x.BaseURL, x.Login, x.PasswordEnv = "https://stage.example.com", "machine@example.com", "OPDECK_PASSWORD"
	v.Filter, v.Sort, v.Columns = "status:PENDING currency:EUR", "-amount", []string{"created", "status", "amount"}
	named.Contexts["stage"], named.Views["pending-eur"] = x, v
	named.Lend.Borrowers["nightly"] = Borrower{KeyEnv: "NIGHTLY_KEY", Role: "viewer", Priority: "background"}
	for _, s := range named.sections()[len(fixed.sections()):] {
		s.write(&b, "# ", true)
	}
	b.WriteString("#\n# # Other keys of the console, by the names that docs/keys.md lists at its end: one\n" +
		"# # character, \"space\", \"f1\" to \"f12\" or \"ctrl+x\". Two actions of one screen with the\n" +
		"# # same key are an error.\n# [keys]\n# document.remove = \"D\"\n")
	return b.String()
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
