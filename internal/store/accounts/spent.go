package accounts

import (
	"errors"
	"fmt"
	"io/fs"
	"os"

	"opdeck/api/session"
	"opdeck/internal/store/files"
)

// spent notes, in a file beside the SQLite file, the newest pair of each key that
// may be used up: before its refresh token is sent, and before a login ends it. The
// database can be older than that: a backup, or a file that lost its write-ahead log.
type spent struct{ database string } // its path; "": nothing is noted

func (s spent) file(key session.Key) string { return s.database + ".spent-" + keyID(key) }

const spentForm = "%-32s %20d\n" // of one length, so that each note covers the last

// note says that the pair gen of incarnation may be used up, and those before it.
func (s spent) note(key session.Key, incarnation string, gen int64) error {
	if s.database == "" {
		return nil
	}
	f, err := files.OpenOwn(s.file(key))
	if err != nil {
		return fmt.Errorf("store: %w", err)
	}
	_, err = f.WriteAt(fmt.Appendf(nil, spentForm, incarnation, gen), 0)
	return errors.Join(err, f.Close())
}

// covers reports whether the pair gen of incarnation may be used up although the
// database does not say so; true when in doubt.
func (s spent) covers(key session.Key, incarnation string, gen int64) bool {
	if s.database == "" {
		return false
	}
	text, err := os.ReadFile(s.file(key))
	if errors.Is(err, fs.ErrNotExist) {
		return false
	}
	var noted string
	var upTo int64
	if err == nil {
		_, err = fmt.Sscanf(string(text), "%s %d", &noted, &upTo)
	}
	return err != nil || noted != incarnation || gen <= upTo
}
