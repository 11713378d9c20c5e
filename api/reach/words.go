package reach

import (
	"fmt"
	"strings"
)

// words are what happened, for a history: without a capital, a full stop or a next step.
var words = map[Class]string{
	NoName: "the host name cannot be looked up", NoPort: "the connection was refused",
	NoConnect: "no connection in time", Slow: "no answer in time", Cut: "the answer was cut off",
	TLSExpired: "the certificate has expired", TLSEarly: "the certificate is not valid yet",
	TLSName: "the certificate is for another name", TLSIssuer: "the certificate's authority is not known here",
	TLSBad: "the certificate is not valid", TLSVersion: "no common TLS version",
	PlainHTTP: "plain HTTP on the port for https", HTTPToTLS: "TLS on the port for plain http",
	ProxyFault: "the proxy cannot be reached", ProxyAsks: "the proxy requires a login",
	Gateway: "a gateway got no answer from the service", Maintenance: "maintenance or overload",
	Failed: "the service failed", Gone: "this version of the interface is gone", Moved: "a redirection",
	Useless: "an answer of no use",
	Page:    "a web page instead of an answer", Garbage: "not JSON", TooLong: "longer than an answer to a login",
	Unreadable: "no tokens that can be read", Throttled: "too many requests", NoRoute: "no such address",
	Locked: "the account is locked", Disabled: "the account or its login is disabled",
	TwoFactor: "a two-factor code is required", Password: "login or password refused",
	Unclear: "password or two-factor code refused", Refused: "refused", NoPassword: "the password is not available",
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
	case TLSExpired, TLSEarly, TLSName, TLSIssuer, TLSBad, TLSVersion, PlainHTTP, HTTPToTLS, ProxyAsks, Gone, Moved,
		TooLong:
		return true
	}
	return false
}
