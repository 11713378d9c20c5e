package sshserver

import (
	"bytes"
	"context"
	"errors"
	"io"
	"strings"
	"sync"
)

// runCommand runs the one command of the session.
func (r *run) runCommand() int {
	x := r.x
	errs := io.Writer(&stallWriter{w: x.ch.Stderr(), limit: x.srv.opt.Limits.Stall, stalled: func() { _ = x.c.Close() }})
	c := Command{In: x.ch, Out: r.out, Err: errs, Terminal: x.pty}
	if x.pty { // the client's terminal is raw
		c.Width, _ = x.size.get()
		c.In, c.Out, c.Err = newLineInput(x.ch, r.cancel), &crlf{w: r.out}, &crlf{w: errs}
	}
	var err error
	if c.Args, err = splitWords(r.command); err != nil {
		_, _ = io.WriteString(c.Err, "opdeck: "+err.Error()+"\n")
		return 2
	}
	return x.srv.opt.Exec(r.ctx, c)
}

// splitWords splits a command line like a POSIX shell: quotes and backslashes group, nothing else has a meaning.
// There is no shell: no variables, pipes, redirections or patterns.
func splitWords(line string) ([]string, error) {
	var words []string
	var word strings.Builder
	in, quote := false, byte(0)
	for i := 0; i < len(line); i++ {
		c := line[i]
		switch {
		case quote == '\'' && c != '\'':
			word.WriteByte(c)
		case quote == '"' && c == '\\' && i+1 < len(line) && strings.IndexByte("\"\\$`", line[i+1]) >= 0,
			quote == 0 && c == '\\' && i+1 < len(line):
			i++
			in = true
			word.WriteByte(line[i])
		case quote != 0 && c == quote:
			quote = 0
		case quote != 0:
			word.WriteByte(c)
		case c == '\'' || c == '"':
			quote, in = c, true
		case c == ' ' || c == '\t' || c == '\n' || c == '\r':
			if in {
				words, in = append(words, word.String()), false
				word.Reset()
			}
		default:
			in = true
			word.WriteByte(c)
		}
	}
	if quote != 0 {
		return nil, errors.New("a quote in the command is not closed")
	}
	if in {
		words = append(words, word.String())
	}
	return words, nil
}

// crlf converts line ends for a terminal that does not add carriage returns.
type crlf struct{ w io.Writer }

func (c *crlf) Write(b []byte) (int, error) {
	if _, err := c.w.Write(bytes.ReplaceAll(b, []byte("\n"), []byte("\r\n"))); err != nil {
		return 0, err
	}
	return len(b), nil
}

// maxTyped bounds typed text that a command has not read, in bytes.
const maxTyped = 1 << 20

// lineInput provides what is typed at a raw terminal, without echo, as lines: ctrl+c ends the command, ctrl+d the
// input.
type lineInput struct {
	mu   sync.Mutex
	more sync.Cond
	b    bytes.Buffer // guarded by mu
	end  bool         // guarded by mu
}

func newLineInput(in io.Reader, cancel context.CancelCauseFunc) *lineInput {
	c := &lineInput{}
	c.more.L = &c.mu
	go c.typed(in, cancel)
	return c
}

// typed reads keys until the input ends.
func (c *lineInput) typed(in io.Reader, cancel context.CancelCauseFunc) {
	b := make([]byte, 1024)
	for {
		n, err := in.Read(b)
		c.mu.Lock()
		for _, key := range b[:max(n, 0)] {
			switch {
			case key == 3:
				c.end = true
				cancel(errLeft)
			case key == 4:
				c.end = true
			case c.end || c.b.Len() >= maxTyped:
			case key == '\r':
				c.b.WriteByte('\n')
			default:
				c.b.WriteByte(key)
			}
		}
		c.end = c.end || err != nil
		c.more.Broadcast()
		c.mu.Unlock()
		if err != nil {
			return
		}
	}
}

func (c *lineInput) Read(b []byte) (int, error) {
	c.mu.Lock()
	defer c.mu.Unlock()
	for c.b.Len() == 0 {
		if c.end {
			return 0, io.EOF
		}
		c.more.Wait()
	}
	return c.b.Read(b)
}
