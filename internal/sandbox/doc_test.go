package sandbox

import (
	"maps"
	"os"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"testing"
)

// TestDocumentationIsComplete: the package documentation names every kind of
// fault and every word of one, every fixed operation and every admin path.
func TestDocumentationIsComplete(t *testing.T) {
	raw, err := os.ReadFile("doc.go")
	if err != nil {
		t.Fatal(err)
	}
	doc := string(raw)
	grammar := FaultHelp
	for kind := range faultKinds {
		if !strings.Contains(grammar, "\n  "+kind+"=") {
			t.Errorf("fault %s is not in the table", kind)
		}
	}
	words := slices.Concat(operationBodies, variantWords, slices.Collect(maps.Keys(bodies)),
		slices.Collect(maps.Keys(errorTexts)), slices.Collect(maps.Keys(shapes)),
		slices.Collect(maps.Keys(styles)), slices.Collect(maps.Keys(orders)))
	for _, word := range words {
		if !regexp.MustCompile(`[ =]` + word + `[\s,]`).MatchString(grammar) {
			t.Errorf("the word %s is not in the tables", word)
		}
	}
	for n := range specials {
		if !strings.Contains(doc, "//\t"+strconv.Itoa(n)+"  ") {
			t.Errorf("operation %d is not in the table", n)
		}
	}
	for _, r := range adminTable() {
		_, path, _ := strings.Cut(r.pattern, " /sandbox/")
		if name, _, _ := strings.Cut(path, "/"); !strings.Contains(doc, " "+name) {
			t.Errorf("admin path %s is not in the table", path)
		}
	}
	for _, text := range []string{textEnded, textLocked} {
		if !strings.Contains(doc, text) {
			t.Errorf("the text %q is not in the table", text)
		}
	}
}
