package app

import (
	"context"
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"time"

	"opdeck/api"
	"opdeck/internal/domain/approval"
	"opdeck/internal/domain/audit"
	"opdeck/internal/format"
	"opdeck/internal/store/journal"
	"opdeck/internal/store/liveness"
)

// AuditKeyFile is the path of the key that signs the audit trail's checkpoints.
func (a *App) AuditKeyFile() string { return placesOf(a.Config, a.State).auditKey }

func (a *App) openAudit(ctx context.Context, how Options) error {
	at := placesOf(a.Config, a.State)
	points, archive := at.checkpoints, at.archive
	made := ""
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
	} else if opt.Key, made, err = a.auditKey(ctx, opt, how.NewAuditKey); errors.Is(err, errNewHost) {
		opt.Unrecorded = err
	} else if err != nil {
		return err
	}
	var err error
	if opt.Trusted, err = otherHosts(a.Config.Audit.Keys); err != nil {
		return err
	}
	if a.Audit, err = audit.New(opt); err != nil {
		return &api.Error{Kind: api.Internal, Public: "The audit trail cannot be opened: " + err.Error(), Err: err}
	}
	if made != "" {
		if err := a.Audit.Note(ctx, a.LocalActor("command"), api.Event{Name: audit.EventKey, Object: "audit",
			ID: audit.Fingerprint(opt.Key.Public()), Detail: "a new key was created on request, although " + made}); err != nil {
			return err
		}
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

// errNoAuditKey: this host has signed checkpoints, and its key is gone.
var errNoAuditKey = errors.New("the audit key of this host is missing")

// errNewHost: the store has a trail, and this host never signed for it. Reads need no key.
var errNewHost = errors.New("the trail began on another host")

// auditKey reads the key that signs checkpoints. A new one is made for a trail that has not begun, or when a person
// asked for one; made then says what had begun without it.
func (a *App) auditKey(ctx context.Context, opt audit.Options, anew bool) (k *audit.Key, made string, err error) {
	file := a.AuditKeyFile()
	bad := func(err error) error {
		return &api.Error{Kind: api.BadConfig, Public: "The audit key cannot be used: " + err.Error(), Err: err}
	}
	k, err = audit.ReadKey(file)
	switch {
	case err == nil:
		return k, "", nil
	case !errors.Is(err, fs.ErrNotExist):
		return nil, "", bad(err)
	}
	head, err := opt.Store.Head(ctx)
	if err != nil {
		return nil, "", err
	}
	signed, err := hasCheckpoints(opt.Checkpoints)
	if err != nil {
		return nil, "", err
	}
	begun := ""
	switch {
	case head.N > 0:
		begun = "the trail has " + format.Plural(int(head.N), "record", "records")
	case signed:
		begun = "there are checkpoints in " + opt.Checkpoints
	}
	if begun != "" && !anew {
		if k, err := audit.ReadKey(file); err == nil { // the process that began the trail has made it meanwhile
			return k, "", nil
		}
		return nil, "", noAuditKey(file, begun, signed)
	}
	if k, _, err = audit.CreateKey(file); err != nil {
		return nil, "", bad(err)
	}
	return k, begun, nil
}

// noAuditKey is the error of a missing key. A host that has signed checkpoints does not start without its key; one that
// never did reads, and refuses with this error what must be recorded.
func noAuditKey(file, begun string, signed bool) error {
	if signed {
		return &api.Error{Kind: api.BadConfig, Err: errNoAuditKey,
			Public: "The audit key " + file + " is missing, but " + begun + ". opdeck does not create a new one by itself.",
			Hint: "Restore the file from the backup (mode 0600). If the key is lost for good: opdeck audit checkpoint " +
				"--new-key makes one, and the trail records it."}
	}
	return &api.Error{Kind: api.Refused, Rule: api.RuleAudit, Unsent: true, Err: errNewHost,
		Public: "This host has no audit key (" + file + "), but " + begun + ", so opdeck sends no writes from here.",
		Hint: "opdeck audit checkpoint --new-key makes the key of a new host. If this host had one, restore the file (mode " +
			"0600)."}
}

// hasCheckpoints reports whether this host has signed any trail: checkpoints is a file or a folder.
func hasCheckpoints(checkpoints string) (bool, error) {
	if info, err := os.Stat(checkpoints); err == nil && info.Mode().IsRegular() {
		return info.Size() > 0, nil
	}
	there, err := filepath.Glob(filepath.Join(checkpoints, "audit-*.jsonl"))
	return len(there) > 0, err
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
