//go:build unix

package paint

import (
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
	for {
		select {
		case sig := <-s.signals:
			switch sig {
			case syscall.SIGTSTP:
				if !s.ownStop.CompareAndSwap(true, false) {
					s.program.Send(suspendMsg{})
				}
			case syscall.SIGCONT: // on a busy machine it may come when we continue already
				if s.owedCont.CompareAndSwap(true, false) {
					offer(s.continued, struct{}{})
				} else {
					s.program.Send(resumeMsg{})
				}
			default:
				s.stop(&SignalError{Signal: sig})
			}
		case <-s.ended:
			return
		}
	}
}

// suspend gives the terminal back, stops the process group as a shell expects of
// a key in raw mode, and takes the terminal again when the process is continued.
// It runs on the loop's goroutine, so that nothing is drawn meanwhile. Without
// Signals it does nothing: a server must never be stopped by one of its sessions.
// Nor does it where no shell could continue the process.
//
// Go does not go back to the default action of a signal that was once caught, so
// the others of the group get SIGTSTP and we stop ourselves with SIGSTOP.
func (s *session) suspend() {
	if !s.opt.Signals || !s.stoppable {
		return
	}
	_ = s.painter.Leave(s.opt.CloseWithin)
	_ = s.tty.restore()
	s.halt()
	if s.reason() == nil {
		s.resume()
	}
}

// halt stops the process group and returns when it was continued, or is about to be
// ended by a signal.
//
// A shell that kills a stopped job sends the signal and then SIGCONT, and both come
// when the process continues: two threads may take one each, and the second signal may be
// heard of first. So what has been continued waits a moment for its end.
func (s *session) halt() {
	select { // of the last time, when it came late
	case <-s.continued:
	default:
	}
	s.ownStop.Store(true)
	s.owedCont.Store(true)
	_ = syscall.Kill(0, syscall.SIGTSTP)
	_ = syscall.Kill(syscall.Getpid(), syscall.SIGSTOP)
	s.wait(s.continued, stopWait)
	s.wait(nil, fateWait)
}

// wait waits for a continuation, the end of the program, or d while running. The
// clock continues while a process is stopped, and the stop may come after the wait
// has begun: a wait that took much longer than d begins again once.
func (s *session) wait(continued <-chan struct{}, d time.Duration) {
	for range 2 {
		began := time.Now()
		t := time.NewTimer(d)
		select {
		case <-continued:
			t.Stop()
			return
		case <-s.stopped:
			t.Stop()
			return
		case <-t.C:
			if time.Since(began) < d+d/4 {
				return
			}
		}
	}
}
