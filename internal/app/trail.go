package app

import "path/filepath"

// AuditKeyFile is where the key stands that signs the audit trail's checkpoints.
func (a *App) AuditKeyFile() string {
	if a.Config.Audit.KeyFile != "" {
		return a.Config.Audit.KeyFile
	}
	return filepath.Join(a.State, "audit.key")
}
