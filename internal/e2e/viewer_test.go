//go:build linux

package e2e

import (
	"encoding/json"
	"os/exec"
	"testing"

	"opdeck/internal/sandbox"
)

// TestViewerGuessesNothing: a person who may not reveal account numbers cannot
// find them by a filter of the command either; others can.
func TestViewerGuessesNothing(t *testing.T) {
	t.Parallel()
	w := newWorld(t, sandbox.Options{}, "role = \"viewer\"\n")
	op := w.operations()[0]
	var one struct {
		Item struct {
			Source struct{ Account struct{ Number string } }
		}
	}
	if err := json.Unmarshal([]byte(w.raw(op.Opid)), &one); err != nil {
		t.Fatal(err)
	}
	number := one.Item.Source.Account.Number
	if len(number) < 8 {
		t.Fatalf("the number is %q", number)
	}
	total := func(context, filter string) json.Number {
		cmd := exec.Command(binary, "-c", context, "operation", "list", "--filter", filter, "-o", "json")
		cmd.Env = append([]string{"HOME=" + w.home, "PW=sandbox"}, w.env...)
		out, err := cmd.Output()
		var list struct{ Total json.Number }
		if err == nil {
			err = json.Unmarshal(out, &list)
		}
		if err != nil {
			t.Fatalf("%s: %v\n%s", filter, err, out)
		}
		return list.Total
	}
	for _, field := range []string{"source:", "party:", ""} {
		if n := total("all", field+number[:8]); n == "0" {
			t.Errorf("%s finds nothing for who may see numbers", field)
		}
		for i := 5; i <= len(number); i++ {
			if n := total("stage", field+number[:i]); n != "0" {
				t.Errorf("%s%s shows a viewer %s operations", field, number[:i], n)
			}
		}
	}
}
