package sandbox

import (
	"testing"

	"github.com/google/uuid"
	"pgregory.net/rapid"
)

func TestOpidRoundTrip(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		seed, n := rapid.Uint64().Draw(t, "seed"), rapid.Int64Range(0, 1<<40-1).Draw(t, "n")
		id := opidOf(seed, n)
		if id.Version() != 4 || id.Variant() != uuid.RFC4122 {
			t.Fatalf("%v is no UUID of version 4", id)
		}
		if got, known := numberOf(seed, id); !known || got != n {
			t.Fatalf("%v: %d, %v; want %d", id, got, known, n)
		}
		id[rapid.IntRange(0, 15).Draw(t, "byte")] ^= 1
		if _, known := numberOf(seed, id); known {
			t.Fatalf("a changed id is known")
		}
	})
}
