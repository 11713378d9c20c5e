// Package reach names what kept a call from a useful answer: the network, TLS, a proxy, a gateway, or a refusal of the
// service in its own words. A Fault holds no token and no address of a person; every process may store it.
package reach

import (
	"context"
	"crypto/tls"
	"crypto/x509"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/url"
	"strings"
	"syscall"
	"time"

	"opdeck/api/jsontree"
	"opdeck/api/untrusted"
)

// Class is the kind of a Fault.
type Class string

// The classes: first those without an answer of the service, then what came instead of one, then its refusals.
const (
	None        Class = ""
	NoName      Class = "no_name"       // the host name cannot be looked up
	NoPort      Class = "no_connection" // the connection was refused or reset before anything was sent
	NoConnect   Class = "no_connect"    // no connection in time
	Slow        Class = "slow"          // connected, and no answer in time
	Cut         Class = "cut"           // the answer ended in the middle
	TLSExpired  Class = "tls_expired"
	TLSEarly    Class = "tls_early" // not valid yet
	TLSName     Class = "tls_name"
	TLSIssuer   Class = "tls_issuer" // unknown authority
	TLSBad      Class = "tls_bad"    // another fault of the certificate
	TLSVersion  Class = "tls_version"
	NoTLS       Class = "no_tls"       // the port speaks no TLS
	PlainHTTP   Class = "plain_http"   // https to a port that speaks plain HTTP
	HTTPToTLS   Class = "http_to_tls"  // http to a port that speaks TLS
	ProxyFault  Class = "proxy"        // the proxy cannot be reached
	ProxyAsks   Class = "proxy_auth"   // the proxy requires a login (407)
	Gateway     Class = "gateway"      // 502, 504: something before the service answered
	Maintenance Class = "maintenance"  // 503
	Failed      Class = "failed"       // another 5xx
	Gone        Class = "gone"         // 410
	Moved       Class = "moved"        // 3xx
	Page        Class = "page"         // a web page instead of JSON
	Garbage     Class = "garbage"      // neither JSON nor a web page
	Coded       Class = "coded"        // packed or encoded in a way that opdeck cannot undo
	TooLong     Class = "too_long"     // longer than an answer to a login can be
	Unreadable  Class = "unreadable"   // a good status, and an answer in which opdeck finds no tokens
	Useless     Class = "useless"      // answered, and of no use to this call; Shape says with what
	Throttled   Class = "throttled"    // 429
	NoRoute     Class = "no_route"     // 404 or 405 where the login or the refresh belongs
	Locked      Class = "locked"       // the account is locked (423)
	TwoFactor   Class = "two_factor"   // a code is demanded
	Password    Class = "password"     // login or password refused (401)
	Refused     Class = "refused"      // refused for another reason; Said quotes it
	NoPassword  Class = "no_password"  // this host has no password to send
	NotAnswered Class = "not_answered" // no usable answer, for a reason that is not known
)

// UnmarshalText reads a class that a program has stored; what older programs told apart by the service's words is
// Refused.
func (c *Class) UnmarshalText(text []byte) error {
	if *c = Class(text); *c == "disabled" || *c == "unclear" {
		*c = Refused
	}
	return nil
}

// Fault is one failure.
type Fault struct {
	Class  Class         `json:"class"`
	Status int           `json:"status,omitempty"` // HTTP status; 0 without an answer
	Said   string        `json:"said,omitempty"`   // the service's own words, or for Instead ours; one safe line
	After  time.Duration `json:"after,omitempty"`  // its Retry-After; 0: none
	Until  time.Time     `json:"until,omitzero"`   // TLSExpired: since when; TLSEarly: until when, by the certificate
	Names  string        `json:"names,omitempty"`  // TLSName: the first names in the certificate, with commas
	Target string        `json:"target,omitempty"` // Moved: where to; ProxyFault: the proxy's host
	Shape  string        `json:"shape,omitempty"`  // Useless: "404 Not Found", "200 with {}"
	Key    string        `json:"key,omitempty"`    // Unreadable: the key under [service] that mends it; "": none
}

// Instead reports whether Said is our text about what came in place of an answer.
func (f Fault) Instead() bool {
	switch f.Class {
	case Page, Garbage, Coded, Unreadable, TooLong, Cut:
		return true
	}
	return false
}

// Answered reports whether the service itself answered.
func (f Fault) Answered() bool {
	switch f.Class {
	case Failed, Gone, Useless, Unreadable, Throttled, NoRoute, Locked, TwoFactor, Password, Refused:
		return true
	}
	return false
}

