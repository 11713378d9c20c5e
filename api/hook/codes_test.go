package hook

import (
	"fmt"
	"strings"
	"testing"

	"opdeck/api"
	"opdeck/api/untrusted"
)

// TestJoin: a code and a word belong together if one operation has both at one time, and nothing else does.
func TestJoin(t *testing.T) {
	const s = 1700000000 // 2023-11-14T22:13:20Z
	at := func(sec int64, nanos int32, status int64) Event {
		return Event{Object: ObjectOperation, ObjectID: "op", UpdatedAt: Stamp{sec, nanos, true}, Status: Code{status, true},
			OperationType: Code{3, true}}
	}
	one := at(s, 123456789, 1)
	for _, c := range []struct {
		name          string
		events        []Event
		updated, word string
		want          string
	}{
		{"same time", []Event{one}, "2023-11-14T22:13:20.123456789Z", "PENDING", "type 3 WITHDRAW, status 1 PENDING"},
		{"a later state beside it", []Event{one, at(s+9, 0, 2)}, "2023-11-14T22:13:20.123456789Z", "PENDING",
			"type 3 WITHDRAW, status 1 PENDING"},
		{"one nanosecond off", []Event{one}, "2023-11-14T22:13:20.123456788Z", "PENDING", ""},
		{"a later state read", []Event{one}, "2023-11-14T22:13:21Z", "SUCCESS", ""},
		{"milliseconds", []Event{one}, "2023-11-14T22:13:20.123Z", "PENDING", "type 3 WITHDRAW, status 1 PENDING"},
		{"milliseconds, two changes in one", []Event{one, at(s, 123999999, 2)}, "2023-11-14T22:13:20.123Z", "PENDING", ""},
		{"seconds, a change in the next", []Event{one, at(s+1, 0, 2)}, "2023-11-14T22:13:20Z", "PENDING",
			"type 3 WITHDRAW, status 1 PENDING"},
		{"two states at one time", []Event{one, at(s, 123456789, 2)}, "2023-11-14T22:13:20.123456789Z", "PENDING", ""},
		{"delivered under two ids", []Event{one, one}, "2023-11-14T22:13:20.123456789Z", "PENDING",
			"type 3 WITHDRAW, status 1 PENDING"},
		{"no time", []Event{one}, "", "PENDING", ""},
		{"no word", []Event{one}, "2023-11-14T22:13:20.123456789Z", "", "type 3 WITHDRAW"},
		{"not a word", []Event{one}, "2023-11-14T22:13:20.123456789Z", "A B\x1b", "type 3 WITHDRAW"},
	} {
		op := api.Operation{OPID: "op", Status: untrusted.Text(c.word), Type: "WITHDRAW"}
		if c.updated != "" {
			if err := op.UpdatedAt.UnmarshalJSON([]byte(`"` + c.updated + `"`)); err != nil {
				t.Fatal(err)
			}
		}
		var got []string
		for _, p := range Join(c.events, op) {
			got = append(got, fmt.Sprintf("%s %d %s", p.Field, p.Code, string(p.Word)))
		}
		if g := strings.Join(got, ", "); g != c.want {
			t.Errorf("%s: %q, want %q", c.name, g, c.want)
		}
		op.OPID = "another"
		if p := Join(c.events, op); p != nil {
			t.Error("another operation:", p)
		}
	}
}

// TestMeanings: two words for one code mean that it is not known.
func TestMeanings(t *testing.T) {
	ms := Meanings{{FieldStatus, 1, "PENDING", "op"}, {FieldStatus, 2, "SUCCESS", "op"}, {FieldStatus, 2, "FAILED", "op"}}
	for code, want := range map[int64][2]string{1: {"PENDING", "1 PENDING"}, 2: {"", "2 ? FAILED or SUCCESS"},
		3: {"", "3 ?"}} {
		if word, text := ms.Word(FieldStatus, code), ms.Text(FieldStatus, Code{code, true}); string(word) != want[0] ||
			text != want[1] {
			t.Errorf("%d: %q, %q", code, word, text)
		}
	}
}
