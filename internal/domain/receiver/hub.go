package receiver

import "sync"

// hub notifies listeners in this process of new rows.
type hub struct {
	mu    sync.Mutex // guards chans
	chans map[chan<- struct{}]bool
}

// Notify sends to c, without blocking, when a row was stored or replayed, until stop is called. Give c room for one:
// the rows are read from the inbox.
func (r *Receiver) Notify(c chan<- struct{}) (stop func()) {
	h := &r.hub
	h.mu.Lock()
	defer h.mu.Unlock()
	if h.chans == nil {
		h.chans = map[chan<- struct{}]bool{}
	}
	h.chans[c] = true
	return func() {
		h.mu.Lock()
		defer h.mu.Unlock()
		delete(h.chans, c)
	}
}

func (h *hub) notify() {
	h.mu.Lock()
	defer h.mu.Unlock()
	for c := range h.chans {
		select {
		case c <- struct{}{}:
		default: // already notified
		}
	}
}
