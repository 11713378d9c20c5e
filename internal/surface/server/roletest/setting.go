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

// Many is how many keys or lines a test tries at random: few, or as many as all with OPDECK_TEST_LONG=1.
func Many(few, all int) int {
	if os.Getenv("OPDECK_TEST_LONG") == "1" {
		return all
	}
	return few
}
