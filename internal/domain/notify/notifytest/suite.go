package notifytest

import (
	"errors"
	"fmt"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"opdeck/internal/domain/notify"
)

// Clock is a clock that a test moves.
type Clock struct{ atomic.Int64 }

var begin = time.Date(2026, 3, 1, 9, 0, 0, 0, time.UTC)

// Now is the clock's time.
func (c *Clock) Now() time.Time { return begin.Add(time.Duration(c.Load())) }

// Move moves it.
func (c *Clock) Move(d time.Duration) { c.Add(int64(d)) }

const scope = "https://pay.example.com machine@example.com"

// add adds notices with these ids to rule "a".
func add(t *testing.T, s notify.Store, ids ...string) {
	t.Helper()
	if err := s.Update(t.Context(), scope, "a", func(st notify.State, silenced bool) (notify.State, []notify.Notice,
		bool) {
		st.Count++
		var out []notify.Notice
		for _, id := range ids {
			out = append(out, notify.Notice{ID: id, Name: "a", Sentence: "s", Silenced: silenced})
		}
		return st, out, true
	}); err != nil {
		t.Fatal(err)
	}
}

// claims checks what owner gets; "" for nothing.
func claims(t *testing.T, s notify.Store, owner, id string, attempt int) {
	t.Helper()
	d, ok, err := s.Claim(t.Context(), scope, "a", owner)
	if err != nil || ok != (id != "") || d.Notice.ID != id || d.Attempt != attempt {
		t.Fatalf("%s claims %q, attempt %d, %t, %v; want %q, %d", owner, d.Notice.ID, d.Attempt, ok, err, id, attempt)
	}
}

func done(t *testing.T, s notify.Store, owner, id string, o notify.Outcome) {
	t.Helper()
	if err := s.Done(t.Context(), scope, owner, id, o); err != nil {
		t.Fatal(err)
	}
}

// phases checks how many notices of rule "a" are where.
func phases(t *testing.T, s notify.Store, want map[notify.Phase]int) notify.Summary {
	t.Helper()
	all, _, err := s.Summaries(t.Context(), scope)
	got := all["a"]
	if err != nil || fmt.Sprint(got.Phases) != fmt.Sprint(want) {
		t.Fatalf("%v, %v; want %v", got.Phases, err, want)
	}
	return got
}

var delivered = notify.Outcome{Delivered: true}

// Run checks that a store fulfils the contract. open returns an empty one.
func Run(t *testing.T, open func(t *testing.T, now func() time.Time) notify.Store) {
	for name, run := range map[string]func(t *testing.T, s notify.Store, c *Clock){"ClaimSendDone": claimSendDone,
		"Retries": retries, "Silences": silences, "OneChangeAtATime": oneChange, "Forgets": forgets} {
		t.Run(name, func(t *testing.T) {
			c := new(Clock)
			run(t, open(t, c.Now), c)
		})
	}
}

func claimSendDone(t *testing.T, s notify.Store, c *Clock) {
	claims(t, s, "x", "", 0)
	add(t, s, "n1", "n2")
	add(t, s, "n2", "n3") // n2 is known
	claims(t, s, "x", "n1", 1)
	claims(t, s, "y", "", 0) // in order, one at a time
	claims(t, s, "x", "", 0)
	c.Move(notify.Lease + time.Second) // x was killed
	claims(t, s, "y", "n1", 2)
	done(t, s, "x", "n1", delivered) // it is not x's any more
	phases(t, s, map[notify.Phase]int{notify.Sending: 1, notify.Waiting: 2})
	done(t, s, "y", "n1", delivered)
	claims(t, s, "x", "n2", 1)
	done(t, s, "x", "n2", delivered)
	claims(t, s, "x", "n3", 1)
	c.Move(-24 * time.Hour) // a clock that was set back holds no claim for a day
	claims(t, s, "y", "n3", 2)
	done(t, s, "y", "n3", delivered)
	claims(t, s, "x", "", 0)
	got := phases(t, s, map[notify.Phase]int{notify.Sent: 3})
	if len(got.Newest) != 3 || got.Newest[0].Notice.ID != "n3" || got.Newest[0].Attempts != 2 ||
		got.Newest[0].Ended.IsZero() {
		t.Errorf("%+v", got.Newest)
	}
	other, _, err := s.Shared(t.Context(), "another scope")
	if err != nil || len(other) != 0 {
		t.Errorf("%v, %v", other, err)
	}
}

