package cli

import (
	"strings"
	"testing"
)

// TestWaitsAreReported: waits are reported on standard error, the progress of a body only at a terminal, and neither to a
// program that reads JSON.
func TestWaitsAreReported(t *testing.T) {
	for name, c := range map[string]struct {
		env    Env
		output string
		want   string
	}{
		"terminal":         {Env{InTTY: true, ErrTTY: true}, "table", "waits\nmoves\n"},
		"file":             {Env{}, "table", "waits\n"},
		"program":          {Env{}, "json", ""},
		"JSON at terminal": {Env{InTTY: true, ErrTTY: true}, "json", "waits\nmoves\n"},
	} {
		var b strings.Builder
		c.env.Err = &b
		r := &root{env: c.env, output: c.output}
		r.waits("waits", false)
		r.waits("moves", true)
		if b.String() != c.want {
			t.Errorf("%s: %q", name, b.String())
		}
	}
}
