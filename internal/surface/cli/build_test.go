package cli

import (
	"strings"
	"testing"
)

func TestBuild(t *testing.T) {
	const commit = "0123456789abcdef0123456789abcdef01234567"
	for _, c := range []struct {
		build       Build
		word, about string
	}{
		{Build{Release: "dev"}, "dev", "opdeck dev, go"},
		{Build{Release: "1.2.3", Commit: commit, Built: "2026-01-02T03:04:05Z"}, "1.2.3+0123456789ab",
			"opdeck 1.2.3+0123456789ab, commit " + commit + ", built 2026-01-02T03:04:05Z, go"},
		{Build{Release: "1.2.3", Commit: commit + ".dirty"}, "1.2.3+0123456789ab.dirty",
			"opdeck 1.2.3+0123456789ab.dirty, commit " + commit + ".dirty, go"},
		{Build{Release: "1.2.3", Commit: "abc"}, "1.2.3+abc", "opdeck 1.2.3+abc, commit abc, go"},
	} {
		if got := c.build.word(); got != c.word {
			t.Errorf("%+v is %q, want %q", c.build, got, c.word)
		}
		if got := c.build.about(c.build.word()); !strings.HasPrefix(got, c.about) {
			t.Errorf("%+v shows %q, want %q", c.build, got, c.about)
		}
	}
}
