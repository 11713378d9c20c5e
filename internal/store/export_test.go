package store

import "time"

// WithSystem fakes the file system that folders are on.
func (o Options) WithSystem(name func(dir string) (string, error)) Options {
	o.system = name
	return o
}

// ForgetCheck makes the next use look at the file's name, as it does a second later.
func (db *DB) ForgetCheck() {
	db.identity.mu.Lock()
	defer db.identity.mu.Unlock()
	db.identity.checked = time.Time{}
}
