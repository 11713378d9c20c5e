package secret

import (
	"bytes"
	"encoding/json"
	"fmt"
	"log/slog"
	"strings"
	"testing"
)

type holder struct {
	Open   Value
	hidden Value
}

func TestNothingPrintsASecret(t *testing.T) {
	const canary = "cnry-4711"
	h := holder{Open: New(canary), hidden: New(canary)}
	var out strings.Builder
	for _, verb := range []string{"%v", "%+v", "%#v", "%s", "%q", "%x", "%d", "%T", "%p"} {
		fmt.Fprintf(&out, verb, h)
		fmt.Fprintf(&out, verb, &h)
		fmt.Fprintf(&out, verb, h.hidden)
		fmt.Fprintf(&out, verb, []Value{h.Open})
	}
	j, err := json.Marshal(h)
	if err != nil {
		t.Fatal(err)
	}
	out.Write(j)
	var log bytes.Buffer
	slog.New(slog.NewTextHandler(&log, nil)).Info("x", "h", h, "v", h.hidden)
	slog.New(slog.NewJSONHandler(&log, nil)).Info("x", "h", h, "v", h.hidden)
	out.Write(log.Bytes())
	hex := fmt.Sprintf("%x", canary)
	if s := out.String(); strings.Contains(s, canary) || strings.Contains(s, hex) {
		t.Fatalf("the secret shows in %q", s)
	}
	if h.hidden.Reveal() != canary || !h.hidden.Equal(New(canary)) || h.hidden.Equal(New("x")) {
		t.Fatal("the content is not kept")
	}
	if (Value{}).String() != "" || !New("").Empty() {
		t.Fatal("an empty secret must look empty")
	}
}
