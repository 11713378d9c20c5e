package accounts

import (
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"

	"opdeck/api/session"
	"opdeck/internal/store/files"
)

// spent records, in a file beside the SQLite file, the newest pair of each key that may be used up: before its
// refresh token is sent, and before a login revokes it. The database can be older: a restored backup, or a file that
// lost its write-ahead log.
type spent struct{ database string } // its path; "": nothing is recorded

func (s spent) file(key session.Key) string { return s.database + ".spent-" + keyID(key) }

const spentForm = "%-32s %20d %20d\n" // of fixed length, so that each note overwrites the last

// age is the state of the database's row relative to the note.
type age int

const (
	current age = iota
	older       // the pair may be used up although the database does not show it
	copied      // the note belongs to another file: the state folder was copied or moved
)

// note records that the pair gen of incarnation, and all earlier ones, may be used up.
func (s spent) note(key session.Key, incarnation string, gen int64) error {
	if s.database == "" {
		return nil
	}
	f, err := files.OpenOwn(s.file(key))
	if err != nil {
		return fmt.Errorf("store: %w", err)
	}
	id, err := files.ID(f)
	if err == nil {
		_, err = f.WriteAt(fmt.Appendf(nil, spentForm, incarnation, gen, id), 0)
	}
	return errors.Join(err, f.Close())
}

// of compares the database's pair gen of incarnation with the note; older when in doubt.
func (s spent) of(key session.Key, incarnation string, gen int64) age {
	if s.database == "" {
		return current
	}
	f, err := os.Open(s.file(key))
	if errors.Is(err, fs.ErrNotExist) {
		return current
	}
	if err != nil {
		return older
	}
	defer f.Close()
	text, err := io.ReadAll(io.LimitReader(f, 200))
	var noted string
	var upTo int64
	var file uint64
	n := 0
	if err == nil {
		n, _ = fmt.Sscanf(string(text), "%s %d %d", &noted, &upTo, &file)
	}
	id, idErr := files.ID(f)
	switch {
	case n == 3 && idErr == nil && file != id:
		return copied
	case n < 2 || noted != incarnation || gen <= upTo:
		return older
	}
	return current
}
