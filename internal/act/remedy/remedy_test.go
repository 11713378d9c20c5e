package remedy

import (
	"strings"
	"testing"
	"time"

	"opdeck/api"
)

func TestEverySurfaceSaysSomething(t *testing.T) {
	for kind := range sentences {
		e := &api.Error{Remedy: api.Remedy{Kind: kind, ID: "x1", Names: []string{"admin", "oncall"}}}
		for _, s := range []string{Command(e), Screen(e), Spoken(e)} {
			if s == "" || strings.ContainsAny(s, "{}") || !strings.ContainsAny(s[len(s)-1:], ".?") {
				t.Errorf("%s: %q", kind, s)
			}
		}
		for _, s := range []string{Spoken(e)} {
			if strings.Contains(s, " --force") {
				t.Errorf("%s: %q speaks of a flag", kind, s)
			}
		}
	}
}

func TestWhatElseIsKnown(t *testing.T) {
	e := &api.Error{Hint: "Uploaded as f1.", Unsent: true, Remedy: api.Remedy{Kind: api.Doctor, Wait: 3 * time.Second}}
	if got := Command(e); got != "Uploaded as f1. The next try is in 3s, by whoever calls first. opdeck doctor looks at each step. Nothing was sent." {
		t.Error(got)
	}
	if got := Command(&api.Error{}); got != "" {
		t.Error(got)
	}
}
