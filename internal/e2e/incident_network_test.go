//go:build linux

package e2e

import (
	"bufio"
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/tls"
	"crypto/x509"
	"encoding/pem"
	"io"
	"net"
	"net/http"
	"net/http/httptest"
	"os"
	"strings"
	"time"

	"golang.org/x/sys/unix"
)

// valid is what a certificate of the service says.
type valid struct {
	from, until time.Time
	name        string // "": the service's address
}

func lasting() valid {
	return valid{from: time.Now().Add(-time.Hour), until: time.Now().Add(90 * 24 * time.Hour)}
}

// secures makes the service of a scene speak TLS; its authority is in the config.
func (s *scene) secures(v valid) {
	s.t.Helper()
	key, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	if err != nil {
		s.t.Fatal(err)
	}
	s.up.Close()
	s.up.Server = httptest.NewUnstartedServer(s.up)
	conf := &tls.Config{Certificates: []tls.Certificate{s.issued(key, v)}}
	s.up.tls.Store(conf)
	s.up.TLS = &tls.Config{Certificates: conf.Certificates,
		GetConfigForClient: func(*tls.ClientHelloInfo) (*tls.Config, error) { return s.up.tls.Load(), nil }}
	s.up.Config.ErrorLog = nothing
	s.up.StartTLS()
	s.base = s.up.URL
	s.context += "ca_file = \"" + s.file("ca.pem") + "\"\n"
}

