// Package lendproxy lends the session over the network: it serves the service's own paths on a Unix socket or a
// loopback port, to borrowers without a token.
package lendproxy

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"net"
	"net/http"
	"os"
	"path/filepath"
	"slices"
	"sync"
	"syscall"
	"time"

	"github.com/google/uuid"

	"opdeck/api"
	"opdeck/internal/app"
	"opdeck/internal/domain/lending"
	"opdeck/internal/store/journal"
	"opdeck/internal/system/listen"
	"opdeck/internal/system/wholefile"
)

// Options say where to lend, and to whom.
type Options struct {
	Socket string        // path of a Unix socket; "": none
	Listen string        // loopback address; "": none
	Keys   *lending.Keys // of borrowers; nil: none
	// Reveal: the answers on the socket are not masked; each one is recorded before.
	Reveal bool
}

// Limits of a connection; listen.MaxConns is how many each entrance has.
const (
	maxHeader   = 16 << 10 // bytes; net/http adds 4 KiB
	headerTime  = 5 * time.Second
	bodyTime    = 30 * time.Second // to receive a body
	chunkTime   = 30 * time.Second // for the borrower to read a part of an answer
	idleTime    = time.Minute
	finishGrace = 5 * time.Second
)

// Lender lends one App's session.
type Lender struct {
	app   *app.App
	opt   Options
	tally *lending.Tally
	board *journal.Borrowers
	id    string // identifies this process on the board

	socket, port entrance
	sums         summaries
}

// entrance is a listener with limits of its own.
type entrance struct {
	net.Listener // nil: there is none
	conns        *listen.Conns
}

func bounded(l net.Listener) entrance { return entrance{l, &listen.Conns{Source: sourceOf}} }

// Open opens the socket and the port. The caller must call Serve or Close.
func Open(ctx context.Context, a *app.App, opt Options) (*Lender, error) {
	if opt.Keys == nil {
		opt.Keys = lending.NewKeys(a.Context.Role)
	}
	l := &Lender{app: a, opt: opt, tally: lending.NewTally(a.Now), board: journal.NewBorrowers(a.Store.Core),
		id:   uuid.NewString(),
		sums: summaries{noted: map[string]noted{}}}
	if opt.Socket != "" {
		at, err := listenSocket(ctx, opt.Socket)
		if err != nil {
			return nil, misplaced("socket", err)
		}
		l.socket = bounded(at)
	}
	if opt.Listen != "" {
		at, err := listenLoopback(ctx, opt.Listen)
		if err != nil {
			_ = l.Close()
			return nil, misplaced("listen", err)
		}
		l.port = bounded(at)
	}
	return l, nil
}

func misplaced(key string, err error) error {
	return &api.Error{Kind: api.BadConfig, Public: "[lend] " + key + ": " + err.Error() + ".", Err: err}
}

// listenLoopback opens a port that only this host can reach.
func listenLoopback(ctx context.Context, addr string) (net.Listener, error) {
	host, _, err := net.SplitHostPort(addr)
	if err != nil {
		return nil, fmt.Errorf("%q is not an address; write it like 127.0.0.1:8789", addr)
	}
	if ip := net.ParseIP(host); ip == nil || !ip.IsLoopback() {
		return nil, fmt.Errorf("%q is not a loopback address; the session is lent on this host only", addr)
	}
	l, err := listen.Open(ctx, "lend", addr)
	if errors.Is(err, syscall.EADDRINUSE) {
		return nil, fmt.Errorf("another process is already listening on %s; if it is not yours, replace the keys of all "+
			"borrowers, because scripts may have sent them to it", addr)
	}
	return l, err
}

// Addr is the address of the port, "" without one.
func (l *Lender) Addr() string {
	if l.port.Listener == nil {
		return ""
	}
	return l.port.Addr().String()
}

// Lines describe where the session is lent, one line each.
func (l *Lender) Lines() []string {
	var out []string
	if l.socket.Listener != nil {
		out = append(out, fmt.Sprintf("lend      %s, for %s", l.opt.Socket, l.app.LocalActor(lending.Via).Name))
	}
	if l.port.Listener != nil {
		out = append(out, fmt.Sprintf("lend      http://%s, for %d with a key", l.Addr(), l.opt.Keys.Len()))
	}
	return out
}

// Close closes what Serve did not take over.
func (l *Lender) Close() error {
	for _, at := range l.entrances() {
		_ = at.Close()
	}
	return nil
}

