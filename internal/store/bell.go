package store

import (
	"context"
	"crypto/rand"
	"crypto/sha256"
	"encoding/binary"
	"encoding/hex"
	"errors"
	"log/slog"
	"maps"
	"slices"
	"sync"
	"time"

	"github.com/jackc/pgx/v5"

	"opdeck/api/session"
)

// bellChannel carries hints that a session's row changed. Its payloads are
// hashes of keys.
const bellChannel = "opdeck_session"

// Times of the listening connection.
const (
	probeWait   = time.Second            // until a probe's own hint must have come back (rule A7)
	taskWait    = 500 * time.Millisecond // for a question on the connection
	reconnectIn = time.Second
	firstWait   = 250 * time.Millisecond // for the first connection, once
)

// keySum names a key without telling it.
func keySum(key session.Key) [32]byte {
	return sha256.Sum256([]byte(key.BaseURL + "\x00" + key.Account))
}

func keyID(key session.Key) string {
	sum := keySum(key)
	return hex.EncodeToString(sum[:8])
}

// ring tells listeners of other processes, when the transaction commits, that
// the row changed. A hint only (rule A7): SQLite has none, everybody polls.
func (s *Session) ring(ctx context.Context, tx *Tx, key session.Key) error {
	if tx.Engine() != Postgres {
		return nil
	}
	_, err := tx.Exec(ctx, "SELECT pg_notify('"+bellChannel+"', ?)", keyID(key))
	return err
}

// Changed gives a value soon after another process installed a pair or gave the
// lease of key back; stop ends that. It is a hint: behind a pooler and with
// SQLite nothing ever comes, and a value may come without a change. Whoever
// waits must look by itself, too, at least once a second.
func (s *Session) Changed(key session.Key) (changed <-chan struct{}, stop func()) {
	b := s.startBell()
	if b == nil {
		return nil, func() {}
	}
	return b.subscribe(keyID(key))
}

// startBell starts the listener on first use; nil for SQLite.
func (s *Session) startBell() *bell {
	if s.db.engine != Postgres {
		return nil
	}
	s.listen.Lock()
	defer s.listen.Unlock()
	if s.bell == nil {
		s.bell = newBell(s.db, s.log)
	}
	return s.bell
}

// bell is one connection outside the pool that listens for hints and holds
// liveness locks. It knows by a probe whether it hears anything.
type bell struct {
	db   *DB
	log  *slog.Logger
	ctx  context.Context // ends with close
	end  context.CancelFunc
	done chan struct{}

	tasks chan func(context.Context, *pgx.Conn)
	tried chan struct{} // closed when the first connection is known to hear or not

	mu    sync.Mutex // guards what follows
	hears bool       // a probe came back on the present connection
	poke  context.CancelFunc
	subs  map[string][]chan struct{}
	held  map[int64]bool // advisory locks to take again after a reconnect
}

func newBell(db *DB, log *slog.Logger) *bell {
	ctx, end := context.WithCancel(context.Background())
	b := &bell{db: db, log: log, ctx: ctx, end: end, done: make(chan struct{}),
		tasks: make(chan func(context.Context, *pgx.Conn), 16), tried: make(chan struct{}), subs: map[string][]chan struct{}{}, held: map[int64]bool{}}
	go b.run()
	return b
}

func (b *bell) close() error {
	b.end()
	<-b.done
	return nil
}

// errDeaf says that a probe did not come back: a pooler stands between.
var errDeaf = errors.New("store: LISTEN does not reach this process")

var errLost = errors.New("store: the listening connection broke")

// run keeps a connection until close, or until a probe shows that hints do not
// come through.
func (b *bell) run() {
	defer close(b.done)
	first := sync.OnceFunc(func() { close(b.tried) })
	defer first()
	for b.ctx.Err() == nil {
		err := b.serve(first)
		first()
		b.setHears(false)
		if errors.Is(err, errDeaf) {
			b.log.Info("store: NOTIFY does not come through (a pooler in transaction mode?); looking once a second instead")
			return
		}
		b.tellAll() // what happened meanwhile was not heard
		select {
		case <-time.After(reconnectIn):
		case <-b.ctx.Done():
		}
	}
}

// awaitFirst waits until the first connection is known to hear or not, for d at
// most.
func (b *bell) awaitFirst(d time.Duration) {
	late := time.NewTimer(d)
	defer late.Stop()
	select {
	case <-b.tried:
	case <-late.C:
	}
}

