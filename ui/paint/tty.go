package paint

import (
	"errors"
	"io"
	"os"

	"golang.org/x/term"
)

// tty is the local terminal, if there is one.
type tty struct {
	in, out *os.File
	saved   *term.State // how it was; nil when raw was not called or not needed
}

func newTTY(in io.Reader, out io.Writer) *tty {
	t := &tty{}
	if f, ok := in.(*os.File); ok && term.IsTerminal(int(f.Fd())) {
		t.in = f
	}
	if f, ok := out.(*os.File); ok && term.IsTerminal(int(f.Fd())) {
		t.out = f
	}
	return t
}

// raw enters raw mode. The state of the first call is the one that is restored.
func (t *tty) raw() error {
	if t.in == nil {
		return nil
	}
	st, err := term.MakeRaw(int(t.in.Fd()))
	if err != nil {
		return errors.Join(errors.New("cannot put the terminal into raw mode"), err)
	}
	if t.saved == nil {
		t.saved = st
	}
	return nil
}

// restore goes back to the state before raw.
func (t *tty) restore() error {
	if t.saved == nil {
		return nil
	}
	return term.Restore(int(t.in.Fd()), t.saved)
}

// size asks the terminal.
func (t *tty) size() (Size, bool) {
	for _, f := range []*os.File{t.out, t.in} {
		if f == nil {
			continue
		}
		if w, h, err := term.GetSize(int(f.Fd())); err == nil {
			return Size{w, h}.clamp()
		}
	}
	return Size{}, false
}
