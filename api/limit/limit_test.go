package limit_test

import (
	"context"
	"encoding/json"
	"errors"
	"slices"
	"testing"
	"testing/synctest"
	"time"

	"opdeck/api/limit"
	"opdeck/api/limit/limittest"
)

// shifted is the host's clock, moved.
type shifted struct{ by time.Duration }

var began = time.Now()

func (s *shifted) Wall() time.Time       { return time.Now().Add(s.by) }
func (s *shifted) Steady() time.Duration { return 48*time.Hour + time.Since(began) + s.by }

func TestMemory(t *testing.T) {
	limittest.Run(t, func(*testing.T) limittest.Opened {
		clock := &shifted{}
		m := limit.NewMemory(clock)
		return limittest.Opened{Store: m, Peer: m, Shift: func(d time.Duration) { clock.by += d }}
	})
}

func budgets(t *testing.T, change func(*limit.Config)) (*limit.Budgets, *limit.Memory) {
	t.Helper()
	m := limit.NewMemory(&shifted{})
	cfg := limit.Config{Store: m, Key: limit.Key{BaseURL: "https://x.example", Account: "a"}}
	if change != nil {
		change(&cfg)
	}
	b, err := limit.New(cfg)
	if err != nil {
		t.Fatal(err)
	}
	return b, m
}

// TestTakeWaits: twelve are sent at once, the thirteenth after the window, and a caller without that much time gets
// an error at once.
func TestTakeWaits(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		b, _ := budgets(t, func(c *limit.Config) { c.MaxWait = 2 * time.Minute })
		for range 12 {
			take(t, b, context.Background(), 0)
		}
		var full *limit.Exhausted
		short, cancel := context.WithTimeout(context.Background(), 30*time.Second)
		defer cancel()
		if _, err := b.Take(short, limit.Billing); !errors.As(err, &full) || full.RetryAfter < time.Minute ||
			full.Class != limit.Billing {
			t.Fatalf("%v", err)
		}
		left, cancel := context.WithCancel(context.Background())
		go func() { time.Sleep(10 * time.Second); cancel() }()
		if _, err := b.Take(left, limit.Billing); !errors.Is(err, context.Canceled) {
			t.Fatalf("%v", err)
		}
		take(t, b, context.Background(), 52*time.Second) // the slot given back is used
		if err := b.Note429(context.Background(), limit.Billing, 0); err != nil {
			t.Fatal(err)
		}
		take(t, b, context.Background(), time.Minute)
	})
}

func take(t *testing.T, b *limit.Budgets, ctx context.Context, want time.Duration) {
	t.Helper()
	start := time.Now()
	if _, err := b.Take(ctx, limit.Billing); err != nil {
		t.Fatal(err)
	}
	if d := time.Since(start); (d - want).Abs() > 130*time.Millisecond {
		t.Fatalf("waited %s, want %s", d, want)
	}
}

// TestBackgroundGivesWay: background work keeps four slots free for people, and
// continues by itself when there is room again.
func TestBackgroundGivesWay(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		b, _ := budgets(t, nil)
		bg := limit.Background(context.Background())
		for range 8 {
			take(t, b, bg, 0)
		}
		for range 4 {
			take(t, b, context.Background(), 0)
		}
		take(t, b, bg, limit.Window+125*time.Millisecond)
		ctx, cancel := context.WithTimeout(bg, time.Minute)
		defer cancel()
		for range 11 {
			take(t, b, context.Background(), 0)
		}
		var full *limit.Exhausted
		if _, err := b.Take(ctx, limit.Billing); !errors.As(err, &full) {
			t.Fatalf("%v", err)
		}
	})
}

func TestPolicyWarn(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		b, _ := budgets(t, func(c *limit.Config) { c.Policy = limit.Warn })
		over := 0
		for range 15 {
			o, err := b.Take(context.Background(), limit.Billing)
			if err != nil {
				t.Fatal(err)
			}
			if o {
				over++
			}
			time.Sleep(time.Second)
		}
		u, err := b.Usage(context.Background())
		if err != nil || over != 3 || u[4].Over != 3 || u[4].Used != 15 || u[4].Room != 0 {
			t.Fatalf("%d over, %+v, %v", over, u[4], err)
		}
	})
}

