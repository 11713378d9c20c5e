package audit_test

import (
	"bufio"
	"bytes"
	"context"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/rogpeppe/go-internal/lockedfile"

	"opdeck/api"
	"opdeck/internal/domain/audit"
	"opdeck/internal/store"
	"opdeck/internal/store/journal"
	"opdeck/internal/store/liveness"
	"opdeck/internal/store/storetest"
)

// TestCoveredBeforeReported: when the outcome of an act is returned, a signed checkpoint in the checkpoint file covers
// it, regardless of other processes' writes.
func TestCoveredBeforeReported(t *testing.T) {
	each(t, func(t *testing.T, open func() *store.Store) {
		p := newPlace(t, open(), 1)
		name, _ := p.file()
		covered := func(ref string) bool {
			b, err := os.ReadFile(name)
			if err != nil {
				t.Error(err)
				return false
			}
			list, _, err := audit.ReadCheckpoints(bytes.NewReader(b)) // what another one is writing is torn
			if err != nil {
				t.Error(err)
				return false
			}
			rows, err := p.opt.Store.Rows(context.Background(), 1, 1000)
			if err != nil {
				t.Error(err)
				return false
			}
			for _, r := range rows {
				if r.Ref == ref {
					return list[len(list)-1].N >= r.Seq
				}
			}
			return false
		}
		var group sync.WaitGroup
		for range 3 {
			opt := p.opt
			opt.Store = journal.NewAudit(open().Core)
			l := newLog(t, opt)
			for range 3 { // people at one console
				group.Go(func() {
					for i := range 2 {
						a := act
						a.ID = fmt.Sprint(i)
						ref, err := l.Intent(as(ana), ana, a)
						if err != nil {
							t.Error(err)
							return
						}
						if err := l.Outcome(as(ana), ref, api.Outcome{Verdict: api.Done}); err != nil {
							t.Error(err)
						}
						if !covered(ref) {
							t.Error("an outcome was reported that no checkpoint covers")
						}
					}
				})
			}
		}
		group.Wait()
		if r := p.verify(); !r.Intact() || r.Covered != 2+2*3*3*2 {
			t.Errorf("%+v", r)
		}
		l := newLog(t, p.opt)
		if n, err := l.Signer.Uncovered(context.Background()); n != 0 || err != nil {
			t.Errorf("%d uncovered, %v", n, err)
		}
		if err := l.Note(as(ana), ana, api.Event{Name: "reveal"}); err != nil {
			t.Fatal(err)
		}
		if n, err := l.Signer.Uncovered(context.Background()); n != 1 || err != nil {
			t.Errorf("%d uncovered after a note, %v", n, err)
		}
	})
}

const stuckDir = "OPDECK_AUDIT_STUCK"

// TestKilledBeforeTheCheckpoint kills a process (this test again, as a child) that
// has stored an outcome and waits to write its checkpoint, because we hold the
// file.
func TestKilledBeforeTheCheckpoint(t *testing.T) {
	if dir := os.Getenv(stuckDir); dir != "" {
		s, err := store.Open(context.Background(), store.Options{URL: "sqlite:" + filepath.Join(dir, "o.db")})
		if err != nil {
			t.Fatal(err)
		}
		key, _, err := audit.CreateKey(filepath.Join(dir, "audit.key"))
		if err != nil {
			t.Fatal(err)
		}
		l := newLog(t, audit.Options{Store: journal.NewAudit(s.Core), Alive: liveness.NewBoots(s.Core), Key: key,
			Checkpoints: dir})
		ref, err := l.Intent(as(ana), ana, act)
		if err != nil {
			t.Fatal(err)
		}
		fmt.Println("stored")
		_ = l.Outcome(as(ana), ref, api.Outcome{Verdict: api.Done}) // never returns
		fmt.Println("reported")
		return
	}
	dir := t.TempDir()
	s := storetest.OpenURL(t, "sqlite:"+filepath.Join(dir, "o.db"))
	key, _, err := audit.CreateKey(filepath.Join(dir, "audit.key"))
	if err != nil {
		t.Fatal(err)
	}
	opt := audit.Options{Store: journal.NewAudit(s.Core), Alive: liveness.NewBoots(s.Core), Key: key, Checkpoints: dir}
	write(t, newLog(t, opt), 1)
	name, err := newLog(t, opt).Signer.CheckpointFile(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	held, err := lockedfile.OpenFile(name, os.O_RDWR|os.O_CREATE, 0o600)
	if err != nil {
		t.Fatal(err)
	}
	child := exec.Command(os.Args[0], "-test.run=^TestKilledBeforeTheCheckpoint$")
	child.Env = append(os.Environ(), stuckDir+"="+dir)
	out, err := child.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := child.Start(); err != nil {
		t.Fatal(err)
	}
	said := bufio.NewReader(out)
	if line, err := said.ReadString('\n'); line != "stored\n" {
		t.Fatal(line, err)
	}
	for n := int64(0); n < 4; time.Sleep(5 * time.Millisecond) { // until the outcome is stored
		head, err := opt.Store.Head(t.Context())
		if err != nil {
			t.Fatal(err)
		}
		n = head.N
	}
	_ = child.Process.Kill()
	if rest, _ := said.ReadString('\n'); rest != "" {
		t.Errorf("the child reported %q before its checkpoint was written", rest)
	}
	_ = child.Wait()
	if err := held.Close(); err != nil {
		t.Fatal(err)
	}
	old := newLog(t, opt)
	r, err := old.Prover.Verify(as(admin))
	if err != nil || r.Exit() != audit.ExitBroken || !strings.Contains(r.Problems[0].Text,
		"ends at 2 records, and the store knows of a checkpoint for 4") {
		t.Errorf("before anybody covers it: %+v, %v", r.Problems, err)
	}
	if err := old.Close(t.Context()); err != nil {
		t.Fatal(err)
	}
	r, err = newLog(t, opt).Prover.Verify(as(admin))
	if err != nil || !r.Intact() || r.Covered != 4 {
		t.Errorf("afterwards: %+v, %v", r, err)
	}
}
