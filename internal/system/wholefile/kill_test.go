//go:build unix

package wholefile

import (
	"bufio"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
	"time"
)

// childFile names the file that a process writes a part of and never ends.
const childFile = "OPDECK_TEST_WHOLEFILE"

func TestMain(m *testing.M) {
	if path := os.Getenv(childFile); path != "" {
		err := Write(path, func(w io.Writer) error {
			_, err := io.WriteString(w, "a part")
			fmt.Println("written")
			if err == nil {
				_, err = io.Copy(io.Discard, os.Stdin) // until it is killed
			}
			return err
		})
		fmt.Fprintln(os.Stderr, "ended:", err)
		os.Exit(1)
	}
	os.Exit(m.Run())
}

// TestKilled: a process that is killed while it writes leaves nothing under the name, and
// the next one writes it. What the killed one left is removed a day later.
func TestKilled(t *testing.T) {
	dir := t.TempDir()
	path := filepath.Join(dir, "a")
	cmd := exec.Command(os.Args[0])
	cmd.Env, cmd.Stderr = append(os.Environ(), childFile+"="+path), os.Stderr
	in, err := cmd.StdinPipe()
	if err != nil {
		t.Fatal(err)
	}
	defer in.Close()
	out, err := cmd.StdoutPipe()
	if err == nil {
		err = cmd.Start()
	}
	if err != nil {
		t.Fatal(err)
	}
	if line, err := bufio.NewReader(out).ReadString('\n'); err != nil || line != "written\n" {
		t.Fatalf("%q, %v", line, err)
	}
	if err := cmd.Process.Kill(); err != nil {
		t.Fatal(err)
	}
	_ = cmd.Wait()
	entries, err := os.ReadDir(dir)
	if err != nil || len(entries) != 1 || !strings.HasPrefix(entries[0].Name(), ".new-") {
		t.Fatalf("the folder holds %v, %v", entries, err)
	}
	yesterday := time.Now().Add(-abandoned - time.Minute)
	left := filepath.Join(dir, entries[0].Name())
	if err := os.Chtimes(left, yesterday, yesterday); err != nil {
		t.Fatal(err)
	}
	young, err := os.CreateTemp(dir, temporary+"*") // another process may be at it
	if err == nil {
		err = young.Close()
	}
	if err != nil {
		t.Fatal(err)
	}
	if err := Write(path, func(w io.Writer) error { _, err := io.WriteString(w, "whole"); return err }); err != nil {
		t.Error(err)
	}
	holds(t, dir, map[string]string{"a": "whole", filepath.Base(young.Name()): ""})
}
