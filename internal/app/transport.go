package app

import (
	"crypto/tls"
	"crypto/x509"
	"errors"
	"fmt"
	"net"
	"net/http"
	"os"
	"strings"
	"time"

	"opdeck/api"
	"opdeck/internal/app/config"
)

// tlsConfig is used for every connection of opdeck: the system's authorities plus the context's own. Verification
// cannot be switched off.
func tlsConfig(c config.Context) (*tls.Config, error) {
	conf := &tls.Config{MinVersion: tls.VersionTLS12}
	if c.CAFile == "" {
		return conf, nil
	}
	pem, err := os.ReadFile(c.CAFile)
	if err != nil {
		return nil, &api.Error{Kind: api.BadConfig, Public: fmt.Sprintf("contexts.%s.ca_file cannot be read.", c.Name),
			Err: err}
	}
	pool, err := x509.SystemCertPool()
	if err != nil {
		pool = x509.NewCertPool()
	}
	if !pool.AppendCertsFromPEM(pem) {
		return nil, &api.Error{Kind: api.BadConfig, Public: fmt.Sprintf("contexts.%s.ca_file contains no certificate.",
			c.Name)}
	}
	conf.RootCAs = pool
	return conf, nil
}

// newTransport is the transport of API calls, without a proxy.
func newTransport(conf *tls.Config) *http.Transport {
	d := &net.Dialer{Timeout: 10 * time.Second, KeepAlive: 30 * time.Second}
	return &http.Transport{
		DialContext:           d.DialContext,
		TLSClientConfig:       conf,
		TLSHandshakeTimeout:   10 * time.Second,
		ResponseHeaderTimeout: 0, // the call's own deadline applies
		IdleConnTimeout:       60 * time.Second,
		MaxIdleConnsPerHost:   4,
		ForceAttemptHTTP2:     true,
	}
}

// checkEnvironment refuses debugging switches that print tokens (security rule
// 3.2.3), outside of tests against the built-in service.
func checkEnvironment(c config.Context, env func(string) string) error {
	if c.Sandbox {
		return nil
	}
	if strings.Contains(env("GODEBUG"), "http2debug") {
		return &api.Error{Kind: api.BadConfig, Public: "GODEBUG=http2debug prints tokens; opdeck does not start with it."}
	}
	if c.Kind == config.Production && env("SSLKEYLOGFILE") != "" {
		return &api.Error{Kind: api.BadConfig,
			Public: "SSLKEYLOGFILE is set; opdeck does not start with it in a production context."}
	}
	return nil
}

// errNoContext lists the existing contexts.
func errNoContext(name string, names []string) error {
	return &api.Error{Kind: api.BadConfig, Public: fmt.Sprintf("There is no context %q.", name),
		Remedy: api.Remedy{Kind: api.ChooseContext, Names: names}, Err: errors.New("context")}
}
