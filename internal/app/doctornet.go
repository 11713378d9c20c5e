package app

import (
	"context"
	"crypto/tls"
	"errors"
	"fmt"
	"net"
	"net/http"
	"net/url"
	"time"

	"opdeck/api"
	"opdeck/api/reach"
	"opdeck/internal/act/remedy"
	"opdeck/internal/app/config"
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
		found := d.lookup(ctx, proxy.Hostname())
		d.add("tls", Skipped, "the proxy makes the connection", "")
		if !found {
			d.add("clock", Skipped, "needs the service", "")
		}
		return found
	}
	if !d.lookup(ctx, u.Hostname()) {
		d.add("tls", Skipped, "needs the address", "")
		d.add("clock", Skipped, "needs the service", "")
		return false
	}
	if !d.handshake(ctx, c, u) {
		d.add("clock", Skipped, "needs the service", "")
		return false
	}
	return true
}

func (d *doctor) lookup(ctx context.Context, host string) bool {
	if net.ParseIP(host) != nil {
		d.add("name lookup", Healthy, host+" is an address", "")
		return true
	}
	ctx, cancel := context.WithTimeout(ctx, checkTime)
	defer cancel()
	began := time.Now()
	addrs, err := net.DefaultResolver.LookupHost(ctx, host)
	if err != nil {
		d.add("name lookup", Failed, fmt.Sprintf("%s cannot be looked up: %s", host, dnsReason(err)),
			"Check base_url and the name servers of this host.")
		return false
	}
	d.add("name lookup", Healthy,
		fmt.Sprintf("%s has %d addresses, found in %d ms", host, len(addrs), time.Since(began).Milliseconds()), "")
	return true
}

func dnsReason(err error) string {
	var e *net.DNSError
	switch {
	case errors.As(err, &e) && e.IsNotFound:
		return "no such name"
	case errors.As(err, &e) && e.IsTimeout:
		return "no answer in time"
	case errors.As(err, &e):
		return e.Err
	}
	return err.Error()
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
		d.add("tls", Failed, "No answer on port "+port+": "+plainNet(err), "Check base_url, the firewall and the network.")
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
		f := reach.OfError(err, false, d.opt.Now())
		text := f.String()
		if f.Class == reach.NotAnswered {
			text = "the TLS handshake failed: " + plainNet(err)
		} else if !f.Until.IsZero() {
			text += " (" + f.Until.UTC().Format(time.RFC3339) + ")"
		}
		d.add("tls", Failed, sentence(text), tlsHints[f.Class])
		return false
	}
	st := t.ConnectionState()
	until := st.PeerCertificates[0].NotAfter
	left := until.Sub(d.opt.Now())
	health, hint := Healthy, ""
	if left < 14*24*time.Hour {
		health, hint = Warned, "The service's certificate expires soon."
	}
	d.add("tls", health,
		fmt.Sprintf("%s, certificate valid for %d days", tls.VersionName(st.Version), int(left.Hours()/24)), hint)
	return true
}

// tlsHints are the next steps for faults of TLS.
var tlsHints = map[reach.Class]string{
	reach.TLSExpired: "Ask the support of the service for a new certificate.",
	reach.TLSEarly:   "Check the clock of this host.", reach.TLSName: "Check base_url.",
	reach.TLSIssuer: "Set ca_file of the context to its authority.",
	reach.PlainHTTP: "Correct the port in base_url.",
}

func plainNet(err error) string {
	var op *net.OpError
	if errors.As(err, &op) && op.Err != nil {
		return op.Err.Error()
	}
	return err.Error()
}

// A clock difference beyond these is a warning or a failure.
const (
	skewWarn = 30 * time.Second
	skewFail = 5 * time.Minute
)

// clock compares this host's clock with the Date header of an answer that needs no login.
func (d *doctor) clock(ctx context.Context, a *App, reached bool) {
	if !reached {
		return // reported by network
	}
	rt, close, err := a.plainCarrier()
	if err != nil {
		d.add("clock", Skipped, api.AsError(err).Public, "")
		return
	}
	defer close()
	ctx, cancel := context.WithTimeout(ctx, checkTime)
	defer cancel()
	req, err := http.NewRequestWithContext(ctx, http.MethodHead, a.Context.BaseURL, nil)
	if err != nil {
		d.add("clock", Skipped, "base_url is not a valid address", "")
		return
	}
	began := d.opt.Now()
	res, err := rt.RoundTrip(req)
	if err != nil {
		d.add("clock", Failed, "The service does not answer: "+plainNet(err),
			"Try again. If it persists, ask the service's support.")
		return
	}
	_ = res.Body.Close()
	middle := began.Add(d.opt.Now().Sub(began) / 2)
	date, err := http.ParseTime(res.Header.Get("Date"))
	if err != nil {
		d.add("clock", Skipped, "the service's answer has no Date", "")
		return
	}
	skew := middle.Sub(date.Add(500 * time.Millisecond)) // Date has whole seconds
	text := fmt.Sprintf("this clock and the service's differ by %.1f s", skew.Seconds())
	switch {
	case skew.Abs() > skewFail:
		d.add("clock", Failed, text, "Set this host's clock (NTP).")
	case skew.Abs() > skewWarn:
		d.add("clock", Warned, text, "Set this host's clock (NTP).")
	case skew.Abs() < 1500*time.Millisecond:
		d.add("clock", Healthy, "this clock agrees with the service's", "")
	default:
		d.add("clock", Healthy, text, "")
	}
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
