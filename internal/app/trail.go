package app

import (
	"context"
	"os"
	"path/filepath"
	"time"

	"opdeck/api"
	"opdeck/internal/domain/approval"
	"opdeck/internal/domain/audit"
	"opdeck/internal/store/journal"
	"opdeck/internal/store/liveness"
)

// AuditKeyFile is the path of the key that signs the audit trail's checkpoints.
func (a *App) AuditKeyFile() string {
	if a.Config.Audit.KeyFile != "" {
		return a.Config.Audit.KeyFile
	}
	return filepath.Join(a.State, "audit.key")
}

func (a *App) openAudit(_ context.Context, _ Options) error {
	points := a.Config.Audit.Checkpoints
	if points == "" {
		points = filepath.Join(a.State, "checkpoints")
	}
	archive := a.Config.Audit.Archive
	if archive == "" && a.Store.Core.Path() != "" {
		archive = filepath.Join(filepath.Dir(a.Store.Core.Path()), "audit-archive")
	}
	opt := audit.Options{Store: journal.NewAudit(a.Store.Core), Build: a.Version, Now: a.Now, Checkpoints: points,
		Archive: archive, Context: audit.Context{Name: a.Context.Name, BaseURL: a.Context.BaseURL, Account: a.Context.Login},
		Alarm: func(err error) {
			if err != nil {
				a.Log.Error("audit", "err", err)
			}
		}}
	if boots := liveness.NewBoots(a.Store.Core); boots != nil {
		opt.Alive, a.alive = boots, boots
	}
	if a.Config.Store.URL == "memory" {
		opt.Checkpoints = ""
	} else if err := os.MkdirAll(points, 0o700); err != nil {
		return &api.Error{Kind: api.Unavailable, Public: "The folder for audit checkpoints cannot be created.", Err: err}
	} else if opt.Key, _, err = audit.OpenKey(a.AuditKeyFile()); err != nil {
		return &api.Error{Kind: api.BadConfig, Public: "The audit key cannot be used: " + err.Error(), Err: err}
	}
	var err error
	if opt.Trusted, err = otherHosts(a.Config.Audit.Keys); err != nil {
		return err
	}
	if a.Audit, err = audit.New(opt); err != nil {
		return &api.Error{Kind: api.Internal, Public: "The audit trail cannot be opened: " + err.Error(), Err: err}
	}
	a.closers = append(a.closers, func() error {
		ctx, cancel := context.WithTimeout(context.Background(), 5*time.Second)
		defer cancel()
		return a.Audit.Close(ctx)
	})
	a.Approvals = approval.New(journal.NewApprovals(a.Store.Core), a.Audit, a.Context.BaseURL, a.Context.Login, a.Now)
	a.Approvals.SetRoleLookup(a.localRole)
	a.Gate = &api.Gate{ReadOnly: a.ReadOnly, Audit: a.Audit, Now: a.Now}
	if a.Context.Approval == "second_person" {
		a.Gate.Approve = a.Approvals
	}
	return nil
}

// otherHosts parses the configured keys of other hosts.
func otherHosts(verifiers []string) ([]audit.Trusted, error) {
	var keys []audit.Trusted
	for _, s := range verifiers {
		key, chain, err := audit.ReadVerifierKey(s)
		if err != nil {
			return nil, &api.Error{Kind: api.BadConfig, Err: err,
				Public: "A key in [audit] cannot be read: " + err.Error()}
		}
		keys = append(keys, audit.Trusted{Chain: chain, Key: key})
	}
	return keys, nil
}
