package paint

import (
	"io"
	"os"
	"sync"
	"time"

	"github.com/muesli/cancelreader"
)

// input is the reader between the terminal and Bubble Tea's decoder. Each Read returns one piece that the decoder
// understands by itself (see sequences), and knows whether more keys wait. Its reads can be cancelled.
//
// The decoder sends each message on an unbuffered channel and reads again after
// the last one: a call of Read means that the loop has taken everything that was
// handed out before.
type input struct {
	in    io.Reader
	ended func(error) // called once, when in has no more to give
	idle  func()

	cancel func()        // ends a Read of in, and all later ones; nil: nothing does
	want   chan struct{} // asks for one Read of in
	came   chan arrival  // what it brought
	done   chan struct{} // closed by close

	mu     sync.Mutex
	busy   bool // handed out, and perhaps not all of it taken
	closed bool

	// Read's own.
	reading   bool     // a Read of in is under way
	next      []string // pieces that are not handed out
	sequences *sequences
}

// arrival is what one Read brought. The bytes hold until the next one.
type arrival struct {
	b   []byte
	err error
}

// newInput reads from in until close. idle is called when all keys have been
// taken, ended when there will be no more.
func newInput(in io.Reader, mouse bool, idle func(), ended func(error)) *input {
	i := &input{in: in, idle: idle, ended: ended, want: make(chan struct{}, 1), came: make(chan arrival, 1),
		done: make(chan struct{}), sequences: newSequences(mouse)}
	if f, ok := in.(*os.File); ok {
		if p := poll(f); p != nil {
			i.in, i.cancel = p, p.Cancel
		} else if r, err := cancelreader.NewReader(f); err == nil { // not every file can be waited for
			i.in, i.cancel = r, func() { r.Cancel() }
		}
	}
	go i.pump()
	return i
}

// pump reads from in, once each time that Read asks for it: what is not asked for is left to whoever reads next.
func (i *input) pump() {
	var buf [4096]byte
	for {
		select {
		case <-i.want:
			n, err := i.in.Read(buf[:])
			i.came <- arrival{buf[:max(n, 0)], err}
		case <-i.done:
			return
		}
	}
}

// Read implements io.Reader for Bubble Tea.
func (i *input) Read(b []byte) (int, error) {
	for len(i.next) == 0 {
		i.set(false)
		i.idle()
		a, err := i.receive()
		if err != nil {
			return 0, err
		}
		i.next = a
	}
	i.set(true)
	n := copy(b, i.next[0])
	if i.next[0] = i.next[0][n:]; i.next[0] == "" {
		i.next = i.next[1:]
	}
	return n, nil
}

// late is how long an overdue rest is waited for once more: on a machine that is busy it has come, and has not been
// read yet.
const late = 10 * time.Millisecond

// receive returns the pieces that the next read completes, or those that are due because nothing comes.
func (i *input) receive() ([]string, error) {
	if !i.reading {
		i.reading = true
		i.want <- struct{}{}
	}
	for _, d := range []time.Duration{i.sequences.wait(), late} {
		var overdue <-chan time.Time
		if d > 0 {
			t := time.NewTimer(d)
			defer t.Stop()
			overdue = t.C
		}
		select {
		case a := <-i.came:
			i.reading = false
			pieces := i.sequences.read(a.b)
			if a.err != nil && len(a.b) == 0 {
				if !i.isClosed() {
					i.ended(a.err)
				}
				return nil, io.EOF
			}
			return pieces, nil
		case <-overdue:
		case <-i.done:
			return nil, io.EOF
		}
	}
	return i.sequences.expire(), nil
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

// close ends a waiting Read, and that of the terminal if it can be ended.
func (i *input) close() {
	i.mu.Lock()
	defer i.mu.Unlock()
	if i.closed {
		return
	}
	i.closed = true
	close(i.done)
	if i.cancel != nil {
		i.cancel()
	}
}
