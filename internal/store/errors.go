package store

import (
	"context"
	"database/sql"
	"database/sql/driver"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"net"
	"os"
	"path/filepath"
	"strings"
	"syscall"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgconn"
	"modernc.org/sqlite"

	"opdeck/api"
	"opdeck/api/session"
	"opdeck/internal/store/files"
	"opdeck/internal/system/wholefile"
)

// Kind is the kind of a store error.
type Kind string

// The kinds of trouble.
const (
	Busy    Kind = "busy"    // another process held the store for longer than the caller waited
	Full    Kind = "full"    // the disk is full; nothing was written, reads still work
	Damaged Kind = "damaged" // not a database, or a corrupt one; it was not changed
	// IndexDamaged is Damaged of a file whose content is read again from the service. The next process that opens it
	// while no other has it open moves it away and makes a new one.
	IndexDamaged Kind = "index_damaged"
	ReadOnly     Kind = "read_only"   // the file or the folder is not writable
	Unavailable  Kind = "unavailable" // PostgreSQL does not answer or refuses the connection
	Unknown      Kind = "unknown"     // the connection broke during the commit, which may have succeeded
	Newer        Kind = "newer"       // tables of a newer opdeck
	InUse        Kind = "in_use"      // another opdeck has a session, so the tables are not migrated
	Older        Kind = "older"       // tables of an older opdeck, which Options.KeepVersion does not migrate
	Lost         Kind = "lost"        // the file was deleted or replaced while this process had it open
	Failing      Kind = "failing"     // the disk reports errors
	NoRight      Kind = "no_right"    // PostgreSQL denies this user a right; Says names the GRANT
)

// Error is an error of the store itself. Where is the file or the server, without user names and passwords.
type Error struct {
	Kind  Kind
	Where string
	Err   error
	text  string
}

// Error says in a sentence what is wrong and what helps.
func (e *Error) Error() string {
	switch e.Kind {
	case Busy:
		if e.text != "" {
			return "store: " + e.Where + ": " + e.text
		}
		return "store: " + e.Where + " has been locked by another process for too long; try again, or check which program " +
			"has it open"
	case Full:
		return "store: no space left for " + e.Where +
			"; nothing was written, reading still works; free some disk space, inodes or quota"
	case Damaged:
		return "store: " + e.Where +
			" is not an opdeck database or is damaged; it was left unchanged: move it away, or replace it with a good copy"
	case IndexDamaged:
		return "store: " + e.Where + " is damaged; it is made anew when no process of this host has it open"
	case ReadOnly:
		if e.text == "" && e.Code() == "25006" {
			return "store: " + e.Where + " " + standby
		}
		if e.text != "" {
			return "store: " + e.Where + " " + e.text
		}
		return "store: " + e.Where + " cannot be written; check the permissions of the file and of its folder"
	case Unavailable:
		return "store: " + e.Where + " does not answer: " + e.text
	case Lost:
		return "store: " + e.Where + " " + e.text + " while opdeck was using it; nothing is saved any more"
	case Failing:
		return "store: the disk of " + e.Where + " reports an error (" + e.text + "); check the system log"
	case NoRight:
		return "store: " + e.Where + " refuses: " + Says(e)
	case Unknown:
		return "store: the connection to " + e.Where +
			" broke while a change was being saved; it may or may not have been saved"
	}
	return "store: " + e.Where + ": " + e.text
}

func (e *Error) Unwrap() error { return e.Err }

// Code is PostgreSQL's SQLSTATE of the error; "" for none.
func (e *Error) Code() string {
	var pg *pgconn.PgError
	if errors.As(e.Err, &pg) {
		return pg.Code
	}
	return ""
}

// Says is what the database says itself in err, without the address and user of a connection; "" for nothing.
func Says(err error) string {
	var pg *pgconn.PgError
	var lite *sqlite.Error
	var right *Error
	switch {
	case errors.As(err, &right) && right.Kind == NoRight && errors.As(err, &pg):
		return strings.ReplaceAll(pg.Message, `"`, "'") + "; the owner of the database gives the right: " + right.text
	case errors.As(err, &pg):
		return strings.ReplaceAll(pg.Message, `"`, "'")
	case errors.As(err, &lite):
		text, _, _ := strings.Cut(strings.TrimPrefix(lite.Error(), "SQL logic error: "), fmt.Sprintf(" (%d)", lite.Code()))
		return strings.ReplaceAll(text, `"`, "'")
	}
	return ""
}

