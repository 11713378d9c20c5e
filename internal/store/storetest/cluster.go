//go:build unix

package storetest

import (
	"context"
	"crypto/rand"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"os/user"
	"path/filepath"
	"sort"
	"strconv"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"

	"github.com/jackc/pgx/v5"
)

// errMissing says that PostgreSQL is not installed.
var errMissing = errors.New(
	"PostgreSQL is not installed (no initdb in PATH or /usr/lib/postgresql) and $OPDECK_TEST_POSTGRES is empty")

// cluster starts at most one server per test process.
var cluster = sync.OnceValues(startCluster)

// Server returns the URL of a server that tests may create databases on, or
// skips or fails t as the package comment says.
func Server(t testing.TB) string {
	t.Helper()
	if given := os.Getenv("OPDECK_TEST_POSTGRES"); given != "" {
		return given
	}
	server, err := cluster()
	if errors.Is(err, errMissing) {
		Missing(t, "postgres", err.Error())
	}
	if err != nil {
		t.Fatal(err)
	}
	return server.at
}

// Missing skips t with the reason, or fails it when $OPDECK_TEST_REQUIRE lists
// what.
func Missing(t testing.TB, what, reason string) {
	t.Helper()
	for _, need := range strings.Split(os.Getenv("OPDECK_TEST_REQUIRE"), ",") {
		if strings.TrimSpace(need) == what {
			t.Fatal(reason)
		}
	}
	t.Skip(reason)
}

// running is a server of this process. It ends when life is closed, so users of the server must keep life reachable.
type running struct {
	at   string
	life io.Closer
}

// startCluster makes a cluster in a folder of its own and a server that listens
// on a socket there and nowhere else.
func startCluster() (running, error) {
	bin, err := findBin()
	if err != nil {
		return running{}, err
	}
	as, err := serverAccount()
	if err != nil {
		return running{}, err
	}
	dir, err := shortDir("opdeck-pg-", as)
	if err != nil {
		return running{}, err
	}
	data := filepath.Join(dir, "data")
	initdb := exec.Command(filepath.Join(bin, "initdb"), "-D", data, "-U", "opdeck", "-A", "trust", "-E", "UTF8",
		"--locale=C", "--no-sync")
	initdb.Dir, initdb.SysProcAttr = dir, as.attr()
	if out, err := initdb.CombinedOutput(); err != nil {
		_ = os.RemoveAll(dir)
		return running{}, fmt.Errorf("initdb: %w\n%s", err, out)
	}
	life, err := guard(dir, as, "INT", filepath.Join(bin, "postgres"), "-D", data, "-k", dir,
		"-c", "listen_addresses=", "-c", "max_connections=300", "-c", "shared_buffers=16MB", "-c", "fsync=off",
		"-c", "max_wal_size=4GB", "-c", "checkpoint_timeout=1h")
	if err != nil {
		return running{}, err
	}
	server := "postgres://opdeck@/postgres?host=" + dir
	return running{at: server, life: life}, answer(server, filepath.Join(dir, "log"))
}

// answer waits until the server takes connections.
func answer(server, log string) error {
	var err error
	for range 300 {
		var c *pgx.Conn
		if c, err = pgx.Connect(context.Background(), server); err == nil {
			return c.Close(context.Background())
		}
		time.Sleep(50 * time.Millisecond)
	}
	text, _ := os.ReadFile(log)
	return fmt.Errorf("PostgreSQL does not start: %w\n%s", err, text)
}

// guard starts a server program as as, its output in dir/log. A shell watches a
// pipe from this process: when the process is gone, however it ended, the shell
// stops the server with signal stop and removes dir.
func guard(dir string, as account, stop, program string, args ...string) (life io.Closer, err error) {
	const watch = `stop=$1; shift; "$@" >log 2>&1 </dev/null & p=$!
read -r _; kill -"$stop" $p 2>/dev/null; wait $p; cd /; rm -rf "$0"`
	cmd := exec.Command("sh", append([]string{"-c", watch, dir, stop, program}, args...)...)
	cmd.Dir, cmd.SysProcAttr = dir, as.attr()
	cmd.SysProcAttr.Setpgid = true // an interrupt from the terminal is not for it
	if life, err = cmd.StdinPipe(); err != nil {
		return nil, err
	}
	return life, cmd.Start()
}

// findBin is the folder with initdb and postgres; of several the newest.
func findBin() (string, error) {
	if p, err := exec.LookPath("initdb"); err == nil {
		if p, err = filepath.EvalSymlinks(p); err == nil {
			return filepath.Dir(p), nil
		}
	}
	found, _ := filepath.Glob("/usr/lib/postgresql/*/bin/initdb")
	if len(found) == 0 {
		return "", errMissing
	}
	sort.Slice(found, func(i, j int) bool { return major(found[i]) < major(found[j]) })
	return filepath.Dir(found[len(found)-1]), nil
}

func major(path string) int {
	n, _ := strconv.Atoi(filepath.Base(filepath.Dir(filepath.Dir(path))))
	return n
}

// account is the user that servers run as: PostgreSQL and PgBouncer refuse root.
type account struct {
	uid, gid int
	change   bool
}

func serverAccount() (account, error) {
	if os.Geteuid() != 0 {
		return account{}, nil
	}
	for _, name := range []string{"postgres", "nobody"} {
		u, err := user.Lookup(name)
		if err != nil {
			continue
		}
		uid, err1 := strconv.Atoi(u.Uid)
		gid, err2 := strconv.Atoi(u.Gid)
		if err := errors.Join(err1, err2); err != nil {
			return account{}, err
		}
		return account{uid: uid, gid: gid, change: true}, nil
	}
	return account{}, errors.New("running as root, and there is no user postgres or nobody to run the server as")
}

func (a account) attr() *syscall.SysProcAttr {
	if !a.change {
		return &syscall.SysProcAttr{}
	}
	return &syscall.SysProcAttr{Credential: &syscall.Credential{Uid: uint32(a.uid), Gid: uint32(a.gid)}}
}

// shortDir makes a folder for as whose path leaves room for a socket's name,
// which may have 107 bytes in all.
func shortDir(prefix string, as account) (string, error) {
	parent := os.TempDir()
	if len(parent) > 60 || as.change {
		parent = "/tmp"
	}
	dir, err := os.MkdirTemp(parent, prefix)
	if err == nil && as.change {
		err = os.Chown(dir, as.uid, as.gid)
	}
	return dir, err
}

func token() string { return strings.ToLower(rand.Text()[:12]) }
