package sshserver

import (
	"bufio"
	"context"
	"fmt"
	"io"
	"strings"
	"testing"
	"time"

	gossh "golang.org/x/crypto/ssh"

	"opdeck/api"
	"opdeck/api/apitest"
)

// repeat is a Plain that repeats each line until "quit", or the end.
func repeat(ctx context.Context, l Line) error {
	who := api.ActorOf(ctx)
	_, _ = fmt.Fprintf(l.Out, "plain with %s (%s), raw %t, width %d, TERM %q\n", who.Name, who.Role, l.Raw, l.Width,
		l.Getenv("TERM"))
	lines := make(chan string)
	go func() {
		defer close(lines)
		in := bufio.NewReader(l.In)
		for {
			var line []byte
			for {
				c, err := in.ReadByte()
				if err != nil {
					return
				}
				if c == '\r' || c == '\n' {
					break
				}
				line = append(line, c)
			}
			select {
			case lines <- string(line):
			case <-ctx.Done():
				return
			}
		}
	}()
	for {
		select {
		case s, ok := <-lines:
			if !ok || s == "quit" {
				_, err := io.WriteString(l.Out, "goodbye\n")
				return err
			}
			_, _ = io.WriteString(l.Out, "said "+s+"\n")
		case <-ctx.Done():
			return ctx.Err()
		}
	}
}

func inLines(_ *fixture, o *Options) { o.Plain = repeat }

// Who has no terminal, or one that cannot draw, gets the plain mode, and who
// asks for it too.
func TestOpenSSHPlain(t *testing.T) {
	needSSH(t)
	h := open(t, inLines)
	const plain = "plain with ana (operator), raw false, width 0, TERM \"\"\nsaid one\n"
	for _, c := range [][]string{{"-T", "ana@127.0.0.1"}, {"ana@127.0.0.1", "plain"}, {"ana@127.0.0.1", "--", "--plain"},
		{"ana@127.0.0.1", "opdeck --plain"}} {
		s := h.ssh(context.Background(), "ana", c...)
		s.Stdin = strings.NewReader("one\nquit\n")
		if b, err := s.CombinedOutput(); err != nil || string(b) != plain+"goodbye\n" {
			t.Errorf("%v: %q, %v", c, b, err)
		}
	}
	s := h.ssh(context.Background(), "ana", "-T", "ana@127.0.0.1")
	s.Stdin = strings.NewReader("one\n") // what was typed before the end counts
	if b, err := s.CombinedOutput(); err != nil || string(b) != plain+"goodbye\n" {
		t.Errorf("the end of the input: %q, %v", b, err)
	}
	for _, term := range []string{"dumb", "", "evil\x1b[2J"} {
		s := h.ssh(context.Background(), "ana", "-tt", "ana@127.0.0.1")
		s.Env = append(s.Env, "TERM="+term)
		s.Stdin = strings.NewReader("one\rquit\r")
		if b, err := s.Output(); err != nil || !strings.Contains(string(b), "raw true, width ") ||
			!strings.Contains(string(b), "\r\nsaid one\r\ngoodbye\r\n") {
			t.Errorf("TERM=%q: %q, %v", term, b, err)
		}
	}
	if out, _, code := h.out("ana", "ana@127.0.0.1", "plain", "words"); code != 7 ||
		!strings.Contains(out, `["plain" "words"]`) {
		t.Errorf("a command that begins with plain: %q, exit %d", out, code)
	}
	if n := h.trail.find("console.open", "plain mode, no terminal"); len(n) != 5 || n[0].who.Name != "ana" {
		t.Errorf("recorded: %+v", n)
	}
	if n := h.trail.find("console.open", "plain mode, terminal dumb"); len(n) != 3 {
		t.Errorf("recorded: %+v", n)
	}
	apitest.Soon(t, "each end is recorded", func() bool { return len(h.trail.find("console.close", "left after")) == 8 })
}

// lines is a conversation without a terminal.
func (h *fixture) lines(c *gossh.Client) *console {
	h.t.Helper()
	return h.converse(c, func(*gossh.Session) error { return nil })
}

// Time is counted from what was typed last, with a warning before the end.
func TestPlainIdle(t *testing.T) {
	virtual(t, Limits{}, func(o *Options) { o.Plain = repeat }, func(h *fixture, w *wire) {
		x := h.lines(h.over(w.dial()))
		time.Sleep(10 * time.Minute)
		x.key(t, "one\n")
		time.Sleep(12*time.Minute + 30*time.Second)
		if strings.Contains(x.out.String(), "ends in") {
			t.Error("the warning came early")
		}
		time.Sleep(time.Minute)
		if !strings.Contains(x.out.String(), "\nNo input for 13 min: this session ends in 2 min unless you type "+
			"something.\n") {
			t.Errorf("no warning: %q", x.out)
		}
		x.key(t, "two\n")
		time.Sleep(14*time.Minute + 59*time.Second)
		if h.sessions() != 1 {
			t.Error("the session ended early")
		}
		if err := x.Wait(); exitOf(err) != 130 || !strings.HasSuffix(x.out.String(), "This session ends.\n") {
			t.Errorf("it ended with %v: %q", err, x.out)
		}
		if n := h.trail.find("console.close", "idle after 38m30s"); len(n) != 1 {
			t.Errorf("the end is recorded as %+v", h.trail.find("console.close", ""))
		}
	})
}

// No one stays longer than eight hours by talking on.
func TestPlainEightHours(t *testing.T) {
	virtual(t, Limits{}, func(o *Options) { o.Plain = repeat }, func(h *fixture, w *wire) {
		x := h.lines(h.over(w.dial()))
		for range 47 {
			time.Sleep(10 * time.Minute)
			x.key(t, "k\n")
		}
		time.Sleep(6 * time.Minute)
		if !strings.Contains(x.out.String(), "ends in 5 min") {
			t.Error("no warning")
		}
		x.key(t, "k\n")
		if err := x.Wait(); exitOf(err) != 130 || len(h.trail.find("console.close", "time_limit")) != 1 {
			t.Errorf("it ended with %v, recorded as %+v", err, h.trail.find("console.close", ""))
		}
	})
}

// When the other side is gone the conversation is over.
func TestPlainGone(t *testing.T) {
	h := open(t, inLines)
	c := h.login("ana")
	x := h.lines(c)
	x.shows(t, "plain with ana")
	_ = c.Close()
	apitest.Soon(t, "the session is over", func() bool { return h.sessions() == 0 })
}
