package accounts_test

import (
	"bytes"
	"errors"
	"io"
	"net"
	"net/url"
	"os"
	"path/filepath"
	"sync/atomic"
	"testing"
)

// relay is between a client and PostgreSQL and can lose the answer to a
// COMMIT.
type relay struct {
	url    string
	server string // its socket
	armed  atomic.Bool
	done   atomic.Int64
}

func newRelay(t *testing.T, database string) *relay {
	t.Helper()
	u, err := url.Parse(database)
	if err != nil {
		t.Fatal(err)
	}
	if u.Host != "" {
		t.Skip("the relay needs a server on a local socket")
	}
	dir, err := os.MkdirTemp("", "opdeck-rl-")
	if err != nil {
		t.Fatal(err)
	}
	r := &relay{server: filepath.Join(u.Query().Get("host"), ".s.PGSQL.5432")}
	u.RawQuery = url.Values{"host": {dir}}.Encode()
	r.url = u.String()
	l, err := net.Listen("unix", filepath.Join(dir, ".s.PGSQL.5432"))
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _, _ = l.Close(), os.RemoveAll(dir) })
	go func() {
		for {
			c, err := l.Accept()
			if errors.Is(err, net.ErrClosed) {
				return
			}
			if err == nil {
				go r.carry(c)
			}
		}
	}()
	return r
}

// cutNextCommit loses the answer to the next COMMIT of any connection.
func (r *relay) cutNextCommit() { r.armed.Store(true) }

func (r *relay) cuts() int64 { return r.done.Load() }

// carry copies both ways. The client sends "commit" as a simple query, in a
// packet of its own.
func (r *relay) carry(client net.Conn) {
	defer func() { _ = client.Close() }()
	server, err := net.Dial("unix", r.server)
	if err != nil {
		return
	}
	defer func() { _ = server.Close() }()
	var cutting atomic.Bool
	go func() {
		defer func() { _, _ = server.Close(), client.Close() }()
		buf := make([]byte, 64<<10)
		for {
			n, err := server.Read(buf)
			if err != nil || (n > 0 && cutting.Load()) { // the server has committed; no one will know
				return
			}
			if _, err := client.Write(buf[:n]); err != nil {
				return
			}
		}
	}()
	buf := make([]byte, 64<<10)
	for {
		n, err := client.Read(buf)
		if err != nil {
			return
		}
		if bytes.Contains(bytes.ToLower(buf[:n]), []byte("commit\x00")) && r.armed.CompareAndSwap(true, false) {
			cutting.Store(true)
			r.done.Add(1)
		}
		if _, err := io.Copy(server, bytes.NewReader(buf[:n])); err != nil {
			return
		}
	}
}
