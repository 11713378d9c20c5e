package app

import (
	"context"
	"time"

	"opdeck/api/limit"
)

const (
	promptWaits = 4               // operations that wait; older ones are left to the sync
	promptTime  = 3 * time.Second // for a slot that background work may take
)

// prompt reads operations that an event left in doubt at once, newest first, as
// far as people leave calls over. What it does not get to is owed in the index,
// and the background sync reads it later.
type prompt struct {
	app  *App
	wake chan string
	end  context.CancelFunc
	done chan struct{}
}

func newPrompt(ctx context.Context, a *App) *prompt {
	ctx, end := context.WithCancel(limit.Background(ctx))
	p := &prompt{app: a, wake: make(chan string, 256), end: end, done: make(chan struct{})}
	go p.run(ctx)
	return p
}

// want asks for an operation; it never blocks.
func (p *prompt) want(opid string) {
	select {
	case p.wake <- opid:
	default: // a flood: the sync has it
	}
}

func (p *prompt) stop() { p.end(); <-p.done }

func (p *prompt) run(ctx context.Context) {
	defer close(p.done)
	var waiting []string
	for {
		if len(waiting) == 0 {
			select {
			case id := <-p.wake:
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

// drain takes what came meanwhile, each operation once, and keeps the newest.
func (p *prompt) drain(waiting []string) []string {
	for {
		select {
		case id := <-p.wake:
			kept := waiting[:0]
			for _, w := range waiting {
				if w != id {
					kept = append(kept, w)
				}
			}
			waiting = append(kept, id)
			if over := len(waiting) - promptWaits; over > 0 {
				waiting = waiting[over:]
			}
		default:
			return waiting
		}
	}
}

func (p *prompt) read(ctx context.Context, opid string) {
	ctx, cancel := context.WithTimeout(ctx, promptTime)
	defer cancel()
	rec, err := p.app.Index.Get(ctx, opid)
	if err != nil || !rec.Owed {
		return
	}
	if _, err := p.app.service.Operation(ctx, opid); err != nil {
		p.app.Log.Info("an event's operation is left to the sync", "err", err)
	}
}
