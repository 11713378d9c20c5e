package reach

import (
	"net/http"
	"time"
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
	TooLong     Class = "too_long"     // longer than an answer to a login can be
	Unreadable  Class = "unreadable"   // a good status, and an answer in which opdeck finds no tokens
	Useless     Class = "useless"      // answered, and of no use to this call; Shape says with what
	Throttled   Class = "throttled"    // 429
	NoRoute     Class = "no_route"     // 404 or 405 where the login belongs
	Locked      Class = "locked"       // the account is locked
	Disabled    Class = "disabled"     // the account or its login is disabled
	TwoFactor   Class = "two_factor"   // a code is demanded
	Password    Class = "password"     // login or password are wrong
	Unclear     Class = "unclear"      // the words may mean the password or a code
	Refused     Class = "refused"      // refused for a reason that no known words name
	NoPassword  Class = "no_password"  // this host has no password to send
	NotAnswered Class = "not_answered" // no usable answer, for a reason that is not known
)

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
	case Page, Garbage, Unreadable, TooLong, Cut:
		return true
	}
	return false
}

// Answered reports whether the service itself answered.
func (f Fault) Answered() bool {
	switch f.Class {
	case Failed, Gone, Useless, Unreadable, Throttled, NoRoute, Locked, Disabled, TwoFactor, Password, Unclear, Refused:
		return true
	}
	return false
}

// Connecting reports whether a fault keeps every call from the service, whatever its address.
func (c Class) Connecting() bool {
	switch c {
	case NoName, NoPort, NoConnect, TLSExpired, TLSEarly, TLSName, TLSIssuer, TLSBad, TLSVersion, PlainHTTP, HTTPToTLS,
		ProxyFault, ProxyAsks:
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
