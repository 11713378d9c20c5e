package app

import (
	"bytes"
	"context"
	"os"
	"path/filepath"
	"testing"
	"time"

	"filippo.io/age"

	"opdeck/api"
	"opdeck/internal/app/config"
	"opdeck/internal/domain/approval"
	"opdeck/internal/domain/audit"
	"opdeck/internal/domain/followup"
	"opdeck/internal/domain/replace"
	"opdeck/internal/store/journal"
)

// backupHome is a config on the built-in service, an administrator, and a key for snapshots.
type backupHome struct {
	t    *testing.T
	dir  string
	opt  Options
	key  BackupKey
	ctx  context.Context
	file string
}

func newBackupHome(t *testing.T) *backupHome {
	t.Helper()
	h := &backupHome{t: t, dir: t.TempDir()}
	conf := filepath.Join(h.dir, "config.toml")
	if err := os.WriteFile(conf, []byte("[contexts.box]\nsandbox = true\nrole = \"admin\"\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	h.opt = Options{ConfigFlag: conf, StateFlag: filepath.Join(h.dir, "state")}
	h.ctx = api.WithActor(context.Background(), api.Actor{Name: "ana", Role: api.Admin, Via: "command"})
	id, err := age.GenerateX25519Identity()
	if err != nil {
		t.Fatal(err)
	}
	h.key = BackupKey{Recipients: []age.Recipient{id.Recipient()}, Identities: []age.Identity{id}}
	h.file = filepath.Join(h.dir, "s.opdeck")
	return h
}

// with runs fn on the open store.
func (h *backupHome) with(fn func(a *App)) {
	h.t.Helper()
	a, err := Open(h.ctx, h.opt)
	if err != nil {
		h.t.Fatal(err)
	}
	fn(a)
	if err := a.Close(); err != nil {
		h.t.Error(err)
	}
}

func (h *backupHome) restore() *Restoring {
	h.t.Helper()
	ctx, r, err := OpenBackup(h.ctx, h.opt, h.file, h.key, true,
		func(config.Context) context.Context { return h.ctx })
	if err != nil {
		h.t.Fatal(err)
	}
	if err := r.Apply(ctx); err != nil {
		h.t.Fatal(err)
	}
	if err := r.Record(api.WithConsent(ctx, api.Consent{Reason: "a drill"})); err != nil {
		h.t.Error(err)
	}
	if err := r.Close(); err != nil {
		h.t.Error(err)
	}
	return r
}

// TestRestoredStoreIsInDoubt: what may have gone on after the snapshot is in doubt, says that it comes from a backup, and
// is not sent again.
func TestRestoredStoreIsInDoubt(t *testing.T) {
	h := newBackupHome(t)
	act := api.Act{Kind: api.ActRemoveDocument, Object: "operation", ID: "op-1", Item: "doc-1", Name: "a.pdf"}
	var planned, sent string
	h.with(func(a *App) {
		var err error
		if planned, err = a.Audit.Intent(h.ctx, api.ActorOf(h.ctx), act); err != nil {
			t.Fatal(err)
		}
		other := act
		other.ID = "op-2"
		if sent, err = a.Audit.Intent(h.ctx, api.ActorOf(h.ctx), other); err != nil {
			t.Fatal(err)
		}
		if _, err := a.Follow.Sending(h.ctx, api.Pending{Ref: sent, Claim: "claim", Act: other,
			Probe: api.Probe{Kind: other.Kind, OPID: other.ID, GUID: other.Item, Ref: sent}}); err != nil {
			t.Fatal(err)
		}
		now := time.Now().UTC()
		if err := a.Jobs.Store.Save(h.ctx, replace.Job{ID: "job", OPID: "op-1", OldGUID: "doc-1", Step: replace.Removed,
			Created: now, Updated: now}, time.Time{}); err != nil {
			t.Fatal(err)
		}
		if _, err := a.Approvals.Check(h.ctx, api.ActorOf(h.ctx), act); err == nil {
			t.Fatal("no second person is needed")
		}
		if _, err := TakeBackup(h.ctx, a, h.file, h.key); err != nil {
			t.Fatal(err)
		}
	})
	r := h.restore()
	if r.InDoubt.Writes != 2 || r.InDoubt.Jobs != 1 || r.InDoubt.Requests != 1 {
		t.Errorf("%+v", r.InDoubt)
	}
	h.with(func(a *App) {
		rows, err := a.Follow.Pending(h.ctx)
		refs := map[string]followup.Row{}
		for _, row := range rows {
			refs[row.Ref] = row
		}
		for _, ref := range []string{planned, sent} {
			if row, ok := refs[ref]; !ok || !row.Restored.Equal(r.Snapshot.Taken) || row.Claim == "" {
				t.Errorf("%s: %+v, %v", ref, row, err)
			}
		}
		jobs, err := a.Jobs.Store.Unfinished(h.ctx)
		if err != nil || len(jobs) != 1 {
			t.Fatal(jobs, err)
		}
		if _, err := a.Jobs.Run(h.ctx, jobs[0]); api.KindOf(err) != api.UnknownOutcome || !a.Jobs.Undecided(jobs[0]) {
			t.Errorf("the job: %v", err)
		}
		live, err := a.Approvals.List(h.ctx, approval.Open, approval.Approved)
		if err != nil || len(live) > 0 {
			t.Errorf("%+v, %v", live, err)
		}
	})
}

// TestBackupHasTheStoredCheckpoints: the copied checkpoints are those that the copied store knows. One that is in the
// store and not in its file yet is added; one that came after the copy of the store is left out.
func TestBackupHasTheStoredCheckpoints(t *testing.T) {
	h := newBackupHome(t)
	h.with(func(a *App) {
		for range 3 {
			if err := a.Audit.Note(h.ctx, api.ActorOf(h.ctx), api.Event{Name: "console.open"}); err != nil {
				t.Fatal(err)
			}
			if _, err := a.Audit.Prover.NewestNote(h.ctx); err != nil {
				t.Fatal(err)
			}
		}
	})
	files, err := filepath.Glob(filepath.Join(h.opt.StateFlag, "checkpoints", "*"))
	if err != nil || len(files) != 1 {
		t.Fatal(files, err)
	}
	text, err := os.ReadFile(files[0])
	if err != nil {
		t.Fatal(err)
	}
	lines := bytes.SplitAfter(text, []byte("\n"))
	without := bytes.Join(lines[:len(lines)-2], nil) // the newest
	h.with(func(a *App) {
		trail, dir := journal.NewAudit(a.Store.Core), t.TempDir()
		copied := func(file, want []byte) {
			t.Helper()
			if err := os.WriteFile(filepath.Join(dir, filepath.Base(files[0])), file, 0o600); err != nil {
				t.Fatal(err)
			}
			to := filepath.Join(t.TempDir(), "copied")
			if err := copyCheckpoints(h.ctx, trail, dir, to); err != nil {
				t.Fatal(err)
			}
			got, err := os.ReadFile(filepath.Join(to, filepath.Base(files[0])))
			if err != nil || !bytes.Equal(got, want) {
				t.Errorf("%s\n%v; want\n%s", got, err, want)
			}
		}
		copied(without, text)
		points, _, err := audit.ReadCheckpoints(bytes.NewReader(without))
		if err != nil || len(points) < 2 {
			t.Fatal(points, err)
		}
		last := points[len(points)-1]
		if err := a.Store.Core.Exec(h.ctx, "UPDATE audit_signed SET n = ?, note = ?", last.N, last.Note); err != nil {
			t.Fatal(err)
		}
		copied(text, without)
	})
}
