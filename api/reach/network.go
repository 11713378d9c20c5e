package reach

import (
	"context"
	"crypto/tls"
	"crypto/x509"
	"errors"
	"io"
	"net"
	"net/http"
	"net/url"
	"strings"
	"syscall"
	"time"

	"opdeck/api/untrusted"
)

// OfError is the fault of an exchange without an answer. connected: a connection to the service existed.
func OfError(err error, connected bool, now time.Time) Fault {
	if f := ofTLS(err, now); f.Class != None {
		return f
	}
	var dns *net.DNSError
	var op *net.OpError
	var timeout net.Error
	var proxy *proxyRefusal
	switch {
	case errors.As(err, &proxy) && proxy.status == http.StatusProxyAuthRequired:
		return Fault{Class: ProxyAsks, Status: proxy.status}
	case errors.As(err, &proxy):
		return Fault{Class: ProxyFault, Status: proxy.status}
	case errors.As(err, &op) && op.Op == "proxyconnect":
		return Fault{Class: ProxyFault, Target: addressOf(op)}
	}
	switch {
	case errors.As(err, &dns):
		return Fault{Class: NoName}
	case errors.Is(err, context.DeadlineExceeded), errors.As(err, &timeout) && timeout.Timeout():
		if connected {
			return Fault{Class: Slow}
		}
		return Fault{Class: NoConnect}
	case errors.Is(err, syscall.ECONNREFUSED), !connected && errors.Is(err, syscall.ECONNRESET):
		return Fault{Class: NoPort}
	case errors.Is(err, io.ErrUnexpectedEOF), errors.Is(err, io.EOF), errors.Is(err, syscall.ECONNRESET):
		return Fault{Class: Cut}
	}
	return Fault{Class: NotAnswered}
}

// proxyRefusal is a proxy's refusal to connect.
type proxyRefusal struct{ status int }

func (e *proxyRefusal) Error() string { return "the proxy refuses the connection" }

// ProxyAnswer is for http.Transport.OnProxyConnectResponse: net/http has no type for a proxy's refusal.
func ProxyAnswer(_ context.Context, _ *url.URL, _ *http.Request, answer *http.Response) error {
	if answer.StatusCode == http.StatusOK {
		return nil
	}
	return &proxyRefusal{answer.StatusCode}
}

func addressOf(op *net.OpError) string {
	var dial *net.OpError // within that of the proxy
	var dns *net.DNSError
	switch {
	case op.Addr != nil:
		return untrusted.Text(op.Addr.String()).Line(100)
	case errors.As(op.Err, &dial) && dial.Addr != nil:
		return untrusted.Text(dial.Addr.String()).Line(100)
	case errors.As(op.Err, &dns):
		return untrusted.Text(dns.Name).Line(100)
	}
	return "of this context"
}

// maxNames bounds the names of a certificate that are kept.
const maxNames = 3

func ofTLS(err error, now time.Time) Fault {
	var authority x509.UnknownAuthorityError
	var host x509.HostnameError
	var invalid x509.CertificateInvalidError
	var cert *tls.CertificateVerificationError
	var record tls.RecordHeaderError
	var op *net.OpError
	switch {
	case errors.As(err, &authority):
		return Fault{Class: TLSIssuer}
	case errors.As(err, &host):
		f := Fault{Class: TLSName}
		if host.Certificate != nil {
			names := host.Certificate.DNSNames
			f.Names = untrusted.Text(strings.Join(names[:min(len(names), maxNames)], ", ")).Line(200)
		}
		return f
	case errors.As(err, &invalid) && invalid.Reason == x509.Expired:
		if invalid.Cert == nil {
			return Fault{Class: TLSExpired}
		}
		if now.Before(invalid.Cert.NotBefore) {
			return Fault{Class: TLSEarly, Until: invalid.Cert.NotBefore}
		}
		return Fault{Class: TLSExpired, Until: invalid.Cert.NotAfter}
	case errors.As(err, &invalid), errors.As(err, &cert):
		return Fault{Class: TLSBad}
	case errors.As(err, &record):
		if string(record.RecordHeader[:]) == "HTTP/" {
			return Fault{Class: PlainHTTP}
		}
		return Fault{Class: TLSVersion}
	case errors.As(err, &op) && (op.Op == "remote error" || op.Op == "local error"):
		return Fault{Class: TLSVersion}
	case err != nil && strings.HasPrefix(err.Error(), "tls: "):
		return Fault{Class: TLSVersion}
	case errors.Is(err, http.ErrSchemeMismatch):
		return Fault{Class: PlainHTTP}
	case err != nil && strings.Contains(err.Error(), `malformed HTTP response "\x15\x03`):
		return Fault{Class: HTTPToTLS} // a TLS alert
	}
	return Fault{}
}
