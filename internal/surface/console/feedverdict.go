package console

import (
	"context"
	"math"
	"slices"
	"time"

	"opdeck/internal/app"
	"opdeck/internal/domain/verdict"
	"opdeck/ui"
)

const (
	verdictEvery = 2 * time.Second // while the person is at a place that shows it, after the store changed
	// verdictCalm is for such a place while the system reports writes and there is none: disk, ports and certificates
	// change without one, and a reading takes 5 ms of CPU.
	verdictCalm = 10 * time.Second
	verdictRest = 5 * time.Second // the least time between two reads elsewhere, after the store changed
	verdictTime = 3 * time.Second // of a read; then the store does not answer. More than store.DB.Free takes
)

// verdictFeed is the verdict as passed on last.
type verdictFeed struct {
	at   time.Time // of the last read; zero: none
	owed bool      // the store has changed since
	soon bool      // plain mode polls at each prompt: what has changed is read at once
	sent verdict.Verdict
}

// conclude reads the verdict, without a call to the service.
func conclude(ctx context.Context, a *app.App) verdict.Verdict {
	ctx, cancel := context.WithTimeout(ctx, verdictTime)
	defer cancel()
	return app.Verdict(ctx, a)
}

// showsVerdict reports whether the screen of a place prints parts of the verdict.
func showsVerdict(p ui.Place) bool {
	return slices.Contains([]string{ui.KindOnCall, ui.KindSession, ui.KindLimits, ui.KindEvents}, p.Kind)
}

// verdictDue is how long the verdict need not be read.
func (f *feed) verdictDue() time.Duration {
	age := f.app.Now().Sub(f.verdict.at)
	switch {
	case f.verdict.at.IsZero():
		return 0
	case showsVerdict(f.people.at.Place) && f.watches && !f.verdict.owed:
		return max(verdictCalm-age, 0)
	case showsVerdict(f.people.at.Place):
		return max(verdictEvery-age, 0)
	case f.verdict.owed && f.verdict.soon:
		return 0
	case f.verdict.owed:
		return max(verdictRest-age, 0)
	}
	return math.MaxInt64
}

// readVerdict reads the verdict if it is due; changed: the store may have changed.
func (f *feed) readVerdict(changed bool) {
	f.verdict.owed = f.verdict.owed || changed
	if f.verdictDue() > 0 {
		return
	}
	v, at, _ := f.reads.verdict.read(f.app, func() (verdict.Verdict, error) {
		return conclude(context.WithoutCancel(f.ctx), f.app), nil
	})
	shown := showsVerdict(f.people.at.Place)
	if shown || f.verdict.at.IsZero() || !sameVerdict(v, f.verdict.sent) {
		f.put("verdict", ui.VerdictFacts{Verdict: v, Read: at})
	}
	f.verdict.at, f.verdict.owed, f.verdict.sent = at, false, v
}

// sameVerdict reports whether two verdicts print the same, except for their evidence.
func sameVerdict(a, b verdict.Verdict) bool {
	return slices.EqualFunc(a.Findings, b.Findings, func(x, y verdict.Finding) bool {
		return x.Cause == y.Cause && x.Sentence == y.Sentence && x.Since.Equal(y.Since)
	}) && !slices.ContainsFunc(verdict.Parts(), func(p verdict.Part) bool { return a.Of(p) != b.Of(p) })
}
