package main

import (
	"bytes"
	"context"
	"os"
	"runtime"
	"strings"
	"testing"
	"time"
)

// TestMain makes this test the program that only answers, when it is asked to be.
func TestMain(m *testing.M) {
	if os.Getenv(floorVar) != "" {
		main()
		return
	}
	os.Exit(m.Run())
}

// TestQuick runs every measurement once, briefly: it says nothing of the figures,
// but that all of them can be taken.
func TestQuick(t *testing.T) {
	if os.Getenv("OPDECK_TEST_TOOLS") == "" || runtime.GOOS != "linux" {
		t.Skip("runs the built console for a minute, on Linux; OPDECK_TEST_TOOLS=1 runs it")
	}
	var out, log bytes.Buffer
	// $OPDECK_TEST_PROGRAM was built before; without it the console is built here.
	if err := command(context.Background(), []string{"-quick", "-rows", "2000", "-bin", os.Getenv("OPDECK_TEST_PROGRAM")},
		&out, &log); err != nil {
		t.Fatalf("%v\n%s", err, log.String())
	}
	for _, what := range []string{"exec to first paint, p50",
		"only opens the same store", "operation get, exec to its end", "key to changed screen, cursor down, p99", "bytes, page",
		"CPU a key", "only writes as much: a page, p50", "peak memory", "filter: key to first",
		"keys more than a frame behind", "100 keys at once", "lines that differ afterwards | ≤ 0 lines | 0 lines | pass",
		"wake-ups a second"} {
		if !strings.Contains(out.String(), what) {
			t.Errorf("the table lacks %q:\n%s", what, out.String())
		}
	}
}

// TestAMissSaysWhere: when a program does not show what it should, the error has what
// it showed and wrote, and where its goroutines are.
func TestAMissSaysWhere(t *testing.T) {
	if runtime.GOOS != "linux" {
		t.Skip("runs a program in a pseudo-terminal, on Linux")
	}
	self, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	r, err := start(&world{bin: self, dir: t.TempDir(), extra: []string{floorVar + "=1"}})
	if err != nil {
		t.Fatal(err)
	}
	defer r.stop()
	if _, err := r.shows("000001", 10*time.Second); err != nil {
		t.Fatal(err)
	}
	_, err = r.shows("a word that never comes", time.Millisecond)
	for _, want := range []string{"a word that never comes", "000001", "SIGQUIT", "floorKeys("} {
		if err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("the error lacks %q: %v", want, err)
		}
	}
}

func TestFigures(t *testing.T) {
	d := []time.Duration{5 * time.Millisecond, time.Millisecond, 3 * time.Millisecond}
	if got := percentile(d, 50); got != 3 {
		t.Errorf("p50 = %v", got)
	}
	if got := percentile(d, 99); got != 5 {
		t.Errorf("p99 = %v", got)
	}
	if got := grouped(1234567) + " " + grouped(999) + " " + number(0.05) + " " + number(12.34) + " " +
		number(7); got != "1,234,567 999 0.050 12.3 7" {
		t.Error(got)
	}
	r := result{}
	r.add("a", 1, 2, "ms")
	r.report("b", 3, "ms")
	if got := r.table(); !strings.Contains(got, "| a | ≤ 1 ms | 2 ms | MISS |") ||
		!strings.Contains(got, "| b | – | 3 ms |  |") {
		t.Error(got)
	}
}
