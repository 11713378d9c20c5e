package paint

import (
	"io"
	"os"
	"sync"

	"github.com/muesli/cancelreader"
)

// input stands between the terminal and Bubble Tea's decoder. It reads more than
// the decoder asks for, so that it knows whether keys wait; its reads can be
// ended; and it marks what was pasted without marks (see pasteFilter).
//
// The decoder sends each message on an unbuffered channel and reads again after
// the last one: a call of Read means that the loop has taken everything that was
// handed out before.
type input struct {
	file  *os.File    // nil: in cannot be opened again
	ended func(error) // called once, when in has no more to give
	idle  func()

	mu      sync.Mutex
	in      io.Reader
	cancel  func()     // ends a Read of in, and all later ones; nil: nothing does
	changed *sync.Cond // paused, reading or closed
	busy    bool       // handed out, and perhaps not all of it taken
	reading bool       // Read is in a Read of in
	paused  bool
	closed  bool

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
	i.changed = sync.NewCond(&i.mu)
	if f, ok := in.(*os.File); ok {
		i.file = f
		i.open()
	}
	return i
}

// open opens the file for reading that can be ended.
func (i *input) open() {
	if p := poll(i.file); p != nil {
		i.in, i.cancel = p, p.Cancel
		return
	}
	// Not every file can be waited for; the rest is read plainly.
	if r, err := cancelreader.NewReader(i.file); err == nil {
		i.in, i.cancel = r, func() { r.Cancel() }
	}
}

// Read implements io.Reader for Bubble Tea. It never fills b: the decoder takes
// a full buffer for one with more behind it and holds back what it has, until
// another key comes. What it hands out ends where a key ends.
func (i *input) Read(b []byte) (int, error) {
	if len(i.next) == 0 {
		i.set(false)
		i.idle()
		n, err := i.read()
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

// read reads on, but not while the input is paused.
func (i *input) read() (int, error) {
	for {
		i.mu.Lock()
		for i.paused && !i.closed {
			i.changed.Wait()
		}
		in := i.in
		i.reading = true
		i.mu.Unlock()
		n, err := in.Read(i.buf[i.kept:])
		i.mu.Lock()
		i.reading = false
		paused := i.paused && !i.closed
		i.changed.Broadcast()
		i.mu.Unlock()
		if n > 0 || !paused {
			return n, err
		}
	}
}

// pause makes sure that nothing more is read before resume; false: it cannot.
func (i *input) pause() bool {
	i.mu.Lock()
	defer i.mu.Unlock()
	if i.file == nil || i.cancel == nil || i.closed {
		return false
	}
	i.paused = true
	i.cancel()
	for i.reading {
		i.changed.Wait()
	}
	if r, ok := i.in.(cancelreader.CancelReader); ok {
		_ = r.Close()
	}
	return true
}

// resume reads on after pause.
func (i *input) resume() {
	i.mu.Lock()
	defer i.mu.Unlock()
	if !i.closed {
		i.open()
	}
	i.paused = false
	i.changed.Broadcast()
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
	defer i.mu.Unlock()
	if !i.closed && i.cancel != nil {
		i.cancel()
	}
	i.closed = true
	i.changed.Broadcast()
}
