package app

import (
	"context"
	"time"

	"opdeck/api/endpoint"
	"opdeck/api/limit"
)

const (
	maxWaiting = 4               // operations that wait; the sync reads older ones
	slotWait   = 3 * time.Second // the wait for a slot for background work
)

// eventReads reads the operations that events left in doubt, newest first, with spare calls. Others stay owed in the
// index, and the background sync reads them later.
type eventReads struct {
	app   *App
	queue chan string
	end   context.CancelFunc
	done  chan struct{}
}

func newEventReads(ctx context.Context, a *App) *eventReads {
	ctx, end := context.WithCancel(limit.Background(ctx))
	p := &eventReads{app: a, queue: make(chan string, 256), end: end, done: make(chan struct{})}
	go p.run(ctx)
	return p
}

// add queues an operation; it never blocks.
func (p *eventReads) add(opid string) {
	select {
	case p.queue <- opid:
	default: // full: the sync reads it
	}
}

func (p *eventReads) stop() { p.end(); <-p.done }

func (p *eventReads) run(ctx context.Context) {
	defer close(p.done)
	var waiting []string
	for {
		if len(waiting) == 0 {
			select {
			case id := <-p.queue:
				waiting = append(waiting, id)
			case <-ctx.Done():
				return
			}
		}
		waiting = p.drain(waiting)
		last := len(waiting) - 1
		p.read(ctx, waiting[last])
		waiting = waiting[:last]
	}
}

// drain takes the queued operations, each once, and keeps the newest.
func (p *eventReads) drain(waiting []string) []string {
	for {
		select {
		case id := <-p.queue:
			kept := waiting[:0]
			for _, w := range waiting {
				if w != id {
					kept = append(kept, w)
				}
			}
			waiting = append(kept, id)
			if over := len(waiting) - maxWaiting; over > 0 {
				waiting = waiting[over:]
			}
		default:
			return waiting
		}
	}
}

func (p *eventReads) read(ctx context.Context, opid string) {
	ctx, cancel := context.WithTimeout(ctx, slotWait)
	defer cancel()
	rec, err := p.app.Index.Get(ctx, opid)
	if err != nil || !rec.Owed {
		return
	}
	if _, err := endpoint.Do(ctx, p.app.service, endpoint.GetOperation, opid); err != nil {
		p.app.Log.Info("an event's operation is left to the sync", "err", err)
	}
}
