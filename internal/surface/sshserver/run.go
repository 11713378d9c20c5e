package sshserver

import (
	"context"
	"errors"
	"fmt"
	"io"
	"runtime/debug"
	"sync"
	"sync/atomic"
	"time"

	"github.com/google/uuid"
	gossh "golang.org/x/crypto/ssh"

	"opdeck/api"
	"opdeck/api/untrusted"
)

// run is the program of a session: the console, plain mode, or one command.
type run struct {
	x       *session
	command string
	exec    bool
	id      string
	began   time.Time
	ctx     context.Context
	cancel  context.CancelCauseFunc
	out     io.Writer
	plain   bool        // the console in lines
	ending  atomic.Bool // keys are ignored
	over    chan struct{}
	fault   bool // the program panicked
	leaving sync.Once
	watch   watch
}

func newRun(x *session, command string, exec bool) *run {
	r := &run{x: x, command: command, exec: exec, id: uuid.NewString(), began: time.Now(), over: make(chan struct{})}
	x.who = x.c.actor(r.id)
	base := api.WithActor(context.Background(), x.who)
	r.ctx, r.cancel = context.WithCancelCause(base)
	r.plain = x.srv.opt.Plain != nil && (exec && wantsPlain(command) || !exec && (!x.pty || x.term == "dumb"))
	r.exec = exec && !r.plain
	r.out = &stallWriter{w: x.ch, limit: x.srv.opt.Limits.Stall, stalled: func() { r.cancel(errLeft); _ = x.c.Close() }}
	if r.plain { // the watch reports it in plain mode too
		r.out = &lockedWriter{w: r.out}
	}
	r.watch.init(r)
	return r
}

// start runs the program on its own goroutine, after the reply to the request, so that its output follows the reply.
func (r *run) start() {
	x := r.x
	if !x.c.addSession(x) {
		r.cancel(errLeft)
		go func() { r.finish(1, "The connection is being closed, or has too many sessions.") }()
		return
	}
	x.srv.running.Add(1)
	x.finished.Add(1)
	go func() {
		defer x.srv.running.Done()
		defer x.finished.Done()
		defer x.c.removeSession(x)
		defer x.release() // the place is free even if the client has not closed the channel
		r.body()
	}()
}

// body runs the program, from the record of its start to that of its end.
func (r *run) body() {
	x, s := r.x, r.x.srv
	kind := "console"
	if r.exec {
		kind = "command"
	}
	s.stats.opened(kind, 1)
	s.note(r.ctx, x.who, api.Event{Name: eventOpen, Object: kind, Detail: r.opening()})
	go r.watch.run()

	code, message := r.guarded()
	close(r.over)
	var why *endReason
	_ = errors.As(context.Cause(r.ctx), &why)
	r.cancel(nil)
	if why != nil {
		code, message = api.Interrupted.Exit(), why.message
	}
	how := r.how(why, code)
	s.stats.opened(kind, -1)
	s.stats.add(&s.stats.closed, how)
	detail := fmt.Sprintf("%s after %s", how, time.Since(r.began).Round(time.Second))
	s.note(r.ctx, x.who, api.Event{Name: eventClose, Object: kind, Detail: detail})
	r.finish(code, message)
}

func (r *run) opening() string {
	switch {
	case r.exec:
		return "a command"
	case r.plain && !r.x.pty:
		return "plain mode, no terminal"
	case r.plain:
		return "plain mode, terminal " + r.x.term + ", " + r.x.size.String()
	}
	return "terminal " + r.x.term + ", " + r.x.size.String()
}

// how is one word for the end of the program.
func (r *run) how(why *endReason, code int) string {
	switch {
	case why != nil:
		return why.code
	case r.fault:
		return "fault"
	case code != 0:
		return "failed"
	}
	return "left"
}

// guarded runs the program; a panic ends this session only and does not reveal its value.
func (r *run) guarded() (code int, message string) {
	defer func() {
		if v := recover(); v != nil {
			r.x.srv.opt.Log.Error("ssh session panic", "session", r.id, "type", fmt.Sprintf("%T", v), "stack",
				string(debug.Stack()))
			r.fault = true
			code, message = api.Internal.Exit(), "The console stopped because of an internal error."
		}
	}()
	switch {
	case r.exec:
		return r.runCommand(), ""
	case r.plain:
		return r.runPlain()
	}
	return r.runConsole()
}

// finish prints the last message, sends the exit code and closes the channel, within a bounded time.
func (r *run) finish(code int, message string) {
	cut := time.AfterFunc(5*time.Second, func() { _ = r.x.c.Close() })
	defer cut.Stop()
	if message != "" {
		_, _ = io.WriteString(r.x.ch.Stderr(), message+r.x.lineEnd())
	}
	_, _ = r.x.ch.SendRequest("exit-status", false, gossh.Marshal(struct{ Code uint32 }{uint32(code)}))
	_ = r.x.ch.Close()
}

// lineEnd is the client's line end.
func (x *session) lineEnd() string {
	if x.pty {
		return "\r\n"
	}
	return "\n"
}

// end makes the session end: it ignores keys, waits for sent calls, and drops the rest.
func (x *session) end(why *endReason) {
	if x.run == nil {
		_ = x.ch.Close()
		return
	}
	x.run.end(why)
}

func (r *run) end(why *endReason) {
	r.leaving.Do(func() {
		r.ending.Store(true)
		go func() {
			ctx, stop := context.WithTimeout(r.ctx, r.x.srv.opt.Limits.Drain*8/10)
			defer stop()
			r.x.srv.opt.AwaitWrites(ctx, r.id)
			r.cancel(why)
			t := time.NewTimer(3 * time.Second)
			defer t.Stop()
			select {
			case <-r.over:
			case <-t.C: // the program does not end, or waits for a client that does not read
				_ = r.x.c.Close()
			}
		}()
	})
}

// stallWriter gives up on a client that reads nothing for too long. The window of an SSH channel can be full while
// the network is not, so a network deadline does not detect that.
type stallWriter struct {
	w       io.Writer
	limit   time.Duration
	stalled func()
}

func (s *stallWriter) Write(b []byte) (int, error) {
	t := time.AfterFunc(s.limit, s.stalled)
	defer t.Stop()
	return s.w.Write(b)
}

// exit is the exit code and the sentence for an error of the console. Ctrl+c is a normal way to leave.
func exit(err error) (code int, message string) {
	if err == nil {
		return 0, ""
	}
	e := api.AsError(err)
	if e.Kind == api.Interrupted {
		return 0, ""
	}
	return e.Kind.Exit(), untrusted.Text(e.Public).Line(300)
}

// cancelAtEOF cancels the session when its input ends: the client has left.
type cancelAtEOF struct {
	r      io.Reader
	cancel context.CancelCauseFunc
}

func (u *cancelAtEOF) Read(b []byte) (int, error) {
	n, err := u.r.Read(b)
	if err != nil {
		u.cancel(errLeft)
	}
	return n, err
}