func TestUsage(t *testing.T) {
	rule := limit.Rule{N: 12, Window: limit.Window, Reserve: 4}
	st := limit.State{Throttled: []time.Duration{time.Minute}}
	for _, ago := range []time.Duration{9*time.Minute + 55*time.Second, 61 * time.Second, 30 * time.Second,
		12 * time.Second, 11 * time.Second, 0} {
		st.Slots = append(st.Slots, limit.Slot{Ago: ago})
	}
	u := limit.Summarise(limit.Billing, rule, st)
	got, err := json.Marshal(u)
	want := `{"class":"billing","recommended_per_minute":12,"used_last_minute":4,` +
		`"room":7,"next_slot_in_seconds":0,"throttled":1,"waiting":0}`
	if err != nil || string(got) != want {
		t.Errorf("%s, %v, want %s", got, err, want)
	}
	if sum := u.Sum(); u.Used+u.Held+u.Room+u.Waiting != u.Recommended ||
		sum != "billing: 1 call that is older than a minute still counts: opdeck counts each call for 1m2s, so that "+
			"the service never counts more than 12." {
		t.Errorf("%d used, %d held, room for %d: %q", u.Used, u.Held, u.Room, sum)
	}
	if h := u.History; h[0] != 1 || h[59] != 1 || h[58] != 2 || h[56] != 1 || h[53] != 1 {
		t.Errorf("history %v", u.History)
	}
	if u.Changes != time.Second { // the one of 61 s ago leaves the window of 62 s
		t.Errorf("changes in %v", u.Changes)
	}
	if idle := limit.Summarise(limit.Billing, rule, limit.State{
		Slots: []limit.Slot{{Ago: 5 * time.Minute}}}); idle.Changes != 0 {
		t.Errorf("an idle class changes in %v", idle.Changes)
	}
	for range 9 {
		st.Slots = append(st.Slots, limit.Slot{Ago: -time.Second})
	}
	if u = limit.Summarise(limit.Billing, rule, st); u.Waiting != 9 || u.Goes != time.Second || u.Room != 0 ||
		u.NextSlot < 1 {
		t.Errorf("with waiters: %+v", u)
	}
	full := limit.State{Slots: []limit.Slot{{Ago: 60 * time.Second}, {Ago: 50 * time.Second}, {Ago: 2 * time.Second}}}
	u = limit.Summarise(limit.Billing, limit.Rule{N: 4, Window: limit.Window}, full)
	for i, want := range []time.Duration{0, 2, 12, 60, 62, 64} {
		if got := u.Ahead[i]; got < want*time.Second || got > want*time.Second+100*time.Millisecond {
			t.Errorf("call %d ahead in %v, want %v", i, got, want*time.Second)
		}
	}
	users := limit.State{Slots: []limit.Slot{{Ago: 5 * time.Minute, Who: "old"}, {Ago: 2 * time.Second, Who: "ana on a"},
		{Ago: time.Second, Who: "borrower x on b"}, {Who: "borrower x on b"}, {}}}
	if got := limit.Summarise(limit.Billing, rule, users).Users; !slices.Equal(got,
		[]limit.User{{Who: "borrower x on b", Calls: 2}, {Who: "ana on a", Calls: 1}}) {
		t.Errorf("used by %v", got)
	}
	u = limit.Summarise(limit.Billing, rule, limit.State{NotBefore: 20 * time.Second,
		Throttled: []time.Duration{time.Hour / 2, time.Second}})
	if u.Refused != time.Second || u.Full != 0 {
		t.Errorf("after a 429: %+v", u)
	}
	if u.Room != 0 || u.NextSlot != 20 || u.Blocked != 20*time.Second || u.Changes != time.Second {
		t.Errorf("after a 429: %+v", u)
	}
	b, _ := budgets(t, nil)
	all, err := b.Usage(context.Background())
	if err != nil || len(all) != len(limit.Classes) || all[0].Class != limit.Login || all[0].Room != 6 ||
		all[1].Room != 1 || all[5].Room != 20 {
		t.Errorf("%+v, %v", all, err)
	}
}

// TestFullSince: no slot has been free since the call that took the last one, and since earlier if each later call took
// a slot as soon as it was free.
func TestFullSince(t *testing.T) {
	two := limit.Rule{N: 2, Window: 62 * time.Second}
	for want, ago := range map[time.Duration][]int{
		0:                 {70, 5},                 // one is free
		5 * time.Second:   {70, 50, 5},             // one was free for three seconds
		60 * time.Second:  {112, 60, 50},           // the first slot was taken again at once
		110 * time.Second: {174, 120, 110, 58, 48}, // nothing was free since the third call
		3 * time.Second:   {300, 10, 3, -52, -59},  // what waits has taken nothing yet
	} {
		var st limit.State
		for _, s := range ago {
			st.Slots = append(st.Slots, limit.Slot{Ago: time.Duration(s) * time.Second})
		}
		if got := limit.Summarise(limit.Billing, two, st); got.Full != want {
			t.Errorf("%v: full for %s, not %s", ago, got.Full, want)
		}
	}
}

func TestConfigIsChecked(t *testing.T) {
	for _, c := range []limit.Config{
		{Policy: "hope"},
		{PerMinute: map[limit.Class]int{limit.Billing: 0}},
		{PerMinute: map[limit.Class]int{limit.Billing: 10001}},
		{Reserve: map[limit.Class]int{limit.Billing: 12}},
		{Reserve: map[limit.Class]int{limit.Billing: -1}},
	} {
		if _, err := limit.New(c); err == nil {
			t.Errorf("%+v passes", c)
		}
	}
	b, _ := budgets(t, func(c *limit.Config) { c.PerMinute = map[limit.Class]int{limit.Billing: 30} })
	if r := b.Rule(limit.Billing); r.N != 30 || r.Window != limit.Window || r.Reserve != 10 {
		t.Errorf("%+v", r)
	}
	if r := b.Rule(limit.Refresh); r.N != 1 || r.Window != limit.AuthWindow || r.Reserve != 0 {
		t.Errorf("%+v", r)
	}
}
