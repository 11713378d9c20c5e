package app

import (
	"net/http"
	"net/url"
	"strings"

	"opdeck/api"
	"opdeck/internal/app/config"
)

// outbound returns the proxy between opdeck and the service of a context, nil for none. It uses proxies of the
// environment only if the config says so: passwords and tokens must not go where a stray variable points.
func outbound(c config.Context) (*url.URL, error) {
	base, err := url.Parse(c.BaseURL)
	if err != nil || c.Sandbox || base.Scheme != "https" { // plain HTTP stays on this host
		return nil, err
	}
	var u *url.URL
	switch c.Proxy {
	case "":
		return nil, nil
	case config.EnvironmentProxy:
		u, err = http.ProxyFromEnvironment(&http.Request{URL: base})
	default:
		u, err = url.Parse(c.Proxy)
	}
	if err != nil { // the error's text may hold a password
		return nil, &api.Error{Kind: api.BadConfig, Public: "The proxy is not a valid address.",
			Remedy: api.Remedy{Kind: api.FixSettings, ID: "[service]", Names: []string{"proxy"}}}
	}
	return u, nil
}

// proxyName is a proxy for people, without credentials; "" for none.
func proxyName(u *url.URL) string {
	if u == nil {
		return ""
	}
	return u.Scheme + "://" + u.Host
}

// through returns the Proxy function of a transport.
func through(u *url.URL) func(*http.Request) (*url.URL, error) {
	if u == nil {
		return nil
	}
	return http.ProxyURL(u)
}

// ignoredProxies are the variables of the environment that name a proxy for the service and have no effect.
func ignoredProxies(c config.Context, env func(string) string) []string {
	base, err := url.Parse(c.BaseURL)
	if err != nil || c.Sandbox || c.Proxy != "" || base.Scheme != "https" {
		return nil
	}
	var out []string
	for _, name := range []string{"HTTPS_PROXY", "https_proxy", "ALL_PROXY", "all_proxy"} {
		if env(name) != "" {
			out = append(out, name)
		}
	}
	return out
}

// proxy reports how calls leave this host, if through a proxy.
func (d *doctor) proxy(c config.Context) *url.URL {
	u, err := outbound(c)
	switch {
	case err != nil:
		d.add("proxy", Failed, api.AsError(err).Public, "Correct [service] proxy, or the variable it is taken from.")
	case u != nil && c.Proxy == config.EnvironmentProxy:
		d.add("proxy", Healthy, "calls go through "+proxyName(u)+", from the environment", "")
	case u != nil:
		d.add("proxy", Healthy, "calls go through "+proxyName(u), "")
	case len(ignoredProxies(c, d.opt.Getenv)) > 0:
		d.add("proxy", Healthy, "none: "+strings.Join(ignoredProxies(c, d.opt.Getenv), ", ")+" is set and not used",
			`[service] proxy = "environment" uses it, if calls must leave through it.`)
	}
	return u
}
