//go:build linux

package e2e

import (
	"cmp"
	"fmt"
	"maps"
	"os"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"opdeck/internal/domain/verdict"
	"opdeck/internal/domain/verdict/verdicttest"
	"opdeck/internal/e2e/racedetector"
)

// incident is how the built program gets into an incident of verdicttest, and out of it.
type incident struct {
	live    bool            // there is a session before it begins
	prepare func(s *scene)  // before the first process
	begin   func(s *scene)  // what goes wrong
	act     []string        // the command that meets it; nil: one that needs the session
	mend    func(s *scene)  // what the next step says
	as      []string        // parts of the sentence that are others here, in pairs: old, regular expression
	tail    string          // what follows the sentence here: a regular expression
	after   time.Duration   // how long the evidence takes: a time limit
	lasts   time.Duration   // from its beginning until it is over by itself; 0: it is not
	slow    bool            // each surface, or its end, is waited for: surfaces are read at the same time
	without map[face]string // surfaces that cannot show it, and why
	turn    int             // which half of the other surfaces is read besides opdeck check and /healthz
}

// soon is how long a sentence may take after its evidence, where nothing else runs (OPDECK_TEST_LONG=1, by itself).
const soon = 5 * time.Second

// atMost is the limit of what takes d on a quiet machine: that the sentence comes is held everywhere, that it comes in
// time only in the long run, since the plain one shares the processors with other packages.
func atMost(d time.Duration) time.Duration {
	if long() {
		return d
	}
	return max(d, patience)
}

// samples is how often the beginning of a cause is read.
func samples() int {
	if long() {
		return 5
	}
	return 2
}

// atOnce is how many incidents run at a time: their processes mostly wait, except for a processor that the race detector
// keeps busy.
func atOnce() int {
	if racedetector.Enabled {
		return 4
	}
	return 6
}

// incidents are those that the program is brought into, by their names in verdicttest.
func incidents() map[string]incident {
	out := map[string]incident{}
	for _, part := range []map[string]incident{hostIncidents(), networkIncidents(), serviceIncidents(), feedIncidents(),
		trailIncidents(), configIncidents(), storeIncidents(), fileIncidents(), sessionIncidents()} {
		maps.Copy(out, part)
	}
	return out
}

// long reports whether the long versions run.
func long() bool { return os.Getenv("OPDECK_TEST_LONG") == "1" }

// TestIncidentsOfTheProgram: brought into each incident, every surface of the program says the same sentence with its
// next step, none says that the part is good, and the next step ends it. One incident of each cause, and of the surfaces
// besides opdeck check and /healthz every second; OPDECK_TEST_LONG=1 is all, each within five seconds of the evidence.
// $OPDECK_TEST_INCIDENTS=console opens the console in each as well.
func TestIncidentsOfTheProgram(t *testing.T) {
	t.Parallel()
	all, known := incidents(), verdicttest.Incidents()
	var running sync.WaitGroup
	room, tried := make(chan struct{}, atOnce()), map[verdict.Cause]int{}
	names := slices.Sorted(maps.Keys(all))
	slices.SortStableFunc(names, func(a, b string) int { // what waits longest begins first
		return cmp.Compare(all[b].waits(), all[a].waits())
	})
	for n, name := range names {
		one, is := known[name]
		if !is {
			t.Errorf("%s is no incident of verdicttest", name)
			continue
		}
		first, _ := verdict.Conclude(one.Facts).First()
		if tried[first.Cause]++; tried[first.Cause] > 1 && !long() {
			continue
		}
		here := all[name]
		here.turn = n
		running.Go(func() {
			room <- struct{}{}
			defer func() { <-room }()
			t.Run(strings.ReplaceAll(name, " ", "_"), func(t *testing.T) { here.run(t, first) })
		})
	}
	running.Wait()
	t.Logf("incidents of %d causes, %s", len(tried), used.String())
}

// TestEveryIncidentIsTried: each incident of verdicttest has a row, or a reason why it has none.
func TestEveryIncidentIsTried(t *testing.T) {
	rows, untried, known := incidents(), verdicttest.Untried(), verdicttest.Incidents()
	for name, one := range known {
		_, row := rows[name]
		_, not := untried[name]
		if _, wrong := verdict.Conclude(one.Facts).First(); wrong && row == not {
			t.Errorf("%s: a row: %t, a reason for none: %t", name, row, not)
		}
	}
	for name := range untried {
		if _, is := known[name]; !is {
			t.Errorf("%s is no incident of verdicttest", name)
		}
	}
}

// waits is how long an incident waits at least, or longer than others if each surface does.
func (i incident) waits() time.Duration {
	if i.slow {
		return max(i.after, i.lasts) + time.Minute
	}
	return max(i.after, i.lasts)
}

// consoles reports whether the console is opened in each incident.
func consoles() bool { return os.Getenv("OPDECK_TEST_INCIDENTS") == "console" }

func (i incident) run(t *testing.T, want verdict.Finding) {
	s := newScene(t)
	if i.prepare != nil {
		i.prepare(s)
	}
	if !i.live {
		i.begin(s)
	}
	s.serves()
	if i.live {
		if got := s.run(theCall...); got.code != 0 {
			t.Fatalf("before it: %s", got.err)
		}
		i.begin(s)
	}
	said, wrong, inTime := i.meets(s, want)
	for range 3 { // on a machine that is busy with other things
		if inTime {
			break
		}
		i.begin(s)
		said, wrong, inTime = i.meets(s, want)
	}
	switch {
	case !inTime && long():
		t.Errorf("it is over after %s, before every surface was read", i.lasts)
	case !inTime: // beside other packages only /healthz is held to it
		t.Logf("it is over after %s, before every surface was read: what they say is not judged", i.lasts)
		wrong = nil
	}
	for _, text := range wrong {
		t.Error(text)
	}
	if i.mend == nil {
		return
	}
	i.mend(s)
	s.over(want.Cause, said)
}

// meets starts the command that meets the incident and reads every surface. inTime: none was read after its end.
func (i incident) meets(s *scene, want verdict.Finding) (said string, wrong []string, inTime bool) {
	s.t.Helper()
	act := i.act
	if act == nil {
		act = theCall
	}
	began := time.Now()
	cmd := s.start(act...)
	defer s.ends(cmd)
	if i.without[healthz] == "" {
		s.found(want.Cause, i.after)
	}
	took := max(time.Since(began)-i.after, 0)
	since := s.since(want.Cause)
	said, wrong = i.faces(s, cmd, want)
	for range samples() - 1 {
		if i.lasts > 0 || want.Part == verdict.PartStore {
			break
		}
		if again := s.since(want.Cause); again != since {
			wrong = append(wrong, fmt.Sprintf("it began at %s, and then at %s", since, again))
			break
		}
	}
	s.t.Logf("after %s: %s", took.Round(time.Millisecond), said)
	if took > atMost(soon) {
		wrong = append(wrong, fmt.Sprintf("it is found only after %s", took))
	}
	return said, wrong, i.lasts == 0 || time.Since(began) < i.lasts
}
