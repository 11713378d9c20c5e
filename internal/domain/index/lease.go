package index

import (
	"context"
	"strings"
	"time"
)

// Alive detects which syncing processes have ended.
type Alive interface {
	// Mark marks this process until it ends and returns its name; ok is false if that is not possible.
	Mark() (name string, ok bool)
	// Gone reports that a marked process has ended; false when in doubt.
	Gone(name string) bool
}

// Lease says which process syncs for all.
type Lease struct {
	Owner string    // "" if none ever did
	Until time.Time // the store's time; zero after Release
}

// marked is the prefix of the owner of a lease whose process is marked.
const marked = "alive:"

// ended reports whether the process with the lease was marked and has ended.
func (l Lease) ended(alive Alive) bool {
	name, is := strings.CutPrefix(l.Owner, marked)
	return is && alive != nil && alive.Gone(name)
}

// running reports whether a process syncs at now. A marked one does while it lives, even between two pages.
func (l Lease) running(alive Alive, now time.Time) bool {
	if l.Until.IsZero() || l.ended(alive) {
		return false
	}
	return now.Before(l.Until) || strings.HasPrefix(l.Owner, marked) && alive != nil
}

// Running reports whether a process syncs now; only then does an unfinished pass continue.
func (x *Index) Running(ctx context.Context, alive Alive) (bool, error) {
	now, err := x.store.Now(ctx)
	if err != nil {
		return false, err
	}
	l, err := x.store.Leased(ctx, leaseName)
	return l.running(alive, now), err
}

// owner is this process's name in the lease.
func (s *Syncer) owner() string {
	if s.name == "" {
		s.name = s.opt.Owner
		if s.opt.Alive != nil {
			if name, ok := s.opt.Alive.Mark(); ok {
				s.name = marked + name
			}
		}
	}
	return s.name
}

// lease takes or renews the lease. It takes that of an ended process at once.
func (s *Syncer) lease(ctx context.Context, now time.Time) (bool, error) {
	if left := s.leased.Sub(now); left > s.opt.Lease/2 && left <= s.opt.Lease {
		return true, nil
	}
	have, err := s.index.store.Leased(ctx, leaseName)
	if err != nil {
		return false, err
	}
	over := ""
	switch held := have.Until.After(now) && !have.Until.After(now.Add(s.opt.Lease)); {
	case !held, have.Owner == s.owner():
	case have.ended(s.opt.Alive):
		over = have.Owner
	default:
		return false, nil
	}
	mine, err := s.index.store.Lease(ctx, leaseName, s.owner(), over, now, s.opt.Lease)
	if mine {
		s.leased = now.Add(s.opt.Lease)
	}
	return mine, err
}

// keep renews the lease until stop is called, since a call may wait long for its budget.
func (s *Syncer) keep(ctx context.Context) (stop func()) {
	ctx, cancel := context.WithCancel(ctx)
	ended := make(chan struct{})
	owner, every := s.owner(), s.opt.Lease/3
	go func() {
		defer close(ended)
		t := time.NewTicker(every)
		defer t.Stop()
		for {
			select {
			case <-ctx.Done():
				return
			case <-t.C:
				if now, err := s.index.store.Now(ctx); err == nil {
					_, _ = s.index.store.Lease(ctx, leaseName, owner, "", now, s.opt.Lease) // the next tick tries again
				}
			}
		}
	}()
	return func() { cancel(); <-ended }
}

// Release returns the lease, even after ctx has ended.
func (s *Syncer) Release(ctx context.Context) {
	end, cancel := context.WithTimeout(context.WithoutCancel(ctx), 2*time.Second)
	defer cancel()
	s.leased = time.Time{}
	_ = s.index.store.Release(end, leaseName, s.owner()) // else it expires
}
