//go:build linux

package e2e

import (
	"bufio"
	"database/sql"
	"fmt"
	"io"
	"io/fs"
	"os"
	"os/exec"
	"path/filepath"
	"syscall"
	"time"
)

// lockerVariable names a SQLite file to the test binary, which then locks it instead of running tests.
const lockerVariable = "OPDECK_TEST_LOCKS"

// locks holds the write lock of a SQLite file until its standard input ends.
func locks(file string) int {
	db, err := sql.Open("sqlite", "file:"+file+"?mode=rw&_txlock=immediate&_pragma=busy_timeout(10000)")
	if err == nil {
		_, err = db.Begin()
	}
	if err != nil {
		fmt.Fprintln(os.Stderr, err)
		return 1
	}
	fmt.Println("locked")
	_, _ = io.Copy(io.Discard, os.Stdin)
	return 0
}

// locked starts another program that locks the store of a scene, and stops it while it does.
func (s *scene) locked() {
	s.t.Helper()
	cmd := exec.Command(os.Args[0])
	cmd.Env = append(os.Environ(), lockerVariable+"="+s.file("state/opdeck.db"))
	_, err := cmd.StdinPipe()
	out, failed := cmd.StdoutPipe()
	if err == nil {
		err = failed
	}
	if err == nil {
		err = cmd.Start()
	}
	if err != nil {
		s.t.Fatal(err)
	}
	s.held = cmd
	s.t.Cleanup(s.frees)
	if line, err := bufio.NewReader(out).ReadString('\n'); err != nil {
		s.t.Fatalf("it does not lock the store: %s, %v", line, err)
	}
	s.signals(cmd, syscall.SIGSTOP)
}

// nobody is a user without privileges.
const nobody = 65534

// unprivileged runs every program of a scene as a user whom permissions can stop: the administrator may do everything.
func (s *scene) unprivileged() {
	s.t.Helper()
	if os.Getuid() != 0 {
		return
	}
	s.program = s.file("opdeck")
	// A file that this process wrote cannot be run while a command that it started meanwhile has it open.
	out, err := exec.Command("cp", binary, s.program).CombinedOutput()
	if err == nil {
		err = os.Chmod(s.program, 0o755)
	}
	if err == nil {
		err = os.Chmod(filepath.Dir(s.home), 0o755) // of all temporary folders of this test
	}
	if err != nil {
		s.t.Fatalf("%v: %s", err, out)
	}
	s.as = &syscall.SysProcAttr{Credential: &syscall.Credential{Uid: nobody, Gid: nobody}}
	s.owned()
}

// owned gives all files of a scene to the user of its programs.
func (s *scene) owned() {
	s.t.Helper()
	if s.as == nil {
		return
	}
	err := filepath.WalkDir(s.home, func(path string, _ fs.DirEntry, err error) error {
		if err != nil {
			return err
		}
		return os.Lchown(path, nobody, nobody)
	})
	if err != nil {
		s.t.Fatal(err)
	}
}

func fileIncidents() map[string]incident {
	return map[string]incident{
		"35 store locked": incident{live: true, begin: (*scene).locked, after: 2 * time.Second, slow: true, mend: (*scene).frees}.
			unlike(failure, "a call goes on with the token that its process has read").
			says("host a, process 9", `process \d+ of this host`),
		"38 permissions": incident{live: true, prepare: (*scene).unprivileged,
			begin: func(s *scene) { s.changes("state/opdeck.db", 0o400) },
			mend:  func(s *scene) { s.changes("state/opdeck.db", 0o600) }}.
			unlike(console, "the terminal of these tests has one user"),
	}
}
