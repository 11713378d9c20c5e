//go:build unix

package paint

import (
	"errors"
	"os/exec"
	"os/signal"
	"syscall"
	"time"

	"golang.org/x/sys/unix"
)

// runChild runs a program in the foreground and waits for it. The terminal belongs to
// this process group again when it returns, unless a shell has it.
func (s *session) runChild(cmd *exec.Cmd) error {
	if cmd.Stdin == nil {
		cmd.Stdin = s.tty.in
	}
	cmd.Stdout, cmd.Stderr = s.tty.out, s.tty.out
	cmd.SysProcAttr = &syscall.SysProcAttr{Foreground: true, Ctty: int(s.tty.in.Fd())}
	cmd.WaitDelay = s.opt.CloseWithin
	defer s.tty.claim(cmd)
	if err := cmd.Start(); err != nil {
		return err
	}
	ended := make(chan struct{})
	s.workers.Go(func() { s.endChild(cmd.Process.Pid, ended) })
	st, err := s.awaitChild(cmd.Process.Pid)
	close(ended)
	_ = cmd.Wait() // the process is gone; this ends the writing of its input
	switch {
	case err != nil:
		return err
	case st.Signaled():
		return &ExitError{Code: -1, Signal: st.Signal().String()}
	case st.ExitStatus() != 0:
		return &ExitError{Code: st.ExitStatus()}
	}
	return nil
}

// awaitChild waits until the program has ended. When it is stopped, this process group
// stops too, so that the shell goes on, and the program is continued with it. Where no
// shell could continue us, the program is continued at once.
func (s *session) awaitChild(pid int) (st syscall.WaitStatus, err error) {
	for {
		_, err := syscall.Wait4(pid, &st, syscall.WUNTRACED, nil)
		switch {
		case errors.Is(err, syscall.EINTR):
			continue
		case err != nil || !st.Stopped():
			return st, err
		}
		if s.stoppable && !s.tty.foreground() {
			s.halt()
		}
		if s.tty.foreground() {
			s.tty.give(pid)
		}
		_ = syscall.Kill(-pid, syscall.SIGCONT)
	}
}

// endChild ends the program when the session ends before it.
func (s *session) endChild(pid int, ended <-chan struct{}) {
	select {
	case <-ended:
		return
	case <-s.ended:
	}
	_ = syscall.Kill(-pid, syscall.SIGTERM)
	_ = syscall.Kill(-pid, syscall.SIGCONT)
	t := time.NewTimer(s.opt.CloseWithin)
	defer t.Stop()
	select {
	case <-ended:
	case <-t.C:
		_ = syscall.Kill(-pid, syscall.SIGKILL)
	}
}

// give makes a process group the one in the foreground. The kernel stops one that does
// so from the background, unless it ignores that.
func (t *tty) give(pgrp int) {
	signal.Ignore(syscall.SIGTTOU)
	defer signal.Reset(syscall.SIGTTOU)
	_ = unix.IoctlSetPointerInt(int(t.in.Fd()), unix.TIOCSPGRP, pgrp)
}

// claim takes the foreground back from a program that has ended or could not be started.
// Another group that is alive is the next job of a shell, and keeps it.
func (t *tty) claim(cmd *exec.Cmd) {
	now, err := unix.IoctlGetInt(int(t.in.Fd()), unix.TIOCGPGRP)
	own := cmd.Process != nil && cmd.Process.Pid == now
	if err == nil && now != unix.Getpgrp() && (own || errors.Is(syscall.Kill(-now, 0), syscall.ESRCH)) {
		t.give(unix.Getpgrp())
	}
}
