// Package liveness lets processes that share a store detect each other: hints that something changed, and locks that
// are released when their process ends.
package liveness

import (
	"context"
	"crypto/rand"
	"crypto/sha256"
	"encoding/binary"
	"errors"
	"log/slog"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/jackc/pgx/v5"

	"opdeck/internal/domain/audit"
	"opdeck/internal/store"
	"opdeck/internal/store/files"
)

// channel carries hints that a session's row changed. The payloads are hashes of keys.
const channel = "opdeck_session"

// Times of the listening connection.
const (
	probeWait   = time.Second            // until the hint of a probe must have arrived (rule A7)
	taskWait    = 500 * time.Millisecond // for a query on the connection
	reconnectIn = time.Second
	firstWait   = 250 * time.Millisecond // for the first connection, once
)

// Notify sends topic to the listeners of other processes when the transaction commits. It is only a hint (rule A7):
// SQLite has none, and all processes poll.
func Notify(ctx context.Context, tx *store.Tx, topic string) error {
	if tx.Engine() != store.Postgres {
		return nil
	}
	return tx.Exec(ctx, "SELECT pg_notify('"+channel+"', ?)", topic)
}

// Listener is one connection outside the pool that receives hints and holds liveness locks. A probe shows whether it
// receives any.
type Listener struct {
	db   *store.DB
	log  *slog.Logger
	ctx  context.Context // ends with close
	end  context.CancelFunc
	done chan struct{}

	tasks     chan func(context.Context, *pgx.Conn)
	attempted chan struct{} // closed once it is known whether the first connection receives hints

	mu        sync.Mutex // guards the fields below
	listening bool       // a probe arrived on the current connection
	interrupt context.CancelFunc
	subs      map[string][]chan struct{}
	held      map[int64]bool // advisory locks to take again after a reconnect
}

// NewListener connects to the database of db in the background and keeps that connection until Close.
func NewListener(db *store.DB, log *slog.Logger) *Listener {
	ctx, end := context.WithCancel(context.Background())
	l := &Listener{db: db, log: log, ctx: ctx, end: end, done: make(chan struct{}),
		tasks: make(chan func(context.Context, *pgx.Conn), 16), attempted: make(chan struct{}),
		subs: map[string][]chan struct{}{}, held: map[int64]bool{}}
	go l.run()
	return l
}

// Close ends the connection and waits for it.
func (l *Listener) Close() error {
	l.end()
	<-l.done
	return nil
}

// errNotReceived: a probe did not arrive, because a pooler is in between.
var errNotReceived = errors.New("store: LISTEN does not reach this process")

var errLost = errors.New("store: the listening connection broke")

// run keeps a connection until close, or until a probe shows that hints do not arrive.
func (l *Listener) run() {
	defer close(l.done)
	first := sync.OnceFunc(func() { close(l.attempted) })
	defer first()
	for l.ctx.Err() == nil {
		err := l.serve(first)
		first()
		l.setListening(false)
		if errors.Is(err, errNotReceived) {
			l.log.Info("store: NOTIFY does not come through (a pooler in transaction mode?); looking once a second instead")
			return
		}
		l.notifyAll() // hints may have been missed meanwhile
		select {
		case <-time.After(reconnectIn):
		case <-l.ctx.Done():
		}
	}
}

// awaitFirst waits, at most d, until it is known whether the first connection receives hints.
func (l *Listener) awaitFirst(d time.Duration) {
	late := time.NewTimer(d)
	defer late.Stop()
	select {
	case <-l.attempted:
	case <-late.C:
	}
}

// serve listens on one connection until it breaks; it calls ready once hints arrive.
func (l *Listener) serve(ready func()) error {
	conn, err := l.db.Connect(l.ctx)
	if err != nil {
		return err
	}
	defer func() {
		ctx, cancel := context.WithTimeout(context.WithoutCancel(l.ctx), taskWait)
		defer cancel()
		_ = conn.Close(ctx)
	}()
	if _, err := conn.Exec(l.ctx, "LISTEN "+channel); err != nil {
		return err
	}
	if err := l.probe(conn); err != nil {
		return err
	}
	l.mu.Lock()
	locks := slices.Collect(maps.Keys(l.held))
	l.mu.Unlock()
	for _, id := range locks {
		_, _ = conn.Exec(l.ctx, "SELECT pg_try_advisory_lock($1)", id)
	}
	l.setListening(true)
	ready()
	l.notifyAll()
	for {
		if err := l.wait(conn); err != nil {
			return err
		}
	}
}

