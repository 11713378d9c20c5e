package sshserver

import (
	"fmt"
	"net"
	"runtime"
	"strings"
	"testing"
	"time"

	gossh "golang.org/x/crypto/ssh"

	"opdeck/internal/system/listen/listentest"
)

// from dials from an address of this host; skips where there is only one.
func from(t *testing.T, source, to string) (net.Conn, error) {
	t.Helper()
	d := net.Dialer{LocalAddr: &net.TCPAddr{IP: net.ParseIP(source)}, Timeout: 10 * time.Second}
	return d.DialContext(t.Context(), "tcp", to)
}

// 500 silent connections from 20 sources, each made again when it is cut: people who
// were there before get in, 10 of 10, also when one of the sources is their own.
func TestLoginsAmongSilentConnections(t *testing.T) {
	if runtime.GOOS != "linux" {
		t.Skip("only Linux has all of 127.0.0.0/8 on its loopback")
	}
	for name, sources := range map[string]struct{ first, n int }{"from elsewhere": {2, 20},
		"from their own address too": {1, 20}} {
		t.Run(name, func(t *testing.T) {
			// the network's time is not what is tested
			h := open(t, func(_ *fixture, o *Options) { o.Limits.Handshake = time.Minute })
			limit := 10 * time.Second
			login := func() error {
				nc, err := from(t, "127.0.0.1", h.addr)
				if err != nil {
					return err
				}
				defer nc.Close()
				_ = nc.SetDeadline(time.Now().Add(max(limit, time.Minute)))
				c, chans, reqs, err := gossh.NewClientConn(nc, h.addr,
					&gossh.ClientConfig{User: "ana", Auth: []gossh.AuthMethod{gossh.PublicKeys(h.signer("ana"))},
						HostKeyCallback: gossh.FixedHostKey(h.host)})
				if err != nil {
					return err
				}
				return gossh.NewClient(c, chans, reqs).Close()
			}
			began := time.Now()
			if err := login(); err != nil {
				t.Fatal(err)
			}
			if base := time.Since(began); base > 50*time.Millisecond { // a busy machine, or the race detector
				limit *= base / (50 * time.Millisecond)
			}
			n := scaled(500, 200)
			stop, made := listentest.Silent(t, n, func(i int) (net.Conn, error) {
				return from(t, fmt.Sprintf("127.0.0.%d", sources.first+i%sources.n), h.addr)
			})
			defer stop()
			for i := range 10 {
				began := time.Now()
				if err := login(); err != nil {
					t.Errorf("login %d: after %s: %v", i, time.Since(began).Round(time.Millisecond), err)
				} else if took := time.Since(began); took > limit {
					t.Errorf("login %d took %s, want at most %s", i, took, limit)
				} else {
					t.Logf("login %d took %s", i, took.Round(time.Millisecond))
				}
			}
			lines := strings.Count(h.log.String(), "ssh: connection refused")
			t.Logf("%d silent connections; %d lines in the log; %v", made.Load(), lines, h.srv.Refused())
			if lines > 2*20*(1+int(time.Since(began)/time.Minute)) { // reasons, sources, minutes
				t.Errorf("%d lines in the log", lines)
			}
		})
	}
}
