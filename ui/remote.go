package ui

import "opdeck/internal/format/shellwords"

// RemoteCommand returns a command line for the local shell of a person who is connected over SSH.
func (e *Env) RemoteCommand(words ...string) string {
	return e.About.Remote + " " + shellwords.Remote(words...)
}

// OverSSH shows a command line, which a key copies, instead of a form that asks for a file:
// over SSH a file of the host would be the server's.
func (e *Env) OverSSH(title, line string, more ...string) Action {
	return Explain{Title: title, Copy: Copy{Text: line, What: "the command"},
		Lines: append([]string{"Files here are on the server. Run this on your own machine and fill in the " +
			"words in capitals:", "", line, "",
			"The host is this server's address; use the name you know it by."}, more...)}
}