// issued makes a certificate that signs itself.
func (s *scene) issued(key *ecdsa.PrivateKey, v valid) tls.Certificate {
	s.t.Helper()
	tmpl := &x509.Certificate{NotBefore: v.from, NotAfter: v.until, IsCA: true,
		BasicConstraintsValid: true, KeyUsage: x509.KeyUsageDigitalSignature | x509.KeyUsageCertSign,
		IPAddresses: []net.IP{net.IPv4(127, 0, 0, 1)}}
	if v.name != "" {
		tmpl.IPAddresses, tmpl.DNSNames = nil, []string{v.name}
	}
	der, err := x509.CreateCertificate(rand.Reader, tmpl, tmpl, key.Public(), key)
	if err != nil {
		s.t.Fatal(err)
	}
	s.write("ca.pem", string(pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE", Bytes: der})))
	return tls.Certificate{Certificate: [][]byte{der}, PrivateKey: key}
}

// certificate gives every new connection another certificate, of the same key, and ends the old connections.
func (s *scene) certificate(v valid) {
	s.t.Helper()
	key := s.up.tls.Load().Certificates[0].PrivateKey.(*ecdsa.PrivateKey)
	old, err := os.ReadFile(s.file("ca.pem"))
	if err != nil {
		s.t.Fatal(err)
	}
	s.up.tls.Store(&tls.Config{Certificates: []tls.Certificate{s.issued(key, v)}})
	s.write("ca.pem", string(old)) // the authority is the same
	s.up.CloseClientConnections()
}

// recertified gives back the first certificate.
func (s *scene) recertified() { s.up.tls.Store(&tls.Config{Certificates: s.up.TLS.Certificates}) }

// certified is an incident of a certificate, which the service then replaces. It is its own authority.
func certified(change func(v *valid)) incident {
	return incident{begin: func(s *scene) {
		v := lasting()
		change(&v)
		s.secures(v)
	}, mend: func(s *scene) {
		key := s.up.tls.Load().Certificates[0].PrivateKey.(*ecdsa.PrivateKey)
		s.up.tls.Store(&tls.Config{Certificates: []tls.Certificate{s.issued(key, lasting())}})
		s.stops()
		s.up.CloseClientConnections()
		s.serves()
	}}
}

// corrected is an incident of the config: it is corrected, and the server started again with it.
func corrected(wrong, right func(s *scene)) incident {
	return incident{begin: wrong, mend: func(s *scene) {
		right(s)
		s.stops()
		s.serves()
	}}
}

// address is an incident in which base_url is that of something else.
func address(elsewhere func(s *scene) string) incident {
	return corrected(func(s *scene) { s.base = elsewhere(s) }, func(s *scene) { s.base = s.up.URL })
}

// listens serves each connection with serve.
func (s *scene) listens(serve func(net.Conn)) string {
	s.t.Helper()
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		s.t.Fatal(err)
	}
	s.t.Cleanup(func() { _ = l.Close() })
	go func() {
		for {
			conn, err := l.Accept()
			if err != nil {
				return
			}
			go func() {
				defer conn.Close()
				serve(conn)
			}()
		}
	}()
	return l.Addr().String()
}

// silent is an address whose connections are never completed: its queue is full.
func silent(s *scene) string {
	fd, err := unix.Socket(unix.AF_INET, unix.SOCK_STREAM|unix.SOCK_CLOEXEC, 0)
	if err == nil {
		err = unix.Bind(fd, &unix.SockaddrInet4{Addr: [4]byte{127, 0, 0, 1}})
	}
	if err == nil {
		err = unix.Listen(fd, 0)
	}
	at, known := unix.Sockaddr(nil), error(nil)
	if err == nil {
		at, known = unix.Getsockname(fd)
	}
	if err != nil || known != nil {
		s.t.Fatal(err, known)
	}
	s.t.Cleanup(func() { _ = unix.Close(fd) })
	to := net.TCPAddr{IP: net.IPv4(127, 0, 0, 1), Port: at.(*unix.SockaddrInet4).Port}
	for range 4 {
		conn, err := net.DialTimeout("tcp", to.String(), 200*time.Millisecond)
		if err != nil {
			break
		}
		s.t.Cleanup(func() { _ = conn.Close() })
	}
	return to.String()
}

// proxied makes all calls of a scene use a proxy.
func proxied(s *scene, at string) {
	s.secures(lasting())
	s.rest += "[service]\nproxy = \"http://" + at + "\"\n"
}

func unproxied(s *scene) { s.rest = "" }

func networkIncidents() map[string]incident {
	day := 24 * time.Hour
	return map[string]incident{
		"01 DNS":               address(func(s *scene) string { return "https://stage.invalid" }).says("stage.example.com", `stage\.invalid`),
		"02 refused":           address(func(s *scene) string { return "http://127.0.0.1:9" }),
		"03 connect hangs":     address(func(s *scene) string { return "http://" + silent(s) }).needs(10 * time.Second).slowly(),
		"04 TLS expired":       certified(func(v *valid) { v.from, v.until = v.from.Add(-9*day), time.Now().Add(-2*day) }),
		"04 TLS not valid yet": certified(func(v *valid) { v.from = time.Now().Add(2 * day) }),
		"05 TLS name": corrected(func(s *scene) {
			v := lasting()
			v.name = "old.example.com"
			s.secures(v)
		}, func(s *scene) {
			s.context = ""
			s.secures(lasting()) // at another address
		}),
		"06 TLS authority": corrected(func(s *scene) {
			s.secures(lasting())
			s.context = ""
		}, func(s *scene) { s.context = "ca_file = \"" + s.file("ca.pem") + "\"\n" }),
		"07 TLS 1.0": {begin: func(s *scene) {
			s.secures(lasting())
			old := s.up.tls.Load().Clone()
			old.MinVersion, old.MaxVersion = tls.VersionTLS10, tls.VersionTLS11
			s.up.tls.Store(old)
		}, mend: func(s *scene) {
			s.up.tls.Store(&tls.Config{Certificates: s.up.tls.Load().Certificates})
		}},
		"no TLS": address(func(s *scene) string {
			return "https://" + s.listens(func(conn net.Conn) { _, _ = io.WriteString(conn, "SSH-2.0-OpenSSH_9.6\r\n") })
		}),
		"08 plain HTTP": address(func(s *scene) string { return strings.Replace(s.up.URL, "http:", "https:", 1) }),
		"09 http to TLS": address(func(s *scene) string {
			return "http://" + s.listens(func(conn net.Conn) {
				if _, err := http.ReadRequest(bufio.NewReader(conn)); err == nil {
					_, _ = conn.Write([]byte{0x15, 3, 1, 0, 2, 2, 22})
				}
			})
		}),
		"11 proxy wrong": corrected(func(s *scene) { proxied(s, "127.0.0.1:9") }, unproxied).says("proxy:3128",
			`127\.0\.0\.1:9`),
		"11 proxy ignored": address(func(s *scene) string {
			s.env = append(s.env, "HTTPS_PROXY=http://127.0.0.1:9")
			return "https://" + silent(s)
		}).needs(10 * time.Second).slowly(),
		"12 proxy 407": corrected(func(s *scene) {
			proxied(s, s.listens(func(conn net.Conn) {
				if _, err := http.ReadRequest(bufio.NewReader(conn)); err == nil {
					_, _ = conn.Write([]byte("HTTP/1.1 407 Proxy Authentication Required\r\nContent-Length: 0\r\n\r\n"))
				}
			}))
		}, unproxied),
		"live, then TLS expired": {live: true, prepare: func(s *scene) { s.secures(lasting()) }, begin: func(s *scene) {
			s.certificate(valid{from: time.Now().Add(-9 * day), until: time.Now().Add(-2 * day)})
		}, mend: (*scene).recertified},
		"live, then TLS name": {live: true, prepare: func(s *scene) { s.secures(lasting()) }, begin: func(s *scene) {
			v := lasting()
			v.name = "old.example.com"
			s.certificate(v)
		}, mend: (*scene).recertified},
		"certificate ends": certified(func(v *valid) { v.until = time.Now().Add(3 * day) }),
	}
}
