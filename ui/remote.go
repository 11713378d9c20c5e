package ui

import "opdeck/internal/format/shellwords"

// RemoteCommand writes a command line for the shell of a person who came over SSH.
func (e *Env) RemoteCommand(words ...string) string {
	return e.About.Remote + " " + shellwords.Remote(words...)
}

// OverSSH shows, in the place of a form that asks for a file, a command line that a key
// copies: over SSH a file of the host would be the server's.
func (e *Env) OverSSH(title, line string, more ...string) Action {
	return Explain{Title: title, Copy: Copy{Text: line, What: "the command"},
		Lines: append([]string{"Files here are on the server. Run this on your own machine and fill in the " +
			"words in capitals:", "", line, "",
			"The host is this server's address; use the name you know it by."}, more...)}
}
