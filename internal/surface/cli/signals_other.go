//go:build !unix

package cli

import "os"

func passedOn() []os.Signal { return []os.Signal{os.Interrupt} }

// fromTerminal: a console sends its interrupt to all its processes.
func fromTerminal(os.Signal, bool) bool { return true }

func codeOf(p *os.ProcessState) int { return p.ExitCode() }
