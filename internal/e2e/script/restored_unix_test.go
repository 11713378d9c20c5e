//go:build unix

package script

import (
	"encoding/json"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"opdeck/internal/store/storetest"
)

// tool is a program of PostgreSQL's client package.
func tool(t *testing.T, name string) string {
	t.Helper()
	if path, err := exec.LookPath(name); err == nil {
		return path
	}
	there, _ := filepath.Glob("/usr/lib/postgresql/*/bin/" + name)
	if len(there) == 0 {
		storetest.Missing(t, "postgres", name+" is not installed")
	}
	return there[len(there)-1]
}

// TestRestoredDump: a database is dumped, written to and restored from the dump. verify says that the trail is older;
// the restore is recorded once a second person approved it, and then verify is intact on both hosts and names it. A
// note from before the dump continues, one from after it is explained.
func TestRestoredDump(t *testing.T) {
	p := newPeople(t, "admin")
	dump, restore := tool(t, "pg_dump"), tool(t, "pg_restore")
	file := filepath.Join(p.dir, "backup")
	pg := func(name string, args ...string) {
		t.Helper()
		if out, err := exec.Command(name, args...).CombinedOutput(); err != nil {
			t.Fatalf("%s: %v: %s", name, err, out)
		}
	}
	note := func(name string) string {
		t.Helper()
		path := filepath.Join(p.dir, name)
		if err := os.WriteFile(path, []byte(p.checkpoint(daemon).Note), 0o644); err != nil {
			t.Fatal(err)
		}
		return path
	}
	approved := func(command string) {
		t.Helper()
		r := requestID.FindString(p.want(daemon, "ana", command, 5, "second person"))
		p.want(daemon, "ana", "approval approve "+r+" --yes", 5, "own request")
		p.want(bin, "ben", "approval approve "+r+" --yes", 0, "Approved")
		p.want(daemon, "ana", command, 0, "")
	}
	op, doc := p.unlocked(daemon)
	p.want(bin, "ben", "session status", 0, "") // makes its key, before the first record
	approved("document remove " + op + " " + doc + " --yes")
	p.trust(daemon, bin)
	for _, uid := range []uint32{daemon, bin} {
		p.want(uid, "ana", "audit verify", 0, "all covered by checkpoints")
	}

	p.want(daemon, "ana", "backup "+file, 2, "pg_dump --format=custom --file=FILE --dbname=URL")
	older := note("older.note")
	pg(dump, "--format=custom", "--file="+file, "--dbname="+p.store)
	approved("document restore " + op + " " + doc + " --yes")
	newer := note("newer.note")
	p.want(daemon, "ana", "audit verify --against "+older+" "+newer, 0, "all covered by checkpoints")
	pg(restore, "--clean", "--if-exists", "--exit-on-error", "--dbname="+p.store, file)

	p.want(daemon, "ana", "audit verify", 1, "if a backup was restored: opdeck restore --reason WHY")
	p.want(bin, "ben", "audit verify", 1, "if a backup was restored: opdeck restore --reason WHY")
	p.want(daemon, "ana", "audit verify --against "+older, 1, "✓ "+older)
	p.want(daemon, "ana", "audit verify --against "+newer, 2, "OLDER than "+newer)
	p.want(daemon, "ana", "restore --yes", 2, "write --reason WHY")
	restored := func(exit int, says string) string {
		t.Helper()
		said, code := p.exec(daemon, "ana", "restore", "--reason", "disk failed", "--yes")
		if code != exit || !strings.Contains(said, says) {
			t.Errorf("restore: exit %d, want %d and %q: %s", code, exit, says, said)
		}
		return said
	}
	r := requestID.FindString(restored(5, "second person"))
	p.want(bin, "ben", "approval show "+r, 0, "disk failed")
	p.want(daemon, "ana", "approval approve "+r+" --yes", 5, "own request")
	restored(5, "second person")
	p.want(bin, "ben", "approval approve "+r+" --yes", 0, "Approved")
	restored(0, "the trail was restored from")
	restored(5, "not older than any known checkpoint")

	for _, uid := range []uint32{daemon, bin} {
		said := p.want(uid, "ana", "audit verify", 0, "the trail was restored from")
		for _, part := range []string{"recorded by daemon", "approved by bin", ": disk failed"} {
			if !strings.Contains(said, part) {
				t.Errorf("uid %d: verify does not say %q: %s", uid, part, said)
			}
		}
	}
	p.want(daemon, "ana", "audit verify --against "+older, 0, "✓ "+older)
	p.want(daemon, "ana", "audit verify --against "+newer, 0, "lost when a backup was restored")
	p.want(bin, "ben", "audit verify --against "+newer, 0, "lost when a backup was restored")
	for _, uid := range []uint32{daemon, bin} { // both hosts sign on
		p.want(uid, "ana", "session reset --yes", 0, "")
	}
	for _, uid := range []uint32{daemon, bin} {
		p.want(uid, "ana", "audit verify", 0, "the trail was restored from")
	}
	p.want(daemon, "ana", "audit verify --against "+note("last.note"), 0, "✓")
}

// checkpoint is what opdeck audit checkpoint prints for a user.
func (p *people) checkpoint(uid uint32) (out struct {
	Note        string `json:"note"`
	VerifierKey string `json:"verifier_key"`
}) {
	p.t.Helper()
	if err := json.Unmarshal([]byte(p.want(uid, "ana", "audit checkpoint -o json", 0, "verifier_key")), &out); err != nil {
		p.t.Fatal(err)
	}
	return out
}

// trust puts the audit key of each user into the config of the others.
func (p *people) trust(users ...uint32) {
	p.t.Helper()
	for _, of := range users {
		key := p.checkpoint(of)
		for _, uid := range users {
			if uid == of {
				continue
			}
			f, err := os.OpenFile(filepath.Join(p.dir, fmt.Sprint(uid), "config.toml"), os.O_APPEND|os.O_WRONLY, 0)
			if err != nil {
				p.t.Fatal(err)
			}
			if _, err := fmt.Fprintf(f, "[audit]\nkeys = [%q]\n", key.VerifierKey); err != nil {
				p.t.Fatal(err)
			}
			if err := f.Close(); err != nil {
				p.t.Fatal(err)
			}
		}
	}
}
