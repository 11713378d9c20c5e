package faulty

import (
	"maps"
	"regexp"
	"slices"
	"strings"
	"testing"
)

// TestGrammarIsComplete: the grammar names every kind of fault and every word of one.
func TestGrammarIsComplete(t *testing.T) {
	for kind := range faultKinds {
		if !strings.Contains(FaultHelp, "\n  "+kind+"=") {
			t.Errorf("fault %s is not in the table", kind)
		}
	}
	words := slices.Concat(operationBodies, variantWords, slices.Collect(maps.Keys(bodies)),
		slices.Collect(maps.Keys(errorTexts)), slices.Collect(maps.Keys(shapes)),
		slices.Collect(maps.Keys(styles)), orders)
	for _, word := range words {
		if !regexp.MustCompile(`[ =]` + word + `[\s,]`).MatchString(FaultHelp) {
			t.Errorf("the word %s is not in the tables", word)
		}
	}
}
