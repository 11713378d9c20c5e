//go:build unix

package scenario

import (
	"bufio"
	"context"
	"encoding/json"
	"errors"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"

	"opdeck/api/limit"
	"opdeck/internal/e2e/lockedbuffer"
	"opdeck/internal/store"
	"opdeck/internal/store/storetest"
)

// roomy are budgets that short scenarios do not meet.
func roomy() map[limit.Class]int {
	return map[limit.Class]int{limit.Login: 500, limit.Refresh: 500, limit.Account: 10000, limit.Customer: 10000, limit.Billing: 10000, limit.General: 10000}
}

// place is a shared store that a scenario runs on.
type place struct {
	name    string
	url     string
	keyFile string
	direct  string // PostgreSQL without the pooler
}

func (p place) sqlite() bool { return p.name == "SQLite" }
func (p place) pooled() bool { return p.name == "PgBouncer" }

// stores runs run on both stores at the same time, and through a pooler when
// asked.
func stores(t *testing.T, pooled bool, run func(t testing.TB, p place)) {
	t.Helper()
	names := []string{"SQLite", "PostgreSQL"}
	if pooled {
		names = append(names, "PgBouncer")
	}
	on(t, names, run)
}

// on runs run on the named stores at the same time.
func on(t *testing.T, names []string, run func(t testing.TB, p place)) {
	t.Helper()
	t.Parallel()
	for _, name := range names {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			try(t, func(t testing.TB) { run(t, newPlace(t, name)) })
		})
	}
}

func newPlace(t testing.TB, name string) place {
	t.Helper()
	p := place{name: name, keyFile: filepath.Join(t.TempDir(), "key")}
	if err := os.WriteFile(p.keyFile, []byte(strings.Repeat("0123456789abcdef", 4)), 0o600); err != nil {
		t.Fatal(err)
	}
	if name == "SQLite" {
		p.url = storetest.URL(t, store.SQLite)
		return p
	}
	p.direct = storetest.URL(t, store.Postgres)
	p.url = p.direct
	if name == "PgBouncer" {
		p.url = storetest.Pooled(t, p.direct)
	}
	return p
}

// open opens the store in the test's own process, to look and to spoil.
func (p place) open(t testing.TB) *store.Store {
	t.Helper()
	if p.direct != "" {
		return storetest.OpenURL(t, p.direct)
	}
	return storetest.OpenURL(t, p.url)
}

// sound checks that SQLite's file is in order.
func (p place) sound(t testing.TB) {
	t.Helper()
	if !p.sqlite() {
		return
	}
	var said string
	if err := p.open(t).Core.QueryRow(context.Background(), "PRAGMA integrity_check").Scan(&said); err != nil || said != "ok" {
		grave(t, "integrity_check: %q, %v", said, err)
	}
}

// process is a worker.
type process struct {
	t      testing.TB
	cmd    *exec.Cmd
	stderr lockedbuffer.Buffer

	mu      sync.Mutex // guards what follows
	in      io.WriteCloser
	last    int
	waiting map[int]chan reply
	points  chan string
	gone    chan struct{}
}

// start starts a worker on p and s; twist changes its settings.
func start(t testing.TB, p place, s *service, twist ...func(*workerSettings)) *process {
	t.Helper()
	set := workerSettings{Store: p.url, KeyFile: p.keyFile, BaseURL: s.url(), Password: password, PerMinute: roomy()}
	for _, f := range twist {
		f(&set)
	}
	text, err := json.Marshal(set)
	if err != nil {
		t.Fatal(err)
	}
	w := &process{t: t, cmd: exec.Command(os.Args[0]), waiting: map[int]chan reply{}, points: make(chan string, 8), gone: make(chan struct{})}
	w.cmd.Env = append(childEnv(), roleEnv+"=worker", workerEnv+"="+string(text))
	w.cmd.Stderr = &w.stderr
	in, err1 := w.cmd.StdinPipe()
	out, err2 := w.cmd.StdoutPipe()
	if err := errors.Join(err1, err2); err != nil {
		t.Fatal(err)
	}
	w.in = in
	if err := w.cmd.Start(); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(w.kill)
	go w.listen(out)
	return w
}

