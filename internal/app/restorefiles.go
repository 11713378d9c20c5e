package app

import (
	"bytes"
	"errors"
	"io"
	"io/fs"
	"os"
	"path/filepath"

	"opdeck/internal/store"
	"opdeck/internal/store/backup"
	"opdeck/internal/system/wholefile"
)

// stagedPrefix begins the names of prepared files beside those that they replace.
const stagedPrefix = ".opdeck-restore-"

// replacements prepares each file of the snapshot beside its place. A file that is there with the same content stays,
// and so does a checkpoint file that continues from that of the snapshot: it shows what is missing.
func (r *Restoring) replacements() (list []store.Replacement, err error) {
	note, err := r.note()
	if err != nil {
		return nil, err
	}
	if err := wholefile.Create(r.staged("restored"), note); err != nil {
		return nil, err
	}
	aside := ".replaced-" + r.opt.Now().UTC().Format("20060102T150405Z") + "-" + backup.NewID()[:6]
	add := func(staged, place string, keep func(old, new string) (bool, error)) error {
		if same, err := keep(place, staged); err != nil || same {
			return err
		}
		x := store.Replacement{New: filepath.Join(filepath.Dir(place), stagedPrefix+filepath.Base(place)), Path: place,
			Aside: place + aside}
		if err := os.MkdirAll(filepath.Dir(place), 0o700); err != nil {
			return err
		}
		_ = os.Remove(x.New) // of a process that was killed
		list = append(list, x)
		if err := os.Rename(staged, x.New); err == nil {
			return nil
		}
		return copyFile(staged, x.New) // on another disk
	}
	never := func(string, string) (bool, error) { return false, nil }
	for _, p := range []struct {
		name, place string
		keep        func(old, new string) (bool, error)
	}{{backup.BulkFile, r.at.bulk, never}, {backup.StoreKey, r.at.storeKey, sameContent},
		{backup.AuditKey, r.at.auditKey, sameContent}, {"restored", r.at.restoredFile(), never}} {
		if err := add(r.staged(p.name), p.place, p.keep); err != nil {
			return list, err
		}
	}
	for _, p := range []struct {
		folder, place string
		keep          func(old, new string) (bool, error)
	}{{backup.Checkpoints, r.at.checkpoints, goesOn}, {backup.Archive, r.at.archive, sameContent},
		{backup.Jobs, r.at.jobs, sameContent}} {
		for _, name := range r.Snapshot.In(p.folder) {
			if err := add(r.staged(p.folder+"/"+name), filepath.Join(p.place, name), p.keep); err != nil {
				return list, err
			}
		}
	}
	return list, add(r.staged(backup.CoreFile), r.at.core, never) // last: with it the old store is gone
}

// sameContent reports whether both files exist and are equal.
func sameContent(old, new string) (bool, error) {
	a, b, err := readBoth(old, new)
	return a != nil && bytes.Equal(a, b), err
}

// goesOn reports whether the old file exists and does not end before the new one: it begins with it, or differs.
func goesOn(old, new string) (bool, error) {
	a, b, err := readBoth(old, new)
	return a != nil && !(len(a) < len(b) && bytes.HasPrefix(b, a)), err
}

// readBoth reads both files; a is nil if the old one is missing.
func readBoth(old, new string) (a, b []byte, err error) {
	f, err := os.Open(old)
	if errors.Is(err, fs.ErrNotExist) {
		return nil, nil, nil
	}
	if err != nil {
		return nil, nil, err
	}
	a, err = io.ReadAll(f)
	if err = errors.Join(err, f.Close()); err != nil {
		return nil, nil, err
	}
	if b, err = os.ReadFile(new); err != nil {
		return nil, nil, err
	}
	return a, b, nil
}
