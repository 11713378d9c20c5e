package paint

import (
	"io"
	"os"
	"strings"
	"sync/atomic"
	"time"
	"unicode/utf8"

	"github.com/charmbracelet/x/ansi"
	states "github.com/charmbracelet/x/ansi/parser"
	"github.com/muesli/cancelreader"
)

// Time limits of a sequence that is not complete, from its last byte on.
const (
	// escapeAlone is for an escape with nothing behind it: then it was the key. It is longer than the gaps in
	// which a slow line delivers the parts of one sequence (100 ms), and short enough for a person.
	escapeAlone = 125 * time.Millisecond
	// restLost is for all others. Their rest is not a key either, so it may be as late as one repetition by TCP.
	restLost = 500 * time.Millisecond
)

// Marks that a terminal with bracketed paste puts around what is pasted.
const (
	pasteBegin = "\x1b[200~"
	pasteEnd   = "\x1b[201~"
)

// What comes in one read without marks is typing, unless it is more than a person
// types between two reads: docs/decisions/0006 has the reasons for these figures.
const (
	typedLines = 64  // characters with a line end between them
	typedMost  = 256 // characters; those that repeat the one before do not count: a key was held
)

// maxPiece is the longest piece in bytes. Bubble Tea's decoder reads up to 256 bytes, and takes a full buffer for one
// with more behind it: it holds back what it has until another key comes.
const maxPiece = 255

const (
	esc         = 0x1b
	introducers = "[]OPX^_" // behind an escape they begin a sequence
	longestKey  = 32        // bytes of a key's or a mouse event's sequence
)

// sequences takes apart what a terminal sends, however the reads cut it. It hands on keys, mouse events and pastes
// in pieces that Bubble Tea's decoder understands by themselves, and swallows whole what has no meaning here:
// answers of the terminal, focus events, broken characters.
type sequences struct {
	mouse  bool // mouse events have a meaning
	parser ansi.Parser

	raw   []byte // what is not complete: a character, or a sequence from its escape on
	more  int    // bytes that still belong to raw, whatever they are
	keyed bool   // the sequence that just ended is a key or a mouse event
	twice bool   // there was another escape before the one in raw
	ended bool   // the escape in raw ended a string: it is not a key

	pasting bool // behind pasteBegin
	matched int  // bytes of pasteEnd that the paste ends in so far
	pasted  []byte

	typed []token // since the last piece
	out   []string
}

// token is a character, or a sequence with the meaning of a key or a mouse event.
type token struct {
	bytes string
	char  bool
}

func newSequences(mouse bool) *sequences {
	s := &sequences{mouse: mouse}
	s.parser.SetParamsSize(8)
	s.parser.SetDataSize(1) // what is in a string is of no interest
	s.parser.SetHandler(ansi.Handler{HandleCsi: s.control})
	return s
}

// read returns the pieces that one read completed.
func (s *sequences) read(b []byte) []string {
	for _, c := range b {
		s.take(c)
	}
	return s.pieces()
}

// wait is how long to wait for the rest of what is not complete; 0 if all is.
func (s *sequences) wait() time.Duration {
	switch {
	case len(s.raw) == 0:
		return 0
	case s.raw[0] == esc && len(s.raw) == 1 && !s.ended:
		return escapeAlone
	}
	return restLost
}

// expire returns the pieces that are due when nothing has come for [sequences.wait].
func (s *sequences) expire() []string {
	if s.wait() == escapeAlone {
		s.escapes()
	}
	s.raw, s.more, s.twice, s.ended = nil, 0, false, false
	return s.pieces()
}

func (s *sequences) take(c byte) {
	switch {
	case s.pasting:
		s.paste(c)
	case len(s.raw) == 0 && c >= 0x80 && strings.IndexByte(introducers, c-0x40) >= 0: // controls in eight bits
		s.raw = append(s.raw, esc)
		s.escaped(c - 0x40)
	case len(s.raw) == 0 || s.raw[0] != esc:
		s.character(c)
	case len(s.raw) == 1:
		s.escaped(c)
	case s.more > 0:
		s.fixed(c)
	case s.raw[1] == 'O':
		s.keypad(c)
	default:
		s.inside(c)
	}
}

// character takes a byte of a character. What is none is dropped.
func (s *sequences) character(c byte) {
	s.raw = append(s.raw, c)
	if c == esc && len(s.raw) == 1 || !utf8.FullRune(s.raw) {
		return
	}
	raw := s.raw
	s.raw = nil
	if r, n := utf8.DecodeRune(raw); r == utf8.RuneError && n == 1 {
		if len(raw) > 1 && utf8.RuneStart(c) {
			s.take(c)
		}
		return
	}
	s.add(string(raw), true)
}

