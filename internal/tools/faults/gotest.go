package main

import (
	"bufio"
	"bytes"
	"cmp"
	"context"
	"encoding/json"
	"io"
	"os"
	"os/exec"
	"strings"
	"time"
)

// state is what the tests of some packages said.
type state int

const (
	passed     state = iota
	failed           // a test failed
	uncompiled       // the packages or their tests cannot be compiled
	broken           // the test that failed fails without the fault, too
)

// result is one run of the tests of some packages.
type result struct {
	state     state
	inPackage string        // of the first test that failed
	test      string        // its name; "": the package failed without one
	took      time.Duration // until it failed, from the start of the compiler; else of all
	says      string        // the first line of an error that is no test's
}

// by names what failed.
func (r result) by() string { return cmp.Or(r.test, "package "+r.inPackage) }

// longest bounds one run of the tests of a package: a fault may make them wait for ever.
const longest = "4m"

// goTest runs the tests of packages in dir, with more flags, until the first failure of each package.
func goTest(ctx context.Context, dir, packages string, flags ...string) result {
	args := append([]string{"test", "-json", "-count=1", "-failfast", "-vet=off", "-timeout=" + longest}, flags...)
	cmd := exec.CommandContext(ctx, "go", append(args, packages)...)
	cmd.Dir, cmd.Env = dir, append(os.Environ(), "GOFLAGS=-buildvcs=false")
	cmd.WaitDelay = 10 * time.Second
	var errs bytes.Buffer
	cmd.Stderr = &errs
	began := time.Now()
	out, err := cmd.StdoutPipe()
	if err == nil {
		err = cmd.Start()
	}
	if err != nil {
		return result{state: uncompiled, says: err.Error()}
	}
	res := readEvents(out, func() time.Duration { return time.Since(began) })
	if err = cmd.Wait(); err != nil && res.state == passed {
		res = result{state: uncompiled, took: time.Since(began), says: firstLine(errs.String())}
	}
	return res
}

// event is one line of go test -json.
type event struct {
	Action, Package, Test, Output string
	FailedBuild                   string
}

// readEvents reads the output of go test -json to its end. took is the time since the start.
func readEvents(in io.Reader, took func() time.Duration) result {
	var res result
	said := "" // the first line of the compiler
	lines := bufio.NewScanner(in)
	lines.Buffer(nil, 1<<20)
	for lines.Scan() {
		var e event
		if json.Unmarshal(lines.Bytes(), &e) != nil {
			continue
		}
		switch {
		case e.Action == "build-output" && said == "" && !strings.HasPrefix(e.Output, "#"):
			said = firstLine(e.Output)
		case e.Action != "fail" || res.state == failed:
		case e.FailedBuild != "":
			res = result{state: uncompiled, took: took(), says: said}
		default:
			res = result{state: failed, took: took(), inPackage: e.Package, test: e.Test}
		}
	}
	if res.state == passed {
		res.took = took()
	}
	return res
}

func firstLine(s string) string {
	line, _, _ := strings.Cut(strings.TrimSpace(s), "\n")
	return line
}
