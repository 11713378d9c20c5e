// Command opdeck is a terminal back-office console over one payments and
// compliance service. This file is wiring only.
package main

import (
	"os"
	"runtime/debug"

	"opdeck/internal/surface/cli"
	"opdeck/internal/surface/entry"
)

func main() { os.Exit(entry.Main(build())) }

// release, commit and builtAt (RFC 3339) are set when a release is built; without them
// the commit is the one that the go command found.
var release, commit, builtAt = "dev", "", ""

// build says what this program was built from.
func build() cli.Build {
	b := cli.Build{Release: release, Commit: commit, Built: builtAt}
	if info, ok := debug.ReadBuildInfo(); ok && commit == "" {
		b.Commit = revision(info.Settings)
	}
	return b
}

// revision is the commit in the build's settings, with ".dirty" behind it when
// there was more than was committed; empty when they do not tell.
func revision(settings []debug.BuildSetting) string {
	rev, dirty := "", ""
	for _, s := range settings {
		switch {
		case s.Key == "vcs.revision":
			rev = s.Value
		case s.Key == "vcs.modified" && s.Value == "true":
			dirty = ".dirty"
		}
	}
	if rev == "" {
		return ""
	}
	return rev + dirty
}
