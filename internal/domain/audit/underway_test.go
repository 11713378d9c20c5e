package audit_test

import (
	"context"
	"errors"
	"testing"
	"time"

	"opdeck/api"
	"opdeck/internal/domain/audit"
)

// watched is a store that calls during while it appends.
type watched struct {
	*memory
	during func()
}

func (w watched) Append(ctx context.Context, next func(audit.Head) ([]audit.Row, error)) error {
	w.during()
	return w.memory.Append(ctx, next)
}

// An act is under way until its outcome is stored: no one may find out another one
// meanwhile.
func TestUnderWayUntilTheOutcomeIsStored(t *testing.T) {
	w := watched{memory: &memory{}, during: func() {}}
	l := newLog(t, audit.Options{Store: &w, Now: newClock().Now})
	ref, err := l.Intent(as(ana), ana, act)
	if err != nil {
		t.Fatal(err)
	}
	looked := false
	w.during = func() {
		open, underWay, err := l.Intents.OpenIntents(t.Context())
		if looked = true; err != nil || len(open) != 0 || underWay[ref] != audit.Running {
			t.Errorf("while the outcome is stored: unsettled %+v, under way %v, %v", open, underWay, err)
		}
	}
	if err := l.Outcome(t.Context(), ref, api.Outcome{Verdict: api.Denied}); err != nil || !looked {
		t.Fatal(err, looked)
	}
	if open, underWay, err := l.Intents.OpenIntents(t.Context()); err != nil || len(open)+len(underWay) != 0 {
		t.Errorf("afterwards: %+v, %v, %v", open, underWay, err)
	}
}

// signing is a store in which another process signs between a read of the checkpoints and what follows.
type signing struct {
	*memory
	between func()
}

func (s *signing) Checkpoints(ctx context.Context) ([]audit.StoredCheckpoint, error) {
	out, err := s.memory.Checkpoints(ctx)
	if next := s.between; next != nil {
		s.between = nil
		next()
	}
	return out, err
}

// TestSignedWhileItIsVerified: a checkpoint that another process signs between the reads of the store and of the files
// is none that the store has lost.
func TestSignedWhileItIsVerified(t *testing.T) {
	s, clk := &signing{memory: &memory{}}, newClock()
	l := newLog(t, audit.Options{Store: s, Now: clk.Now, Key: seeded(t, 1), Checkpoints: points(t)})
	write(t, l, 2)
	s.between = func() { write(t, l, 1) }
	rep, err := l.Prover.Verify(as(ana))
	if err != nil || !rep.Intact() || s.between != nil {
		t.Errorf("%v, %+v", err, rep.Problems)
	}
}

// A process that ends in order, but could not store an outcome, leaves the act to
// others at once: they do not wait for Grace.
func TestActLeftBehindIsShownAtOnce(t *testing.T) {
	mem, marks, clk := &memory{}, alive{}, newClock()
	opt := audit.Options{Store: mem, Now: clk.Now, Alive: marks}
	one, two := newLog(t, opt), newLog(t, opt)
	ref, err := one.Intent(as(ana), ana, act)
	if err != nil {
		t.Fatal(err)
	}
	mem.trouble(errors.New("no room left"), nil)
	if one.Outcome(t.Context(), ref, api.Outcome{Verdict: api.Done}) == nil || one.Close(t.Context()) == nil {
		t.Error("an outcome that could not be stored was not reported")
	}
	mem.trouble(nil, nil)
	clk.add(time.Second)
	open, underWay, err := two.Intents.OpenIntents(t.Context())
	if err != nil || len(open) != 1 || open[0].UID != ref || underWay[ref] != 0 {
		t.Errorf("unsettled %+v, under way %v, %v", open, underWay, err)
	}
}