// serve listens on one connection until it breaks; it calls ready when hints
// come through.
func (b *bell) serve(ready func()) error {
	cfg, err := postgresConfig(b.db.dsn)
	if err != nil {
		return err
	}
	conn, err := pgx.ConnectConfig(b.ctx, cfg)
	if err != nil {
		return err
	}
	defer func() {
		ctx, cancel := context.WithTimeout(context.WithoutCancel(b.ctx), taskWait)
		defer cancel()
		_ = conn.Close(ctx)
	}()
	if _, err := conn.Exec(b.ctx, "LISTEN "+bellChannel); err != nil {
		return err
	}
	if err := b.probe(conn); err != nil {
		return err
	}
	b.mu.Lock()
	locks := slices.Collect(maps.Keys(b.held))
	b.mu.Unlock()
	for _, id := range locks {
		_, _ = conn.Exec(b.ctx, "SELECT pg_try_advisory_lock($1)", id)
	}
	b.setHears(true)
	ready()
	b.tellAll()
	for {
		if err := b.wait(conn); err != nil {
			return err
		}
	}
}

// probe sends a hint through the pool and waits for it.
func (b *bell) probe(conn *pgx.Conn) error {
	ctx, cancel := context.WithTimeout(b.ctx, probeWait)
	defer cancel()
	word := "probe " + rand.Text()
	sent := make(chan error, 1)
	go func() {
		_, err := b.db.Exec(ctx, "SELECT pg_notify('"+bellChannel+"', ?)", word)
		sent <- err
	}()
	for {
		n, err := conn.WaitForNotification(ctx)
		switch {
		case err == nil && n.Payload == word:
			return <-sent
		case err == nil:
			continue
		case b.ctx.Err() != nil:
			return b.ctx.Err()
		case ctx.Err() != nil && !conn.IsClosed():
			if e := <-sent; e != nil {
				return e
			}
			_, _ = conn.Exec(b.ctx, "UNLISTEN *") // a pooler may give the connection to others
			return errDeaf
		}
		return err
	}
}

// wait does the waiting tasks and then listens until a hint or a task comes.
func (b *bell) wait(conn *pgx.Conn) error {
	for {
		select {
		case task := <-b.tasks:
			ctx, cancel := context.WithTimeout(b.ctx, taskWait)
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
	ctx, cancel := context.WithCancel(b.ctx)
	defer cancel()
	b.mu.Lock()
	b.poke = cancel
	b.mu.Unlock()
	if len(b.tasks) > 0 {
		return nil
	}
	n, err := conn.WaitForNotification(ctx)
	switch {
	case err == nil:
		b.tell(n.Payload)
		return nil
	case b.ctx.Err() == nil && ctx.Err() != nil && !conn.IsClosed():
		return nil // a task
	}
	return err
}

// ask runs task on the connection and reports whether it ran in time.
func (b *bell) ask(task func(context.Context, *pgx.Conn)) bool {
	if !b.isHearing() {
		return false
	}
	ran := make(chan struct{})
	wrapped := func(ctx context.Context, conn *pgx.Conn) { task(ctx, conn); close(ran) }
	late := time.NewTimer(2 * taskWait)
	defer late.Stop()
	select {
	case b.tasks <- wrapped:
	case <-late.C:
		return false
	}
	b.mu.Lock()
	poke := b.poke
	b.mu.Unlock()
	if poke != nil {
		poke()
	}
	select {
	case <-ran:
		return true
	case <-late.C:
	case <-b.done:
	}
	return false
}

func (b *bell) subscribe(id string) (<-chan struct{}, func()) {
	c := make(chan struct{}, 1)
	b.mu.Lock()
	defer b.mu.Unlock()
	b.subs[id] = append(b.subs[id], c)
	return c, func() {
		b.mu.Lock()
		defer b.mu.Unlock()
		b.subs[id] = slices.DeleteFunc(b.subs[id], func(have chan struct{}) bool { return have == c })
	}
}

func (b *bell) tell(id string) {
	b.mu.Lock()
	defer b.mu.Unlock()
	for _, c := range b.subs[id] {
		select {
		case c <- struct{}{}:
		default:
		}
	}
}

func (b *bell) tellAll() {
	b.mu.Lock()
	ids := make([]string, 0, len(b.subs))
	for id := range b.subs {
		ids = append(ids, id)
	}
	b.mu.Unlock()
	for _, id := range ids {
		b.tell(id)
	}
}

func (b *bell) setHears(yes bool) {
	b.mu.Lock()
	defer b.mu.Unlock()
	b.hears = yes
}

func (b *bell) isHearing() bool {
	b.mu.Lock()
	defer b.mu.Unlock()
	return b.hears
}

// lockID is the number of a key's advisory lock.
func lockID(key session.Key) int64 {
	sum := keySum(key)
	return int64(binary.BigEndian.Uint64(sum[8:16]))
}
