// Package liveness lets processes that share a store notice each other: hints that
// something changed, and locks that end with the process that holds them.
package liveness

import (
	"context"
	"crypto/rand"
	"errors"
	"log/slog"
	"maps"
	"slices"
	"sync"
	"time"

	"github.com/jackc/pgx/v5"

	"opdeck/internal/store"
)

// channel carries hints that a session's row changed. Its payloads are hashes of
// keys.
const channel = "opdeck_session"

// Times of the listening connection.
const (
	probeWait   = time.Second            // until a probe's own hint must have come back (rule A7)
	taskWait    = 500 * time.Millisecond // for a question on the connection
	reconnectIn = time.Second
	firstWait   = 250 * time.Millisecond // for the first connection, once
)

// Notify tells listeners of other processes, when the transaction commits, that
// what topic names has changed. It is a hint only (rule A7): SQLite has none, and
// everybody polls.
func Notify(ctx context.Context, tx *store.Tx, topic string) error {
	if tx.Engine() != store.Postgres {
		return nil
	}
	return tx.Exec(ctx, "SELECT pg_notify('"+channel+"', ?)", topic)
}

// Listener is one connection outside the pool that listens for hints and holds
// liveness locks. It knows by a probe whether it listening anything.
type Listener struct {
	db   *store.DB
	log  *slog.Logger
	ctx  context.Context // ends with close
	end  context.CancelFunc
	done chan struct{}

	tasks     chan func(context.Context, *pgx.Conn)
	attempted chan struct{} // closed when the first connection is known to hear or not

	mu        sync.Mutex // guards what follows
	listening bool       // a probe came back on the present connection
	interrupt context.CancelFunc
	subs      map[string][]chan struct{}
	held      map[int64]bool // advisory locks to take again after a reconnect
}

func NewListener(db *store.DB, log *slog.Logger) *Listener {
	ctx, end := context.WithCancel(context.Background())
	l := &Listener{db: db, log: log, ctx: ctx, end: end, done: make(chan struct{}),
		tasks: make(chan func(context.Context, *pgx.Conn), 16), attempted: make(chan struct{}),
		subs: map[string][]chan struct{}{}, held: map[int64]bool{}}
	go l.run()
	return l
}

func (l *Listener) Close() error {
	l.end()
	<-l.done
	return nil
}

// errNotReceived says that a probe did not come back: a pooler is between.
var errNotReceived = errors.New("store: LISTEN does not reach this process")

var errLost = errors.New("store: the listening connection broke")

// run keeps a connection until close, or until a probe shows that hints do not
// come through.
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
		l.notifyAll() // what happened meanwhile was not heard
		select {
		case <-time.After(reconnectIn):
		case <-l.ctx.Done():
		}
	}
}

// awaitFirst waits until the first connection is known to hear or not, for d at
// most.
func (l *Listener) awaitFirst(d time.Duration) {
	late := time.NewTimer(d)
	defer late.Stop()
	select {
	case <-l.attempted:
	case <-late.C:
	}
}

// serve listens on one connection until it breaks; it calls ready when hints
// come through.
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
			_, _ = conn.Exec(l.ctx, "UNLISTEN *") // a pooler may give the connection to others
			return errNotReceived
		}
		return err
	}
}

// wait does the waiting tasks and then listens until a hint or a task comes.
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
