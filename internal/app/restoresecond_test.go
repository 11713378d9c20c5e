package app

import (
	"context"
	"errors"
	"io/fs"
	"os"
	"testing"

	"opdeck/api"
	"opdeck/internal/app/config"
	"opdeck/internal/domain/approval"
)

// TestRestoreUnderSecondPerson: where a second person approves, a restore is done and waits for its record: one
// request,
// which the person who restored cannot approve. After the approval the record names both, and the trail is intact.
func TestRestoreUnderSecondPerson(t *testing.T) {
	h := newBackupHome(t)
	conf := "[contexts.box]\nsandbox = true\nrole = \"admin\"\napproval = \"second_person\"\n"
	if err := os.WriteFile(h.opt.ConfigFlag, []byte(conf), 0o600); err != nil {
		t.Fatal(err)
	}
	ssh := func(name string) api.Actor {
		return api.Actor{Name: name, Role: api.Admin, Via: "ssh", Key: "SHA256:" + name, Login: name}
	}
	h.ctx = api.WithActor(h.ctx, ssh("ana"))
	second := api.WithActor(h.ctx, ssh("ben"))
	reason := func() api.Consent { return api.Consent{Reason: "the disk broke"} }
	note := func(a *App) {
		t.Helper()
		if err := a.Audit.Note(h.ctx, api.ActorOf(h.ctx), api.Event{Name: "console.open"}); err != nil {
			t.Fatal(err)
		}
	}
	h.with(func(a *App) {
		note(a)
		if _, err := TakeBackup(h.ctx, a, h.file, h.key); err != nil {
			t.Fatal(err)
		}
		note(a) // the snapshot lacks it
	})
	ctx, r, err := OpenBackup(h.ctx, h.opt, h.file, h.key, true, func(config.Context) context.Context { return h.ctx })
	if err == nil {
		err = r.Apply(ctx)
	}
	if err != nil {
		t.Fatal(err)
	}
	if err := r.Record(api.WithConsent(ctx, reason())); api.AsError(err).Rule != api.RuleApproval || r.Recorded != nil {
		t.Errorf("recorded without a second person: %+v, %v", r.Recorded, err)
	}
	if err := r.Close(); err != nil {
		t.Error(err)
	}
	h.with(func(a *App) {
		a.AuthorizeSSH(func(approval.Person) (api.Role, error) { return api.Admin, nil })
		open, err := a.Approvals.List(h.ctx, approval.Open)
		if err != nil || len(open) != 1 || open[0].Act.Kind != api.ActAuditRestored || open[0].Act.Reason != reason().Reason {
			t.Fatalf("%+v, %v", open, err)
		}
		if _, err := a.Approvals.Approve(h.ctx, open[0].ID, "", ""); err == nil {
			t.Error("the person who restored approves it")
		}
		if _, err := a.RecordRestore(api.WithConsent(h.ctx, reason()), nil); err == nil {
			t.Error("recorded before the approval")
		}
		if _, err := a.Approvals.Approve(second, open[0].ID, "", ""); err != nil {
			t.Fatal(err)
		}
		done, err := a.RecordRestore(api.WithConsent(h.ctx, reason()), nil)
		if err != nil || done.Reason != reason().Reason || done.Second == "" || done.Seq == 0 {
			t.Fatalf("%+v, %v", done, err)
		}
		if _, err := os.Lstat(placesOf(a.Config, a.State).restoredFile()); !errors.Is(err, fs.ErrNotExist) {
			t.Errorf("the note of the restore is left: %v", err)
		}
		rep, err := VerifyAudit(h.ctx, a)
		if err != nil || !rep.Intact() || len(rep.Restores) != 1 || rep.Restores[0].Second != done.Second {
			t.Errorf("%s, %v", rep.Summary(), err)
		}
		if left, err := a.Approvals.List(h.ctx, approval.Open, approval.Approved); err != nil || len(left) > 0 {
			t.Errorf("%+v, %v", left, err)
		}
	})
}
