package session

import (
	"errors"
	"net"
	"net/netip"
	"net/url"
	"strconv"
	"strings"
)

// NormalKey normalises a key (rule A2): scheme and host in lower case, no default port, no slash at the end; the
// account is trimmed, its case kept. It returns an error unless the address is https, or http to a literal loopback
// address (spec of the config: plain http never leaves the machine). A host name must be ASCII: write an
// international one in its xn-- form.
func NormalKey(baseURL, account string) (Key, error) {
	account = strings.TrimSpace(account)
	if account == "" {
		return Key{}, errors.New("session: the login is empty")
	}
	u, err := url.Parse(strings.TrimSpace(baseURL))
	if err != nil || u.Host == "" || u.Opaque != "" {
		return Key{}, errors.New("session: base_url is not an address such as https://host")
	}
	if u.User != nil || u.RawQuery != "" || u.ForceQuery || u.Fragment != "" || strings.ContainsAny(baseURL, "\\\r\n#") {
		return Key{}, errors.New("session: base_url must contain only scheme, host, port and path")
	}
	host, port := strings.TrimSuffix(strings.ToLower(u.Hostname()), "."), u.Port()
	if host == "" || strings.ContainsAny(host, "%_ ") || !ascii(host) {
		return Key{}, errors.New("session: the host of base_url is not usable (write an international name as xn--…)")
	}
	scheme := strings.ToLower(u.Scheme)
	switch {
	case scheme == "https":
	case scheme == "http" && loopback(host):
	default:
		return Key{}, errors.New("session: base_url must be https; plain http only to 127.0.0.1 or [::1]")
	}
	if port, err = normalPort(scheme, port); err != nil {
		return Key{}, err
	}
	if port != "" {
		host = net.JoinHostPort(host, port)
	} else if strings.Contains(host, ":") {
		host = "[" + host + "]"
	}
	return Key{BaseURL: scheme + "://" + host + strings.TrimRight(u.EscapedPath(), "/"), Account: account}, nil
}

func ascii(s string) bool {
	for i := range len(s) {
		if s[i] < 0x21 || s[i] > 0x7e {
			return false
		}
	}
	return true
}

func loopback(host string) bool {
	a, err := netip.ParseAddr(host)
	return err == nil && a.IsLoopback() && !a.Is4In6()
}

func normalPort(scheme, port string) (string, error) {
	if port == "" {
		return "", nil
	}
	n, err := strconv.Atoi(port)
	if err != nil || n < 1 || n > 65535 {
		return "", errors.New("session: the port of base_url must be from 1 to 65535")
	}
	if (scheme == "https" && n == 443) || (scheme == "http" && n == 80) {
		return "", nil
	}
	return strconv.Itoa(n), nil
}
