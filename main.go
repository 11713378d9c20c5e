// Command opdeck is a terminal back-office console over one payments and compliance service. This file is wiring
// only.
package main

import (
	"os"
	"runtime/debug"

	"opdeck/internal/surface/cli"
	"opdeck/internal/surface/entry"
)

func main() { os.Exit(entry.Main(build())) }

// release, commit and builtAt (RFC 3339) are set by a release build; without them the commit comes from the go
// command.
var release, commit, builtAt = "dev", "", ""

// build describes the source of this program.
func build() cli.Build {
	b := cli.Build{Release: release, Commit: commit, Built: builtAt}
	if info, ok := debug.ReadBuildInfo(); ok && commit == "" {
		b.Commit = revision(info.Settings)
	}
	return b
}

// revision is the commit in the build's settings, with ".dirty" if there were uncommitted changes; empty if not
// known.
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
