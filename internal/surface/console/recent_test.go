package console

import (
	"errors"
	"testing"
	"time"

	"opdeck/internal/domain/note"
)

// TestReadingsAreShared: consoles that read in the same half second read once, unless the store was written to; a
// failed reading is no reading, and a console that shares with no one always reads.
func TestReadingsAreShared(t *testing.T) {
	t.Parallel()
	a, clock := open(t)
	made, failure := 0, error(nil)
	fresh := func() (int, error) { made++; return made, failure }
	shared, own := newReadings(sharedFor), newReadings(0)
	if shared.verdict.keep != sharedFor || shared.status.keep != sharedFor || shared.usage.keep != sharedFor ||
		shared.sync.keep != sharedFor || own.verdict.keep != 0 {
		t.Fatal("not all readings are shared")
	}
	r, alone := recent[int]{keep: sharedFor}, recent[int]{}
	later := func(d time.Duration) {
		clock.mu.Lock()
		defer clock.mu.Unlock()
		clock.now = clock.now.Add(d)
	}
	began := a.Now()
	for _, step := range []struct {
		name   string
		before func()
		of     *recent[int]
		want   int           // the reading
		at     time.Duration // when it was made
		fails  bool
	}{
		{"the first", nil, &r, 1, 0, false},
		{"another console", func() { later(sharedFor - 1) }, &r, 1, 0, false},
		{"later", func() { later(1) }, &r, 2, sharedFor, false},
		{"after a write", func() {
			n := note.Note{UID: "n1", Object: "operation", ID: "op1", Author: "ana", Text: "written"}
			if _, err := a.Notes.Store.Put(t.Context(), a.Scope(), n, note.Kept); err != nil {
				t.Fatal(err)
			}
		}, &r, 3, sharedFor, false},
		{"again", nil, &r, 3, sharedFor, false},
		{"that fails", func() { later(sharedFor); failure = errors.New("locked") }, &r, 4, 2 * sharedFor, true},
		{"after it", func() { failure = nil }, &r, 5, 2 * sharedFor, false},
		{"with a clock set back", func() { later(-time.Minute) }, &r, 6, 2*sharedFor - time.Minute, false},
		{"alone", nil, &alone, 7, 2*sharedFor - time.Minute, false},
		{"alone again", nil, &alone, 8, 2*sharedFor - time.Minute, false},
	} {
		if step.before != nil {
			step.before()
		}
		stamp, _ := a.Store.Version(t.Context())
		got, at, err := step.of.read(a, stamp, fresh)
		if got != step.want || !at.Equal(began.Add(step.at)) || (err != nil) != step.fails {
			t.Errorf("%s: reading %d of %s, %v; want %d of %s", step.name, got, at.Sub(began), err, step.want, step.at)
		}
	}
}
