package sshserver

import (
	"context"
	"fmt"
	"io"
	"log/slog"
	"net"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"opdeck/internal/e2e/lockedbuffer"

	gossh "golang.org/x/crypto/ssh"
)

// Times are tested in virtual time, over connections within this process.

// wire is a listener whose connections are pipes.
type wire struct {
	calls chan net.Conn
	once  sync.Once
	over  chan struct{}
	ours  []net.Conn // the clients' ends
}

func newWire() *wire { return &wire{calls: make(chan net.Conn), over: make(chan struct{})} }

func (w *wire) Accept() (net.Conn, error) {
	select {
	case c := <-w.calls:
		return c, nil
	case <-w.over:
		return nil, net.ErrClosed
	}
}

func (w *wire) Close() error { w.once.Do(func() { close(w.over) }); return nil }

func (*wire) Addr() net.Addr { return &net.TCPAddr{IP: net.IPv4(127, 0, 0, 1), Port: 2222} }

// placed is a pipe with an address.
type placed struct{ net.Conn }

func (placed) RemoteAddr() net.Addr { return &net.TCPAddr{IP: net.IPv4(192, 0, 2, 7), Port: 5022} }

func (w *wire) dial() net.Conn {
	here, there := net.Pipe()
	w.calls <- placed{there}
	p := &posted{Conn: here, out: make(chan []byte, 1000), over: make(chan struct{})}
	go p.carry()
	w.ours = append(w.ours, p)
	return p
}

// posted does not wait for the other side to read: both sides of SSH begin with
// writing.
type posted struct {
	net.Conn
	out  chan []byte
	over chan struct{}
	once sync.Once
}

func (p *posted) carry() {
	for {
		select {
		case b := <-p.out:
			if _, err := p.Conn.Write(b); err != nil {
				return
			}
		case <-p.over:
			return
		}
	}
}

func (p *posted) Write(b []byte) (int, error) {
	select {
	case p.out <- append([]byte(nil), b...):
		return len(b), nil
	case <-p.over:
		return 0, net.ErrClosed
	}
}

func (p *posted) Close() error {
	p.once.Do(func() { close(p.over) })
	return p.Conn.Close()
}

// virtual runs a fixture in virtual time; body's client is ana's, and ends with it.
func virtual(t *testing.T, limits Limits, change func(*Options), body func(h *fixture, w *wire)) {
	dir := t.TempDir()
	host, ana := key(t, dir, "host"), key(t, dir, "ana")
	write(t, filepath.Join(dir, "keys"), `name="ana",role="operator" `+line(ana))
	synctest.Test(t, func(t *testing.T) {
		ring, err := LoadAuthorizedKeys(filepath.Join(dir, "keys"), "", time.Now)
		if err != nil {
			t.Fatal(err)
		}
		h := &fixture{t: t, dir: dir, trail: &trail{}, log: &lockedbuffer.Buffer{}, host: host.PublicKey()}
		o := Options{HostKey: host, Keys: ring, Console: showScreen, Exec: echo, Audit: h.trail,
			Log: slog.New(slog.NewTextHandler(h.log, nil)), Limits: limits}
		if change != nil {
			change(&o)
		}
		if h.srv, err = New(o); err != nil {
			t.Fatal(err)
		}
		w := newWire()
		ctx, cancel := context.WithCancel(t.Context())
		done := make(chan error, 1)
		go func() { done <- h.srv.Serve(ctx, w) }()
		h.stop = sync.OnceFunc(func() {
			cancel()
			if err := <-done; err != nil {
				t.Error(err)
			}
		})
		body(h, w)
		h.stop()
		for _, c := range w.ours {
			_ = c.Close()
		}
		time.Sleep(time.Second) // the last ticks of the views
	})
}

// over logs in over a wire.
func (h *fixture) over(nc net.Conn) *gossh.Client {
	h.t.Helper()
	c, chans, reqs, err := gossh.NewClientConn(nc, "host:22",
		&gossh.ClientConfig{User: "ana", Auth: []gossh.AuthMethod{gossh.PublicKeys(h.signer("ana"))},
			HostKeyCallback: gossh.FixedHostKey(h.host)})
	if err != nil {
		h.t.Fatal(err)
	}
	return gossh.NewClient(c, chans, reqs)
}

