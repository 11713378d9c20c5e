package lendproxy

import (
	"context"
	"errors"
	"fmt"
	"net"
	"os"
	"path/filepath"

	"opdeck/internal/system/listen"
)

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
	dir, err := os.MkdirTemp(filepath.Dir(path), ".lend")
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
