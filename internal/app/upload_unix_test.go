//go:build unix

package app

import (
	"path/filepath"
	"syscall"
	"testing"

	"opdeck/api"
)

// TestUploadOfAPipe: a pipe is refused, because opening it would wait for a writer.
func TestUploadOfAPipe(t *testing.T) {
	t.Parallel()
	path := filepath.Join(t.TempDir(), "pipe")
	if err := syscall.Mkfifo(path, 0o600); err != nil {
		t.Fatal(err)
	}
	if _, err := ReadUpload(path); err == nil || api.AsError(err).Public != "pipe is not a regular file." {
		t.Error(err)
	}
}