// probe sends a hint through the pool and waits for it.
func (l *Listener) probe(conn *pgx.Conn) error {
	ctx, cancel := context.WithTimeout(l.ctx, probeWait)
	defer cancel()
	word := "probe " + rand.Text()
	sent := make(chan error, 1)
	go func() {
		err := l.db.Exec(ctx, "SELECT pg_notify('"+channel+"', ?)", word)
		sent <- err
	}()
	for {
		n, err := conn.WaitForNotification(ctx)
		switch {
		case err == nil && n.Payload == word:
			return <-sent
		case err == nil:
			continue
		case l.ctx.Err() != nil:
			return l.ctx.Err()
		case ctx.Err() != nil && !conn.IsClosed():
			if e := <-sent; e != nil {
				return e
			}
			_, _ = conn.Exec(l.ctx, "UNLISTEN *") // a pooler may pass the connection to other clients
			return errNotReceived
		}
		return err
	}
}

// wait runs the queued tasks and then listens until a hint or a task arrives.
func (l *Listener) wait(conn *pgx.Conn) error {
	for {
		select {
		case task := <-l.tasks:
			ctx, cancel := context.WithTimeout(l.ctx, taskWait)
			task(ctx, conn)
			cancel()
			if conn.IsClosed() {
				return errLost
			}
			continue
		default:
		}
		break
	}
	ctx, cancel := context.WithCancel(l.ctx)
	defer cancel()
	l.mu.Lock()
	l.interrupt = cancel
	l.mu.Unlock()
	if len(l.tasks) > 0 {
		return nil
	}
	n, err := conn.WaitForNotification(ctx)
	switch {
	case err == nil:
		l.notify(n.Payload)
		return nil
	case l.ctx.Err() == nil && ctx.Err() != nil && !conn.IsClosed():
		return nil // a task
	}
	return err
}

// ask runs task on the connection and reports whether it ran in time.
func (l *Listener) ask(task func(context.Context, *pgx.Conn)) bool {
	if !l.isListening() {
		return false
	}
	ran := make(chan struct{})
	wrapped := func(ctx context.Context, conn *pgx.Conn) { task(ctx, conn); close(ran) }
	late := time.NewTimer(2 * taskWait)
	defer late.Stop()
	select {
	case l.tasks <- wrapped:
	case <-late.C:
		return false
	}
	l.mu.Lock()
	interrupt := l.interrupt
	l.mu.Unlock()
	if interrupt != nil {
		interrupt()
	}
	select {
	case <-ran:
		return true
	case <-late.C:
	case <-l.done:
	}
	return false
}

func (l *Listener) Subscribe(id string) (<-chan struct{}, func()) {
	c := make(chan struct{}, 1)
	l.mu.Lock()
	defer l.mu.Unlock()
	l.subs[id] = append(l.subs[id], c)
	return c, func() {
		l.mu.Lock()
		defer l.mu.Unlock()
		l.subs[id] = slices.DeleteFunc(l.subs[id], func(have chan struct{}) bool { return have == c })
	}
}

func (l *Listener) notify(id string) {
	l.mu.Lock()
	defer l.mu.Unlock()
	for _, c := range l.subs[id] {
		select {
		case c <- struct{}{}:
		default:
		}
	}
}

func (l *Listener) notifyAll() {
	l.mu.Lock()
	ids := make([]string, 0, len(l.subs))
	for id := range l.subs {
		ids = append(ids, id)
	}
	l.mu.Unlock()
	for _, id := range ids {
		l.notify(id)
	}
}

func (l *Listener) setListening(yes bool) {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.listening = yes
}

func (l *Listener) isListening() bool {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.listening
}

const (
	bootPrefix = "boot-"
	bootKept   = time.Hour // keeps the mark of a process that ended unexpectedly
)

// Boots detects which processes with unfinished writes have ended: each holds a kernel lock on its own file beside
// the SQLite file, which is released even if it is killed.
type Boots struct{ dir string }

// NewBoots returns the marks beside a SQLite file; nil without a folder that all processes share, as in memory, and
// with PostgreSQL, which has Listener.Boots.
func NewBoots(core *store.DB) *Boots {
	if core.Path() == "" {
		return nil
	}
	return &Boots{filepath.Dir(core.Path())}
}

func (b *Boots) file(boot string) string {
	return filepath.Join(b.dir, bootPrefix+filepath.Base(boot)+".lock")
}

