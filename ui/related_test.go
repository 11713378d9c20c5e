package ui_test

import (
	"testing"

	"opdeck/ui"
	"opdeck/ui/keymap"
)

// subject is what a screen is about.
type subject struct{ operation, customer string }

func (s subject) Subject(kind string) string {
	if kind == ui.KindOperation {
		return s.operation
	}
	return s.customer
}

func TestTakeRelated(t *testing.T) {
	k := keymap.New().Related
	for _, c := range []struct {
		key  string
		of   subject
		want ui.Action
	}{
		{"h", subject{"7f3a", ""}, ui.Open{Place: ui.Place{Kind: ui.KindHistory, ID: "7f3a"}}},
		{"C", subject{"7f3a", "D1"}, ui.Open{Place: ui.Place{Kind: ui.KindCompliance, ID: "D1"}}},
		{"C", subject{"7f3a", ""}, ui.Notify{Level: ui.Denied, Text: "This operation names no customer."}},
		{"h", subject{}, ui.Notify{Level: ui.Denied, Text: "There is no operation under the cursor."}},
		{"C", subject{}, ui.Notify{Level: ui.Denied, Text: "There is no operation under the cursor."}},
		{"x", subject{"7f3a", "D1"}, nil},
	} {
		if got, ok := ui.TakeRelated(k, keymap.Parse(c.key), c.of); got != c.want || ok != (c.want != nil) {
			t.Errorf("%s of %+v: %+v, %v", c.key, c.of, got, ok)
		}
	}
}
