// Command licences writes the licences of all modules that a built program holds,
// Go's own included, as one text. It fails when a module has none, so that no
// package leaves without them.
//
//	go run ./packaging/licences dist/opdeck-linux-amd64 > third-party-licences.txt
package main

import (
	"bufio"
	"debug/buildinfo"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"runtime/debug"
	"slices"
	"strings"
)

func main() {
	if len(os.Args) != 2 {
		fmt.Fprintln(os.Stderr, "licences: give the built program")
		os.Exit(2)
	}
	info, err := buildinfo.ReadFile(os.Args[1])
	out := bufio.NewWriter(os.Stdout)
	if err == nil {
		err = errors.Join(write(out, info), out.Flush())
	}
	if err != nil {
		fmt.Fprintln(os.Stderr, "licences:", err)
		os.Exit(1)
	}
}

// module is what the go command reports on one.
type module struct{ Path, Version, Dir string }

// write writes the licence texts of the program's modules, sorted by path.
func write(w io.Writer, info *debug.BuildInfo) error {
	mods := []module{}
	for _, m := range info.Deps {
		if m.Replace != nil {
			m = m.Replace
		}
		dir, err := download(m.Path + "@" + m.Version)
		if err != nil {
			return err
		}
		mods = append(mods, module{m.Path, m.Version, dir})
	}
	root, err := exec.Command("go", "env", "GOROOT").Output()
	if err != nil {
		return fmt.Errorf("go env: %w", err)
	}
	mods = append(mods, module{"Go and its standard library", info.GoVersion, strings.TrimSpace(string(root))})
	for _, m := range mods {
		names, err := texts(m.Dir)
		if err != nil {
			return err
		}
		if len(names) == 0 {
			return fmt.Errorf("%s %s has no licence file", m.Path, m.Version)
		}
		for _, name := range names {
			b, err := os.ReadFile(filepath.Join(m.Dir, name))
			if err != nil {
				return err
			}
			fmt.Fprintf(w, "%s\n%s %s, %s\n%s\n\n%s\n\n", strings.Repeat("=", 78), m.Path, m.Version, name,
				strings.Repeat("=", 78), strings.TrimSpace(string(b)))
		}
	}
	return nil
}

// download returns the folder of a module in the module cache.
func download(pathVersion string) (string, error) {
	out, err := exec.Command("go", "mod", "download", "-json", pathVersion).Output()
	if err != nil {
		return "", fmt.Errorf("%s: %w", pathVersion, err)
	}
	var m module
	if err := json.Unmarshal(out, &m); err != nil {
		return "", fmt.Errorf("%s: %w", pathVersion, err)
	}
	return m.Dir, nil
}

var licence = regexp.MustCompile(`(?i)^(licen[cs]e|copying|notice|patents|unlicense)`)

// texts lists the licence files at the top of a module.
func texts(dir string) ([]string, error) {
	entries, err := os.ReadDir(dir)
	if err != nil {
		return nil, err
	}
	var names []string
	for _, e := range entries {
		if e.Type().IsRegular() && licence.MatchString(e.Name()) && !strings.HasSuffix(e.Name(), ".go") {
			names = append(names, e.Name())
		}
	}
	slices.Sort(names)
	return names, nil
}