func (l *Lender) entrances() []entrance {
	return slices.DeleteFunc([]entrance{l.socket, l.port}, func(at entrance) bool { return at.Listener == nil })
}

// Serve serves until ctx ends, then gives running calls five seconds and returns nil.
func (l *Lender) Serve(ctx context.Context) error {
	posting, stop := context.WithCancel(ctx)
	defer stop()
	var all sync.WaitGroup
	all.Go(func() { l.post(posting) })
	failed := make(chan error, 2)
	for _, at := range l.entrances() {
		go func() { failed <- listen.Serve(posting, "lend", l.server(ctx), at, at.conns, finishGrace) }()
	}
	var err error
	for range l.entrances() {
		if e := <-failed; e != nil && err == nil {
			err = e
		}
		stop() // if one place fails, close all
	}
	all.Wait()
	return err
}

func (l *Lender) server(ctx context.Context) *http.Server {
	protocols := new(http.Protocols)
	protocols.SetHTTP1(true)
	return &http.Server{Handler: l, Protocols: protocols, MaxHeaderBytes: maxHeader, ReadHeaderTimeout: headerTime,
		IdleTimeout: idleTime,
		BaseContext: func(net.Listener) context.Context { return ctx }, ConnContext: withPeer,
		DisableGeneralOptionsHandler: true, ErrorLog: slog.NewLogLogger(l.app.Log.Handler(), slog.LevelDebug)}
}

// maxSocket is the longest path of a Unix socket, in bytes, on known systems, less room for a temporary name.
const maxSocket = 90

// listenSocket makes a socket that only its owner can connect to. It is made in a private folder and moved to its
// place, so that no one can connect before its mode is set. An unused socket at that path is replaced; anything else
// is not.
func listenSocket(ctx context.Context, path string) (net.Listener, error) {
	if len(path) > maxSocket {
		return nil, fmt.Errorf("the path has %d characters; a socket's path may have up to %d", len(path), maxSocket)
	}
	if err := replaceable(ctx, path); err != nil {
		return nil, err
	}
	dir, err := wholefile.TempDir(filepath.Dir(path))
	if err != nil {
		return nil, fmt.Errorf("the folder of %s cannot be written to: %w", path, err)
	}
	defer os.RemoveAll(dir)
	made := filepath.Join(dir, "s")
	var lc net.ListenConfig
	l, err := lc.Listen(ctx, "unix", made)
	if err != nil {
		return nil, err
	}
	l.(*net.UnixListener).SetUnlinkOnClose(false) // it has another name by then
	err = errors.Join(os.Chmod(made, 0o600), os.Rename(made, path))
	info, statErr := os.Lstat(path)
	if err = errors.Join(err, statErr); err != nil {
		return nil, errors.Join(err, l.Close())
	}
	return &socket{Listener: l, path: path, info: info}, nil
}

// replaceable returns an error if the path has something that must not be replaced.
func replaceable(ctx context.Context, path string) error {
	st, err := os.Lstat(path)
	switch {
	case errors.Is(err, os.ErrNotExist):
		return nil
	case err != nil:
		return err
	case st.Mode()&os.ModeSocket == 0:
		return fmt.Errorf("%s already exists and is not a socket", path)
	}
	var d net.Dialer
	c, err := d.DialContext(ctx, "unix", path)
	if err == nil {
		_ = c.Close()
		return fmt.Errorf("another process is already listening on %s", path)
	}
	return nil
}

// socket removes its file when closed, unless it was replaced.
type socket struct {
	net.Listener
	path string
	info os.FileInfo
}

func (s *socket) Close() error {
	err := s.Listener.Close()
	if now, statErr := os.Lstat(s.path); statErr == nil && os.SameFile(now, s.info) {
		err = errors.Join(err, os.Remove(s.path))
	}
	return err
}

// peer is the other end of a connection.
type peer struct {
	local bool   // on the Unix socket
	uid   string // of the process that connected, from the kernel; "": not known
}

type peerKey struct{}

func peerOf(c net.Conn) peer {
	if u, ok := listen.Innermost(c).(*net.UnixConn); ok {
		return peer{local: true, uid: peerUID(u)}
	}
	return peer{}
}

// withPeer records the peer of a connection.
func withPeer(ctx context.Context, c net.Conn) context.Context {
	return context.WithValue(ctx, peerKey{}, peerOf(c))
}

// sourceOf names whose connection it is: a user on the socket, else an address.
func sourceOf(c net.Conn) string {
	if p := peerOf(c); p.local {
		return "uid " + p.uid
	}
	return listen.Address(c)
}
