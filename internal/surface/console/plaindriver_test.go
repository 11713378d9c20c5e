package console_test

import (
	"bufio"
	"context"
	"io"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"sync"
	"testing"
	"time"
	"unicode"
	"unicode/utf8"

	"opdeck/api"
	"opdeck/api/endpoint"
	"opdeck/api/untrusted"
	"opdeck/internal/app"
	"opdeck/internal/domain/index"
	"opdeck/internal/domain/mask"
	"opdeck/internal/sandbox/faulty"
	"opdeck/internal/surface/console"
)

var noon = time.Date(2026, 11, 3, 12, 0, 0, 0, time.UTC)

// world opens the built-in service with budgets that no test uses up; more is
// put into its context. Without mirror the index holds only what was read.
func world(t *testing.T, more string, mirror bool) *app.App {
	t.Helper()
	dir := t.TempDir()
	conf := filepath.Join(dir, "config.toml")
	body := "[contexts.backend]\nsandbox = true\n" + more + "\n[ui]\ntime_zone = \"UTC\"\n" +
		"[limits]\nper_minute = { login = 1000, refresh = 1000, account = 1000, customer = 1000, billing = 1000, general = 1000 }\n" +
		"[index]\nenabled = " + strconv.FormatBool(mirror) + "\n[views.pending]\nfilter = \"status:PENDING\"\nsort = \"-amount\"\n"
	if err := os.WriteFile(conf, []byte(body), 0o600); err != nil {
		t.Fatal(err)
	}
	a, err := app.Open(t.Context(), app.Options{Around: faulty.Odd, ConfigFlag: conf, StateFlag: filepath.Join(dir, "state"), Getenv: func(string) string { return "" },
		Now: func() time.Time { return noon }})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := a.Close(); err != nil {
			t.Error(err)
		}
	})
	return a
}

// filled is a world whose index holds the newest page of the list.
func filled(t *testing.T, more string) *app.App {
	t.Helper()
	a := world(t, more, false)
	if _, err := endpoint.Do(mask.ByCaller(api.WithActor(t.Context(), ana)), a.Client, endpoint.ListOperations, api.OperationQuery{}); err != nil {
		t.Fatal(err)
	}
	return a
}

// mirrored is a world whose index is complete.
func mirrored(t *testing.T) *app.App {
	t.Helper()
	a := world(t, "", true)
	ctx := mask.ByCaller(api.WithActor(t.Context(), ana))
	stop := a.Mirror().Start(ctx)
	defer stop()
	for range 12_000 { // a minute
		if p, err := index.LoadProgress(ctx, a.Index.Unmasked()); err == nil && !p.Last.Finished.IsZero() {
			return a
		}
		time.Sleep(5 * time.Millisecond)
	}
	t.Fatal("the index was not filled")
	return nil
}

var (
	ana = api.Actor{Name: "ana", Role: api.Admin, Via: "console", Key: "SHA256:ana", Login: "ana"}
	ben = api.Actor{Name: "ben", Role: api.Operator, Via: "console", Key: "SHA256:ben", Login: "ben"}
)

// person only reads lines and answers.
type person struct {
	t     *testing.T
	in    *io.PipeWriter
	lines chan string
	done  chan error
	stop  context.CancelFunc

	mu    sync.Mutex
	whole strings.Builder // guarded by mu: all that was said
}

// startPlain begins a conversation and reads the greeting.
func startPlain(t *testing.T, a *app.App, who api.Actor, change func(*console.PlainOptions)) (*person, []string) {
	t.Helper()
	ctx, cancel := context.WithCancel(mask.ByCaller(api.WithActor(t.Context(), who)))
	inR, inW := io.Pipe()
	outR, outW := io.Pipe()
	p := &person{t: t, in: inW, lines: make(chan string, 10_000), done: make(chan error, 1), stop: cancel}
	opt := console.PlainOptions{In: inR, Out: outW, Pause: time.Millisecond}
	if change != nil {
		change(&opt)
	}
	go func() {
		err := console.RunPlain(ctx, a, opt)
		_ = outW.Close()
		p.done <- err
	}()
	go p.listen(outR)
	t.Cleanup(func() { cancel(); _ = inW.Close() })
	return p, p.output()
}

