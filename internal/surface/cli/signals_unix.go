//go:build unix

package cli

import (
	"os"
	"syscall"
)

// passedOn are the signals that a command gets which opdeck started. Those of the
// terminal are caught all the same, so that they do not end opdeck before it.
func passedOn() []os.Signal {
	return []os.Signal{os.Interrupt, syscall.SIGTERM, syscall.SIGHUP, syscall.SIGQUIT, syscall.SIGUSR1, syscall.SIGUSR2,
		syscall.SIGWINCH}
}

// fromTerminal reports whether the terminal sends the signal to the command by itself:
// it is in the same group of processes.
func fromTerminal(s os.Signal, tty bool) bool {
	return tty && (s == os.Interrupt || s == syscall.SIGQUIT || s == syscall.SIGWINCH)
}

// codeOf is the exit code of a process as shells tell it.
func codeOf(p *os.ProcessState) int {
	if ws, ok := p.Sys().(syscall.WaitStatus); ok && ws.Signaled() {
		return 128 + int(ws.Signal())
	}
	return p.ExitCode()
}