// A view that ticks is no sign of a person: only keys are. The warning comes
// before the end (security case S16).
func TestIdle(t *testing.T) {
	virtual(t, Limits{}, nil, func(h *fixture, w *wire) {
		x := h.console(h.over(w.dial()), "LC_TICK=1")
		time.Sleep(10 * time.Minute)
		x.key(t, "k")
		time.Sleep(12*time.Minute + 30*time.Second)
		if strings.Contains(x.out.String(), "this session ends in") {
			t.Error("the warning came early")
		}
		time.Sleep(time.Minute)
		if !strings.Contains(x.out.String(), "No key pressed for 13 min: this session ends in 2 min") {
			t.Errorf("no warning: %.300s", x.out)
		}
		x.key(t, "k") // it begins anew
		time.Sleep(14*time.Minute + 59*time.Second)
		if h.sessions() != 1 {
			t.Error("the session ended early")
		}
		began := time.Now()
		err := x.Wait()
		if took := time.Since(began); took > 2*time.Second {
			t.Errorf("it ended %s late", took)
		}
		if exitOf(err) != 130 || !strings.Contains(x.out.String(), "No key was pressed for too long") {
			t.Errorf("it ended with %v", err)
		}
		if n := h.trail.find("console.close", "idle after 38m30s"); len(n) != 1 {
			t.Errorf("the end is recorded as %+v", h.trail.find("console.close", ""))
		}
	})
}

// No one stays longer than eight hours, keys or not (S27).
func TestEightHours(t *testing.T) {
	virtual(t, Limits{}, nil, func(h *fixture, w *wire) {
		x := h.console(h.over(w.dial()))
		for range 47 {
			time.Sleep(10 * time.Minute)
			x.key(t, "k")
		}
		time.Sleep(6 * time.Minute)
		if !strings.Contains(x.out.String(), "ends in 5 min") {
			t.Error("no warning")
		}
		x.key(t, "k")
		began := time.Now()
		err := x.Wait()
		if took := time.Since(began); took > 5*time.Minute || exitOf(err) != 130 {
			t.Errorf("it ended after %s more with %v", took, err)
		}
		if len(h.trail.find("console.close", "time_limit")) != 1 {
			t.Errorf("the end is recorded as %+v", h.trail.find("console.close", ""))
		}
	})
}

// A client that disappears without a word is gone after three misses (S18).
func TestKeepAlive(t *testing.T) {
	virtual(t, Limits{}, nil, func(h *fixture, w *wire) {
		pulled := &cable{Conn: w.dial(), pulled: make(chan struct{})}
		c := h.over(pulled)
		x := h.console(c)
		time.Sleep(5 * time.Minute)
		if h.sessions() != 1 {
			t.Fatal("a session that answers was ended")
		}
		_ = x
		close(pulled.pulled)
		time.Sleep(2 * time.Minute)
		if open, on := h.sessions(), len(h.srv.authenticated()); open != 0 || on != 0 {
			t.Errorf("a session that is gone is still there: %d sessions, %d connections", open, on)
		}
		_ = pulled.Conn.Close()
		_ = c.Close()
	})
}

// cable is a connection whose cable can be pulled: nothing is written any more,
// what is read goes nowhere.
type cable struct {
	net.Conn
	pulled chan struct{}
}

func (c *cable) Write(b []byte) (int, error) {
	select {
	case <-c.pulled:
		return len(b), nil
	default:
		return c.Conn.Write(b)
	}
}

// A client that does not read what is written is cut off, although it answers on
// the network.
func TestStall(t *testing.T) {
	virtual(t, Limits{}, func(o *Options) {
		o.Exec = func(_ context.Context, c Command) int {
			for {
				if _, err := fmt.Fprintln(c.Out, strings.Repeat("x", 1000)); err != nil {
					return 1
				}
			}
		}
	}, func(h *fixture, w *wire) {
		c := h.over(w.dial())
		s, err := c.NewSession()
		if err != nil {
			t.Fatal(err)
		}
		if _, err := s.StdoutPipe(); err != nil { // and it is never read
			t.Fatal(err)
		}
		if err := s.Start("forever"); err != nil {
			t.Fatal(err)
		}
		time.Sleep(40 * time.Second)
		if open, on := h.sessions(), len(h.srv.authenticated()); open != 0 || on != 0 {
			t.Errorf("it still holds %d sessions, %d connections", open, on)
		}
		_ = c.Close()
	})
}

