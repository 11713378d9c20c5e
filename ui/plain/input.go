package plain

import (
	"context"
	"errors"
	"io"
	"strings"
	"sync"
	"time"
	"unicode/utf8"
)

const (
	maxLine = 16 << 10 // bytes of a line; what is beyond is dropped and the line refused
	chunk   = 4 << 10
)

// line is one finished line.
type line struct {
	text string
	long bool // it was longer than maxLine
}

// input reads lines. It reads only when someone waits for a line, so that a
// hidden prompt can have the terminal for itself in between.
type input struct {
	r    io.Reader
	want chan struct{} // asks the reading goroutine for one Read
	more chan struct{} // holds one token: something came

	mu      sync.Mutex // guards the rest
	reading bool
	lines   []line
	cur     []byte
	long    bool
	cr      bool // the last byte was a CR
	esc     int  // where we are in an escape sequence
	err     error
}

func newInput(r io.Reader) *input {
	in := &input{r: r, want: make(chan struct{}, 1), more: make(chan struct{}, 1)}
	go in.pump()
	return in
}

// close ends the reading goroutine, when the Read that it is in returns.
func (in *input) close() { close(in.want) }

func (in *input) pump() {
	buf := make([]byte, chunk)
	for range in.want {
		n, err := in.r.Read(buf)
		in.feed(buf[:n], err)
	}
}

// demand asks for one more Read unless one is under way.
func (in *input) demand() {
	in.mu.Lock()
	defer in.mu.Unlock()
	if !in.reading && in.err == nil {
		in.reading = true
		in.want <- struct{}{}
	}
}

func (in *input) feed(b []byte, err error) {
	in.mu.Lock()
	in.reading = false
	for _, c := range b {
		if in.err == nil {
			in.take(c)
		}
	}
	if err != nil && in.err == nil {
		in.err = ErrEnd // a failed reader returns no more input
	}
	in.mu.Unlock()
	select {
	case in.more <- struct{}{}:
	default:
	}
}

// The places in an escape sequence.
const (
	noEsc = iota
	afterEsc
	inCSI
	afterSS3
	inString // OSC, DCS and their like: answers of the terminal
)

func (in *input) take(c byte) {
	if in.esc != noEsc {
		in.escape(c)
		return
	}
	wasCR := in.cr
	in.cr = c == '\r'
	switch {
	case c == '\n' && wasCR:
	case c == '\n', c == '\r':
		in.lines = append(in.lines, line{string(in.cur), in.long})
		in.cur, in.long = nil, false
	case c == 0x03:
		in.err = ErrInterrupted
	case c == 0x04 && len(in.cur) == 0:
		in.err = ErrEnd
	case c == 0x08 || c == 0x7f:
		_, n := utf8.DecodeLastRune(in.cur)
		in.cur = in.cur[:len(in.cur)-n]
	case c == 0x15:
		in.cur, in.long = nil, false
	case c == 0x1b:
		in.esc = afterEsc
	case c == '\t':
		in.put(' ')
	case c >= 0x20:
		in.put(c)
	}
}

func (in *input) put(c byte) {
	if len(in.cur) >= maxLine {
		in.long = true
		return
	}
	in.cur = append(in.cur, c)
}

// escape drops the sequences that keys and the terminal send. A line end cannot be part of one.
func (in *input) escape(c byte) {
	state := in.esc
	in.esc = noEsc
	switch {
	case c == '\r' || c == '\n' || c == 0x03:
		in.take(c)
	case state == afterEsc && c == '[':
		in.esc = inCSI
	case state == afterEsc && c == 'O':
		in.esc = afterSS3
	case c == 0x1b: // the next one begins, or a string ends
		in.esc = afterEsc
	case state == afterEsc && strings.IndexByte("]P_^X", c) >= 0, state == inString && c != '\a':
		in.esc = inString
	case state == inCSI && (c < 0x40 || c > 0x7e):
		in.esc = inCSI
	}
}

// next waits for a line.
func (in *input) next(ctx context.Context) (line, error) {
	for {
		in.mu.Lock()
		if len(in.lines) > 0 && !errors.Is(in.err, ErrInterrupted) && ctx.Err() == nil {
			l := in.lines[0]
			in.lines = in.lines[1:]
			in.mu.Unlock()
			return l, nil
		}
		err := in.err
		in.mu.Unlock()
		switch {
		case ctx.Err() != nil:
			return line{}, ErrInterrupted
		case err != nil:
			return line{}, err
		}
		in.demand()
		select {
		case <-in.more:
		case <-ctx.Done():
		}
	}
}

// drop forgets everything that was typed and not taken.
func (in *input) drop() {
	in.mu.Lock()
	in.lines, in.cur, in.long = nil, nil, false
	in.mu.Unlock()
}

// hush drops whatever is typed during d.
func (in *input) hush(ctx context.Context, d time.Duration) {
	t := time.NewTimer(d)
	defer t.Stop()
	for {
		in.drop()
		in.demand()
		select {
		case <-in.more:
		case <-t.C:
			in.drop()
			return
		case <-ctx.Done():
			return
		}
	}
}

// follows reports whether anything more arrives within d.
func (in *input) follows(ctx context.Context, d time.Duration) bool {
	t := time.NewTimer(d)
	defer t.Stop()
	for {
		in.mu.Lock()
		some := len(in.lines) > 0 || len(in.cur) > 0
		in.mu.Unlock()
		if some {
			return true
		}
		in.demand()
		select {
		case <-in.more:
		case <-t.C:
			return false
		case <-ctx.Done():
			return false
		}
	}
}
