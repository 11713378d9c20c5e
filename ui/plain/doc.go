// Package plain talks with a person line by line: menus with numbers, prompts,
// questions and announcements, for screen readers and terminals that can do
// nothing but print. It writes lines of safe text that end in LF and nothing
// else: no escape sequence, no cursor movement, no line that is drawn twice.
// Prompts are lines too, and end in a colon.
//
// A line counts when it is finished. The other end may be a terminal that edits
// lines itself, a pipe, or a raw channel: CR and CRLF end lines as well,
// backspace and ctrl+u edit, ctrl+c interrupts, ctrl+d on an empty line is the
// end of input, and whatever escape sequences arrow keys send is dropped.
package plain

import "errors"

// How a conversation leaves the place where it is. Menus pass all of them on
// but ErrBack, which ends one command or one menu.
var (
	ErrBack        = errors.New("plain: back")
	ErrHome        = errors.New("plain: to the main menu")
	ErrLeave       = errors.New("plain: leave this menu") // returned by a command
	ErrQuit        = errors.New("plain: quit")
	ErrEnd         = errors.New("plain: end of input")
	ErrInterrupted = errors.New("plain: interrupted")
	ErrGone        = errors.New("plain: nobody can be spoken to any more") // a write failed
	ErrNoSecret    = errors.New("plain: nothing can be typed unseen here")
)
