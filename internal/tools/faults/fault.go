package main

import (
	"bytes"
	"errors"
	"fmt"
	"go/parser"
	"go/token"
	"slices"
)

// Fault is a small change of one place of the program that breaks one of its rules.
type Fault struct {
	Name   string // words joined by hyphens
	Breaks string // the rule that no longer holds
	File   string // path from the root of the repository
	Old    string // the text of File to replace; it occurs there once
	New    string // its replacement
	In     string // the package whose tests find it, by its path from the root
}

var (
	errPlace  = errors.New("the text to replace does not occur exactly once")
	errNotNew = errors.New("the replacement changes nothing")
)

// apply returns src with the fault. The error is errPlace if the fault has no place in it any more, or that of the
// parser.
func (f Fault) apply(src []byte) ([]byte, error) {
	switch n := bytes.Count(src, []byte(f.Old)); {
	case f.Old == "" || n != 1:
		return nil, fmt.Errorf("%s: %s: %w, but %d times", f.Name, f.File, errPlace, n)
	case f.Old == f.New:
		return nil, fmt.Errorf("%s: %w", f.Name, errNotNew)
	}
	out := bytes.Replace(src, []byte(f.Old), []byte(f.New), 1)
	if _, err := parser.ParseFile(token.NewFileSet(), f.File, out, parser.SkipObjectResolution); err != nil {
		return nil, fmt.Errorf("%s: %w", f.Name, err)
	}
	return out, nil
}

// faults returns all faults, by the part of the program that they break.
func faults() []Fault {
	return slices.Concat(sessionFaults, writeFaults, recordFaults, outsideFaults, screenFaults)
}
