//go:build !unix

package storetest

import (
	"crypto/rand"
	"os"
	"strings"
	"testing"
)

// Server returns the server that $OPDECK_TEST_POSTGRES names; none is started
// on this system.
func Server(t testing.TB) string {
	t.Helper()
	given := os.Getenv("OPDECK_TEST_POSTGRES")
	if given == "" {
		t.Skip("$OPDECK_TEST_POSTGRES is empty")
	}
	return given
}

func token() string { return strings.ToLower(rand.Text()[:12]) }

// Pooled skips t: no PgBouncer is started on this system.
func Pooled(t testing.TB, _ string) string {
	t.Helper()
	t.Skip("PgBouncer is started on Unix only")
	return ""
}
