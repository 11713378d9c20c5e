package config

import (
	"maps"
	"net/url"
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
	if n := &c.Notify; len(n.Command) > 1 { // an argument or a path can be a key
		n.Command = []string{n.Command[0], dots}
	} else if n.URL != "" {
		n.URL = n.To() + "/" + dots
	}
	return c
}