// escaped takes the byte behind an escape.
func (s *sequences) escaped(c byte) {
	ended := s.ended
	s.ended = false
	switch {
	case c == esc && ended:
	case c == esc && s.twice: // the key is held down
		s.add("\x1b", false)
	case c == esc:
		s.twice = true
	case strings.IndexByte(introducers, c) >= 0:
		s.raw = append(s.raw, c)
		s.parser.Reset()
		s.parser.Advance(esc)
		s.parser.Advance(c)
	case c == '\\' && ended:
		s.raw = nil
	case c >= 0x80:
		if !ended {
			s.escapes()
		}
		s.raw, s.twice = nil, false
		s.take(c)
	default: // a key with alt
		if s.twice {
			s.add("\x1b", false)
		}
		s.add("\x1b"+string(rune(c)), false)
		s.raw, s.twice = nil, false
	}
}

// escapes adds the keys that the escapes so far were.
func (s *sequences) escapes() {
	s.add("\x1b", false)
	if s.twice {
		s.add("\x1b", false)
	}
}

// end ends a sequence. An escape before it was a key, unless it stands for alt: then the two have no meaning here.
func (s *sequences) end() {
	if s.twice && !s.keyed {
		s.add("\x1b", false)
	}
	s.raw, s.twice, s.keyed = nil, false, false
	if s.pasting {
		s.flush()
		s.pasted = append(s.pasted, pasteBegin...)
	}
}

// fixed takes a byte of a part of fixed length: of an old mouse event, or of a function key of the Linux console.
func (s *sequences) fixed(c byte) {
	s.raw = append(s.raw, c)
	if s.more--; s.more > 0 {
		return
	}
	if s.raw[2] == 'M' {
		s.key(s.mouse && s.raw[3] >= ' ' && s.raw[4] > ' ' && s.raw[5] > ' ')
	} else {
		s.key(c >= 'A' && c <= 'E')
	}
	s.end()
}

// key adds the sequence as a key or a mouse event if it is one.
func (s *sequences) key(is bool) {
	if s.keyed = is && len(s.raw) <= longestKey; s.keyed && !s.twice {
		s.add(string(s.raw), false)
	}
}

// keypad takes a byte of a sequence that begins with SS3. The keys of a keypad are what is written on them.
func (s *sequences) keypad(c byte) {
	const keys = "*+,-./0123456789" // j to y
	s.keyed = true
	switch {
	case c >= '0' && c <= ';': // a modifier
		s.raw = append(s.raw[:2], c)
		return
	case c < ' ' || c > '~':
		s.keyed = false
		s.end()
		s.take(c)
		return
	case len(s.raw) > 2 || s.twice: // has no meaning here
	case strings.IndexByte("ABCDPQRS", c) >= 0:
		s.add("\x1bO"+string(rune(c)), false)
	case c == 'H' || c == 'F':
		s.add("\x1b["+string(rune(c)), false)
	case c >= 'j' && c <= 'y':
		s.add(keys[c-'j':c-'j'+1], true)
	case strings.IndexByte(" IMX", c) >= 0:
		s.add(map[byte]string{' ': " ", 'I': "\t", 'M': "\r", 'X': "="}[c], true)
	}
	s.end()
}

// inside takes a byte of a control sequence or of a string.
func (s *sequences) inside(c byte) {
	control := s.raw[1] == '['
	switch {
	case c == esc: // ends a string; in a control sequence it begins another
		s.end()
		s.raw, s.ended = append(s.raw, esc), !control
		return
	case c >= 0x7f, control && (c < ' ' || s.parser.State() == states.CsiIntermediateState && c >= '0' && c <= '?'):
		return // it belongs to it; the parser would end it here
	case control && len(s.raw) <= longestKey:
		s.raw = append(s.raw, c)
	}
	if s.parser.Advance(c); s.parser.State() == states.GroundState && s.more == 0 {
		s.end()
	}
}

