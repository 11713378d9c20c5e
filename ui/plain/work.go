package plain

import (
	"context"
	"time"
)

// patience is when a long work is spoken of: rarely, and ever more rarely.
var patience = [...]time.Duration{3 * time.Second, 10 * time.Second, 30 * time.Second, time.Minute}

// Work runs fn and says now and then that it goes on. what completes "Still …":
// "reading the operation".
func (t *Talk) Work(ctx context.Context, what string, fn func(context.Context) error) error {
	stop, ended := make(chan struct{}), make(chan struct{})
	go func() {
		defer close(ended)
		t.soothe(what, stop)
	}()
	err := fn(ctx)
	close(stop)
	<-ended
	return err
}

func (t *Talk) soothe(what string, stop <-chan struct{}) {
	began := time.Now()
	for i := 0; ; i++ {
		at := patience[min(i, len(patience)-1)]
		if over := i - len(patience) + 1; over > 0 {
			at += time.Duration(over) * time.Minute
		}
		timer := time.NewTimer(time.Until(began.Add(at)))
		select {
		case <-stop:
			timer.Stop()
			return
		case <-timer.C:
		}
		said := "Still " + what + ", " + Span(at) + " so far."
		if t.opt.Why != nil {
			if why := t.opt.Why(); why != "" {
				said += " " + why
			}
		}
		t.Say(said)
	}
}
