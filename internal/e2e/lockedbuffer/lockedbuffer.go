// Package lockedbuffer has the buffer that tests read while another goroutine, as that
// of a program, writes to it.
package lockedbuffer

import (
	"bytes"
	"sync"
)

// Buffer is a bytes.Buffer for several goroutines. The zero value is empty.
type Buffer struct {
	mu sync.Mutex
	b  bytes.Buffer // guarded by mu
}

// Write implements io.Writer.
func (b *Buffer) Write(p []byte) (int, error) {
	b.mu.Lock()
	defer b.mu.Unlock()
	return b.b.Write(p)
}

// String is what was written so far.
func (b *Buffer) String() string {
	b.mu.Lock()
	defer b.mu.Unlock()
	return b.b.String()
}
