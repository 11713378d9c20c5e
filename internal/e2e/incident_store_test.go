//go:build linux

package e2e

import (
	"context"
	"database/sql"
	"errors"
	"fmt"
	"io"
	"net"
	"net/url"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"sync"
	"time"

	"github.com/jackc/pgx/v5/pgproto3"
	"golang.org/x/sys/unix"

	"opdeck/internal/store"
	"opdeck/internal/store/storetest"
)

// database is the way to a PostgreSQL server, which can be closed and can refuse connections.
type database struct {
	scene    *scene
	server   string // its socket
	listener net.Listener

	mu     sync.Mutex
	open   map[net.Conn]bool       // guarded by mu
	answer *pgproto3.ErrorResponse // guarded by mu; to every new connection; nil: the server's
	// unreliable: connections fail at random. Guarded by mu.
	unreliable bool
}

// sharedIn puts the store of a scene into a database of its own, with the key of a host.
func sharedIn(s *scene) *database {
	s.t.Helper()
	at, err := url.Parse(storetest.Bare(s.t, store.Postgres))
	if err != nil {
		s.t.Fatal(err)
	}
	d := &database{scene: s, server: filepath.Join(at.Query().Get("host"), ".s.PGSQL.5432"), open: map[net.Conn]bool{}}
	d.listens("127.0.0.1:0")
	s.t.Cleanup(d.closes)
	where := d.listener.Addr().String() + at.Path
	s.write("store.key", strings.Repeat("0123456789abcdef", 4)+"\n")
	s.where = regexp.QuoteMeta("postgres://" + where)
	s.rest += "[store]\nurl = \"postgres://opdeck@" + where + "?sslmode=disable\"\nkey_file = \"" + s.file("store.key") + "\"\n"
	s.db = d
	return d
}

func (d *database) listens(at string) {
	d.scene.t.Helper()
	l, err := net.Listen("tcp", at)
	if err != nil {
		d.scene.t.Fatal(err)
	}
	d.listener = l
	go func() {
		for {
			conn, err := l.Accept()
			if err != nil {
				return
			}
			go d.serves(conn)
		}
	}()
}

// serves copies a connection to the server and back.
func (d *database) serves(conn net.Conn) {
	defer conn.Close()
	d.mu.Lock()
	refused, unreliable := d.answer, d.unreliable
	d.open[conn] = true
	d.mu.Unlock()
	if unreliable {
		d.relays(conn)
		return
	}
	if refused != nil {
		if _, err := pgproto3.NewBackend(conn, conn).ReceiveStartupMessage(); err == nil {
			text, _ := refused.Encode(nil)
			_, _ = conn.Write(text)
		}
		return
	}
	to, err := net.Dial("unix", d.server)
	if err != nil {
		return
	}
	defer to.Close()
	go func() {
		_, _ = io.Copy(to, conn)
		_ = to.Close()
	}()
	_, _ = io.Copy(conn, to)
}

// cut ends all connections.
func (d *database) cut() {
	d.mu.Lock()
	defer d.mu.Unlock()
	for conn := range d.open {
		_ = conn.Close()
	}
	clear(d.open)
}

func (d *database) closes() {
	_ = d.listener.Close()
	d.cut()
}

// refuses ends all connections and answers new ones with an error; "": no longer.
func (d *database) refuses(code, says string) {
	d.mu.Lock()
	d.answer = nil
	if code != "" {
		d.answer = &pgproto3.ErrorResponse{Severity: "FATAL", SeverityUnlocalized: "FATAL", Code: code, Message: says}
	}
	d.mu.Unlock()
	d.cut()
}

// refusing is an incident of a live session whose database refuses every connection.
func refusing(code, says string) incident {
	return incident{live: true, prepare: func(s *scene) { sharedIn(s) },
		begin: func(s *scene) { s.db.refuses(code, says) },
		mend:  func(s *scene) { s.db.refuses("", "") }}
}

