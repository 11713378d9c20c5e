package keymap

import (
	"strings"
	"testing"

	"opdeck/api"
	"opdeck/internal/act"
)

// TestMadeUpKey holds that a key's words, and what bars it, come from the row of its
// act alone.
func TestMadeUpKey(t *testing.T) {
	k := of(&act.Act{Name: "made.up", Effect: act.Write, Need: api.MayCompliance,
		Key: act.Key{Press: "ctrl+x", Hint: "make up", Help: "make something up (asks)"}})
	if k.Name != "made.up" || k.Help().Key != "ctrl+x" || k.Help().Desc != "make up" || k.Long != "make something up (asks)" || !k.Writes {
		t.Errorf("the key is %+v", k)
	}
	m := &Map{Compliance: Compliance{Share: k}}
	m.ReadOnly("read-only")
	if why := m.Compliance.Share.Why(); !strings.Contains(why, "read-only") {
		t.Errorf("read-only it is %q", why)
	}
	m = &Map{Compliance: Compliance{Share: k}}
	m.Allow(func(k Key) string {
		if k.Act != nil && k.Act.Refusal(api.Viewer, false) != nil {
			return "not for a viewer"
		}
		return ""
	})
	if !m.Compliance.Share.Barred() {
		t.Error("a viewer may press it")
	}
}