func startMany(t testing.TB, n int, p place, s *service, twist ...func(*workerSettings)) []*process {
	t.Helper()
	all := make([]*process, n)
	for i := range all {
		all[i] = start(t, p, s, twist...)
	}
	return all
}

func (w *process) listen(out io.Reader) {
	defer close(w.gone)
	in := bufio.NewScanner(out)
	in.Buffer(nil, 16<<20)
	for in.Scan() {
		var r reply
		if json.Unmarshal(in.Bytes(), &r) != nil {
			continue
		}
		if r.At != "" {
			w.points <- r.At
			continue
		}
		w.mu.Lock()
		c := w.waiting[r.ID]
		delete(w.waiting, r.ID)
		w.mu.Unlock()
		if c != nil {
			c <- r
		}
	}
}

// order gives an order; the answer comes on the channel, nothing if the worker
// dies before.
func (w *process) order(o order) <-chan reply {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.last++
	o.ID = w.last
	c := make(chan reply, 1)
	w.waiting[o.ID] = c
	line, err := json.Marshal(o)
	if err != nil {
		panic(err)
	}
	_, _ = w.in.Write(append(line, '\n'))
	return c
}

// patience is how long a test waits for a worker.
const patience = 100 * time.Second

func (w *process) await(c <-chan reply) reply {
	w.t.Helper()
	late := time.NewTimer(patience + pick(0, 20*time.Minute))
	defer late.Stop()
	select {
	case r := <-c:
		return r
	case <-w.gone:
		select {
		case r := <-c:
			return r
		default:
		}
		w.t.Fatalf("the worker is gone: %s", w.stderr.String())
	case <-late.C:
		w.t.Fatal("the worker does not answer")
	}
	return reply{}
}

func (w *process) do(o order) reply {
	w.t.Helper()
	return w.await(w.order(o))
}

// must is do for what may not fail.
func (w *process) must(o order) reply {
	w.t.Helper()
	r := w.do(o)
	if r.Err != "" {
		w.t.Fatalf("%s: %s", o.Do, r.Err)
	}
	return r
}

func (w *process) status() statusReport {
	w.t.Helper()
	var st statusReport
	if err := json.Unmarshal(w.must(order{Do: "status"}).Status, &st); err != nil {
		w.t.Fatal(err)
	}
	return st
}

// events counts an outcome, or a kind of event, in the shared history.
func (w *process) events(name string) int {
	w.t.Helper()
	return w.status().Outcomes[name]
}

// awaitPoint waits until the worker is at a point.
func (w *process) awaitPoint(point string) {
	w.t.Helper()
	select {
	case got := <-w.points:
		if got != point {
			w.t.Fatalf("the worker stands at %q, want %q", got, point)
		}
	case <-time.After(patience / 2):
		w.t.Fatalf("the worker never came to %q: %s", point, w.stderr.String())
	}
}

func (w *process) signal(s syscall.Signal) { _ = w.cmd.Process.Signal(s) }

// kill ends the worker as kill -9 does; more than once does no harm.
func (w *process) kill() {
	_ = w.cmd.Process.Kill()
	_ = w.cmd.Wait()
}

// all gives the same order to many and collects the answers.
func all(ws []*process, o order) []reply {
	chans := make([]<-chan reply, len(ws))
	for i, w := range ws {
		chans[i] = w.order(o)
	}
	out := make([]reply, len(ws))
	for i, w := range ws {
		w.t.Helper()
		out[i] = w.await(chans[i])
	}
	return out
}

// joined adds up reports.
func joined(rs []reply) callReport {
	sum := callReport{Errors: map[string]int{}}
	for _, r := range rs {
		if r.Err != "" {
			sum.Errors[r.Err]++
		}
		sum.OK += r.Calls.OK
		sum.Took = append(sum.Took, r.Calls.Took...)
		sum.Started, sum.Gens = append(sum.Started, r.Calls.Started...), append(sum.Gens, r.Calls.Gens...)
		for k, n := range r.Calls.Errors {
			sum.Errors[k] += n
		}
	}
	slices.Sort(sum.Took)
	return sum
}

func (r callReport) slowest() time.Duration {
	if len(r.Took) == 0 {
		return 0
	}
	return slices.Max(r.Took)
}
