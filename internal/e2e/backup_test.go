//go:build linux

package e2e

import (
	"bufio"
	"context"
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"

	"filippo.io/age"
	"github.com/google/uuid"
	"golang.org/x/sys/unix"

	"opdeck/internal/sandbox"
	"opdeck/internal/sandbox/faulty"
)

// snapshots is how many are taken under load.
func snapshots() int {
	if long() {
		return 100
	}
	return 5
}

// backupWorld is a service, and a home whose snapshots one identity opens.
type backupWorld struct {
	*world
	identity, recipient string
}

func newBackupWorld(t *testing.T, opt sandbox.Options) *backupWorld {
	t.Helper()
	w := &backupWorld{world: newWorld(t, opt, "")}
	id, err := age.GenerateX25519Identity()
	if err != nil {
		t.Fatal(err)
	}
	w.identity, w.recipient = filepath.Join(w.home, "identity"), id.Recipient().String()
	if err := os.WriteFile(w.identity, []byte(id.String()+"\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	w.env = append(w.env, "OPDECK_STATE="+w.state())
	return w
}

func (w *backupWorld) state() string { return filepath.Join(w.home, "state") }

// run runs a command that may fail.
func (w *backupWorld) run(args ...string) ran {
	w.t.Helper()
	return w.wait(w.begin(args...))
}

func (w *backupWorld) begin(args ...string) *exec.Cmd {
	w.t.Helper()
	cmd := exec.Command(binary, append(args, "-c", "all", "--still")...)
	cmd.Dir, cmd.Env = w.home, append([]string{"HOME=" + w.home, "PW=sandbox"}, w.env...)
	cmd.Stdout, cmd.Stderr = new(strings.Builder), new(strings.Builder)
	if err := cmd.Start(); err != nil {
		w.t.Fatal(err)
	}
	return cmd
}

func (w *backupWorld) wait(cmd *exec.Cmd) ran {
	_ = cmd.Wait()
	return ran{cmd.ProcessState.ExitCode(), cmd.Stdout.(*strings.Builder).String(), cmd.Stderr.(*strings.Builder).String()}
}

// snapshot takes one and returns its file.
func (w *backupWorld) snapshot(name string) string {
	w.t.Helper()
	file := filepath.Join(w.home, name)
	if got := w.run("backup", file, "--recipient", w.recipient, "-o", "json"); got.code != 0 {
		w.t.Fatalf("backup: exit %d: %s%s", got.code, got.out, got.err)
	}
	return file
}

func (w *backupWorld) restore(file string) ran {
	w.t.Helper()
	return w.run("restore", file, "--identity", w.identity, "--reason", "a test", "--yes", "-o", "json")
}

// load keeps several processes at work until stop is called: a server that syncs the index, keeps the session and
// receives webhooks, another keeper, and commands that write at the service.
func (w *backupWorld) load() (stop func()) {
	w.t.Helper()
	conf := filepath.Join(w.home, "opdeck.toml")
	text, err := os.ReadFile(conf)
	if err != nil {
		w.t.Fatal(err)
	}
	w.config(string(text) + "[index]\nmax_age = \"1s\"\n[webhooks]\nlisten = \"127.0.0.1:0\"\nverify = \"header\"\n" +
		"header = \"X-Secret\"\nsecret_env = \"HOOK\"\n")
	w.env = append(w.env, "HOOK="+hookSecret)
	serve, address := w.serve()
	keep := w.begin("session", "keep")
	ops := w.operations()
	done := make(chan struct{})
	var working sync.WaitGroup
	repeat := func(work func(i int)) {
		working.Go(func() {
			for i := 0; ; i++ {
				select {
				case <-done:
					return
				default:
					work(i)
				}
			}
		})
	}
	repeat(func(int) { w.deliver(address, ops[0].Opid) })
	repeat(func(i int) {
		op := ops[i%len(ops)]
		for _, d := range op.Documents {
			if !d.IsLock {
				w.run("document", "remove", op.Opid, d.GUID, "--yes", "--force")
				w.run("document", "restore", op.Opid, d.GUID, "--yes")
				return
			}
		}
	})
	return func() {
		close(done)
		working.Wait()
		for _, cmd := range []*exec.Cmd{serve, keep} {
			_ = cmd.Process.Signal(syscall.SIGTERM)
			_ = cmd.Wait()
		}
	}
}

// serve starts the server and returns the address that takes webhooks.
func (w *backupWorld) serve() (cmd *exec.Cmd, address string) {
	w.t.Helper()
	cmd = exec.Command(binary, "serve", "-c", "all", "--still")
	cmd.Dir, cmd.Env = w.home, append([]string{"HOME=" + w.home, "PW=sandbox"}, w.env...)
	out, err := cmd.StdoutPipe()
	if err == nil {
		err = cmd.Start()
	}
	if err != nil {
		w.t.Fatal(err)
	}
	lines := bufio.NewScanner(out)
	for address == "" && lines.Scan() {
		if words := strings.Fields(lines.Text()); len(words) > 1 && words[0] == "webhooks" {
			address = "http://" + strings.TrimSuffix(words[1], ",")
		}
	}
	go func() { _, _ = io.Copy(io.Discard, out) }()
	if address == "" {
		w.t.Fatal("serve takes no webhooks")
	}
	return cmd, address
}

// deliver sends one webhook and waits for its answer.
func (w *backupWorld) deliver(address, opid string) {
	body := fmt.Sprintf(`{"hook_id":%q,"hook_type":1,"Data":{"Operation":{"opid":%q,"status":2,"type":1}}}`,
		uuid.NewString(), opid)
	req, err := http.NewRequest(http.MethodPost, address, strings.NewReader(body))
	if err != nil {
		w.t.Error(err)
		return
	}
	req.Header.Set("X-Secret", hookSecret)
	req.Header.Set("Content-Type", "application/json")
	if resp, err := http.DefaultClient.Do(req); err == nil { // the server may be ending
		_ = resp.Body.Close()
		if resp.StatusCode != http.StatusOK {
			w.t.Errorf("a webhook was answered with %s", resp.Status)
		}
	}
}

const hookSecret = "0123456789abcdef0123456789abcdef"

// taken is what backup, restore and its --check print, as far as the tests need it.
type taken struct {
	Snapshot struct {
		ID    string
		Trail struct{ Records, Problems int64 }
	}
	Problems int64
	Replaced struct{ Missing int64 }
	Recorded *struct {
		Seq, Missing int64
		Backup       string
	}
}

func decoded(t *testing.T, text string) (v taken) {
	t.Helper()
	if err := json.Unmarshal([]byte(text), &v); err != nil {
		t.Fatalf("%v: %s", err, text)
	}
	return v
}

// TestSnapshotsUnderLoad: snapshots that are taken while processes write, sync, rotate and receive all verify. Each can
// be restored, costs one login, shows the service no token twice, and the audit trail names it and is intact.
func TestSnapshotsUnderLoad(t *testing.T) {
	t.Parallel()
	w := newBackupWorld(t, sandbox.Options{AccessTTL: 5 * time.Second, RefreshTTL: 15 * time.Second})
	n := snapshots()
	stop := w.load()
	var files []string
	for i := range n {
		files = append(files, w.snapshot(fmt.Sprintf("s%d.opdeck", i)))
	}
	stop()
	for i, file := range files {
		check := w.run("restore", "--check", file, "--identity", w.identity, "-o", "json")
		if is := decoded(t, check.out); check.code != 0 || is.Problems != 0 || is.Snapshot.Trail.Records == 0 {
			t.Errorf("%d does not verify: %+v %s", i, is, check.err)
		}
		before := w.stats()
		done := w.restore(file)
		if done.code != 0 {
			t.Fatalf("%d: exit %d: %s%s", i, done.code, done.out, done.err)
		}
		is := decoded(t, done.out)
		if is.Recorded == nil || is.Recorded.Backup != is.Snapshot.ID {
			t.Errorf("%d is not recorded: %s", i, done.out)
		}
		if got := w.run("operation", "list", "--live", "--limit", "1"); got.code != 0 {
			t.Errorf("%d: %s", i, got.err)
		}
		after := w.stats()
		if after.Logins != before.Logins+1 || after.Refreshes != before.Refreshes || after.Unauthorized != before.Unauthorized ||
			after.MostPresentations > 1 {
			t.Errorf("%d: before %+v, after %+v", i, before, after)
		}
		got := w.run("audit", "verify", "-o", "json")
		if got.code != 0 || !strings.Contains(got.out, is.Snapshot.ID) {
			t.Errorf("%d: verify ends with %d: %s%s", i, got.code, got.out, got.err)
		}
	}
}

func (w *backupWorld) stats() faulty.Stats {
	w.t.Helper()
	s, err := w.service.Stats(context.Background())
	if err != nil {
		w.t.Fatal(err)
	}
	return s
}

// TestRestoreRefusesAStoreInUse: the process that holds the store is named, and nothing is changed.
func TestRestoreRefusesAStoreInUse(t *testing.T) {
	t.Parallel()
	w := newBackupWorld(t, sandbox.Options{})
	w.operations()
	file := w.snapshot("s.opdeck")
	conf := filepath.Join(w.home, "opdeck.toml")
	text, err := os.ReadFile(conf)
	if err != nil {
		t.Fatal(err)
	}
	w.config(string(text) + "[webhooks]\nlisten = \"127.0.0.1:0\"\nverify = \"header\"\nheader = \"X-Secret\"\n" +
		"secret_env = \"HOOK\"\n")
	w.env = append(w.env, "HOOK="+hookSecret)
	serve, _ := w.serve()
	got := w.restore(file)
	if got.code != 5 || !strings.Contains(got.err, "process "+strconv.Itoa(serve.Process.Pid)) {
		t.Errorf("exit %d: %s", got.code, got.err)
	}
	_ = serve.Process.Signal(syscall.SIGTERM)
	_ = serve.Wait()
	if got := w.restore(file); got.code != 0 {
		t.Errorf("after it ended: exit %d: %s", got.code, got.err)
	}
}

// onlyUnsigned reports whether all that a verification found is a checkpoint that is missing from the file, which the
// next process that signs writes.
func onlyUnsigned(t *testing.T, report string) bool {
	t.Helper()
	var r struct {
		Problems []struct{ Kind string }
	}
	if err := json.Unmarshal([]byte(report), &r); err != nil {
		t.Fatalf("%v: %s", err, report)
	}
	for _, p := range r.Problems {
		if p.Kind != "unsigned" {
			return false
		}
	}
	return len(r.Problems) > 0
}

// TestKilledBackupAndRestore: a backup that is killed leaves no file or a whole one; a restore that is killed leaves the
// old store or the new one, and the next command works.
func TestKilledBackupAndRestore(t *testing.T) {
	t.Parallel()
	w := newBackupWorld(t, sandbox.Options{})
	w.operations()
	first := w.snapshot("first.opdeck")
	old := decoded(t, w.run("restore", "--check", first, "--identity", w.identity, "-o", "json").out)
	killed := 0
	for i := range 12 {
		delay := time.Duration(i) * 50 * time.Millisecond
		file := filepath.Join(w.home, fmt.Sprintf("k%d.opdeck", i))
		killed += w.kill(delay, "backup", file, "--recipient", w.recipient)
		if _, err := os.Lstat(file); err == nil {
			if got := w.run("restore", "--check", file, "--identity", w.identity); got.code != 0 {
				t.Errorf("a killed backup left a file that is refused: %s", got.err)
			}
		}
		before := w.records()
		killed += w.kill(delay, "restore", first, "--identity", w.identity, "--reason", "x", "--yes")
		got := w.run("audit", "verify", "-o", "json")
		if got.code != 0 && onlyUnsigned(t, got.out) { // killed after the record, before its checkpoint was in the file
			if got := w.run("audit", "checkpoint"); got.code != 0 {
				t.Fatalf("after %s: %s", delay, got.err)
			}
			got = w.run("audit", "verify", "-o", "json")
		}
		if older := strings.Contains(got.out, "opdeck restore --reason"); got.code != 0 && !older {
			t.Fatalf("after %s: exit %d: %s%s", delay, got.code, got.out, got.err)
		} else if older {
			if got := w.run("restore", "--reason", "killed", "--yes"); got.code != 0 {
				t.Fatalf("after %s: %s", delay, got.err)
			}
		}
		if is := w.records(); is < before && is > old.Snapshot.Trail.Records+10 {
			t.Errorf("after %s: %d records, %d before", delay, is, before)
		}
		if got := w.run("operation", "list", "--live", "--limit", "1"); got.code != 0 {
			t.Errorf("after %s: %s", delay, got.err)
		}
	}
	if killed == 0 {
		t.Error("every command had ended before it was killed")
	}
	w.left() // as if a day had passed
	w.snapshot("last.opdeck")
	if n := w.left(); n > 0 {
		t.Errorf("%d temporary names are left", n)
	}
}

// kill runs a command and kills it after a time; 1 if that was before its end.
func (w *backupWorld) kill(after time.Duration, args ...string) int {
	w.t.Helper()
	cmd := w.begin(args...)
	timer := time.AfterFunc(after, func() { _ = cmd.Process.Kill() })
	defer timer.Stop()
	if got := w.wait(cmd); got.code < 0 {
		return 1
	}
	return 0
}

// left ages what killed processes left under temporary names beside the store, and counts it.
func (w *backupWorld) left() (n int) {
	w.t.Helper()
	names, err := filepath.Glob(filepath.Join(w.state(), ".new-*"))
	if err != nil {
		w.t.Fatal(err)
	}
	old := time.Now().Add(-25 * time.Hour)
	for _, name := range names {
		if err := os.Chtimes(name, old, old); err != nil {
			w.t.Error(err)
		}
	}
	return len(names)
}

// records is the number of audit records.
func (w *backupWorld) records() int64 {
	w.t.Helper()
	var is struct{ Last int64 }
	got := w.run("audit", "verify", "-o", "json")
	if err := json.Unmarshal([]byte(got.out), &is); err != nil {
		w.t.Fatalf("%v: %s%s", err, got.out, got.err)
	}
	return is.Last
}

// TestBackupToAFullDisk: the error says so and no file is left.
func TestBackupToAFullDisk(t *testing.T) {
	t.Parallel()
	if os.Getuid() != 0 {
		t.Skip("a small disk of its own needs root")
	}
	w := newBackupWorld(t, sandbox.Options{})
	w.operations()
	disk := t.TempDir()
	if err := unix.Mount("tmpfs", disk, "tmpfs", 0, "size=8k,mode=700"); err != nil {
		t.Skipf("no tmpfs can be mounted here: %v", err)
	}
	t.Cleanup(func() { _ = unix.Unmount(disk, unix.MNT_DETACH) })
	got := w.run("backup", filepath.Join(disk, "s.opdeck"), "--recipient", w.recipient)
	if got.code != 1 || !strings.Contains(got.err, "no space left") {
		t.Errorf("exit %d: %s", got.code, got.err)
	}
	left, err := os.ReadDir(disk)
	if err != nil || len(left) > 0 {
		t.Errorf("left: %v, %v", left, err)
	}
}
