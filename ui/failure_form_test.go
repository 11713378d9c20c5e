package ui

import (
	"testing"

	"opdeck/ui/widget"
)

// TestWrongField: the field that a refusal speaks of gets the focus.
func TestWrongField(t *testing.T) {
	fields := []widget.Field{{Label: "File on this host", Value: "~/deed.pdf"}, {Label: "Type (optional)", Value: "CONTRACCT"}, {Label: "Info (optional)"}}
	for said, want := range map[string]int{
		"Unknown document type: contracct": 1,
		"The type is not known.":           1,
		"~/deed.pdf cannot be read.":       0,
		"The info is too long.":            2,
		"The service failed.":              0,
		"":                                 0,
	} {
		if got := wrongField(fields, said); got != want {
			t.Errorf("%q: field %d, not %d", said, got, want)
		}
	}
	if got := wrongField([]widget.Field{{Label: "Name"}, {Label: "Token", Secret: true}}, "It was refused."); got != 1 {
		t.Errorf("of a secret: field %d", got)
	}
}
