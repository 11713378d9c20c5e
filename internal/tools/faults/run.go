package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"time"
)

// run plants each fault in a copy of the checkout and writes what finds it. found is false if one was missed or could
// not be tried.
func run(ctx context.Context, list []Fault, opt options, out io.Writer) (found bool, err error) {
	root, err := rootOf(ctx)
	if err != nil {
		return false, err
	}
	dir := opt.scratch
	if dir == "" {
		if dir, err = os.MkdirTemp("", "opdeck-faults-"); err != nil {
			return false, err
		}
		defer os.RemoveAll(dir)
	}
	if dir, err = filepath.Abs(dir); err != nil {
		return false, err
	}
	if err := copyCheckout(ctx, root, dir); err != nil {
		return false, err
	}
	if err := checkPlaces(dir, list); err != nil {
		return false, err
	}
	clean := map[string]result{} // of tests that found a fault, without it
	found = true
	if opt.table {
		fmt.Fprintln(out, "| Fault | Breaks | In | Found by | Seconds |\n|---|---|---|---|---|")
	}
	for _, f := range list {
		packages := "./" + f.In
		if opt.all {
			packages = "./..."
		}
		one := tried{Fault: f}
		if one.result, err = try(ctx, dir, f, packages); err != nil {
			return false, err
		}
		if key := one.inPackage + " " + one.test; one.state == failed {
			without, known := clean[key]
			if !known {
				without = goTest(ctx, dir, one.inPackage, "-run="+pattern(one.test))
				clean[key] = without
			}
			if without.state != passed {
				one.state = broken
			}
		}
		if ctx.Err() != nil {
			return false, ctx.Err()
		}
		found = found && one.state == failed
		if opt.table {
			fmt.Fprintln(out, one.row())
		} else {
			fmt.Fprintln(out, one.line())
		}
	}
	return found, nil
}

// pattern selects a test, or a part of one, for go test -run; all tests for "".
func pattern(test string) string {
	parts := strings.Split(test, "/")
	for i, p := range parts {
		parts[i] = "^" + regexp.QuoteMeta(p) + "$"
	}
	if test == "" {
		return ""
	}
	return strings.Join(parts, "/")
}

// checkPlaces returns the errors of all faults that cannot be planted in dir.
func checkPlaces(dir string, list []Fault) error {
	var errs []error
	for _, f := range list {
		src, err := os.ReadFile(filepath.Join(dir, filepath.FromSlash(f.File)))
		if err == nil {
			_, err = f.apply(src)
		}
		errs = append(errs, err)
	}
	return errors.Join(errs...)
}

// try runs the tests of packages in dir with one fault, and takes the fault out again.
func try(ctx context.Context, dir string, f Fault, packages string) (result, error) {
	name := filepath.Join(dir, filepath.FromSlash(f.File))
	src, err := os.ReadFile(name)
	if err != nil {
		return result{}, err
	}
	faulty, err := f.apply(src)
	if err != nil {
		return result{}, err
	}
	if err := os.WriteFile(name, faulty, 0o644); err != nil {
		return result{}, err
	}
	res := goTest(ctx, dir, packages)
	return res, os.WriteFile(name, src, 0o644)
}

// tried is a fault with what its tests said.
type tried struct {
	Fault
	result
}

func (t tried) line() string {
	return fmt.Sprintf("%-34s %s", t.Name, t.outcome())
}

// outcome is the result for people.
func (t tried) outcome() string {
	took := fmt.Sprintf(" (%.0f s)", t.took.Round(time.Second).Seconds())
	switch t.state {
	case failed:
		return t.by() + took
	case passed:
		return "MISSED" + took
	case uncompiled:
		return "did not compile: " + t.says
	}
	return "not known: " + t.test + " fails without the fault, too" + took
}

// row is a row of the table of docs/faults.md.
func (t tried) row() string {
	by := "`" + t.by() + "`"
	if t.state != failed {
		by = t.outcome()
	}
	return fmt.Sprintf("| %s | %s | `%s` | %s | %.0f |", t.Name, t.Breaks, t.File, by, t.took.Seconds())
}