func (p *person) listen(r io.Reader) {
	defer close(p.lines)
	b := bufio.NewReader(r)
	for {
		l, err := b.ReadString('\n')
		p.mu.Lock()
		p.whole.WriteString(l)
		p.mu.Unlock()
		if err != nil {
			if l != "" {
				p.t.Errorf("a line without an end was said: %q", l)
			}
			return
		}
		check(p.t, strings.TrimSuffix(l, "\n"))
		p.lines <- strings.TrimSuffix(l, "\n")
	}
}

// check fails on any byte that is not printable text.
func check(t *testing.T, l string) {
	if !utf8.ValidString(l) {
		t.Errorf("broken text was said: %q", l)
	}
	for _, r := range l {
		if r != ' ' && !unicode.IsGraphic(r) || r >= 0x2500 && r < 0x25a0 {
			t.Errorf("%U was said in %q", r, l)
		}
	}
	if _, f := untrusted.Clean(l, len(l)+1); f&(untrusted.Control|untrusted.Format|untrusted.Invalid) != 0 {
		t.Errorf("%s were said in %q", f.Words(), l)
	}
}

// isPrompt knows prompts by their ends, as a listener does.
func isPrompt(l string) bool {
	for _, end := range []string{"help:", "anything else is No:", ", or back:", "goes back:"} {
		if strings.HasSuffix(l, end) {
			return true
		}
	}
	return strings.Contains(l, ", or an empty line for ") && strings.HasSuffix(l, ":")
}

// output reads lines up to the next prompt, or to the end.
func (p *person) output() []string {
	p.t.Helper()
	var out []string
	late := time.After(time.Minute)
	for {
		select {
		case l, ok := <-p.lines:
			if !ok {
				return out
			}
			out = append(out, l)
			if isPrompt(l) {
				return out
			}
		case <-late:
			p.t.Fatalf("no prompt came after:\n%s", strings.Join(out, "\n"))
		}
	}
}

// say answers the prompt and returns the output, which must contain each of want.
func (p *person) say(line string, want ...string) []string {
	p.t.Helper()
	if _, err := io.WriteString(p.in, line+"\n"); err != nil {
		p.t.Fatalf("%q could not be typed: %v\n%s", line, err, p.transcript())
	}
	heard := p.output()
	all := strings.Join(heard, "\n")
	for _, w := range want {
		if !strings.Contains(all, w) {
			p.t.Errorf("after %q nobody said %q:\n%s", line, w, all)
		}
	}
	return heard
}

// never says line and expects that none of not is said.
func (p *person) never(line string, not ...string) {
	p.t.Helper()
	all := strings.Join(p.say(line), "\n")
	for _, n := range not {
		if strings.Contains(all, n) {
			p.t.Errorf("after %q somebody said %q:\n%s", line, n, all)
		}
	}
}

// leave quits and returns what Run returned.
func (p *person) leave() error {
	p.t.Helper()
	p.say("quit", "Goodbye.")
	return p.end()
}

func (p *person) end() error {
	p.t.Helper()
	select {
	case err := <-p.done:
		return err
	case <-time.After(time.Minute):
		p.t.Fatal("Run did not return")
		return nil
	}
}

func (p *person) transcript() string {
	p.mu.Lock()
	defer p.mu.Unlock()
	return p.whole.String()
}

// find returns what is behind a label in what was said.
func find(t *testing.T, heard []string, label string) string {
	t.Helper()
	for _, l := range heard {
		if rest, ok := strings.CutPrefix(l, label); ok {
			return strings.TrimSpace(rest)
		}
	}
	t.Fatalf("%q was not said:\n%s", label, strings.Join(heard, "\n"))
	return ""
}

// newest returns the n-th newest operation of the sample data.
func newest(t *testing.T, a *app.App, n int) api.Operation {
	t.Helper()
	w, err := a.Index.Window(mask.ByCaller(api.WithActor(t.Context(), ana)), index.Query{Sort: index.Sort{Field: "created", Desc: true}, Skip: n, Limit: 1}, noon)
	if err != nil || len(w.Rows) != 1 {
		t.Fatalf("operation %d: %v", n, err)
	}
	return w.Rows[0].Op
}

// now reads an operation from the service.
func now(t *testing.T, a *app.App, id string) api.Operation {
	t.Helper()
	op, err := endpoint.Do(mask.ByCaller(api.WithActor(t.Context(), ana)), a.Client, endpoint.GetOperation, id)
	if err != nil {
		t.Fatal(err)
	}
	return op
}
