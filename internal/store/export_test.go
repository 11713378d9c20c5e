package store

import (
	"time"
)

// WithSystem fakes the file system that folders are on.
func (o Options) WithSystem(name func(dir string) (string, error)) Options {
	o.system = name
	return o
}

// ForgetLook makes the next use look at the file's name, as it does a second later.
func (db *DB) ForgetLook() {
	db.identity.mu.Lock()
	defer db.identity.mu.Unlock()
	db.identity.looked = time.Time{}
}
