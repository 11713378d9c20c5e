//go:build unix

package scenario

import (
	"errors"
	"io"
	"net"
	"strings"
	"sync"
	"testing"
	"time"
)

// relay carries connections to a target and can refuse, cut or stall them. It
// keeps what clients send.
type relay struct {
	network string
	addr    string // clients connect here
	target  string

	mu       sync.Mutex // guards what follows
	listener net.Listener
	conns    map[net.Conn]bool
	stalled  chan struct{} // not nil: everything waits until it closes
	cutting  bool          // new connections are closed at once
	hits     []hit
	sent     []byte // all bytes from clients
}

// hit is one HTTP request as it came by.
type hit struct {
	At   time.Time
	Line string // method and path
	Raw  string // the head, and the body if it came with it
}

func newRelay(t testing.TB, network, target string) *relay {
	t.Helper()
	r := &relay{network: network, target: target, conns: map[net.Conn]bool{}, addr: "127.0.0.1:0"}
	r.up(t)
	t.Cleanup(func() {
		r.pass()
		r.down()
	})
	return r
}

// newUnixRelay is a relay on a socket, for PostgreSQL.
func newUnixRelay(t testing.TB, addr, target string) *relay {
	t.Helper()
	r := &relay{network: "unix", target: target, conns: map[net.Conn]bool{}, addr: addr}
	r.up(t)
	t.Cleanup(func() {
		r.pass()
		r.down()
	})
	return r
}

// up listens, again after down at the same address.
func (r *relay) up(t testing.TB) {
	t.Helper()
	l, err := net.Listen(r.network, r.addr)
	if err != nil {
		t.Fatal(err)
	}
	r.mu.Lock()
	defer r.mu.Unlock()
	r.listener, r.addr = l, l.Addr().String()
	go r.accept(l)
}

func (r *relay) accept(l net.Listener) {
	for {
		c, err := l.Accept()
		if err != nil {
			return
		}
		r.mu.Lock()
		cutting := r.cutting
		r.conns[c] = !cutting
		r.mu.Unlock()
		if cutting {
			_ = c.Close()
			continue
		}
		go r.carry(c)
	}
}

// down refuses connections (no one listens) and ends the open ones.
func (r *relay) down() {
	r.mu.Lock()
	_ = r.listener.Close()
	r.mu.Unlock()
	r.closeAll()
}

// cut closes open connections, and new ones at once, until pass.
func (r *relay) cut() {
	r.mu.Lock()
	r.cutting = true
	r.mu.Unlock()
	r.closeAll()
}

// stall lets nothing through until pass: a black hole.
func (r *relay) stall() {
	r.mu.Lock()
	defer r.mu.Unlock()
	if r.stalled == nil {
		r.stalled = make(chan struct{})
	}
}

// pass ends cut and stall.
func (r *relay) pass() {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.cutting = false
	if r.stalled != nil {
		close(r.stalled)
		r.stalled = nil
	}
}

func (r *relay) closeAll() {
	r.mu.Lock()
	defer r.mu.Unlock()
	for c := range r.conns {
		_ = c.Close()
		delete(r.conns, c)
	}
}

func (r *relay) carry(client net.Conn) {
	defer func() { _ = client.Close() }()
	server, err := net.Dial(r.network, r.target)
	if err != nil {
		return
	}
	r.mu.Lock()
	r.conns[server] = true
	r.mu.Unlock()
	defer func() { _ = server.Close() }()
	go func() {
		r.copy(client, server, false)
		if tcp, ok := client.(*net.TCPConn); ok {
			_ = tcp.CloseWrite()
		}
	}()
	r.copy(server, client, true)
}

// hold waits while the relay is stalled, and reports whether it was: what went into
// the hole is lost.
func (r *relay) hold() (lost bool) {
	r.mu.Lock()
	wait := r.stalled
	r.mu.Unlock()
	if wait != nil {
		<-wait
	}
	return wait != nil
}

func (r *relay) copy(to, from net.Conn, watch bool) {
	buf := make([]byte, 64<<10)
	for {
		n, err := from.Read(buf)
		if n > 0 {
			if watch {
				r.see(buf[:n])
			}
			if r.hold() {
				_, _ = to.Close(), from.Close()
				return
			}
			if _, werr := to.Write(buf[:n]); werr != nil {
				return
			}
		}
		if err != nil {
			if !errors.Is(err, io.EOF) { // a reset is passed on as one
				if tcp, ok := to.(*net.TCPConn); ok {
					_ = tcp.SetLinger(0)
				}
				_ = to.Close()
			}
			return
		}
	}
}

// see notes requests. A client writes a head at once, so it begins a chunk.
func (r *relay) see(b []byte) {
	r.mu.Lock()
	defer r.mu.Unlock()
	if r.network == "tcp" {
		r.sent = append(r.sent, b...)
	}
	text := string(b)
	for _, method := range []string{"GET ", "POST ", "PUT ", "DELETE "} {
		if strings.HasPrefix(text, method) {
			line, _, _ := strings.Cut(text, "\r\n")
			r.hits = append(r.hits, hit{At: time.Now(), Line: strings.TrimSuffix(line, " HTTP/1.1"), Raw: text})
		}
	}
}

// seen lists requests whose line begins with prefix, since a moment.
func (r *relay) seen(prefix string, since time.Time) []hit {
	r.mu.Lock()
	defer r.mu.Unlock()
	var list []hit
	for _, h := range r.hits {
		if strings.HasPrefix(h.Line, prefix) && !h.At.Before(since) {
			list = append(list, h)
		}
	}
	return list
}

const (
	loginLine   = "POST /v2/auth/login"
	refreshLine = "GET /v2/auth/refresh/"
)

// mostPresentations is how often the most often shown refresh token came by.
func (r *relay) mostPresentations() int {
	times, most := map[string]int{}, 0
	for _, h := range r.seen(refreshLine, time.Time{}) {
		times[h.Line]++
		most = max(most, times[h.Line])
	}
	return most
}

// mostWithin is the most hits in any window of length d.
func mostWithin(hits []hit, d time.Duration) int {
	most, from := 0, 0
	for i := range hits {
		for hits[i].At.Sub(hits[from].At) >= d {
			from++
		}
		most = max(most, i-from+1)
	}
	return most
}