// control decides what a control sequence is. What is not here has no meaning: answers, focus, keys in other forms.
func (s *sequences) control(cmd ansi.Cmd, params ansi.Params) {
	first, _, _ := params.Param(0, 0)
	switch final := cmd.Final(); {
	case cmd == ansi.Cmd(ansi.Command('<', 0, 'M')), cmd == ansi.Cmd(ansi.Command('<', 0, 'm')):
		s.key(s.mouse && len(params) == 3)
	case cmd.Prefix() != 0 || cmd.Intermediate() != 0:
	case final == 'M' && len(params) == 0:
		s.more = 3
	case final == '[' && len(params) == 0:
		s.more = 1
	case final == '~' && first == 200:
		s.pasting = true
	case final == '~' && (first == 201 || first == 27): // the end of no paste; a key in another form
	case strings.IndexByte("ABCDFHPQSZ~^@", final) >= 0:
		s.key(true)
	}
}

// paste takes a byte of a paste with marks.
func (s *sequences) paste(c byte) {
	s.pasted = append(s.pasted, c)
	if c != pasteEnd[s.matched] {
		s.matched = 0
	}
	if c == pasteEnd[s.matched] {
		s.matched++
	}
	if s.matched == len(pasteEnd) {
		s.pasting, s.matched = false, 0
		s.flush()
	}
}

// add adds a token.
func (s *sequences) add(bytes string, char bool) {
	s.typed = append(s.typed, token{bytes, char})
}

// pieces returns what is complete.
func (s *sequences) pieces() []string {
	s.flush()
	out := s.out
	s.out = nil
	return out
}

// flush makes pieces of what was pasted or typed. A sequence is a piece by itself, characters that came together stay
// together.
func (s *sequences) flush() {
	for b := s.pasted; len(b) > 0; {
		n := min(len(b), maxPiece)
		s.out = append(s.out, string(b[:n]))
		b = b[n:]
	}
	s.pasted = s.pasted[:0]
	if looksPasted(s.typed) {
		s.markPaste()
	}
	text := false
	for _, t := range s.typed {
		last := len(s.out) - 1
		if text && t.char && len(s.out[last])+len(t.bytes) <= maxPiece {
			s.out[last] += t.bytes
		} else {
			s.out = append(s.out, t.bytes)
		}
		text = t.char
	}
	s.typed = s.typed[:0]
}

// markPaste puts the marks of a paste around the characters that were typed, without controls.
func (s *sequences) markPaste() {
	s.pasted = append(s.pasted, pasteBegin...)
	for _, t := range s.typed {
		if c := t.bytes[0]; t.char && (c >= ' ' && c != 0x7f || c == '\n' || c == '\r' || c == '\t') {
			s.pasted = append(s.pasted, t.bytes...)
		}
	}
	s.pasted = append(s.pasted, pasteEnd...)
	s.typed = s.typed[:0]
	s.flush()
}

// looksPasted says whether this is more than a person types between two reads.
func looksPasted(typed []token) bool {
	count, last := 0, ""
	ended, lines := false, false // a line end was seen; characters came behind it
	for _, t := range typed {
		c := t.bytes[0]
		switch {
		case !t.char:
		case c == '\r' || c == '\n':
			ended = ended || count > 0
		case c >= ' ' && c != 0x7f:
			if t.bytes != last {
				count++
			}
			lines = lines || ended
		}
		last = t.bytes
	}
	return count > typedLines && lines || count > typedMost
}

// input is the reader between the terminal and Bubble Tea's decoder. Each Read returns one piece that the decoder
// understands by itself (see sequences), and knows whether more keys wait. Its reads can be cancelled.
//
// The decoder sends each message on an unbuffered channel and reads again after
// the last one: a call of Read means that the loop has taken everything that was
// handed out before.
type input struct {
	in    io.Reader
	ended func() // called once, when in has no more to give
	idle  func()

	cancel func()        // ends a Read of in, and all later ones; nil: nothing does
	want   chan struct{} // asks for one Read of in
	came   chan arrival  // what it brought
	done   chan struct{} // closed by close

	busy atomic.Bool // keys were read that may not have reached the loop yet

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
func newInput(in io.Reader, mouse bool, idle, ended func()) *input {
	i := &input{in: in, idle: idle, ended: ended, want: make(chan struct{}, 1), came: make(chan arrival, 1),
		done: make(chan struct{}), sequences: newSequences(mouse)}
	if f, ok := in.(*os.File); ok {
		if r, err := cancelreader.NewReader(f); err == nil { // not every file can be waited for
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
		i.busy.Store(false)
		i.idle()
		a, err := i.receive()
		if err != nil {
			return 0, err
		}
		i.next = a
	}
	i.busy.Store(true)
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
				select {
				case <-i.done:
				default:
					i.ended()
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

// close ends a waiting Read, and that of the terminal if it can be ended.
func (i *input) close() {
	close(i.done)
	if i.cancel != nil {
		i.cancel()
	}
}
