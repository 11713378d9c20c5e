package ui

import (
	"testing"

	"opdeck/ui/widget"
)

// TestWrongField: the field that a refusal speaks of gets the focus.
func TestWrongField(t *testing.T) {
	fields := []widget.Field{{Label: "Operation"}, {Name: "file", Label: "File on this host"}, {Name: "type", Label: "Type", Optional: true}}
	for name, want := range map[string]int{"file": 1, "type": 2, "token": 0, "": 0} {
		if got := wrongField(fields, name); got != want {
			t.Errorf("%q: field %d, not %d", name, got, want)
		}
	}
	secret := []widget.Field{{Name: "name", Label: "Name"}, {Label: "Token", Secret: true}}
	if got := wrongField(secret, "name"); got != 0 {
		t.Errorf("beside a secret: field %d", got)
	}
	if got := wrongField(secret, ""); got != 1 {
		t.Errorf("of a secret: field %d", got)
	}
}
