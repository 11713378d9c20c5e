//go:build linux

package e2e

import (
	"io"
	"math/rand/v2"
	"net"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/jackc/pgx/v5/pgproto3"
)

// TestAnUnreliableDatabase: beside a database that refuses, cuts off, halves and holds back answers at random, every
// command ends with an exit code of its own and a sentence, and opdeck serve goes on. OPDECK_TEST_LONG=1 runs 300
// commands.
func TestAnUnreliableDatabase(t *testing.T) {
	t.Parallel()
	s := newScene(t)
	d := sharedIn(s)
	s.configure()
	s.run(theCall...)
	s.serves()
	d.mu.Lock()
	d.unreliable = true
	d.mu.Unlock()
	d.cut()
	opid, guid := "2f0c0c9e-8f8f-4e7e-9f1c-0a1b2c3d4e5f", "3f0c0c9e-8f8f-4e7e-9f1c-0a1b2c3d4e5f"
	commands := [][]string{{"check", "--all"}, {"doctor"}, {"session", "status"}, {"session", "refresh", "--yes"},
		{"operation", "list", "--limit", "1"}, {"document", "remove", opid, guid, "--yes"}, {"audit", "verify"},
		{"audit", "unsettled"}, {"note", "add", opid, "hello"}, {"limits"}, {"index", "status"}, {"event", "list"}}
	if !long() {
		commands = commands[:6]
	}
	var all sync.WaitGroup
	for part := range slices.Chunk(commands, len(commands)/3) {
		all.Go(func() {
			for range rounds() {
				for _, args := range part {
					got := s.run(args...)
					if got.code < 0 || strings.Contains(got.err, "goroutine ") || got.out+got.err == "" {
						t.Errorf("%v: exit %d, %q, %s", args, got.code, got.out, got.err)
					}
				}
			}
		})
	}
	all.Wait()
	if status, _ := s.get("/healthz"); status != 200 && status != 503 {
		t.Errorf("/healthz answers %d", status)
	}
}

func rounds() int {
	if long() {
		return 25
	}
	return 1
}

// relays is serves for a database that is unreliable.
func (d *database) relays(conn net.Conn) {
	if rand.IntN(12) == 0 {
		if _, err := pgproto3.NewBackend(conn, conn).ReceiveStartupMessage(); err == nil {
			codes := []string{"28P01", "53300", "57P03", "3D000", "25006"}
			no := pgproto3.ErrorResponse{Severity: "FATAL", SeverityUnlocalized: "FATAL", Code: codes[rand.IntN(len(codes))],
				Message: "no"}
			text, _ := no.Encode(nil)
			_, _ = conn.Write(text)
		}
		return
	}
	to, err := net.Dial("unix", d.server)
	if err != nil {
		return
	}
	defer to.Close()
	go func() {
		_, _ = io.Copy(to, conn)
		_ = to.Close()
	}()
	b := make([]byte, 4096)
	for {
		n, err := to.Read(b)
		if err != nil {
			return
		}
		switch rand.IntN(250) {
		case 0:
			return
		case 1:
			_, _ = conn.Write(b[:n/2])
			return
		case 2:
			time.Sleep(rand.N(6500 * time.Millisecond)) // longer than a connection, a try and a check may take
		}
		if _, err := conn.Write(b[:n]); err != nil {
			return
		}
	}
}
