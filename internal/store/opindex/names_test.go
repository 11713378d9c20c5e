package opindex

import (
	"testing"

	"opdeck/internal/domain/index/filter"
	"opdeck/internal/field"
)

// TestOrdersAreTheCatalogues: each field that the catalogue calls sortable has one
// order, and each order is of such a field, under the catalogue's own name.
func TestOrdersAreTheCatalogues(t *testing.T) {
	named := map[string]int{}
	count(named, orders)
	for name := range columns {
		named[name]++
	}
	for _, name := range field.Operations.Sortable() {
		if named[name] != 1 {
			t.Errorf("%s has %d orders", name, named[name])
		}
		delete(named, name)
	}
	if len(named) > 0 {
		t.Errorf("the catalogue has no sortable field of these names: %v", named)
	}
}

// TestFiltersAreTheCatalogues: each field that a filter may name is compared in one
// way, and each way is of such a field, and so are the values of FieldHas. The ids of
// filter.AskBeside are compared for FieldNote.
func TestFiltersAreTheCatalogues(t *testing.T) {
	ways := map[string]int{filter.FieldDoc: 1, filter.FieldHas: 1, filter.FieldNote: 1}
	count(ways, parties)
	count(ways, texts)
	count(ways, codes)
	count(ways, columns)
	for _, name := range append(filter.Operations().Names(), "") {
		if ways[name] != 1 {
			t.Errorf("%q is compared in %d ways", name, ways[name])
		}
		delete(ways, name)
	}
	if len(ways) > 0 {
		t.Errorf("no filter has these names: %v", ways)
	}
	for _, flag := range filter.Flags {
		if beside := flag == filter.Doubt || flag == filter.Waiting; (has[flag] == "") != beside {
			t.Errorf("%s:%s", filter.FieldHas, flag)
		}
	}
}

func count[V any](names map[string]int, of map[string]V) {
	for name := range of {
		names[name]++
	}
}