func retries(t *testing.T, s notify.Store, c *Clock) {
	add(t, s, "n1", "n2")
	claims(t, s, "x", "n1", 1)
	done(t, s, "x", "n1", notify.Outcome{Error: "no answer", Retry: time.Minute})
	claims(t, s, "y", "", 0) // n2 waits for n1
	c.Move(time.Minute)
	claims(t, s, "y", "n1", 2)
	done(t, s, "y", "n1", notify.Outcome{Error: "still no answer"})
	claims(t, s, "y", "n2", 1)
	done(t, s, "y", "n2", delivered)
	got := phases(t, s, map[notify.Phase]int{notify.Sent: 1, notify.Failed: 1})
	if got.Newest[1].Error != "still no answer" || got.Newest[0].Error != "" {
		t.Errorf("%+v", got.Newest)
	}
}

func silences(t *testing.T, s notify.Store, c *Clock) {
	add(t, s, "n1", "n2")
	claims(t, s, "x", "n1", 1)
	quiet := notify.Silence{Until: c.Now().Add(time.Hour), By: "ana", At: c.Now()}
	if err := s.Silence(t.Context(), scope, "a", quiet); err != nil {
		t.Fatal(err)
	}
	done(t, s, "x", "n1", delivered) // it was under way
	add(t, s, "n3")
	claims(t, s, "x", "", 0)
	got := phases(t, s, map[notify.Phase]int{notify.Sent: 1, notify.Silenced: 2})
	if got.Silence.By != "ana" || !got.Silence.Until.Equal(quiet.Until) {
		t.Errorf("%+v", got.Silence)
	}
	c.Move(2 * time.Hour)
	add(t, s, "n4")
	claims(t, s, "x", "n4", 1) // n2 and n3 are not sent afterwards
	done(t, s, "x", "n4", delivered)
	claims(t, s, "x", "", 0)
}

// oneChange: of many instances that see the same, one adds it.
func oneChange(t *testing.T, s notify.Store, _ *Clock) {
	add(t, s, "n0")
	var wg sync.WaitGroup
	errs := make([]error, 8)
	for i := range errs {
		wg.Go(func() {
			for range 10 {
				errs[i] = errors.Join(errs[i], s.Update(t.Context(), scope, "a", func(st notify.State,
					_ bool) (notify.State, []notify.Notice, bool) {
					st.Count++
					return st, []notify.Notice{{ID: fmt.Sprint("m", st.Count), Name: "a"}}, true
				}))
			}
		})
	}
	wg.Wait()
	if err := errors.Join(errs...); err != nil {
		t.Fatal(err)
	}
	shared, _, err := s.Shared(t.Context(), scope)
	if err != nil || shared["a"].State.Count != 81 {
		t.Fatalf("%d, %v", shared["a"].State.Count, err)
	}
	phases(t, s, map[notify.Phase]int{notify.Waiting: 81})
	var claimed atomic.Int64
	for i := range errs {
		wg.Go(func() {
			_, ok, err := s.Claim(t.Context(), scope, "a", fmt.Sprint(i))
			if ok {
				claimed.Add(1)
			}
			errs[i] = err
		})
	}
	wg.Wait()
	if err := errors.Join(errs...); err != nil || claimed.Load() != 1 {
		t.Errorf("%d claims, %v", claimed.Load(), err)
	}
}

func forgets(t *testing.T, s notify.Store, c *Clock) {
	add(t, s, "n1", "n2")
	claims(t, s, "x", "n1", 1)
	done(t, s, "x", "n1", delivered)
	c.Move(notify.NoticesKept + time.Hour)
	add(t, s, "n3")
	phases(t, s, map[notify.Phase]int{notify.Waiting: 2}) // n2 was not sent yet
}
