//go:build unix

package paint

import (
	"os"
	"os/signal"
	"syscall"
	"time"

	"golang.org/x/sys/unix"
)

const (
	// stopWait bounds the wait for being continued, measured while running.
	stopWait = 500 * time.Millisecond
	// fateWait is how long a program that was continued waits for the signal that ends
	// it: a shell sends both to a stopped job.
	fateWait = 50 * time.Millisecond
)

// catchSignals catches what would end or stop the process with our modes set, and changes of a local terminal's size.
func (s *session) catchSignals() {
	if s.opt.Resizes == nil && s.tty.out != nil {
		signal.Notify(s.resized, syscall.SIGWINCH)
	}
	if !s.opt.Signals {
		return
	}
	// The group of a session's leader has no shell that could continue it.
	sid, err := unix.Getsid(0)
	s.stoppable = err == nil && sid != unix.Getpgrp() && !signal.Ignored(syscall.SIGTSTP)
	signal.Notify(s.signals, syscall.SIGINT, syscall.SIGTERM, syscall.SIGHUP, syscall.SIGTSTP, syscall.SIGCONT)
}

// watchSignals ends, suspends and sets up again on signals to this process.
func (s *session) watchSignals() {
	for s.ctx.Err() == nil { // what comes behind the end has no meaning
		select {
		case sig := <-s.signals:
			switch sig {
			case syscall.SIGTSTP:
				s.halt()
			case syscall.SIGCONT:
				s.resume()
			default:
				s.stop(&SignalError{Signal: sig})
			}
		case <-s.ctx.Done():
		}
	}
}

// suspend suspends the program as SIGTSTP does. Without Signals it does nothing: a server must never be stopped by
// one of its sessions.
func (s *session) suspend() {
	if !s.opt.Signals {
		return
	}
	select {
	case s.signals <- syscall.SIGTSTP:
	default: // more signals wait
	}
}

// halt gives the terminal back, stops the process group as a shell expects of
// a key in raw mode, and takes the terminal again when the process is continued. It does nothing
// where no shell could continue the process.
//
// Go does not go back to the default action of a signal that was once caught, so
// the others of the group get SIGTSTP and we stop ourselves with SIGSTOP.
//
// A shell that kills a stopped job sends the signal and then SIGCONT, and both come
// when the process continues: two threads may take one each, and the second signal may be
// heard of first. So what has been continued waits a moment for its end.
func (s *session) halt() {
	if !s.stoppable {
		return
	}
	_ = s.painter.Leave(s.opt.CloseWithin)
	_ = s.tty.restore()
	_ = syscall.Kill(0, syscall.SIGTSTP)
	_ = syscall.Kill(syscall.Getpid(), syscall.SIGSTOP)
	s.wait(syscall.SIGCONT, stopWait)
	s.wait(nil, fateWait)
	if s.ctx.Err() == nil {
		s.resume()
	}
}

// wait waits for a signal, the end of the program, or d while running; SIGTSTP and SIGCONT are of our own making. The
// clock continues while a process is stopped, and the stop may come after the wait
// has begun: a wait that took much longer than d begins again once.
func (s *session) wait(until os.Signal, d time.Duration) {
	began, late := time.Now(), time.After(d)
	for again := true; ; {
		select {
		case sig := <-s.signals:
			switch sig {
			case until:
				return
			case syscall.SIGTSTP, syscall.SIGCONT:
			default:
				s.stop(&SignalError{Signal: sig})
			}
		case <-s.ctx.Done():
			return
		case <-late:
			if !again || time.Since(began) < d+d/4 {
				return
			}
			began, late, again = time.Now(), time.After(d), false
		}
	}
}
