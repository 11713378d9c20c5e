package index

import (
	"testing"

	"opdeck/internal/domain/index/filter"
)

// TestStockViewsAreFilters: each stock view can be shown, and has a name of its own.
func TestStockViewsAreFilters(t *testing.T) {
	seen := map[string]bool{}
	for _, v := range StockViews() {
		e, err := filter.Parse(v.Filter)
		if _, bad := ParseSort(v.Sort); err != nil || bad != nil || e.Empty() || seen[v.Name] {
			t.Errorf("%s: %v %v", v.Name, err, bad)
		}
		seen[v.Name] = true
	}
}
