package hook

import (
	"fmt"
	"strings"
	"testing"
	"time"

	"opdeck/api"
	"opdeck/api/untrusted"
)

func seen(sec int64, nanos int32, status int64) ReceivedEvent {
	return ReceivedEvent{
		Event: Event{Object: ObjectOperation, ObjectID: "op", UpdatedAt: Stamp{sec, nanos, true},
			Status: Code{status, true}, OperationType: Code{3, true}},
		ReceivedAt: time.Unix(sec, int64(nanos)).Add(time.Second), Bound: true,
	}
}

func rest(t *testing.T, updated, status string, at time.Time) Read {
	t.Helper()
	op := api.Operation{OPID: "op", Status: untrusted.Text(status), Type: "WITHDRAW"}
	if err := op.UpdatedAt.UnmarshalJSON([]byte(`"` + updated + `"`)); err != nil {
		t.Fatal(err)
	}
	return Read{Operation: op, At: at}
}

func TestPairs(t *testing.T) {
	const s = 1700000000 // 2023-11-14T22:13:20Z
	one := seen(s, 123456789, 1)
	unbound := one
	unbound.Bound = false
	now := time.Unix(s+3, 0)
	cases := []struct {
		name   string
		events []ReceivedEvent
		read   Read
		want   string
	}{
		{"same moment", []ReceivedEvent{one}, rest(t, "2023-11-14T22:13:20.123456789Z", "PENDING", now),
			"type 3 WITHDRAW exact, status 1 PENDING exact"},
		{"same moment, unbound", []ReceivedEvent{unbound}, rest(t, "2023-11-14T22:13:20.123456789Z", "PENDING", now),
			"type 3 WITHDRAW exact, status 1 PENDING exact"},
		{"same, long after", []ReceivedEvent{one, seen(s+9, 0, 2)},
			rest(t, "2023-11-14T22:13:20.123456789Z", "PENDING", now.Add(time.Hour)),
			"type 3 WITHDRAW exact, status 1 PENDING exact"},
		{"one nanosecond off", []ReceivedEvent{one}, rest(t, "2023-11-14T22:13:20.123456788Z", "PENDING", now), ""},
		{"later state read", []ReceivedEvent{one}, rest(t, "2023-11-14T22:13:21Z", "SUCCESS", now), ""},
		{"milliseconds", []ReceivedEvent{one}, rest(t, "2023-11-14T22:13:20.123Z", "PENDING", now),
			"type 3 WITHDRAW, status 1 PENDING"},
		{"milliseconds, two changes in one", []ReceivedEvent{one, seen(s, 123999999, 2)},
			rest(t, "2023-11-14T22:13:20.123Z", "PENDING", now), ""},
		{"seconds, change in the next", []ReceivedEvent{one, seen(s+1, 0, 2)},
			rest(t, "2023-11-14T22:13:20Z", "PENDING", now), "type 3 WITHDRAW, status 1 PENDING"},
		{"two states at one moment", []ReceivedEvent{one, seen(s, 123456789, 2)},
			rest(t, "2023-11-14T22:13:20.123456789Z", "PENDING", now), ""},
		{"delivered twice under two ids", []ReceivedEvent{one, one},
			rest(t, "2023-11-14T22:13:20.123456789Z", "PENDING", now), "type 3 WITHDRAW exact, status 1 PENDING exact, " +
				"type 3 WITHDRAW exact, status 1 PENDING exact"},
		{"no moment, read soon", []ReceivedEvent{one}, rest(t, "", "PENDING", now), "type 3 WITHDRAW, status 1 PENDING"},
		{"no moment, unbound", []ReceivedEvent{unbound}, rest(t, "", "PENDING", now), ""},
		{"no moment, read late", []ReceivedEvent{one}, rest(t, "", "PENDING", now.Add(Window)), ""},
		{"no moment, read before", []ReceivedEvent{one}, rest(t, "", "PENDING", time.Unix(s, 0)), ""},
		{"no moment, change between", []ReceivedEvent{one, seen(s+1, 0, 2)}, rest(t, "", "SUCCESS", now),
			"type 3 WITHDRAW, status 2 SUCCESS"},
		{"no moment, change while reading", []ReceivedEvent{one, seen(s+4, 0, 2)}, rest(t, "", "PENDING", now), ""},
		{"no word", []ReceivedEvent{one}, rest(t, "2023-11-14T22:13:20.123456789Z", "", now), "type 3 WITHDRAW exact"},
		{"word that is none", []ReceivedEvent{one}, rest(t, "2023-11-14T22:13:20.123456789Z", "A B\x1b", now),
			"type 3 WITHDRAW exact"},
	}
	for _, c := range cases {
		var got []string
		for _, p := range Pairs(c.events, c.read) {
			g := fmt.Sprintf("%s %d %s", p.Field, p.Code, string(p.Word))
			if p.Exact {
				g += " exact"
			}
			got = append(got, g)
		}
		if g := strings.Join(got, ", "); g != c.want {
			t.Errorf("%s: %q, want %q", c.name, g, c.want)
		}
	}
	other := rest(t, "2023-11-14T22:13:20.123456789Z", "PENDING", now)
	other.Operation.OPID = "another"
	if p := Pairs([]ReceivedEvent{one}, other); p != nil {
		t.Error("another operation:", p)
	}
}

// counted is the evidence of pairs, each counted once.
func counted(pairs map[Pair]bool) (out []Evidence) {
	m := map[Evidence]int{}
	for p := range pairs {
		m[Evidence{Field: p.Field, Code: p.Code, Word: p.Word}]++
	}
	for e, n := range m {
		e.Count = n
		out = append(out, e)
	}
	return out
}

func TestMeanings(t *testing.T) {
	seen := map[Pair]bool{}
	pair := func(code int64, word string, sec int64) Pair {
		return Pair{Field: FieldStatus, Code: code, Word: untrusted.Text(word), OPID: "op", At: Stamp{sec, 0, true}}
	}
	for _, step := range []struct {
		pairs []Pair
		want  map[int64]string
	}{
		{nil, map[int64]string{1: "1, meaning not learned"}},
		{[]Pair{pair(1, "PENDING", 1), pair(1, "PENDING", 1), pair(2, "SUCCESS", 2)},
			map[int64]string{1: "1 PENDING (seen once)", 3: "3, meaning not learned"}},
		{[]Pair{pair(1, "PENDING", 3), pair(1, "NEW", 4)}, map[int64]string{1: "1 PENDING (seen 2 times, 1 against)"}},
		{[]Pair{pair(2, "FAILED", 9)}, map[int64]string{2: "2 (undecided: 2 observations disagree)"}},
	} {
		for _, p := range step.pairs {
			seen[p] = true
		}
		known := Meanings(Weigh(counted(seen)))
		for code, want := range step.want {
			if got := known.Lookup(FieldStatus, code).String(); got != want {
				t.Errorf("got %q, want %q", got, want)
			}
		}
	}
	known := Meanings(Weigh(counted(seen)))
	if w, n, c := known.Meaning(FieldStatus, 1); w != "PENDING" || n != 2 || c != 1 {
		t.Error(w, n, c)
	}
	if w, _, _ := known.Meaning(FieldType, 1); w != "" || len(known) != 2 {
		t.Error(w, known)
	}
}
