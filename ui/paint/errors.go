package paint

import (
	"errors"
	"fmt"
	"os"
)

// ErrInputClosed is returned by [Run] when no more keys can come: the terminal hung
// up or the SSH client closed its channel.
var ErrInputClosed = errors.New("the terminal has been closed")

// PanicError is returned by [Run] after a panic in Update, View, a command or the painter
// itself. Its text contains neither the value nor the stack, because these may contain
// text from outside or secrets.
type PanicError struct {
	Value any
	Stack []byte
}

func (e *PanicError) Error() string { return "the program stopped because of an internal error" }

// SignalError is returned by [Run] when a signal ended the program.
type SignalError struct{ Signal os.Signal }

func (e *SignalError) Error() string { return fmt.Sprintf("ended by a signal: %s", e.Signal) }
