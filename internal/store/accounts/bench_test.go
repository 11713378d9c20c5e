package accounts_test

import (
	"bufio"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"

	"opdeck/api/limit"
	"opdeck/api/session"
	"opdeck/internal/store"
	"opdeck/internal/store/accounts"
	"opdeck/internal/store/files"
	"opdeck/internal/store/seal"
	"opdeck/internal/store/storetest"
)

// The environment of a test binary that plays another process of opdeck, and measures it.
const (
	childURL   = "OPDECK_STORE_URL"
	childKey   = "OPDECK_STORE_KEY"
	benchWhat  = "OPDECK_STORE_WHAT"  // store, flock or none
	benchCalls = "OPDECK_STORE_CALLS" // how many
	benchGap   = "OPDECK_STORE_GAP"   // between two calls
)

func TestMain(m *testing.M) {
	if os.Getenv(benchWhat) == "" {
		os.Exit(m.Run())
	}
	if err := benchChild(context.Background()); err != nil {
		fmt.Println("error:", err)
		os.Exit(1)
	}
}

// BenchmarkCallOverhead measures what one API call pays for sharing: the pair
// and a slot of the budget in one transaction. N processes do it together, each
// pausing so long that all together make about 1,500 calls a second, beside a
// plain file under flock (read, append a slot, write) and no sharing at all.
func BenchmarkCallOverhead(b *testing.B) {
	for _, what := range []string{"none", "flock", "SQLite", "PostgreSQL"} {
		for _, n := range []int{1, 8, 32} {
			b.Run(fmt.Sprintf("%s/%d", what, n), func(b *testing.B) { benchOverhead(b, what, n) })
		}
	}
}

func benchOverhead(b *testing.B, what string, n int) {
	url, kind := filepath.Join(b.TempDir(), "plain"), what
	keyFile := writeKey(b)
	switch what {
	case "SQLite", "PostgreSQL":
		kind = "store"
		e := store.SQLite
		if what == "PostgreSQL" {
			e = store.Postgres
		}
		url = storetest.URL(b, e)
		st := storetest.OpenURL(b, url)
		key, err := seal.OpenKey(context.Background(), keyFile, st.Core)
		if err != nil {
			b.Fatal(err)
		}
		installed(b, newSession(b, st, key, new(storetest.Shift), ""), "access-"+string(make([]byte, 800)), "refresh-"+string(make([]byte, 800)))
	case "flock":
		if err := os.WriteFile(url, make([]byte, 2400), 0o600); err != nil {
			b.Fatal(err)
		}
	}
	var all []time.Duration
	b.ResetTimer()
	for range b.N {
		children := startMany(b, n, url, keyFile, benchWhat+"="+kind, benchCalls+"="+strconv.Itoa(max(60, 600/n)),
			benchGap+"="+(time.Duration(n)*time.Second/1500).String())
		for _, said := range finish(b, children) {
			var took []time.Duration
			if err := json.Unmarshal([]byte(said), &took); err != nil {
				b.Fatalf("%v: %s", err, said)
			}
			all = append(all, took...)
		}
	}
	slices.Sort(all)
	b.ReportMetric(0, "ns/op")
	b.ReportMetric(float64(all[len(all)/2].Microseconds()), "p50-µs")
	b.ReportMetric(float64(all[len(all)*99/100].Microseconds()), "p99-µs")
	b.ReportMetric(float64(all[len(all)-1].Microseconds()), "max-µs")
}

func openChild(ctx context.Context) (*accounts.Store, func(), error) {
	st, err := store.Open(ctx, store.Options{URL: os.Getenv(childURL)})
	if err != nil {
		return nil, nil, err
	}
	key, err := seal.OpenKey(context.Background(), os.Getenv(childKey), st.Core)
	if err != nil {
		return nil, nil, err
	}
	s, err := accounts.New(st.Core, accounts.Options{Key: key})
	return s, func() { _, _ = s.Close(), st.Close() }, err
}

// process is a child.
type process struct {
	cmd *exec.Cmd
	in  io.WriteCloser
	out io.Reader
}

