//go:build !unix

package storetest

import (
	"crypto/rand"
	"errors"
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

// running is a server of this process: there is none.
type running struct{ at string }

func cluster() (running, error) { return running{}, errors.New("no server is started on this system") }

func token() string { return strings.ToLower(rand.Text()[:12]) }

// Pooled skips t: no PgBouncer is started on this system.
func Pooled(t testing.TB, _ string) string {
	t.Helper()
	t.Skip("PgBouncer is started on Unix only")
	return ""
}

// DefaultPool is the size of PgBouncer's pools where there is one.
const DefaultPool = 20

// PooledBy skips t, as Pooled does.
func PooledBy(t testing.TB, database string, _ int) string { return Pooled(t, database) }
