package store

import (
	"context"
	"encoding/json"
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"slices"

	"opdeck/internal/store/files"
	"opdeck/internal/system/wholefile"
)

// Replacement is a file that takes the place of another one. All three paths are in one folder.
type Replacement struct {
	New   string `json:"new"`   // the prepared file
	Path  string `json:"path"`  // its place
	Aside string `json:"aside"` // where the file that is there goes; its -wal and -shm go with it
}

// A replacement of several files is decided when its list is stored beside the core file. A process that finds the list
// completes it before it opens the store, so that the store is the old one or the new one.
func replacementList(core string) string { return core + ".restoring" }

// replacing reports whether a list exists.
func replacing(core string) bool {
	_, err := os.Lstat(replacementList(core))
	return err == nil
}

// HeldError: another process has a file of the store open.
type HeldError struct {
	Path string
	PID  int // 0: not known
}

// Error is for logs; callers word it for people.
func (e *HeldError) Error() string { return "store: " + e.Path + " is in use by another process" }

// Held returns a *HeldError if another process has a file of the store open. The calling process must not have it
// open: the check would release SQLite's locks.
func Held(core string) error {
	for _, path := range []string{core, bulkPath(core)} {
		if pid, held := holder(path); held {
			return &HeldError{path, pid}
		}
	}
	return nil
}

// Replace puts all files in place, or none if it returns an error before the list is stored. It returns a *HeldError
// if a process uses the store. A process that is killed meanwhile leaves the old files or, for the next Open, the list.
func Replace(ctx context.Context, core string, list []Replacement) error {
	done, err := lockFiles(ctx, core)
	if err != nil {
		return err
	}
	defer done()
	if err := Held(core); err != nil {
		return err
	}
	text, err := json.Marshal(list)
	if err != nil {
		return err
	}
	if err := wholefile.Create(replacementList(core), text); err != nil {
		return fileError(core, err)
	}
	if err := Held(core); err != nil { // it opened the store before it could see the list
		return errors.Join(err, os.Remove(replacementList(core)))
	}
	return putInPlace(core, list)
}

// Resume completes a replacement that was interrupted; it waits for one that is in progress.
func Resume(ctx context.Context, core string) error {
	if !replacing(core) {
		return nil
	}
	done, err := lockFiles(ctx, core)
	if err != nil {
		return err
	}
	defer done()
	text, err := os.ReadFile(replacementList(core))
	if errors.Is(err, fs.ErrNotExist) {
		return nil
	}
	var list []Replacement
	if err == nil {
		err = json.Unmarshal(text, &list)
	}
	if err != nil {
		return fileError(replacementList(core), err)
	}
	return putInPlace(core, list)
}

// lockFiles excludes the writers of both files.
func lockFiles(ctx context.Context, core string) (done func(), err error) {
	var open []func()
	done = func() {
		for _, f := range slices.Backward(open) {
			f()
		}
	}
	for _, path := range []string{bulkPath(core), core} {
		q, err := openQueue(path)
		if err != nil {
			done()
			return nil, err
		}
		open = append(open, func() { _ = q.close() })
		release, err := q.acquire(ctx)
		if err != nil {
			done()
			return nil, err
		}
		open = append(open, release)
	}
	return done, nil
}

// putInPlace takes the steps that are left of a replacement and removes its list.
func putInPlace(core string, list []Replacement) error {
	for _, step := range replaceSteps(core, list) {
		if err := step(); err != nil {
			return err
		}
	}
	return nil
}

// replaceSteps are the steps of a replacement; each may have been taken before.
func replaceSteps(core string, list []Replacement) (steps []func() error) {
	var folders []string
	for _, r := range list {
		for _, end := range []string{"-wal", "-shm", ""} { // a log must not meet the new file
			steps = append(steps, func() error {
				if _, err := os.Lstat(r.New); errors.Is(err, fs.ErrNotExist) {
					return nil
				}
				return fileError(r.Path+end, setAside(r.Path+end, r.Aside+end))
			})
		}
		steps = append(steps, func() error {
			if err := os.Rename(r.New, r.Path); !errors.Is(err, fs.ErrNotExist) {
				return fileError(r.Path, err)
			}
			return nil
		})
		folders = append(folders, filepath.Dir(r.Path))
	}
	slices.Sort(folders)
	for _, dir := range slices.Compact(folders) {
		steps = append(steps, func() error { return fileError(dir, wholefile.SyncFolder(dir)) })
	}
	return append(steps, func() error {
		if err := os.Remove(replacementList(core)); err != nil {
			return fileError(core, err)
		}
		return wholefile.SyncFolder(filepath.Dir(core))
	})
}

// setAside moves a file if it exists. If an earlier try moved one, what is there now is of a program that does not know
// the list, and goes.
func setAside(path, aside string) error {
	_, err := os.Lstat(aside)
	if err == nil {
		err = os.Remove(path)
	} else {
		err = os.Rename(path, aside)
	}
	if errors.Is(err, fs.ErrNotExist) {
		return nil
	}
	return err
}

// OwnFolderOf checks and creates the folder of a store's core file as Open does.
func OwnFolderOf(core string) error {
	dir := filepath.Dir(core)
	if err := files.RefuseNetworkDisk(dir, nil); err != nil {
		return fileError(dir, err)
	}
	if err := files.OwnFolder(dir); err != nil {
		return fileError(dir, err)
	}
	return nil
}
