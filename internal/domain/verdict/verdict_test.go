package verdict

import (
	"math/rand/v2"
	"reflect"
	"strings"
	"testing"
	"time"

	"opdeck/api/reach"
)

// TestTable: every cause that an incident shows has a sentence, evidence, a next step and a person; causes have
// different names.
func TestTable(t *testing.T) {
	seen := map[Cause]bool{}
	for _, c := range causes() {
		if seen[c.id] || c.part == "" || c.next.Do == "" || c.who == "" || c.found == nil {
			t.Errorf("%q is there twice or incomplete", c.id)
		}
		seen[c.id] = true
	}
	for name, one := range incidents() {
		for _, f := range Conclude(one.facts).Findings {
			if !strings.HasSuffix(f.Sentence, ".") || strings.ContainsAny(f.Sentence, "{}") || len(f.Evidence) == 0 ||
				f.Evidence[0].From == "" || !strings.HasSuffix(f.Next.Do, ".") || !strings.Contains(f.Line(), f.Next.Do) {
				t.Errorf("%s: %+v", name, f)
			}
		}
	}
}

// TestNothingIsConcludedFromNothing: without facts no cause applies, and no part is good.
func TestNothingIsConcludedFromNothing(t *testing.T) {
	for _, f := range []Facts{{}, {Now: noon}} {
		v := Conclude(f)
		for _, p := range Parts() {
			if len(v.Findings) > 0 || v.Of(p) != Unknown || v.State() != Unknown {
				t.Errorf("%s is %s; %+v", p, v.Of(p), v.Findings)
			}
		}
	}
}

// TestLapsedFacts: when facts lapse, no part becomes good, and none that was good stays so once all have lapsed.
func TestLapsedFacts(t *testing.T) {
	for name, one := range incidents() {
		f := one.facts
		before := Conclude(f)
		for _, later := range []time.Duration{time.Minute, 9 * time.Minute, 10*time.Minute + time.Second, time.Hour} {
			f.Now = noon.Add(later)
			after := Conclude(f)
			for _, p := range Parts() {
				if after.Of(p) == Good && before.Of(p) != Good {
					t.Errorf("%s, %s later: %s became good", name, later, p)
				}
				if later > 10*time.Minute && after.Of(p) != Unknown {
					t.Errorf("%s, %s later: %s is %s", name, later, p, after.Of(p))
				}
			}
		}
	}
}

// TestALapsedGoodAnswer: an old answer is no answer, also beside a newer failure that has lapsed.
func TestALapsedGoodAnswer(t *testing.T) {
	f := call(reach.Fault{Class: reach.NoPort})
	f.Calls[1].Holds = time.Millisecond
	f.Calls[1].At = noon.Add(-time.Minute)
	if v := Conclude(f); v.Of(PartService) == Good || len(v.Findings) > 0 {
		t.Errorf("the service is %s: %+v", v.Of(PartService), v.Findings)
	}
	old := live()
	old.Calls[0].Value.Good = noon.Add(-time.Hour) // the fact holds, the answer does not
	if v := Conclude(old); v.Of(PartService) != Unknown {
		t.Errorf("the service is %s", v.Of(PartService))
	}
}

// TestOrderOfFacts: the order in which facts come in changes nothing.
func TestOrderOfFacts(t *testing.T) {
	for name, one := range incidents() {
		f := one.facts
		f.Calls = append(f.Calls, now(Call{Class: "account", Route: "GET /v2/accounts", Good: noon.Add(-3 * time.Minute),
			Failed: noon.Add(-time.Second), Since: noon.Add(-20 * time.Second), Fault: reach.Fault{Class: reach.Cut}}))
		want := Conclude(f)
		for seed := range uint64(20) {
			r := rand.New(rand.NewPCG(seed, 1))
			g := f
			g.Calls = append([]Fact[Call]{}, f.Calls...)
			g.Attempts = append([]Fact[Attempt]{}, f.Attempts...)
			r.Shuffle(len(g.Calls), func(i, j int) { g.Calls[i], g.Calls[j] = g.Calls[j], g.Calls[i] })
			r.Shuffle(len(g.Attempts), func(i, j int) { g.Attempts[i], g.Attempts[j] = g.Attempts[j], g.Attempts[i] })
			if got := Conclude(g); !reflect.DeepEqual(got, want) {
				t.Fatalf("%s: got %+v\nwant %+v", name, got, want)
			}
		}
	}
}

// TestAWaitIsNoCause: attempts that found no slot take no cause's place, however many there are and whenever they
// were.
func TestAWaitIsNoCause(t *testing.T) {
	for _, class := range []reach.Class{reach.NoName, reach.NoPort, reach.Gateway, reach.Locked, reach.Password} {
		f := login(reach.Fault{Class: class})
		want := Conclude(f).Headline()
		for i := range 20 {
			f.Attempts = append(f.Attempts, now(Attempt{Kind: "login", At: noon.Add(-time.Duration(i) * time.Second),
				Waits: true}))
		}
		if got := Conclude(f).Headline(); got != want || got == Conclude(base()).Headline() {
			t.Errorf("%s: %s, %s", class, got, want)
		}
	}
}

// TestItEnds: a success after the failure ends the finding.
func TestItEnds(t *testing.T) {
	f := login(reach.Fault{Class: reach.NoPort})
	f.Attempts = append(f.Attempts, now(Attempt{Kind: "login", At: noon, OK: true}))
	if v := Conclude(f); len(v.Findings) > 0 {
		t.Errorf("%+v", v.Findings)
	}
	f = call(reach.Fault{Class: reach.NoPort})
	f.Calls[1].Value.Good = noon
	if v := Conclude(f); len(v.Findings) > 0 || v.State() != Good {
		t.Errorf("%s: %+v", v.State(), v.Findings)
	}
}
