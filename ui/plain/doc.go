// Package plain is the plain mode: the console for screen readers and for
// terminals that can do nothing but print. It hosts the same screens as the drawn
// console and talks with a person line by line: menus with numbers, commands made
// from the screens' keys, prompts, questions and announcements. It writes lines of
// safe text that end in LF and nothing else: no escape sequence, no cursor
// movement, no line that is drawn twice. Prompts are lines too, and end in a colon.
//
// Talk is the conversation: it reads lines, asks, and prints. Host connects it to a ui.Shell:
// it presses keys there, runs the commands of the screens until all have
// finished, and prints the ui.Content of the screens. A new
// screen or key needs no code here.
//
// A line counts when it is finished. The other end may be a terminal that edits
// lines itself, a pipe, or a raw channel: CR and CRLF end lines as well,
// backspace and ctrl+u edit, ctrl+c interrupts, ctrl+d on an empty line is the
// end of input, and whatever escape sequences arrow keys send is dropped.
package plain

import "errors"

// How a person leaves the place where they are.
var (
	ErrBack        = errors.New("plain: back")
	ErrHome        = errors.New("plain: to the main menu")
	ErrQuit        = errors.New("plain: quit")
	ErrEnd         = errors.New("plain: end of input")
	ErrInterrupted = errors.New("plain: interrupted")
	ErrGone        = errors.New("plain: the other end is gone") // a write failed
	ErrNoSecret    = errors.New("plain: input cannot be hidden here")
)
