package cli

import (
	"bytes"
	"encoding/json"
	"testing"
	"time"
)

type inside struct {
	Deep []string `json:"deep"`
}

// TestEmptyListsAreNoNull: a list without anything is [] at any depth; null is kept for
// what is not known, and what is printed changes nothing of what was given.
func TestEmptyListsAreNoNull(t *testing.T) {
	type all struct {
		inside
		List       []inside        `json:"list"`
		Some       []inside        `json:"some"`
		To         *inside         `json:"to"`
		No         *inside         `json:"no"`
		Any        any             `json:"any"`
		Of         map[int]inside  `json:"of"`
		Unreported []int           `json:"unreported" null:"unreported"`
		Left       []int           `json:"left,omitempty"`
		Raw        json.RawMessage `json:"raw"`
		At         time.Time       `json:"at"`
	}
	given := all{Some: []inside{{}}, To: &inside{}, Any: []inside(nil), Of: map[int]inside{1: {}},
		Raw: json.RawMessage(`{"x":null}`)}
	r := &root{}
	for v, want := range map[any]string{
		&given:        `{"deep":[],"list":[],"some":[{"deep":[]}],"to":{"deep":[]},"no":null,"any":[],"of":{"1":{"deep":[]}},"unreported":null,"raw":{"x":null},"at":"0001-01-01T00:00:00Z"}`,
		(*all)(nil):   `null`,
		struct{}{}:    `{}`,
		[1]string{""}: `[""]`,
	} {
		var b bytes.Buffer
		if err := r.encode(&b, v, false); err != nil || b.String() != want+"\n" {
			t.Errorf("%s, %v", b.String(), err)
		}
	}
	if given.List != nil || given.Some[0].Deep != nil || given.To.Deep != nil {
		t.Errorf("what was given is now %+v", given)
	}
	var b bytes.Buffer
	if err := r.encode(&b, []inside(nil), false); err != nil || b.String() != "[]\n" {
		t.Errorf("%s, %v", b.String(), err)
	}
}
