package paint

import (
	"fmt"
	"os"
	"syscall"
	"time"

	"golang.org/x/term"
)

// polled is a terminal that the runtime waits for itself. A read that waits then
// holds no thread, and a key that arrives costs one change of threads less.
type polled struct{ f *os.File }

// poll opens the terminal of f once more: what f refers to is shared with the
// shell, which would not expect it to be non-blocking. It is nil when f is no
// terminal or cannot be opened.
func poll(f *os.File) *polled {
	if !term.IsTerminal(int(f.Fd())) {
		return nil
	}
	p, err := os.OpenFile(fmt.Sprintf("/proc/self/fd/%d", f.Fd()), os.O_RDONLY|syscall.O_NONBLOCK|syscall.O_NOCTTY, 0)
	if err != nil {
		return nil
	}
	if p.SetReadDeadline(time.Time{}) != nil { // not a file that can be waited for
		_ = p.Close()
		return nil
	}
	return &polled{p}
}

// Read implements io.Reader.
func (p *polled) Read(b []byte) (int, error) { return p.f.Read(b) }

// Cancel ends a Read that waits, and all later ones.
func (p *polled) Cancel() { _ = p.f.Close() }
