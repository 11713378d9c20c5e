package answers_test

import (
	"testing"
	"testing/synctest"
	"time"

	"opdeck/api/reach"
	"opdeck/internal/domain/answers"
	"opdeck/internal/domain/answers/answerstest"
)

func TestMemory(t *testing.T) {
	answerstest.Run(t, new(answerstest.Memory))
}

// TestWritesAreFew: whatever the rate of calls, a process writes at most once in two seconds while outcomes change and
// four times a minute while they do not; a change is stored after at most two seconds.
func TestWritesAreFew(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := new(answerstest.Memory)
		r := answers.NewRecorder(s, "x", "a")
		run := func(d time.Duration, class func(i int) reach.Class) int {
			before := s.Writes()
			for i := range int(d / (10 * time.Millisecond)) {
				r.Seen(answers.Answer{Class: "general", Route: "GET /a", Fault: reach.Fault{Class: class(i)}})
				time.Sleep(10 * time.Millisecond)
			}
			return s.Writes() - before
		}
		if n := run(time.Minute, func(int) reach.Class { return reach.None }); n < 3 || n > 6 {
			t.Errorf("%d writes in a steady minute", n)
		}
		if n := run(time.Minute, func(i int) reach.Class {
			return []reach.Class{reach.None, reach.Cut, reach.Slow}[i/100%3]
		}); n < 10 || n > 31 {
			t.Errorf("%d writes in a changing minute", n)
		}
		time.Sleep(time.Minute)
		idle := s.Writes()
		time.Sleep(time.Hour)
		if s.Writes() != idle {
			t.Error("it writes without calls")
		}
		r.Seen(answers.Answer{Class: "general", Route: "GET /a", Fault: reach.Fault{Class: reach.NoPort}})
		time.Sleep(answers.Soon + time.Millisecond)
		all, _, _ := s.All(t.Context(), "x")
		if len(all) != 1 || all[0].Fault.Class != reach.NoPort || all[0].Since.IsZero() {
			t.Errorf("%+v", all)
		}
		_ = r.Close()
	})
}

// TestCloseWrites: a process that ends at once leaves what it saw.
func TestCloseWrites(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := new(answerstest.Memory)
		r := answers.NewRecorder(s, "x", "a")
		r.Seen(answers.Answer{Class: "general", Route: "GET /a"})
		r.Seen(answers.Answer{Class: "billing", Route: "GET /b", Fault: reach.Fault{Class: reach.Gateway}})
		if err := r.Close(); err != nil {
			t.Fatal(err)
		}
		if all, _, _ := s.All(t.Context(), "x"); len(all) != 2 {
			t.Errorf("%+v", all)
		}
		r.Seen(answers.Answer{Class: "general", Route: "GET /c"})
		if all, _, _ := s.All(t.Context(), "x"); len(all) != 2 {
			t.Error("it goes on")
		}
	})
}

// TestFlush stores what is news at once, and nothing else.
func TestFlush(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := new(answerstest.Memory)
		r := answers.NewRecorder(s, "x", "a")
		seen := func(c reach.Class) answers.Last {
			r.Seen(answers.Answer{Class: "general", Route: "GET /a", Fault: reach.Fault{Class: c}})
			r.Flush()
			all, _, _ := s.All(t.Context(), "x")
			return all[0]
		}
		if l := seen(reach.Cut); l.Fault.Class != reach.Cut {
			t.Errorf("%+v", l)
		}
		time.Sleep(time.Millisecond)
		if l := seen(reach.None); !l.Good.After(l.Failed) {
			t.Errorf("%+v", l)
		}
		before := s.Writes()
		time.Sleep(time.Millisecond)
		seen(reach.None)
		if s.Writes() != before {
			t.Error("it writes what is known")
		}
		_ = r.Close()
	})
}
