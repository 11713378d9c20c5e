package sandbox

import (
	"os"
	"strconv"
	"strings"
	"testing"
)

// TestDocumentationIsComplete: the package documentation names every fixed operation and every text of a refusal.
func TestDocumentationIsComplete(t *testing.T) {
	raw, err := os.ReadFile("doc.go")
	if err != nil {
		t.Fatal(err)
	}
	doc := string(raw)
	for n := range specials {
		if !strings.Contains(doc, "//\t"+strconv.Itoa(n)+"  ") {
			t.Errorf("operation %d is not in the table", n)
		}
	}
	for _, text := range []string{textEnded, textLocked} {
		if !strings.Contains(doc, text) {
			t.Errorf("the text %q is not in the table", text)
		}
	}
}