// Public converts e for people, with a remedy (api.AsError).
func (e *Error) Public() *api.Error {
	out := &api.Error{Kind: api.Unavailable, Public: strings.TrimPrefix(e.Error(), "store: ") + ".",
		Remedy: api.Remedy{Kind: api.Doctor, ID: "the store"}, Err: e}
	if !strings.HasPrefix(out.Public, e.Where) { // a path keeps its case
		out.Public = strings.ToUpper(out.Public[:1]) + out.Public[1:]
	}
	if e.Kind == Lost {
		out.Remedy = api.Remedy{Kind: api.RestoreStore}
	}
	return out
}

// Is reports whether e is a lost store, for the session's errors.
func (e *Error) Is(target error) bool {
	return e.Kind == Lost && target == session.ErrStoreLost
}

// IsKind reports whether err is a store error of kind k.
func IsKind(err error, k Kind) bool {
	var e *Error
	return errors.As(err, &e) && e.Kind == k
}

// explain converts a driver's error to an *Error if opdeck knows its kind. Errors of the statement itself,
// sql.ErrNoRows and ended contexts are unchanged.
func (db *DB) explain(err error) error {
	if err == nil || errors.Is(err, sql.ErrNoRows) || errors.Is(err, context.Canceled) ||
		errors.Is(err, context.DeadlineExceeded) {
		return err
	}
	var known *Error
	if errors.As(err, &known) {
		return err
	}
	if lost := db.identity.check(true); lost != nil { // regardless of SQLite's own error
		return lost
	}
	kind := Kind("")
	if db.engine == Postgres {
		kind = postgresKind(err)
	} else {
		kind = sqliteKind(err, db.path)
	}
	if kind == "" {
		return fmt.Errorf("store: %w", err)
	}
	if kind == Damaged && db.index {
		kind = IndexDamaged
		markDamaged(db.path)
	}
	e := &Error{Kind: kind, Where: db.where(), Err: err}
	switch kind {
	case Unavailable, Failing:
		e.text = plain(err)
	case NoRight:
		e.text = db.grant(err)
	}
	return e
}

// grant is the statement that gives the right that err, of SQLSTATE 42501, says is missing.
func (db *DB) grant(err error) string {
	role := "CURRENT_USER"
	if cfg, err := postgresConfig(db.dsn); err == nil {
		role = pgx.Identifier{cfg.User}.Sanitize()
	}
	said := plain(err)
	switch {
	case strings.Contains(said, "must be owner"):
		return "ALTER TABLE … OWNER TO " + role + ", for every table of opdeck"
	case strings.Contains(strings.ToLower(said), "schema"):
		return "GRANT USAGE, CREATE ON SCHEMA public TO " + role
	}
	return "GRANT SELECT, INSERT, UPDATE, DELETE ON ALL TABLES IN SCHEMA public TO " + role +
		"; GRANT USAGE ON ALL SEQUENCES IN SCHEMA public TO " + role
}

// explainCommit is explain for a COMMIT, whose answer may be lost. The driver's SafeToRetry does not help: it calls a
// connection that broke while waiting "closed", as if nothing had been sent.
func (db *DB) explainCommit(err error) error {
	e := db.explain(err)
	if db.engine == Postgres && IsKind(e, Unavailable) {
		return &Error{Kind: Unknown, Where: db.where(), Err: err}
	}
	return e
}

func (db *DB) where() string {
	switch {
	case db.engine == Postgres:
		return "PostgreSQL at " + redactURL(db.dsn)
	case db.path == "":
		return "the database in memory"
	}
	return db.path
}

// Result codes of SQLite (sqlite.org/rescode.html).
const (
	liteBusy      = 5
	liteLocked    = 6
	liteReadOnly  = 8
	liteIO        = 10
	liteCorrupt   = 11
	liteFull      = 13
	liteCantOpen  = 14
	liteAuth      = 23
	liteNotADB    = 26
	liteShortRead = liteIO | 2<<8
)

