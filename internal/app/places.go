package app

import (
	"path/filepath"

	"opdeck/internal/app/config"
	"opdeck/internal/store"
	"opdeck/internal/store/seal"
)

// places are the paths of what an installation keeps. core and bulk are "" unless the store is in SQLite files.
type places struct {
	core, bulk, storeKey, auditKey, checkpoints, archive, jobs string
}

func placesOf(cfg config.Config, state string) places {
	p := places{storeKey: cfg.Store.KeyFile, auditKey: cfg.Audit.KeyFile, checkpoints: cfg.Audit.Checkpoints,
		archive: cfg.Audit.Archive, jobs: filepath.Join(state, "jobs")}
	var err error
	if p.core, p.bulk, err = store.Files(cfg.Store.URL, state); err == nil {
		if p.storeKey == "" {
			p.storeKey = seal.Beside(p.core)
		}
		if p.archive == "" {
			p.archive = filepath.Join(filepath.Dir(p.core), "audit-archive")
		}
	}
	if p.auditKey == "" {
		p.auditKey = filepath.Join(state, "audit.key")
	}
	if p.checkpoints == "" {
		p.checkpoints = filepath.Join(state, "checkpoints")
	}
	return p
}

// restoredFile is where a restore notes what it put in place, until the audit trail records it.
func (p places) restoredFile() string { return p.core + ".restored" }
