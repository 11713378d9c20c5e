package ui

import "opdeck/internal/host/shellwords"

// RemoteCommand writes a command line for the shell of a person who came over SSH.
func (e *Env) RemoteCommand(words ...string) string {
	return e.About.Remote + " " + shellwords.Remote(words...)
}

// OverSSH shows, in the place of a form that asks for a file, a command line that a key
// copies: over SSH a file of the host would be the server's.
func (e *Env) OverSSH(title, line string, more ...string) Action {
	return Explain{Title: title, Copy: Copy{Text: line, What: "the command"},
		Lines: append([]string{"Files here would be the server's, not yours. Run this on your own machine; words in " +
			"capitals are yours to fill in:", "", line, "",
			"The host is the address that this server sees; use the name that you know it by."}, more...)}
}
