package accounts_test

import (
	"bufio"
	"context"
	"fmt"
	"io"
	"os"
	"os/exec"
	"strings"
	"testing"
	"time"

	"opdeck/api/limit"
	"opdeck/api/session"
	"opdeck/internal/store"
	"opdeck/internal/store/accounts"
	"opdeck/internal/store/seal"
)

// The environment of a test binary that plays another process of opdeck.
const (
	childRole = "OPDECK_STORE_CHILD"
	childURL  = "OPDECK_STORE_URL"
	childKey  = "OPDECK_STORE_KEY"
)

func TestMain(m *testing.M) {
	if role := os.Getenv(childRole); role != "" {
		if err := roles[role](context.Background()); err != nil {
			fmt.Println("error:", err)
			os.Exit(1)
		}
		os.Exit(0)
	}
	os.Exit(m.Run())
}

// roles are what a child can do. Each waits for a line on standard input before
// it begins, so that many begin together.
var roles = map[string]func(context.Context) error{
	"open": func(ctx context.Context) error {
		awaitLine()
		s, err := store.Open(ctx, store.Options{URL: os.Getenv(childURL)})
		if err != nil {
			return err
		}
		return s.Close()
	},
	"log": func(ctx context.Context) error {
		s, done, err := openChild(ctx)
		if err != nil {
			return err
		}
		defer done()
		awaitLine()
		for range logsPerChild {
			if err := s.Log(ctx, key1, session.Event{Kind: session.EventUnauthorized}); err != nil {
				return err
			}
		}
		return nil
	},
	"hold write lock": func(ctx context.Context) error {
		st, err := store.Open(ctx, store.Options{URL: os.Getenv(childURL)})
		if err != nil {
			return err
		}
		return st.Core.Write(ctx, func(tx *store.Tx) error {
			if err := tx.Exec(ctx, "UPDATE session SET fails = fails + 1"); err != nil {
				return err
			}
			return holdUntilKilled()
		})
	},
	"hold lease": func(ctx context.Context) error {
		s, _, err := openChild(ctx)
		if err != nil {
			return err
		}
		row, err := s.Load(ctx, key1)
		if err != nil {
			return err
		}
		live := s.Liveness()
		locked := false
		for range 100 { // PostgreSQL: the listening connection takes a moment
			// The lock lives in what releases it: were that forgotten, the collector
			// would close the file.
			release, ok := live.Hold(key1)
			if locked = ok; locked {
				defer release()
				break
			}
			time.Sleep(20 * time.Millisecond)
		}
		row, won, err := s.Acquire(ctx, key1, session.Claim{Incarnation: row.Incarnation, Gen: row.Gen, Fence: row.Fence, Owner: owner("child"),
			HasLock: locked, For: 15 * time.Second, Over: true})
		if err != nil || !won || !locked {
			return fmt.Errorf("lease %v, lock %v, %w", won, locked, err)
		}
		_, err = s.Mark(ctx, key1, session.Mark{Incarnation: row.Incarnation, Fence: row.Fence, Owner: "child", Kind: session.ByLogin,
			For: 15 * time.Second, Rule: limit.Rule{N: 100, Window: time.Minute}})
		if err != nil {
			return err
		}
		return holdUntilKilled()
	},
	"beat": func(ctx context.Context) error {
		s, _, err := openChild(ctx)
		if err != nil {
			return err
		}
		if err := s.Beat(ctx, key1, owner("child")); err != nil {
			return err
		}
		return holdUntilKilled()
	},
	"bench": benchChild,
}

func awaitLine() { _, _ = bufio.NewReader(os.Stdin).ReadString('\n') }

func holdUntilKilled() error {
	fmt.Println("held")
	_, err := io.ReadAll(os.Stdin) // ends when the parent is gone
	return err
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
	out *bufio.Reader
}

func start(t testing.TB, role, url, keyFile string, env ...string) *process {
	t.Helper()
	cmd := exec.Command(os.Args[0])
	cmd.Env = append(append(os.Environ(), childRole+"="+role, childURL+"="+url, childKey+"="+keyFile, "GOMAXPROCS=2"), env...)
	cmd.Stderr = os.Stderr
	in, err := cmd.StdinPipe()
	if err != nil {
		t.Fatal(err)
	}
	out, err := cmd.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = cmd.Process.Kill() })
	return &process{cmd: cmd, in: in, out: bufio.NewReader(out)}
}

func startMany(t testing.TB, n int, role, url, keyFile string, env ...string) []*process {
	t.Helper()
	all := make([]*process, n)
	for i := range all {
		all[i] = start(t, role, url, keyFile, env...)
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

// awaitHeld waits until a child says that it holds what it should.
func (p *process) awaitHeld(t testing.TB) {
	t.Helper()
	line, err := p.out.ReadString('\n')
	if err != nil || line != "held\n" {
		t.Fatalf("child said %q, %v", line, err)
	}
}

// kill ends a child as kill -9 does.
func (p *process) kill(t testing.TB) {
	t.Helper()
	if err := p.cmd.Process.Kill(); err != nil {
		t.Fatal(err)
	}
	_ = p.cmd.Wait()
}
