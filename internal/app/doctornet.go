package app

import (
	"context"
	"crypto/tls"
	"fmt"
	"net"
	"net/http"
	"net/url"
	"time"

	"opdeck/api"
	"opdeck/api/reach"
	"opdeck/internal/act/remedy"
	"opdeck/internal/app/config"
	"opdeck/internal/domain/verdict"
	"opdeck/internal/format"
	"opdeck/internal/store"
)

// network resolves the service's name and makes a TLS handshake. It reports whether the service is reachable.
func (d *doctor) network(ctx context.Context, c config.Context) bool {
	if c.Sandbox {
		d.add("name lookup", Skipped, "the built-in service runs in this process", "")
		d.add("tls", Skipped, "no network is used", "")
		return true
	}
	u, err := url.Parse(c.BaseURL)
	if err != nil { // the config's check has parsed it
		d.add("name lookup", Failed, "base_url is not a valid address", "")
		return false
	}
	if proxy := d.proxy(c); proxy != nil {
		found := d.lookup(ctx, c, proxy.Hostname(), reach.Fault{Class: reach.ProxyFault, Target: proxy.Host})
		d.add("tls", Skipped, "the proxy makes the connection", "")
		if !found {
			d.add("clock", Skipped, "there is no connection to the service", "")
		}
		return found
	}
	if !d.lookup(ctx, c, u.Hostname(), reach.Fault{Class: reach.NoName}) {
		d.add("tls", Skipped, "needs the address", "")
		d.add("clock", Skipped, "there is no connection to the service", "")
		return false
	}
	if !d.handshake(ctx, c, u) {
		d.add("clock", Skipped, "there is no connection to the service", "")
		return false
	}
	return true
}

// lookup resolves a name; without an address that is the fault.
func (d *doctor) lookup(ctx context.Context, c config.Context, host string, fault reach.Fault) bool {
	if net.ParseIP(host) != nil {
		d.add("name lookup", Healthy, host+" is an address", "")
		return true
	}
	ctx, cancel := context.WithTimeout(ctx, checkTime)
	defer cancel()
	began := time.Now()
	addrs, err := net.DefaultResolver.LookupHost(ctx, host)
	if err != nil {
		d.unreached("name lookup", c, fault)
		return false
	}
	d.add("name lookup", Healthy,
		fmt.Sprintf("%s has %s, found in %s", host, plural(int64(len(addrs)), "address", "addresses"),
			format.Duration(time.Since(began))), "")
	return true
}

// unreached says what keeps calls from the service, as the verdict does.
func (d *doctor) unreached(name string, c config.Context, f reach.Fault) {
	now := d.opt.Now()
	ignored := verdict.Config{Ignored: ignoredProxies(c, d.opt.Getenv)}
	d.says(name, verdict.Facts{Now: now, Service: ServiceHost(c),
		Config: verdict.Known(ignored, "doctor", now, readHolds), Calls: []verdict.Fact[verdict.Call]{verdict.Known(
			verdict.Call{Failed: now, Since: now, Fault: f}, "doctor", now, readHolds)}})
}

// handshake connects and, over https, checks the certificate.
func (d *doctor) handshake(ctx context.Context, c config.Context, u *url.URL) bool {
	port := u.Port()
	if port == "" {
		port = map[string]string{"https": "443", "http": "80"}[u.Scheme]
	}
	conf, err := tlsConfig(c)
	if err != nil {
		e := api.AsError(err)
		d.add("tls", Failed, e.Public, remedy.Command(e))
		return false
	}
	ctx, cancel := context.WithTimeout(ctx, checkTime)
	defer cancel()
	conn, err := new(net.Dialer).DialContext(ctx, "tcp", net.JoinHostPort(u.Hostname(), port))
	if err != nil {
		d.unreached("tls", c, reach.OfError(err, false, d.opt.Now()))
		return false
	}
	defer conn.Close()
	if u.Scheme == "http" {
		d.add("tls", Skipped, "plain HTTP to this host, port "+port+" answers", "")
		return true
	}
	conf.ServerName = u.Hostname()
	t := tls.Client(conn, conf)
	if err := t.HandshakeContext(ctx); err != nil {
		d.unreached("tls", c, reach.OfError(err, false, d.opt.Now()))
		return false
	}
	st := t.ConnectionState()
	until := st.PeerCertificates[0].NotAfter
	now := d.opt.Now()
	if !d.says("tls", verdict.Facts{Now: now, Service: u.Hostname(),
		Certificate: verdict.Known(verdict.Certificate{Until: until}, "doctor", now, readHolds)}) {
		d.add("tls", Healthy, fmt.Sprintf("%s, certificate valid for %d days", tls.VersionName(st.Version),
			int(until.Sub(now).Hours()/24)), "")
	}
	return true
}

// clock asks for an answer that needs no login, and compares this host's clock with its Date header. It reports
// whether the service answers.
func (d *doctor) clock(ctx context.Context, a *App, reached bool) bool {
	if !reached {
		return false // reported by network
	}
	rt, close, err := a.plainCarrier()
	if err != nil {
		d.add("clock", Skipped, api.AsError(err).Public, "")
		return reached
	}
	defer close()
	ctx, cancel := context.WithTimeout(ctx, checkTime)
	defer cancel()
	req, err := http.NewRequestWithContext(ctx, http.MethodHead, a.Context.BaseURL, nil)
	if err != nil {
		d.add("clock", Skipped, "base_url is not a valid address", "")
		return false
	}
	began := d.opt.Now()
	res, err := rt.RoundTrip(req)
	if err != nil {
		d.unreached("connection", a.Context, reach.OfError(err, true, d.opt.Now()))
		d.add("clock", Skipped, "the service does not answer", "")
		return false
	}
	_ = res.Body.Close()
	d.add("connection", Healthy, "the service answers", "")
	middle := began.Add(d.opt.Now().Sub(began) / 2)
	date, err := http.ParseTime(res.Header.Get("Date"))
	if err != nil {
		d.add("clock", Skipped, "the service's answer has no Date", "")
		return true
	}
	skew := middle.Sub(date.Add(500 * time.Millisecond)) // Date has whole seconds
	now := d.opt.Now()
	c := verdict.Clock{Host: a.Session.Owner().Host, Ahead: skew}
	if st, err := a.Session.Status(ctx); err == nil && a.Store.Core.Engine() == store.Postgres {
		c.Database = skew + st.Ahead
	}
	switch {
	case d.says("clock", verdict.Facts{Now: now, Clock: verdict.Known(c, "doctor", now, readHolds)}):
	case skew.Abs() < 1500*time.Millisecond:
		d.add("clock", Healthy, "this clock agrees with the service's", "")
	default:
		d.add("clock", Healthy, "this clock and the service's differ by "+format.Duration(skew.Abs()), "")
	}
	return true
}

// plainCarrier is a separate transport for a request without a login.
func (a *App) plainCarrier() (rt http.RoundTripper, close func(), err error) {
	if a.Sandbox != nil {
		return a.Sandbox.Transport(), func() {}, nil
	}
	conf, err := tlsConfig(a.Context)
	if err != nil {
		return nil, nil, err
	}
	t := newTransport(conf)
	proxy, err := outbound(a.Context)
	if err != nil {
		return nil, nil, err
	}
	t.Proxy, t.OnProxyConnectResponse = through(proxy), reach.ProxyAnswer
	return t, t.CloseIdleConnections, nil
}
