package roletest

import (
	"os"
	"strconv"
	"testing"
)

// Setting is the number in an environment variable, or a default.
func Setting(t testing.TB, name string, without int) int {
	t.Helper()
	s := os.Getenv(name)
	if s == "" {
		return without
	}
	n, err := strconv.Atoi(s)
	if err != nil {
		t.Fatal(err)
	}
	return n
}
