package verdict

import "time"

// Fact is a value with its source and the period in which it may be used. The zero Fact is not known.
type Fact[T any] struct {
	Value T
	From  string        // which call, process or read of the store, for people
	At    time.Time     // when it was seen, by the store's clock
	Holds time.Duration // how long it may be used after At; never longer than Facts.Now allows
}

// Known returns a fact that holds for that long.
func Known[T any](value T, from string, at time.Time, holds time.Duration) Fact[T] {
	return Fact[T]{Value: value, From: from, At: at, Holds: holds}
}

// ahead is how far a fact may be ahead of Facts.Now: two reads of one store can be in the wrong order.
const ahead = time.Minute

// At returns the value if the fact is known at now: it was seen, and has not lapsed.
func (f Fact[T]) at(now time.Time) (T, bool) {
	age := now.Sub(f.At)
	if f.At.IsZero() || f.Holds <= 0 || age > f.Holds || age < -ahead {
		var none T
		return none, false
	}
	return f.Value, true
}

func (f Fact[T]) evidence(text string) Evidence { return Evidence{Text: text, From: f.From, At: f.At} }

// Evidence is one line that a finding rests on.
type Evidence struct {
	Text string    `json:"text"`
	From string    `json:"from"`
	At   time.Time `json:"at"`
}