// mounts mounts a file system over a folder of the scene, or skips the test.
func (s *scene) mounts(source, folder, kind string, flags uintptr, options string) {
	s.t.Helper()
	if err := unix.Mount(source, folder, kind, flags, options); err != nil {
		storetest.Missing(s.t, "mount", "a file system cannot be mounted: "+err.Error())
	}
	s.t.Cleanup(func() { _ = unix.Unmount(folder, unix.MNT_DETACH) })
}

// again stops the server, does something and starts it.
func again(what func(s *scene)) func(s *scene) {
	return func(s *scene) {
		s.stops()
		what(s)
		s.serves()
	}
}

func unserved(i incident) incident { return i.unlike(healthz, "the server does not start") }

// lostKey is an incident in which the key file of a live session is spoilt: the server goes on with the key that it has
// in memory, and no new process starts.
func lostKey(spoil func(file string) error) incident {
	var key []byte
	file := func(s *scene) string { return s.file("state/opdeck.db.key") }
	return incident{live: true, begin: func(s *scene) {
		var err error
		if key == nil {
			key, err = os.ReadFile(file(s))
		}
		if err == nil {
			err = spoil(file(s))
		}
		if err != nil && !os.IsNotExist(err) {
			s.t.Fatal(err)
		}
		s.metrics = ""
	}, mend: func(s *scene) { s.write("state/opdeck.db.key", string(key)) }}.
			unlike(healthz, "the server has the right key in memory").
			says("/state/opdeck.db.key", `[^ ]+/state/opdeck\.db\.key`)
}

func storeIncidents() map[string]incident {
	return map[string]incident{
		"37 disk full": {live: true, prepare: func(s *scene) {
			if err := os.Mkdir(s.file("state"), 0o700); err != nil {
				s.t.Fatal(err)
			}
			s.mounts("tmpfs", s.file("state"), "tmpfs", 0, "size=8m,mode=0700")
		}, begin: func(s *scene) {
			f, err := os.Create(s.file("state/filler"))
			if err == nil {
				_, _ = io.CopyN(f, zeros{}, 16<<20) // until there is no room
				err = f.Close()
			}
			if err != nil {
				s.t.Fatal(err)
			}
		}, mend: func(s *scene) { _ = os.Remove(s.file("state/filler")) }},
		"38 read-only fs": {live: true, prepare: func(s *scene) {
			if err := os.Mkdir(s.file("state"), 0o700); err != nil {
				s.t.Fatal(err)
			}
			s.mounts("tmpfs", s.file("state"), "tmpfs", 0, "size=32m,mode=0700")
		}, begin: func(s *scene) {
			s.stops()
			if err := unix.Mount("", s.file("state"), "", unix.MS_REMOUNT|unix.MS_RDONLY, ""); err != nil {
				s.t.Fatal(err)
			}
		}, mend: func(s *scene) {
			if err := unix.Mount("", s.file("state"), "", unix.MS_REMOUNT, ""); err != nil {
				s.t.Fatal(err)
			}
			s.serves()
		}, without: map[face]string{healthz: "the server does not start"}},
		"39 database down": {live: true, prepare: func(s *scene) { sharedIn(s) },
			begin: func(s *scene) { s.db.closes() },
			mend:  func(s *scene) { s.db.listens(s.db.listener.Addr().String()) }},
		"40 database password": refusing("28P01", `password authentication failed for user "opdeck"`).
			says(`authentication failed".`, `authentication failed for user 'opdeck'"\.`),
		"41 too many connections": refusing("53300", "sorry, too many clients already"),
		"41 no such database":     refusing("3D000", `database "opdeck" does not exist`),
		"42 standby": {live: true, prepare: func(s *scene) { sharedIn(s) },
			begin: func(s *scene) { s.db.readOnly("on") }, mend: func(s *scene) { s.db.readOnly("off") }},
		"34 database's clock": incident{prepare: func(s *scene) { sharedIn(s) }, begin: func(s *scene) { s.db.behind(time.Hour + 30*time.Second) },
			mend: func(s *scene) { s.db.behind(0) }},
		"80 different key_file": incident{live: true, prepare: func(s *scene) { sharedIn(s) },
			begin: func(s *scene) {
				s.write("other.key", strings.Repeat("fedcba9876543210", 4)+"\n")
				s.rest = strings.Replace(s.rest, "store.key", "other.key", 1)
				s.configure()
				s.metrics = ""
			}, mend: func(s *scene) {
				s.rest = strings.Replace(s.rest, "other.key", "store.key", 1)
				s.configure()
			}}.unlike(healthz, "the server has the other key").says("/state/opdeck.db.key", `[^ ]+/other\.key`),
		"81 key file deleted": lostKey(os.Remove),
		"82 key file emptied": lostKey(func(file string) error { return os.Truncate(file, 0) }),
		"damaged store": unserved(incident{begin: func(s *scene) {
			if err := os.Mkdir(s.file("state"), 0o700); err != nil {
				s.t.Fatal(err)
			}
			s.write("state/opdeck.db", strings.Repeat("no database ", 1000))
		}, mend: again(func(s *scene) { _ = os.Remove(s.file("state/opdeck.db")) })}),
		"damaged index": incident{live: true, begin: func(s *scene) {
			for _, part := range []string{"", "-wal"} { // in place: the server has both open
				f, err := os.OpenFile(s.file("state/opdeck-index.db"+part), os.O_WRONLY, 0)
				if err == nil {
					_, err = f.WriteString(strings.Repeat("no database ", 20_000))
					err = errors.Join(err, f.Close())
				}
				if err != nil {
					s.t.Fatal(err)
				}
			}
		}, mend: again(func(*scene) {})}.says("/var/lib/opdeck/opdeck-index.db", `[^ ]+/state/opdeck-index\.db`),
		"newer store": unserved(incident{begin: func(s *scene) {
			db, err := store.Open(context.Background(), store.Options{URL: "sqlite", Dir: s.file("state"),
				Migrations: storetest.Newer(s.t, "CREATE TABLE newer (n INTEGER);")})
			if err == nil {
				err = db.Close()
			}
			if err != nil {
				s.t.Fatal(err)
			}
		}}),
		"older store": unserved(incident{begin: func(s *scene) {
			db, err := store.Open(context.Background(), store.Options{URL: "sqlite", Dir: s.file("state"),
				Migrations: storetest.FirstRelease(s.t)})
			if err == nil {
				err = db.Close()
			}
			if err != nil {
				s.t.Fatal(err)
			}
		}, mend: func(s *scene) {
			s.does("migrate", "--yes")
			s.serves()
		}}),
	}
}

