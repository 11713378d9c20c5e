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
		for _, s := range []string{Command(e), Screen(e), Plain(e)} {
			if s == "" || strings.ContainsAny(s, "{}") || !strings.ContainsAny(s[len(s)-1:], ".?") {
				t.Errorf("%s: %q", kind, s)
			}
		}
	}
}

func TestWhatElseIsKnown(t *testing.T) {
	e := &api.Error{Hint: "Uploaded as f1.", Unsent: true, Remedy: api.Remedy{Kind: api.Doctor, Wait: 3 * time.Second}}
	if got := Command(e); got != "Uploaded as f1. Next try in 3s. opdeck doctor checks each step. Nothing was sent." {
		t.Error(got)
	}
	if got := Command(&api.Error{}); got != "" {
		t.Error(got)
	}
}
