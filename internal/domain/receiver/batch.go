package receiver

import (
	"context"
	"errors"
	"sync"
	"time"
)

// maxBatch is the most deliveries in one commit. While a batch is written, the next ones are read and verified. If a
// commit takes longer than slow, the next batch waits until it is full.
const (
	maxBatch = 64
	enough   = 32
	slow     = 4 * time.Millisecond
)

// linger is the longest that a batch waits to reach the size of the previous one. Senders that got their answers
// together send again nearly together: the first of them alone is not worth a commit. A single sender never waits.
const linger = time.Millisecond

// Why a delivery could not be stored; the sender should retry.
var (
	ErrQueueFull = errors.New("the queue to the inbox is full")
	ErrClosed    = errors.New("the receiver is closed")
)

// batcher stores records from many callers in few commits: while one commit runs, it collects the next batch.
type batcher struct {
	inbox   Inbox
	timeout time.Duration  // of one commit, and of one record's wait for it
	count   func([]Result) // after a commit, before its answers
	stored  func([]Result) // after the answers

	in      chan *pending
	stop    chan struct{} // closed once: accept no more, finish what waits
	once    sync.Once
	stopped chan struct{} // closed by run when it has finished
}

type pending struct {
	rec    Record
	answer chan answer // with room for one, so that the batcher never waits for a caller that left
}

type answer struct {
	res Result
	err error
}

func newBatcher(inbox Inbox, queue int, timeout time.Duration, count, stored func([]Result)) *batcher {
	b := &batcher{inbox: inbox, timeout: timeout, count: count, stored: stored, in: make(chan *pending, queue),
		stop: make(chan struct{}), stopped: make(chan struct{})}
	go b.run()
	return b
}

// put queues rec and waits until it is durable. If ctx or the batcher's timeout ends first, the record may still be
// stored.
func (b *batcher) put(ctx context.Context, rec Record) (Result, error) {
	p := &pending{rec: rec, answer: make(chan answer, 1)}
	select {
	case <-b.stop:
		return Result{}, ErrClosed
	default:
	}
	select {
	case b.in <- p:
	default:
		return Result{}, ErrQueueFull
	}
	late := time.NewTimer(b.timeout) // five times cheaper than a context with a deadline
	defer late.Stop()
	select {
	case a := <-p.answer:
		return a.res, a.err
	case <-ctx.Done():
		return Result{}, ctx.Err()
	case <-late.C:
		return Result{}, context.DeadlineExceeded
	case <-b.stopped:
	}
	select { // the last batch may have had it
	case a := <-p.answer:
		return a.res, a.err
	default:
		return Result{}, ErrClosed
	}
}

func (b *batcher) run() {
	defer close(b.stopped)
	batch := make([]*pending, 0, maxBatch)
	var took time.Duration // of the last commit
	for {
		select {
		case p := <-b.in:
			want := len(batch)
			if took < slow {
				want = min(want, enough)
			}
			batch = b.await(b.gather(append(batch[:0], p)), want)
			began := time.Now()
			b.commit(batch)
			took = time.Since(began)
		case <-b.stop:
			for {
				rest := b.gather(batch[:0])
				if len(rest) == 0 {
					return
				}
				b.commit(rest)
			}
		}
	}
}

// gather adds what already waits, up to maxBatch.
func (b *batcher) gather(batch []*pending) []*pending {
	for len(batch) < maxBatch {
		select {
		case p := <-b.in:
			batch = append(batch, p)
		default:
			return batch
		}
	}
	return batch
}

// await adds what arrives within linger, until there are want.
func (b *batcher) await(batch []*pending, want int) []*pending {
	if len(batch) >= want {
		return batch
	}
	t := time.NewTimer(linger)
	defer t.Stop()
	for len(batch) < want {
		select {
		case p := <-b.in:
			batch = append(batch, p)
		case <-t.C:
			return batch
		case <-b.stop:
			return batch
		}
	}
	return b.gather(batch)
}

func (b *batcher) commit(batch []*pending) {
	records := make([]Record, len(batch))
	for i, p := range batch {
		records[i] = p.rec
	}
	ctx, cancel := context.WithTimeout(context.Background(), b.timeout)
	defer cancel()
	results, err := b.inbox.Insert(ctx, records)
	if err == nil && len(results) != len(batch) {
		err = errors.New("the inbox answered for another number of events")
	}
	if err == nil {
		b.count(results)
	}
	for i, p := range batch {
		a := answer{err: err}
		if err == nil {
			a.res = results[i]
		}
		p.answer <- a
	}
	if err == nil {
		b.stored(results)
	}
}

// close stores what is queued and stops.
func (b *batcher) close(ctx context.Context) error {
	b.once.Do(func() { close(b.stop) })
	select {
	case <-b.stopped:
		return nil
	case <-ctx.Done():
		return ctx.Err()
	}
}
