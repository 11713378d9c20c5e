package sshserver

import (
	"io"
	"slices"
	"sync"
)

// wantsPlain reports whether a command line asks for plain mode.
func wantsPlain(command string) bool {
	words, err := splitWords(command)
	if err != nil {
		return false
	}
	if len(words) == 2 && words[0] == "opdeck" {
		words = words[1:]
	}
	return len(words) == 1 && slices.Contains([]string{"plain", "--plain"}, words[0])
}

// runPlain runs plain mode. The conversation handles the end of the input: earlier lines still count. When the
// channel is closed, the session ends.
func (r *run) runPlain() (code int, message string) {
	x := r.x
	l := Line{In: &keys{r: r, in: x.ch}, Out: r.out, Getenv: x.getenv, Raw: x.pty}
	if x.pty {
		l.Out = &crlf{w: r.out}
		l.Width, _ = x.size.get()
	}
	return exit(x.srv.opt.Plain(r.ctx, l))
}

// lockedWriter serialises writes.
type lockedWriter struct {
	mu sync.Mutex
	w  io.Writer // guarded by mu
}

func (l *lockedWriter) Write(b []byte) (int, error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.w.Write(b)
}

// keys records what is typed, and drops it once the session is ending.
type keys struct {
	r  *run
	in io.Reader
}

func (k *keys) Read(b []byte) (int, error) {
	for {
		n, err := k.in.Read(b)
		if n > 0 {
			k.r.watch.typed()
		}
		if n == 0 || err != nil || !k.r.ending.Load() {
			return n, err
		}
	}
}
