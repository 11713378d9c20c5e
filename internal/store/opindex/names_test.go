package opindex

import (
	"slices"
	"testing"

	"opdeck/internal/domain/index/filter"
	"opdeck/internal/field"
)

// TestOrdersAreTheCatalogues: each field that the catalogue calls sortable has one
// order, and each order is of such a field, under the catalogue's own name.
func TestOrdersAreTheCatalogues(t *testing.T) {
	orders := map[string]int{}
	count(orders, columns)
	count(orders, codes)
	count(orders, sides)
	for _, name := range field.Operations.Sortable() {
		if orders[name] != 1 {
			t.Errorf("%s has %d orders", name, orders[name])
		}
		delete(orders, name)
	}
	if len(orders) > 0 {
		t.Errorf("the catalogue has no sortable field of these names: %v", orders)
	}
}

// TestFiltersAreTheCatalogues: each field that a filter may name is compared in one
// way, and each way is of such a field. FieldHas is compared in two: rowFlags. The ids of
// filter.AskBeside are compared for FieldNote.
func TestFiltersAreTheCatalogues(t *testing.T) {
	ways := map[string]int{filter.FieldDoc: 1, filter.FieldHas: 1, filter.FieldNote: 1}
	count(ways, parties)
	count(ways, texts)
	for _, name := range kindFields {
		ways[name]++
	}
	for name := range columns {
		if _, ok := ordered(name); ok {
			ways[name]++
		}
	}
	for _, name := range append(filter.Operations().Names(), "") {
		if ways[name] != 1 {
			t.Errorf("%q is compared in %d ways", name, ways[name])
		}
		delete(ways, name)
	}
	if len(ways) > 0 {
		t.Errorf("no filter has these names: %v", ways)
	}
	for flag := range rowFlags {
		if !slices.Contains(filter.Flags, flag) {
			t.Errorf("%s has no value %s", filter.FieldHas, flag)
		}
	}
}

func count[V any](names map[string]int, of map[string]V) {
	for name := range of {
		names[name]++
	}
}
