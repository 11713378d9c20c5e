package config

import (
	"maps"
	"net/url"
	"reflect"
	"slices"
	"strings"

	"opdeck/api/limit"
)

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
	c.Notify = maps.Clone(c.Notify)
	for name, n := range c.Notify { // an argument or a path can be a key
		if len(n.Command) > 1 {
			n.Command = []string{n.Command[0], dots}
		}
		if u, err := url.Parse(n.URL); err != nil {
			n.URL = dots
		} else if n.URL != "" {
			n.URL = u.Scheme + "://" + u.Host + "/" + dots
		}
		c.Notify[name] = n
	}
	return c
}

// KeyNames are the names of all keys that a config can have, without those that a person chooses.
func KeyNames() map[string]bool {
	out := map[string]bool{}
	for _, class := range limit.Classes {
		out[string(class)] = true
	}
	names(reflect.TypeFor[Config](), out)
	return out
}

func names(t reflect.Type, out map[string]bool) {
	for slices.Contains([]reflect.Kind{reflect.Map, reflect.Slice, reflect.Pointer}, t.Kind()) {
		t = t.Elem()
	}
	if t.Kind() != reflect.Struct {
		return
	}
	for i := range t.NumField() {
		f := t.Field(i)
		if name, _, _ := strings.Cut(f.Tag.Get("toml"), ","); name != "" && name != "-" {
			out[name] = true
			names(f.Type, out)
		}
	}
}
