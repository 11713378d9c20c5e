package store

import (
	"encoding/json"
	"os"
	"testing"
	"time"
)

// LeaveReplacement is a process that decides on a replacement, takes some of its steps and is killed; left is how many
// it did not take.
func LeaveReplacement(t *testing.T, core string, list []Replacement, taken int) (left int) {
	t.Helper()
	text, err := json.Marshal(list)
	if err == nil {
		err = os.WriteFile(replacementList(core), text, 0o600)
	}
	if err != nil {
		t.Fatal(err)
	}
	steps := replaceSteps(core, list)
	taken = min(taken, len(steps)-1) // the last one removes the list
	for _, step := range steps[:taken] {
		if err := step(); err != nil {
			t.Fatal(err)
		}
	}
	return len(steps) - 1 - taken
}

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