// sqliteKind maps the result code. SQLite does not report why the system refused something, so systemKind finds out.
func sqliteKind(err error, path string) Kind {
	var e *sqlite.Error
	if !errors.As(err, &e) {
		return ""
	}
	if e.Code() == liteShortRead {
		return Damaged
	}
	switch e.Code() & 0xff {
	case liteBusy, liteLocked:
		return Busy
	case liteFull:
		return Full
	case liteCorrupt, liteNotADB:
		return Damaged
	case liteReadOnly, liteCantOpen, liteAuth, liteIO:
		return systemKind(e.Code()&0xff, path)
	}
	return ""
}

// systemKind finds the system's problem with the folder of the database at path.
func systemKind(code int, path string) Kind {
	kind := ReadOnly
	if code == liteIO {
		kind = Failing
	}
	if path == "" {
		return kind
	}
	if err := probeFolder(filepath.Dir(path)); err != nil {
		if k := fileKind(err); k != "" {
			return k
		}
	}
	return kind
}

// postgresKind maps the class of the SQLSTATE; an error without one is a broken connection.
func postgresKind(err error) Kind {
	var e *pgconn.PgError
	if !errors.As(err, &e) {
		var conn *pgconn.ConnectError
		if errors.As(err, &conn) || brokenConn(err) {
			return Unavailable
		}
		return ""
	}
	switch {
	case e.Code == "53100": // disk_full
		return Full
	case e.Code == "25006": // read_only_sql_transaction: a standby
		return ReadOnly
	case e.Code == "55P03": // lock_not_available
		return Busy
	case e.Code == "42501": // insufficient_privilege
		return NoRight
	case e.Code == "XX001" || e.Code == "XX002": // data_corrupted, index_corrupted
		return Damaged
	case e.Code[:2] == "08" || e.Code[:2] == "53" || e.Code[:2] == "57" || e.Code[:2] == "28" || e.Code == "3D000":
		return Unavailable
	}
	return ""
}

// plain is the text of a server or network error without the address and user that pgx prepends.
func plain(err error) string {
	var pg *pgconn.PgError
	if errors.As(err, &pg) {
		return pg.Message + " (SQLSTATE " + pg.Code + ")"
	}
	for {
		next := errors.Unwrap(err)
		if next == nil {
			return err.Error()
		}
		err = next
	}
}

// errNotDir is the error for a path below something that is no longer a folder.
var errNotDir error = syscall.ENOTDIR

// fileError converts an error of the file system to an *Error if opdeck knows its kind.
func fileError(path string, err error) error {
	var unsafe *files.UnsafePathError
	var network *files.NetworkDiskError
	if err == nil || errors.As(err, &unsafe) || errors.As(err, &network) {
		return err
	}
	if kind := fileKind(err); kind != "" {
		if errors.Is(err, syscall.EROFS) {
			return &Error{Kind: kind, Where: path, Err: err, text: onReadOnlyDisk}
		}
		return &Error{Kind: kind, Where: path, Err: err}
	}
	return fmt.Errorf("store: %w", err)
}

func fileKind(err error) Kind {
	switch {
	case files.NoRoom(err):
		return Full
	case errors.Is(err, fs.ErrPermission), errors.Is(err, syscall.EROFS):
		return ReadOnly
	}
	return ""
}

// probeSize is more than SQLite needs to open a file, in bytes.
const probeSize = 128 << 10

// probeFolder creates a file in dir and writes to it, like SQLite, and returns the system's own error, which SQLite
// does not report.
func probeFolder(dir string) error {
	f, err := wholefile.Temp(dir)
	if err != nil {
		return err
	}
	_, err = f.Write(make([]byte, probeSize))
	return errors.Join(err, f.Close(), os.Remove(f.Name()))
}

// brokenConn reports whether err is from the connection, not from the server or the use of the driver.
func brokenConn(err error) bool {
	var netErr net.Error
	return errors.As(err, &netErr) || errors.Is(err, net.ErrClosed) ||
		errors.Is(err, io.EOF) || errors.Is(err, io.ErrUnexpectedEOF) ||
		errors.Is(err, driver.ErrBadConn) || pgconn.SafeToRetry(err) ||
		errors.Is(err, syscall.EPIPE) || errors.Is(err, syscall.ECONNRESET) ||
		err.Error() == "conn closed"
}