// A connection before the proof has ten seconds; one after it without a session
// has a minute.
func TestWaitingForNothing(t *testing.T) {
	virtual(t, Limits{}, nil, func(h *fixture, w *wire) {
		silent := w.dial()
		began := time.Now()
		_, _ = io.Copy(io.Discard, silent)
		if took := time.Since(began); took < 9*time.Second || took > 11*time.Second {
			t.Errorf("a silent connection lived for %s", took)
		}
		c := h.over(w.dial())
		began = time.Now()
		_ = c.Wait()
		if took := time.Since(began); took < 59*time.Second || took > 61*time.Second {
			t.Errorf("a connection without a session lived for %s", took)
		}
		// A session channel that starts nothing.
		c = h.over(w.dial())
		if _, err := c.NewSession(); err != nil {
			t.Fatal(err)
		}
		began = time.Now()
		_ = c.Wait()
		if took := time.Since(began); took < 89*time.Second || took > 92*time.Second {
			t.Errorf("a session that started nothing lived for %s", took)
		}
	})
}

// At shutdown the server waits for what was sent, ignores keys, and notifies everyone (S20).
func TestEnd(t *testing.T) {
	var settled time.Duration
	virtual(t, Limits{}, func(o *Options) {
		o.AwaitWrites = func(ctx context.Context, session string) {
			if session == "" {
				t.Error("whose writes?")
			}
			began := time.Now()
			select {
			case <-time.After(5 * time.Second): // a write is under way
			case <-ctx.Done():
			}
			settled = time.Since(began)
		}
	}, func(h *fixture, w *wire) {
		x := h.console(h.over(w.dial()))
		time.Sleep(time.Second)
		began := time.Now()
		go func() {
			time.Sleep(2 * time.Second)
			_, _ = io.WriteString(x.in, "K")
		}()
		h.stop()
		if took := time.Since(began); took < 5*time.Second || took > 10*time.Second || settled != 5*time.Second {
			t.Errorf("the end took %s, the write %s", took, settled)
		}
		if err := x.Wait(); err == nil || !strings.Contains(x.out.String(), "The server is stopping") ||
			strings.Contains(x.out.String(), "K]") {
			t.Errorf("%v: %s", err, x.out)
		}
	})
}

// A program that does not end is cut off.
func TestEndOfTheStubborn(t *testing.T) {
	virtual(t, Limits{}, func(o *Options) {
		o.Console = func(_ context.Context, t Terminal) error {
			_, err := io.Copy(io.Discard, t.In)
			return err
		}
	}, func(h *fixture, w *wire) {
		h.console(h.over(w.dial()))
		time.Sleep(time.Second)
		began := time.Now()
		h.stop()
		if took := time.Since(began); took > 11*time.Second {
			t.Errorf("the end took %s", took)
		}
	})
}

func TestKeyLapses(t *testing.T) {
	dir := t.TempDir()
	ana := key(t, dir, "ana")
	synctest.Test(t, func(t *testing.T) {
		until := time.Now().Add(time.Hour).UTC().Format("200601021504") + "Z"
		write(t, filepath.Join(dir, "keys"), `name="ana",role="operator",expiry-time="`+until+`" `+line(ana))
		ring, err := LoadAuthorizedKeys(filepath.Join(dir, "keys"), "", time.Now)
		if err != nil {
			t.Fatal(err)
		}
		if _, err := ring.authorize(ana.PublicKey(), "ana", addr("192.0.2.1")); err != nil {
			t.Error(err)
		}
		time.Sleep(time.Hour)
		if _, err := ring.authorize(ana.PublicKey(), "ana", addr("192.0.2.1")); err == nil {
			t.Error("a key that has lapsed is good")
		}
	})
}
