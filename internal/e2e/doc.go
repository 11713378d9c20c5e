// Package e2e holds end-to-end tests only: they build the program and use it in
// a real pseudo-terminal, as a person would, with a terminal emulator reading
// what it writes.
package e2e
