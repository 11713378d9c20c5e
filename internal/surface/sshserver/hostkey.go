package sshserver

import (
	"errors"
	"fmt"
	"io"
	"os"

	gossh "golang.org/x/crypto/ssh"

	"opdeck/internal/system/filecheck"
)

// maxKeyFile bounds a file of keys, in bytes.
const maxKeyFile = 1 << 20

// LoadHostKey reads the server's private key. It must be a regular file of ours, mode 0400 or 0600, and not a link;
// it is never created.
func LoadHostKey(path string) (gossh.Signer, error) {
	b, err := readPrivate(path)
	if err != nil {
		return nil, fmt.Errorf("host key %s: %w", path, err)
	}
	key, err := gossh.ParsePrivateKey(b)
	clear(b)
	var locked *gossh.PassphraseMissingError
	switch {
	case errors.As(err, &locked):
		return nil, fmt.Errorf("host key %s: it is protected by a passphrase, which the server cannot ask for", path)
	case err != nil:
		return nil, fmt.Errorf("host key %s: not a private key in OpenSSH or PEM form", path)
	}
	if err := usable(key.PublicKey()); err != nil {
		return nil, fmt.Errorf("host key %s: %w", path, err)
	}
	return key, nil
}

// readPrivate reads a file that only its owner can read or write.
func readPrivate(path string) ([]byte, error) {
	st, err := os.Lstat(path)
	switch {
	case errors.Is(err, os.ErrNotExist):
		return nil, errors.New("there is no such file; create one with ssh-keygen -t ed25519 -N '' -f FILE")
	case err != nil:
		return nil, errors.New("the file cannot be examined")
	case !st.Mode().IsRegular():
		return nil, errors.New("it is not a regular file")
	}
	f, err := os.Open(path)
	if err != nil {
		return nil, errors.New("the file cannot be opened")
	}
	defer f.Close()
	now, err := f.Stat()
	if err != nil || !os.SameFile(st, now) { // replaced since
		return nil, errors.New("it is not a regular file")
	}
	if err := filecheck.Private(now); err != nil {
		return nil, err
	}
	return io.ReadAll(io.LimitReader(f, maxKeyFile))
}
