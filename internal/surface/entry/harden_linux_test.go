package entry

import (
	"os"
	"os/exec"
	"strings"
	"testing"

	"golang.org/x/sys/unix"
)

const child = "OPDECK_TEST_HARDEN"

// TestHarden looks at a process of its own: the limits are for good.
func TestHarden(t *testing.T) {
	if os.Getenv(child) == "" {
		cmd := exec.Command(os.Args[0], "-test.run=^TestHarden$", "-test.v")
		cmd.Env = append(os.Environ(), child+"=yes")
		if out, err := cmd.CombinedOutput(); err != nil || !strings.Contains(string(out), "--- PASS") {
			t.Errorf("%v: %s", err, out)
		}
		return
	}
	if err := harden(); err != nil {
		t.Fatal(err)
	}
	var core unix.Rlimit
	if err := unix.Getrlimit(unix.RLIMIT_CORE, &core); err != nil || core.Cur != 0 || core.Max != 0 {
		t.Errorf("core files: %+v, %v", core, err)
	}
	if n, err := unix.PrctlRetInt(unix.PR_GET_DUMPABLE, 0, 0, 0, 0); err != nil || n != 0 {
		t.Errorf("dumpable: %d, %v", n, err)
	}
	for _, name := range []string{"/proc/self/exe", "/proc/self/fd/0"} { // our own are still ours
		if _, err := os.Readlink(name); err != nil {
			t.Error(err)
		}
	}
}
