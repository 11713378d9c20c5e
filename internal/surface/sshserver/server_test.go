package sshserver

import (
	"context"
	"crypto/ed25519"
	"crypto/rand"
	"encoding/pem"
	"fmt"
	"io"
	"log/slog"
	"net"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"time"

	tea "github.com/charmbracelet/bubbletea"
	"go.uber.org/goleak"
	gossh "golang.org/x/crypto/ssh"

	"opdeck/api"
	"opdeck/api/apitest"
	"opdeck/internal/e2e/lockedbuffer"
	"opdeck/ui"
	"opdeck/ui/paint"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

// trail is an audit trail that is looked at.
type trail struct {
	mu    sync.Mutex
	notes []note
}

type note struct {
	who   api.Actor
	event api.Event
}

func (a *trail) Note(_ context.Context, who api.Actor, e api.Event) error {
	a.mu.Lock()
	defer a.mu.Unlock()
	a.notes = append(a.notes, note{who, e})
	return nil
}

// find returns the notes of a name whose detail holds a text.
func (a *trail) find(name, text string) (out []note) {
	a.mu.Lock()
	defer a.mu.Unlock()
	for _, n := range a.notes {
		if n.event.Name == name && strings.Contains(n.event.Detail, text) {
			out = append(out, n)
		}
	}
	return out
}

// sessions is the number of sessions that the trail records as begun and not as ended.
func (h *fixture) sessions() int {
	return len(h.trail.find("console.open", "")) - len(h.trail.find("console.close", ""))
}

// screen is a console that counts and shows the keys it got.
type screen struct {
	who   api.Actor
	typed string
	toast string
	w, h  int
	sizes int
	tick  bool
}

type ticked struct{}

func (s *screen) Init() tea.Cmd {
	if s.tick {
		return s.beat
	}
	return nil
}

func (s *screen) beat() tea.Msg { time.Sleep(200 * time.Millisecond); return ticked{} }

func (s *screen) Update(msg tea.Msg) (tea.Model, tea.Cmd) {
	switch msg := msg.(type) {
	case tea.KeyMsg:
		switch msg.String() {
		case "q":
			return s, tea.Quit
		case "!":
			panic("a secret value")
		case "@":
			return s, func() tea.Msg { panic("a secret value") }
		}
		s.typed += msg.String()
	case tea.WindowSizeMsg:
		s.w, s.h = msg.Width, msg.Height
		s.sizes++
	case ui.Toast:
		s.toast = msg.Text
	case ticked:
		s.typed += "."
		return s, s.beat
	}
	return s, nil
}

func (s *screen) View() string {
	return fmt.Sprintf("hello %s (%s)\ntyped [%s]\nsize %dx%d\ntoast [%s]", s.who.Name, s.who.Role, s.typed, s.w, s.h,
		s.toast)
}

// showScreen is a Console.
func showScreen(ctx context.Context, t Terminal) error {
	m := &screen{who: api.ActorOf(ctx), tick: t.Getenv("LC_TICK") != ""}
	_, err := paint.Run(ctx, m, paint.Options{In: t.In, Out: t.Out, Size: t.Size, Resizes: t.Resizes, Filter: t.Filter,
		CloseWithin: 2 * time.Second})
	if err == paint.ErrInputClosed {
		return nil
	}
	return err
}

// echo is an Exec.
func echo(ctx context.Context, c Command) int {
	who := api.ActorOf(ctx)
	switch {
	case len(c.Args) == 1 && c.Args[0] == "cat":
		_, _ = io.Copy(c.Out, c.In)
		return 0
	case len(c.Args) == 1 && c.Args[0] == "boom":
		panic("a secret value")
	case len(c.Args) == 1 && c.Args[0] == "wait":
		<-ctx.Done()
		return 130
	}
	fmt.Fprintf(c.Out, "%s %s %s %q\n", who.Name, who.Role, who.Via, c.Args)
	return 7
}

// fixture is a server for a test with its people.
type fixture struct {
	t     testing.TB
	dir   string
	addr  string
	srv   *Server
	trail *trail
	log   *lockedbuffer.Buffer
	stop  func()
	host  gossh.PublicKey
	known sync.Once // the clients' file of host keys is written
}

// key makes a key pair; the private half is kept under dir/name in OpenSSH form.
func key(t testing.TB, dir, name string) gossh.Signer {
	t.Helper()
	_, private, err := ed25519.GenerateKey(rand.Reader)
	if err != nil {
		t.Fatal(err)
	}
	s, err := gossh.NewSignerFromKey(private)
	if err != nil {
		t.Fatal(err)
	}
	block, err := gossh.MarshalPrivateKey(private, name)
	if err != nil {
		t.Fatal(err)
	}
	write(t, filepath.Join(dir, name), string(pem.EncodeToMemory(block)))
	write(t, filepath.Join(dir, name+".pub"), line(s))
	return s
}

func line(s gossh.Signer) string { return string(gossh.MarshalAuthorizedKey(s.PublicKey())) }

func write(t testing.TB, path, text string) {
	t.Helper()
	if err := os.WriteFile(path, []byte(text), 0o600); err != nil {
		t.Fatal(err)
	}
}

// open starts a fixture where ana (operator), bo (viewer) and root (admin) live.
// change sees the options before the server is made.
func open(t testing.TB, change func(h *fixture, o *Options)) *fixture {
	t.Helper()
	h := &fixture{t: t, dir: t.TempDir(), trail: &trail{}, log: &lockedbuffer.Buffer{}}
	host := key(t, h.dir, "host")
	h.host = host.PublicKey()
	lines := ""
	for name, role := range map[string]api.Role{"ana": api.Operator, "bo": api.Viewer, "root": api.Admin} {
		lines += fmt.Sprintf("name=%q,role=%q %s", name, role, line(key(t, h.dir, name)))
	}
	write(t, h.keys(), lines)
	ca := key(t, h.dir, "ca")
	write(t, h.ca(), line(ca))
	ring, err := LoadAuthorizedKeys(h.keys(), h.ca(), time.Now)
	if err != nil {
		t.Fatal(err)
	}
	o := Options{HostKey: host, Keys: ring, Console: showScreen, Exec: echo, Audit: h.trail,
		Log: slog.New(slog.NewTextHandler(h.log, nil)), Limits: Limits{Reload: 20 * time.Millisecond,
			Recheck: 50 * time.Millisecond, Drain: 3 * time.Second}}
	if change != nil {
		change(h, &o)
	}
	if h.srv, err = New(o); err != nil {
		t.Fatal(err)
	}
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	h.addr = l.Addr().String()
	ctx, cancel := context.WithCancel(context.Background())
	done := make(chan error, 1)
	go func() { done <- h.srv.Serve(ctx, l) }()
	h.stop = sync.OnceFunc(func() {
		cancel()
		select {
		case err := <-done:
			if err != nil {
				t.Errorf("Serve: %v", err)
			}
		case <-time.After(30 * time.Second):
			t.Error("the server did not end within 30 s")
		}
	})
	t.Cleanup(h.stop)
	return h
}

func (h *fixture) keys() string { return filepath.Join(h.dir, "authorized_keys") }
func (h *fixture) ca() string   { return filepath.Join(h.dir, "ca_keys") }

// signer reads a private key of the fixture.
func (h *fixture) signer(name string) gossh.Signer {
	h.t.Helper()
	b, err := os.ReadFile(filepath.Join(h.dir, name))
	if err != nil {
		h.t.Fatal(err)
	}
	s, err := gossh.ParsePrivateKey(b)
	if err != nil {
		h.t.Fatal(err)
	}
	return s
}

// dial logs in.
func (h *fixture) dial(user string, with ...gossh.Signer) (*gossh.Client, error) {
	return gossh.Dial("tcp", h.addr, &gossh.ClientConfig{User: user, Auth: []gossh.AuthMethod{gossh.PublicKeys(with...)},
		HostKeyCallback: gossh.FixedHostKey(h.host), Timeout: 10 * time.Second})
}

func (h *fixture) login(user string) *gossh.Client {
	h.t.Helper()
	c, err := h.dial(user, h.signer(user))
	if err != nil {
		h.t.Fatal(err)
	}
	h.t.Cleanup(func() { _ = c.Close() })
	return c
}

// console is a console at the client's side.
type console struct {
	*gossh.Session
	in  io.WriteCloser
	out *lockedbuffer.Buffer
}

// console is a conversation in a terminal.
func (h *fixture) console(c *gossh.Client, env ...string) *console {
	h.t.Helper()
	return h.converse(c, func(s *gossh.Session) error {
		for _, e := range env {
			name, value, _ := strings.Cut(e, "=")
			_ = s.Setenv(name, value)
		}
		return s.RequestPty("xterm-256color", 24, 80, nil)
	})
}

// converse starts a session; before says what it is to be.
func (h *fixture) converse(c *gossh.Client, before func(*gossh.Session) error) *console {
	h.t.Helper()
	s, err := c.NewSession()
	if err != nil {
		h.t.Fatal(err)
	}
	x := &console{Session: s, out: &lockedbuffer.Buffer{}}
	s.Stdout, s.Stderr = x.out, x.out
	if x.in, err = s.StdinPipe(); err != nil {
		h.t.Fatal(err)
	}
	if err := before(s); err != nil {
		h.t.Fatal(err)
	}
	if err := s.Shell(); err != nil {
		h.t.Fatal(err)
	}
	return x
}

func (c *console) key(t testing.TB, keys string) {
	t.Helper()
	if _, err := io.WriteString(c.in, keys); err != nil {
		t.Fatal(err)
	}
}

func (c *console) shows(t testing.TB, text string) {
	t.Helper()
	apitest.Soon(t, "the console shows "+text+"; it showed "+c.out.String(),
		func() bool { return strings.Contains(c.out.String(), text) })
}