// does runs statements in a database of the server, and ends the connections to that of the scene.
func (d *database) does(in string, statements ...string) {
	d.scene.t.Helper()
	conn, err := sql.Open("pgx", "postgres://opdeck@/"+in+"?host="+filepath.Dir(d.server))
	for _, one := range statements {
		if err == nil {
			_, err = conn.Exec(one)
		}
	}
	_ = conn.Close()
	if err != nil {
		d.scene.t.Fatal(err)
	}
	d.cut()
}

func (d *database) name() string { return d.scene.where[strings.LastIndex(d.scene.where, "/")+1:] }

// readOnly sets what the server says of itself.
func (d *database) readOnly(is string) {
	d.does("postgres", "ALTER DATABASE "+d.name()+" SET default_transaction_read_only = "+is)
}

// behind makes the clock of the server be that long behind: its programs call another clock_timestamp.
func (d *database) behind(by time.Duration) {
	d.does(d.name(), "CREATE SCHEMA IF NOT EXISTS clock", "CREATE OR REPLACE FUNCTION clock.clock_timestamp() RETURNS timestamptz "+
		"LANGUAGE sql AS $$ SELECT pg_catalog.clock_timestamp() - interval '"+fmt.Sprint(int(by.Seconds()))+" seconds' $$",
		"ALTER DATABASE "+d.name()+" SET search_path = clock, pg_catalog, public")
}

type zeros struct{}

func (zeros) Read(p []byte) (int, error) {
	clear(p)
	return len(p), nil
}
