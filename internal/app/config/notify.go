package config

import (
	"cmp"
	"fmt"
	"maps"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"opdeck/api/secret"
	"opdeck/internal/domain/index/filter"
	"opdeck/internal/domain/notify"
	"opdeck/internal/domain/verdict"
)

// Notify is a [notify.NAME]: who is notified, and of what.
type Notify struct {
	Command    []string `toml:"command"`
	URL        string   `toml:"url"`
	SecretEnv  string   `toml:"secret_env"`
	SecretFile string   `toml:"secret_file"`
	On         []string `toml:"on"`
	Min        string   `toml:"min"` // warning, critical
	For        Duration `toml:"for"`
	After      Duration `toml:"after"`
	View       string   `toml:"view"`
	When       string   `toml:"when"` // matches, stays, missing
	By         string   `toml:"by"`
	Zone       string   `toml:"zone"`
}

// filled returns n with defaults for what the file omits.
func (n Notify) filled() Notify {
	if len(n.On) == 0 {
		n.On = []string{string(notify.Cause), string(notify.End)}
	}
	n.Min, n.After = cmp.Or(n.Min, verdict.Warning.String()), cmp.Or(n.After, Duration(15*time.Minute))
	n.When, n.Zone = cmp.Or(n.When, string(notify.Matches)), cmp.Or(n.Zone, "UTC")
	return n
}

// Secret reads the secret that signs the notices for a URL.
func (n Notify) Secret(env func(string) string) (secret.Value, error) {
	if n.SecretFile != "" {
		return SecretFile(n.SecretFile)
	}
	if v := env(n.SecretEnv); v != "" {
		return secret.New(v), nil
	}
	return secret.Value{}, fmt.Errorf("the environment variable %s (secret_env) is empty or not set", n.SecretEnv)
}

// NotifyRules returns the rules of [notify.NAME] by name. The file is valid.
func (c Config) NotifyRules() []notify.Rule {
	var out []notify.Rule
	for _, name := range slices.Sorted(maps.Keys(c.Notify)) {
		n := c.Notify[name]
		r := notify.Rule{Name: name, For: n.For.D(), After: n.After.D(), View: n.View, When: notify.When(n.When),
			Min: verdict.Warning}
		for _, k := range n.On {
			r.On = append(r.On, notify.Kind(k))
		}
		if n.Min == verdict.Critical.String() {
			r.Min = verdict.Critical
		}
		r.By, _ = timeOfDay(n.By)
		r.Zone, _ = time.LoadLocation(n.Zone)
		out = append(out, r)
	}
	return out
}

// timeOfDay parses "17:30" as the time since midnight.
func timeOfDay(s string) (time.Duration, error) {
	t, err := time.Parse("15:04", s)
	return time.Duration(t.Hour())*time.Hour + time.Duration(t.Minute())*time.Minute, err
}

// maxNotifyWait bounds for and after.
const maxNotifyWait = 7 * day

func (c *Config) checkNotify(k *checker) {
	for name, n := range c.Notify {
		if name == "" || len(name) > maxBorrowerName || strings.Trim(name, contextLetters) != "" {
			k.add("a name is up to 40 letters, digits, dots, dashes and underscores", "notify", name)
		}
		n.checkTarget(k, name)
		n.checkWhen(k, name)
		at := func(key string) []string { return []string{"notify", name, key} }
		if v := n.View; v != "" {
			if _, known := c.Views[v]; !known {
				k.add("there is no [views."+v+"]"+meant(v, slices.Sorted(maps.Keys(c.Views))), at("view")...)
			}
		}
	}
}

// checkTarget checks where notices go.
func (n Notify) checkTarget(k *checker, name string) {
	at := func(key string) []string { return []string{"notify", name, key} }
	switch {
	case (len(n.Command) == 0) == (n.URL == ""):
		k.add("exactly one of command and url is needed", "notify", name)
	case n.URL == "":
		if p := n.Command[0]; p == "" || strings.ContainsRune(p, filepath.Separator) && !filepath.IsAbs(p) {
			k.add("the program must be an absolute path, or a name that PATH finds", at("command")...)
		}
		if n.SecretEnv != "" || n.SecretFile != "" {
			k.add("a secret belongs to url; a command gets none", "notify", name)
		}
	default:
		if err := CheckNotifyURL(n.URL); err != nil {
			k.add(err.Error(), at("url")...)
		}
		if (n.SecretEnv == "") == (n.SecretFile == "") {
			k.add("exactly one of secret_env and secret_file is needed with url", "notify", name)
		}
	}
}

// checkWhen checks what notices are about.
func (n Notify) checkWhen(k *checker, name string) {
	at := func(key string) []string { return []string{"notify", name, key} }
	var kinds []string
	for _, kind := range notify.Kinds() {
		kinds = append(kinds, string(kind))
	}
	for _, on := range n.On {
		if !slices.Contains(kinds, on) {
			k.add(fmt.Sprintf("%q must be one of %s", on, strings.Join(kinds, ", "))+meant(on, kinds), at("on")...)
		}
	}
	k.oneOf(n.Min, []string{verdict.Warning.String(), verdict.Critical.String()}, at("min")...)
	if d := n.For.D(); d < 0 || d > maxNotifyWait {
		k.add("must be from 0s to 168h", at("for")...)
	}
	if d := n.After.D(); d < time.Minute || d > maxNotifyWait {
		k.add("must be from 1m to 168h", at("after")...)
	}
	if _, err := time.LoadLocation(n.Zone); err != nil || n.Zone == "Local" {
		k.add(`must be "UTC" or the name of a time zone such as "Europe/Berlin"`, at("zone")...)
	}
	about := slices.Contains(n.On, string(notify.View))
	if about != (n.View != "") {
		k.add(`on = ["view"] and view = "NAME" need each other`, at("on")...)
	}
	k.oneOf(n.When, []string{string(notify.Matches), string(notify.Stays), string(notify.Missing)}, at("when")...)
	if n.When == string(notify.Stays) && n.For <= 0 {
		k.add(`needs for = "30m": how long the view must have rows`, at("when")...)
	}
	if _, err := timeOfDay(n.By); n.When == string(notify.Missing) && err != nil {
		k.add(`needs by = "17:00": until when the view must have a row, each day`, at("when")...)
	} else if n.By != "" && err != nil {
		k.add(`must be a time of day such as "17:00"`, at("by")...)
	}
}

// CheckNotifyURL is CheckBaseURL for the receiver of notices, whose path and query are its own.
func CheckNotifyURL(s string) error {
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
