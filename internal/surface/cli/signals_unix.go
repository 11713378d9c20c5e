//go:build unix

package cli

import (
	"os"
	"syscall"
)

// passedOn are the signals that are forwarded to a child command. Those from the terminal are caught too, so that
// they do not end opdeck first.
func passedOn() []os.Signal {
	return []os.Signal{os.Interrupt, syscall.SIGTERM, syscall.SIGHUP, syscall.SIGQUIT, syscall.SIGUSR1, syscall.SIGUSR2,
		syscall.SIGWINCH}
}

// fromTerminal reports whether the terminal itself sends the signal to the command, which is in the same process
// group.
func fromTerminal(s os.Signal, tty bool) bool {
	return tty && (s == os.Interrupt || s == syscall.SIGQUIT || s == syscall.SIGWINCH)
}

// codeOf is the exit code of a process as in shells.
func codeOf(p *os.ProcessState) int {
	if ws, ok := p.Sys().(syscall.WaitStatus); ok && ws.Signaled() {
		return 128 + int(ws.Signal())
	}
	return p.ExitCode()
}
