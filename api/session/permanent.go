package session

import (
	"context"
	"crypto/tls"
	"crypto/x509"
	"errors"
	"fmt"
	"net"
	"slices"
	"strings"
	"time"
)

// Faults of an exchange that no retry fixes: a person has to check the service's certificate or base_url. They are
// fixed sentences, so that the history shows nothing that the service sent.
const (
	faultAuthority = "the service's certificate is not valid: this host does not trust its authority (for a private " +
		"one, set ca_file " +
		"in the context)"
	faultName      = "the service's certificate is not valid: it is not for the host name in base_url"
	faultTime      = "the service's certificate has expired or is not valid yet, or this host's clock is wrong"
	faultCert      = "the service's certificate is not valid"
	faultHandshake = "the TLS handshake with the service failed: there is no common TLS version (1.2 or later), or it " +
		"does not use TLS"
	faultTooLong = "the answer is longer than 64 KiB, too long for an answer to a login; check base_url"
)

// Permanent is a sentence, without capital and full stop, about a failed exchange that no retry fixes; ok is false if
// a retry may help.
func Permanent(err error) (sentence string, ok bool) {
	var authority x509.UnknownAuthorityError
	var host x509.HostnameError
	var invalid x509.CertificateInvalidError
	var cert *tls.CertificateVerificationError
	var record tls.RecordHeaderError
	var op *net.OpError
	switch {
	case errors.As(err, &authority):
		return faultAuthority, true
	case errors.As(err, &host):
		return faultName, true
	case errors.As(err, &invalid) && invalid.Reason == x509.Expired:
		return faultTime, true
	case errors.As(err, &invalid), errors.As(err, &cert):
		return faultCert, true
	// a TLS alert
	case errors.As(err, &record), errors.As(err, &op) && (op.Op == "remote error" || op.Op == "local error"):
		return faultHandshake, true
	case err != nil && strings.HasPrefix(err.Error(), "tls: "):
		return faultHandshake, true
	}
	return "", false
}

// permanentError lets a waiting person's call fail at once.
func permanentError(detail string, wait time.Duration) *Error {
	return &Error{Kind: ServiceUnavailable, Public: detail, RetryAfter: wait, permanent: true}
}

// failAtOnce: if the next try is at least this far away, a person gets the last try's permanent fault instead of
// waiting.
const failAtOnce = 5 * time.Second

// faultBefore is the error of the last rotation of all processes if it was permanent and the next try is at least
// wait away.
func (m *Manager) faultBefore(ctx context.Context, wait time.Duration) *Error {
	if wait < failAtOnce {
		return nil
	}
	events, err := m.store.Events(ctx, m.key, 0, 20)
	if err != nil {
		return nil
	}
	for _, e := range slices.Backward(events) {
		if e.Kind != EventLogin && e.Kind != EventRefresh {
			continue
		}
		if !e.Permanent {
			return nil
		}
		out := permanentError(e.Detail, wait)
		out.Public += fmt.Sprintf("; last try at %s, next try in %s", clock(e.At), short(wait))
		return out
	}
	return nil
}

// isPermanent reports whether err is a permanentError.
func isPermanent(err error) bool {
	var e *Error
	return errors.As(err, &e) && e.permanent
}