func startMany(t testing.TB, n int, url, keyFile string, env ...string) []*process {
	t.Helper()
	all := make([]*process, n)
	for i := range all {
		cmd := exec.Command(os.Args[0])
		cmd.Env = append(append(os.Environ(), childURL+"="+url, childKey+"="+keyFile, "GOMAXPROCS=2"), env...)
		cmd.Stderr = os.Stderr
		in, err1 := cmd.StdinPipe()
		out, err2 := cmd.StdoutPipe()
		if err := errors.Join(err1, err2); err != nil {
			t.Fatal(err)
		}
		if err := cmd.Start(); err != nil {
			t.Fatal(err)
		}
		t.Cleanup(func() { _ = cmd.Process.Kill() })
		all[i] = &process{cmd, in, out}
	}
	return all
}

// finish lets all begin, waits for them, and returns what each said.
func finish(t testing.TB, all []*process) []string {
	t.Helper()
	for _, p := range all {
		_, _ = io.WriteString(p.in, "\n")
	}
	said := make([]string, len(all))
	for i, p := range all {
		text, _ := io.ReadAll(p.out)
		said[i] = strings.TrimSpace(string(text))
		if err := p.cmd.Wait(); err != nil {
			t.Errorf("process %d: %v: %s", i, err, said[i])
		}
	}
	return said
}

// benchChild prints how long each call took.
func benchChild(ctx context.Context) error {
	calls, err := strconv.Atoi(os.Getenv(benchCalls))
	if err != nil {
		return err
	}
	gap, err := time.ParseDuration(os.Getenv(benchGap))
	if err != nil {
		return err
	}
	call, done, err := benchCall(ctx)
	if err != nil {
		return err
	}
	defer done()
	for range 3 {
		if err := call(); err != nil {
			return err
		}
	}
	_, _ = bufio.NewReader(os.Stdin).ReadString('\n') // so that many begin together
	took := make([]time.Duration, calls)
	for i := range took {
		time.Sleep(gap)
		began := time.Now()
		if err := call(); err != nil {
			return err
		}
		took[i] = time.Since(began)
	}
	return json.NewEncoder(os.Stdout).Encode(took)
}

func benchCall(ctx context.Context) (call func() error, done func(), err error) {
	switch os.Getenv(benchWhat) {
	case "none":
		var last []time.Time
		return func() error {
			last = append(last, time.Now())
			last = last[max(0, len(last)-12):]
			return nil
		}, func() {}, nil
	case "flock":
		return benchFlock()
	}
	s, done, err := openChild(ctx)
	if err != nil {
		return nil, nil, err
	}
	req := limit.Request{Class: limit.Billing, Rule: limit.Rule{N: 12, Window: time.Second / 200}, MaxWait: time.Minute}
	return func() error {
		row, g, err := s.Enter(ctx, key1, req, func(r session.Row) bool { return !r.Access.Empty() })
		if err == nil && (row.State != session.Live || !g.Taken) {
			err = errors.New("no pair or no slot")
		}
		return err
	}, done, nil
}

// benchFlock is the simplest sharing: lock, read the file, write it back.
func benchFlock() (func() error, func(), error) {
	f, err := os.OpenFile(os.Getenv(childURL), os.O_RDWR, 0)
	if err != nil {
		return nil, nil, err
	}
	buf := make([]byte, 4096)
	return func() error {
		if _, err := files.Lock(f, true, true); err != nil {
			return err
		}
		n, err := f.ReadAt(buf, 0)
		if n == 0 {
			return err
		}
		buf[n-1]++
		if _, err := f.WriteAt(buf[:n], 0); err != nil {
			return err
		}
		if err := f.Sync(); err != nil {
			return err
		}
		return files.Unlock(f)
	}, func() { _ = f.Close() }, nil
}

// BenchmarkEnter is one process that enters call after call.
func BenchmarkEnter(b *testing.B) {
	for _, e := range []store.Engine{store.SQLite, store.Postgres} {
		b.Run(e.String(), func(b *testing.B) {
			ctx, s := context.Background(), storeSession(b, storetest.Open(b, e))
			installed(b, s, "access-"+string(make([]byte, 800)), "refresh-"+string(make([]byte, 800)))
			req := limit.Request{Class: limit.Billing, Rule: limit.Rule{N: 16, Window: time.Millisecond}, MaxWait: time.Minute}
			for b.Loop() {
				if _, _, err := s.Enter(ctx, key1, req, func(session.Row) bool { return true }); err != nil {
					b.Fatal(err)
				}
			}
		})
	}
}