// Connecting reports whether a fault keeps every call from the service, whatever its address.
func (c Class) Connecting() bool {
	switch c {
	case NoName, NoPort, NoConnect, TLSExpired, TLSEarly, TLSName, TLSIssuer, TLSBad, TLSVersion, NoTLS, PlainHTTP,
		HTTPToTLS, ProxyFault, ProxyAsks:
		return true
	}
	return false
}

// OfStatus is the fault of an answer whose status alone says that nothing behind this address works; None for every
// other, which may still be of no use.
func OfStatus(status int) Class {
	switch {
	case status == http.StatusProxyAuthRequired:
		return ProxyAsks
	case status == http.StatusGone:
		return Gone
	case status == http.StatusBadGateway, status == http.StatusGatewayTimeout:
		return Gateway
	case status == http.StatusServiceUnavailable:
		return Maintenance
	case status >= 500:
		return Failed
	case status >= 300 && status < 400 && status != http.StatusNotModified:
		return Moved
	}
	return None
}

// Outage reports whether a status says that nothing behind this address works, whatever the path.
func (f Fault) Outage() bool {
	return f.Class == Gateway || f.Class == Maintenance || f.Class == ProxyAsks
}

// OfObject reports whether a useless answer may be about the object of its call, such as an id that is not known.
func (f Fault) OfObject() bool {
	switch f.Status {
	case http.StatusBadRequest, http.StatusForbidden, http.StatusNotFound, http.StatusConflict,
		http.StatusUnprocessableEntity:
		return f.Class == Useless
	}
	return false
}

// OfError is the fault of an exchange without an answer. connected: a connection to the service existed.
func OfError(err error, connected bool, now time.Time) Fault {
	if f := ofTLS(err, now); f.Class != None {
		return f
	}
	var dns *net.DNSError
	var op *net.OpError
	var timeout net.Error
	var proxy *proxyRefusal
	var coding *jsontree.CodingError
	switch {
	case errors.As(err, &coding):
		return Fault{Class: Coded, Said: coding.Name}
	case errors.Is(err, jsontree.ErrPacked):
		return Fault{Class: Coded, Said: "gzip that cannot be unpacked"}
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
		return Fault{Class: NoTLS}
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

// words are what happened, for a history: without a capital, a full stop or a next step.
var words = map[Class]string{
	NoName: "the host name cannot be looked up", NoPort: "the connection was refused",
	NoConnect: "no connection in time", Slow: "no answer in time", Cut: "the answer was cut off",
	TLSExpired: "the certificate has expired", TLSEarly: "the certificate is not valid yet",
	TLSName: "the certificate is for another name", TLSIssuer: "the certificate's authority is not known here",
	TLSBad: "the certificate is not valid", TLSVersion: "no common TLS version",
	NoTLS: "no TLS on the port", PlainHTTP: "plain HTTP on the port for https",
	HTTPToTLS:  "TLS on the port for plain http",
	ProxyFault: "the proxy cannot be reached", ProxyAsks: "the proxy requires a login",
	Gateway: "a gateway got no answer from the service", Maintenance: "maintenance or overload",
	Failed: "the service failed", Gone: "this version of the interface is gone", Moved: "a redirection",
	Useless: "an answer of no use",
	Page:    "a web page instead of an answer", Garbage: "not JSON", TooLong: "longer than an answer to a login",
	Coded:      "an encoding that opdeck does not read",
	Unreadable: "no tokens that can be read", Throttled: "too many requests", NoRoute: "no such address",
	Locked:    "the account is locked",
	TwoFactor: "a two-factor code is required", Password: "login or password refused",
	Refused: "refused", NoPassword: "the password is not available",
	NotAnswered: "no usable answer",
}

// String says what happened: "the service failed, HTTP status 500, it says: …"; "" for None. It is safe to draw.
func (f Fault) String() string {
	if f.Class == None {
		return ""
	}
	out := words[f.Class]
	if out == "" { // written by a newer program
		out = strings.ReplaceAll(string(f.Class), "_", " ")
	}
	if f.Target != "" {
		out += " (" + f.Target + ")"
	}
	if f.Names != "" {
		out += " (" + f.Names + ")"
	}
	switch {
	case f.Shape != "":
		out += ", " + f.Shape
	case f.Status != 0:
		out += fmt.Sprintf(", HTTP status %d", f.Status)
	}
	switch {
	case f.Said != "" && f.Instead():
		out += ": " + f.Said
	case f.Said != "":
		out += `: "` + f.Said + `"`
	}
	return out
}

// Permanent reports whether no retry helps: someone has to change the config, the certificate, the proxy or the
// version first.
func (f Fault) Permanent() bool {
	switch f.Class {
	case TLSExpired, TLSEarly, TLSName, TLSIssuer, TLSBad, TLSVersion, NoTLS, PlainHTTP, HTTPToTLS, ProxyAsks, Gone,
		Moved,
		TooLong:
		return true
	}
	return false
}
