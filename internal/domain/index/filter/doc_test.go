package filter_test

import (
	"strings"
	"testing"

	"opdeck/internal/domain/index/filter"
	"opdeck/internal/domain/index/filter/filtertest"
)

// TestDocumentedFields holds the table in docs/filter.md against the fields.
func TestDocumentedFields(t *testing.T) {
	grammar, _, _ := strings.Cut(filter.Operations().Help(), "\n\n")
	filtertest.Documented(t, "../../../../docs/filter.md", "fields", "internal/domain/index/filter", grammar, filter.Operations().Rows())
}
