package apitest

import (
	"testing"
	"time"
)

// Soon waits up to 30 s until ok, which depends on other processes or connections, and else ends the test.
func Soon(t testing.TB, what string, ok func() bool) {
	t.Helper()
	for end := time.Now().Add(30 * time.Second); !ok(); time.Sleep(5 * time.Millisecond) {
		if time.Now().After(end) {
			t.Fatalf("not in time: %s", what)
		}
	}
}
