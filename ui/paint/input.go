package paint

import (
	"io"
	"os"
	"sync"

	"github.com/muesli/cancelreader"
)

// input stands between the terminal and Bubble Tea's decoder. It reads more than
// the decoder asks for, so that it knows whether keys wait, and its reads can be
// ended.
//
// The decoder sends each message on an unbuffered channel and reads again after
// the last one: a call of Read means that the loop has taken everything that was
// handed out before.
type input struct {
	in     io.Reader
	cancel func()
	ended  func(error) // called once, when in has no more to give

	mu     sync.Mutex
	busy   bool // handed out, and perhaps not all of it taken
	idle   func()
	closed bool

	buf        [4096]byte // Read's own
	start, end int
}

// newInput reads from in until close. idle is called when all keys have been
// taken, ended when there will be no more.
func newInput(in io.Reader, idle func(), ended func(error)) *input {
	i := &input{in: in, cancel: func() {}, idle: idle, ended: ended}
	if f, ok := in.(*os.File); ok {
		// Not every file can be waited for; the rest is read plainly.
		if r, err := cancelreader.NewReader(f); err == nil {
			i.in, i.cancel = r, func() { r.Cancel() }
		}
	}
	return i
}

// Read implements io.Reader for Bubble Tea.
func (i *input) Read(b []byte) (int, error) {
	if i.start == i.end {
		i.set(false)
		i.idle()
		n, err := i.in.Read(i.buf[:])
		i.start, i.end = 0, max(n, 0)
		if n <= 0 {
			if err == nil {
				return 0, nil
			}
			if !i.isClosed() {
				i.ended(err)
			}
			return 0, io.EOF
		}
	}
	i.set(true)
	n := copy(b, i.buf[i.start:i.end])
	i.start += n
	return n, nil
}

func (i *input) set(busy bool) {
	i.mu.Lock()
	i.busy = busy
	i.mu.Unlock()
}

// waiting is true while keys that have been read may not have reached the loop.
func (i *input) waiting() bool {
	i.mu.Lock()
	defer i.mu.Unlock()
	return i.busy
}

func (i *input) isClosed() bool {
	i.mu.Lock()
	defer i.mu.Unlock()
	return i.closed
}

// close ends a Read that waits, where the reader allows it.
func (i *input) close() {
	i.mu.Lock()
	was := i.closed
	i.closed = true
	i.mu.Unlock()
	if !was {
		i.cancel()
	}
}
