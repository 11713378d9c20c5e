package verdict_test

import (
	"math/rand/v2"
	"reflect"
	"strings"
	"testing"
	"time"

	"opdeck/api/reach"
	"opdeck/internal/domain/verdict"
	"opdeck/internal/domain/verdict/verdicttest"
)

// TestSentences: whatever an incident shows has a sentence, evidence with its source, and a next step.
func TestSentences(t *testing.T) {
	for name, one := range verdicttest.Incidents() {
		for _, f := range verdict.Conclude(one.Facts).Findings {
			if !strings.HasSuffix(f.Sentence, ".") || strings.ContainsAny(f.Sentence, "{}") || len(f.Evidence) == 0 ||
				f.Evidence[0].From == "" || !strings.HasSuffix(f.Next.Do, ".") || !strings.Contains(f.Line(), f.Next.Do) {
				t.Errorf("%s: %+v", name, f)
			}
		}
	}
}

// TestNothingIsConcludedFromNothing: without facts no cause applies, and no part is good.
func TestNothingIsConcludedFromNothing(t *testing.T) {
	for _, f := range []verdict.Facts{{}, {Now: verdicttest.Noon}} {
		v := verdict.Conclude(f)
		for _, p := range verdict.Parts() {
			if len(v.Findings) > 0 || v.Of(p) != verdict.Unknown || v.State() != verdict.Unknown {
				t.Errorf("%s is %s; %+v", p, v.Of(p), v.Findings)
			}
		}
	}
}

// TestLapsedFacts: when facts lapse, no part becomes good, and none that was good stays so once all have lapsed.
func TestLapsedFacts(t *testing.T) {
	for name, one := range verdicttest.Incidents() {
		f := one.Facts
		before := verdict.Conclude(f)
		for _, later := range []time.Duration{time.Minute, 9 * time.Minute, 10*time.Minute + time.Second, time.Hour} {
			f.Now = verdicttest.Noon.Add(later)
			after := verdict.Conclude(f)
			for _, p := range verdict.Parts() {
				if after.Of(p) == verdict.Good && before.Of(p) != verdict.Good {
					t.Errorf("%s, %s later: %s became good", name, later, p)
				}
				if later > 10*time.Minute && after.Of(p) != verdict.Unknown {
					t.Errorf("%s, %s later: %s is %s", name, later, p, after.Of(p))
				}
			}
		}
	}
}

// TestALapsedGoodAnswer: an old answer is no answer, also beside a newer failure that has lapsed.
func TestALapsedGoodAnswer(t *testing.T) {
	f := verdicttest.Call(reach.Fault{Class: reach.NoPort})
	f.Calls[1].Holds = time.Millisecond
	f.Calls[1].At = verdicttest.Noon.Add(-time.Minute)
	if v := verdict.Conclude(f); v.Of(verdict.PartService) == verdict.Good || len(v.Findings) > 0 {
		t.Errorf("the service is %s: %+v", v.Of(verdict.PartService), v.Findings)
	}
	old := verdicttest.Live()
	old.Calls[0].Value.Good = verdicttest.Noon.Add(-time.Hour) // the fact holds, the answer does not
	if v := verdict.Conclude(old); v.Of(verdict.PartService) != verdict.Unknown {
		t.Errorf("the service is %s", v.Of(verdict.PartService))
	}
}

// TestOrderOfFacts: the order in which facts come in changes nothing.
func TestOrderOfFacts(t *testing.T) {
	for name, one := range verdicttest.Incidents() {
		f := one.Facts
		f.Calls = append(f.Calls, verdicttest.Now(verdict.Call{Class: "account", Route: "GET /v2/accounts",
			Good:   verdicttest.Noon.Add(-3 * time.Minute),
			Failed: verdicttest.Noon.Add(-time.Second), Since: verdicttest.Noon.Add(-20 * time.Second),
			Fault: reach.Fault{Class: reach.Cut}}))
		want := verdict.Conclude(f)
		for seed := range uint64(20) {
			r := rand.New(rand.NewPCG(seed, 1))
			g := f
			g.Calls = append([]verdict.Fact[verdict.Call]{}, f.Calls...)
			g.Attempts = append([]verdict.Fact[verdict.Attempt]{}, f.Attempts...)
			r.Shuffle(len(g.Calls), func(i, j int) { g.Calls[i], g.Calls[j] = g.Calls[j], g.Calls[i] })
			r.Shuffle(len(g.Attempts), func(i, j int) { g.Attempts[i], g.Attempts[j] = g.Attempts[j], g.Attempts[i] })
			if got := verdict.Conclude(g); !reflect.DeepEqual(got, want) {
				t.Fatalf("%s: got %+v\nwant %+v", name, got, want)
			}
		}
	}
}

// TestAWaitIsNoCause: attempts that found no slot take no cause's place, however many there are and whenever they
// were.
func TestAWaitIsNoCause(t *testing.T) {
	for _, class := range []reach.Class{reach.NoName, reach.NoPort, reach.Gateway, reach.Locked, reach.Password} {
		f := verdicttest.Login(reach.Fault{Class: class})
		want := verdict.Conclude(f).Headline()
		for i := range 20 {
			f.Attempts = append(f.Attempts, verdicttest.Now(verdict.Attempt{Kind: "login",
				At:    verdicttest.Noon.Add(-time.Duration(i) * time.Second),
				Waits: true}))
		}
		if got := verdict.Conclude(f).Headline(); got != want || got == verdict.Conclude(verdicttest.Base()).Headline() {
			t.Errorf("%s: %s, %s", class, got, want)
		}
	}
}

// TestItEnds: a success after the failure ends the finding.
func TestItEnds(t *testing.T) {
	f := verdicttest.Login(reach.Fault{Class: reach.NoPort})
	f.Attempts = append(f.Attempts, verdicttest.Now(verdict.Attempt{Kind: "login", At: verdicttest.Noon, OK: true}))
	if v := verdict.Conclude(f); len(v.Findings) > 0 {
		t.Errorf("%+v", v.Findings)
	}
	f = verdicttest.Call(reach.Fault{Class: reach.NoPort})
	f.Calls[1].Value.Good = verdicttest.Noon
	if v := verdict.Conclude(f); len(v.Findings) > 0 || v.State() != verdict.Good {
		t.Errorf("%s: %+v", v.State(), v.Findings)
	}
}
