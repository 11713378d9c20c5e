package paint

import (
	"io"
	"os"
	"sync"

	"github.com/muesli/cancelreader"
)

// input is the reader between the terminal and Bubble Tea's decoder. It reads more than
// the decoder requests, so that it knows whether keys wait. Its reads can be
// cancelled, and it marks text that was pasted without marks (see pasteFilter).
//
// The decoder sends each message on an unbuffered channel and reads again after
// the last one: a call of Read means that the loop has taken everything that was
// handed out before.
type input struct {
	in    io.Reader
	ended func(error) // called once, when in has no more to give
	idle  func()

	cancel func() // ends a Read of in, and all later ones; nil: nothing does

	mu     sync.Mutex
	busy   bool // handed out, and perhaps not all of it taken
	closed bool

	// Read's own.
	buf         [4096]byte
	kept        int    // bytes at the front of buf: the beginning of a sequence
	next        []byte // read and not handed out
	pasteFilter pasteFilter
}

// newInput reads from in until close. idle is called when all keys have been
// taken, ended when there will be no more.
func newInput(in io.Reader, idle func(), ended func(error)) *input {
	i := &input{in: in, idle: idle, ended: ended}
	f, ok := in.(*os.File)
	if !ok {
		return i
	}
	if p := poll(f); p != nil {
		i.in, i.cancel = p, p.Cancel
	} else if r, err := cancelreader.NewReader(f); err == nil { // not every file can be waited for
		i.in, i.cancel = r, func() { r.Cancel() }
	}
	return i
}

// Read implements io.Reader for Bubble Tea. It never fills b: the decoder takes
// a full buffer for one with more behind it and holds back what it has, until
// another key comes. What it hands out ends where a key ends.
func (i *input) Read(b []byte) (int, error) {
	if len(i.next) == 0 {
		i.set(false)
		i.idle()
		n, err := i.in.Read(i.buf[i.kept:])
		if n <= 0 {
			if err == nil {
				return 0, nil
			}
			if !i.isClosed() {
				i.ended(err)
			}
			return 0, io.EOF
		}
		i.fill(i.kept + n)
		if len(i.next) == 0 { // nothing of it is a key
			return 0, nil
		}
	}
	i.set(true)
	n := copy(b, i.next[:wholeKeys(i.next, max(len(b)-1, 1))])
	i.next = i.next[n:]
	return n, nil
}

// fill takes n bytes of buf. A sequence that the end of a full buffer cut waits
// for its rest.
func (i *input) fill(n int) {
	whole := n
	if n == len(i.buf) {
		whole = complete(i.buf[:n])
	}
	i.next = i.pasteFilter.pass(i.buf[:whole])
	i.kept = copy(i.buf[:], i.buf[whole:n])
}

func (i *input) set(busy bool) {
	i.mu.Lock()
	i.busy = busy
	i.mu.Unlock()
}

// waiting reports whether keys that were read may not have reached the loop yet.
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

// close cancels a waiting Read, if the reader supports it.
func (i *input) close() {
	i.mu.Lock()
	defer i.mu.Unlock()
	if !i.closed && i.cancel != nil {
		i.cancel()
	}
	i.closed = true
}