// Hold marks this process until release is called or the process ends. ok is false if it cannot be marked: others
// then wait for a time instead.
func (b *Boots) Hold(boot string) (release func(behind bool), ok bool) {
	b.sweep()
	name := b.file(boot)
	f, ok := files.Hold(name)
	if !ok {
		return func(bool) {}, false
	}
	return func(behind bool) {
		if !behind { // else the free lock shows others that this process has ended
			_ = os.Remove(name)
		}
		_ = f.Close()
	}, true
}

// Gone reports whether a marked process has ended; false when in doubt.
func (b *Boots) Gone(boot string) bool {
	f, err := os.OpenFile(b.file(boot), os.O_RDWR, 0)
	if err != nil {
		return false
	}
	return files.Free(f)
}

// Lives reports whether a process is marked and running; false when in doubt.
func (b *Boots) Lives(boot string) bool {
	f, err := os.OpenFile(b.file(boot), os.O_RDWR, 0)
	if err != nil {
		return false
	}
	defer func() { _ = f.Close() }()
	free, err := files.Lock(f, false, false)
	return !free && err == nil
}

// sweep removes marks of processes that ended long ago.
func (b *Boots) sweep() {
	names, err := filepath.Glob(filepath.Join(b.dir, bootPrefix+"*.lock"))
	if err != nil {
		return
	}
	for _, name := range names {
		boot := strings.TrimSuffix(strings.TrimPrefix(filepath.Base(name), bootPrefix), ".lock")
		if st, err := os.Stat(name); err == nil && time.Since(st.ModTime()) > bootKept && b.Gone(boot) {
			_ = os.Remove(name)
		}
	}
}

// serverBoots marks processes by advisory locks.
type serverBoots struct{ on *Listener }

// Boots returns the marks of processes that share a PostgreSQL. A lock leaves no trace: call Gone only for processes
// whose Hold was granted. For a second or two after a lost connection, a running process counts as gone. Behind a
// pooler no process can be marked.
func (l *Listener) Boots() audit.Alive { return serverBoots{l} }

// Hold implements audit.Alive.
func (b serverBoots) Hold(boot string) (release func(behind bool), ok bool) {
	unlock, ok := b.on.Hold(bootID(boot))
	return func(bool) { unlock() }, ok
}

// Gone implements audit.Alive.
func (b serverBoots) Gone(boot string) bool { return b.on.Gone(bootID(boot)) }

// Lives implements audit.Alive.
func (b serverBoots) Lives(boot string) bool { return b.on.Held(bootID(boot)) }

// bootID is the number of a process's advisory lock.
func bootID(boot string) int64 {
	sum := sha256.Sum256([]byte("boot\x00" + boot))
	return int64(binary.BigEndian.Uint64(sum[:8]))
}

// Hold takes an advisory lock, which the server releases when the process ends. A process that has just started waits
// briefly for its connection: without the lock, its death would delay the others for a whole lease.
func (l *Listener) Hold(id int64) (release func(), ok bool) {
	l.awaitFirst(firstWait)
	if !l.query("SELECT pg_try_advisory_lock($1)", id) {
		return func() {}, false
	}
	l.remember(id, true)
	return func() {
		l.remember(id, false)
		l.query("SELECT pg_advisory_unlock($1)", id)
	}, true
}

// Gone reports whether no one holds a lock; false when in doubt. The server would grant a connection its own lock
// again, so this process's locks are checked here.
func (l *Listener) Gone(id int64) bool {
	return !l.ours(id) && l.query("SELECT CASE WHEN pg_try_advisory_lock_shared($1) THEN pg_advisory_unlock_shared($1) "+
		"ELSE false END",
		id)
}

// Held reports that a process holds a lock; false when in doubt.
func (l *Listener) Held(id int64) bool {
	return l.ours(id) || l.query(
		"SELECT CASE WHEN pg_try_advisory_lock_shared($1) THEN NOT pg_advisory_unlock_shared($1) ELSE true END", id)
}

func (l *Listener) ours(id int64) bool {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.held[id]
}

// query runs a boolean query on the listening connection; false when in doubt.
func (l *Listener) query(sql string, id int64) bool {
	answer := make(chan bool, 1)
	ran := l.ask(func(ctx context.Context, conn *pgx.Conn) {
		var yes bool
		err := conn.QueryRow(ctx, sql, id).Scan(&yes)
		answer <- yes && err == nil
	})
	return ran && <-answer
}

// remember records which locks to take again after a reconnect.
func (l *Listener) remember(id int64, held bool) {
	l.mu.Lock()
	defer l.mu.Unlock()
	if held {
		l.held[id] = true
	} else {
		delete(l.held, id)
	}
}
