package remedy

import (
	"os"
	"path/filepath"
	"regexp"
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

// TestTheClientSaysItAsData: every remedy that it declares has a sentence here, and
// it writes none itself, nor names a command.
func TestTheClientSaysItAsData(t *testing.T) {
	const client = "../../../api"
	b, err := os.ReadFile(filepath.Join(client, "remedy.go"))
	if err != nil {
		t.Fatal(err)
	}
	declared := regexp.MustCompile(`RemedyKind = "([a-z_]+)"`).FindAllStringSubmatch(string(b), -1)
	for _, m := range declared {
		if sentences[api.RemedyKind(m[1])].command == "" {
			t.Errorf("%s has no sentence", m[1])
		}
	}
	if len(declared) != len(sentences) {
		t.Errorf("%d remedies are declared, %d have a sentence", len(declared), len(sentences))
	}
	sources, _ := filepath.Glob(client + "/*.go")
	inner, _ := filepath.Glob(client + "/*/*.go")
	named := regexp.MustCompile(`\bHint:|"[^"\n]*\bopdeck (doctor|session|audit|event|limits|document|operation|config|serve)\b`)
	for _, f := range append(sources, inner...) {
		if b, err := os.ReadFile(f); err != nil || !strings.HasSuffix(f, "_test.go") && named.Match(b) {
			t.Errorf("%s: %q %v", f, named.Find(b), err)
		}
	}
}
