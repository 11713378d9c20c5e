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
	all := act.All() // the table itself
	before := all[0]
	all[0] = act.Act{Name: "made.up", Effect: act.Write, Need: api.MayCompliance, Key: act.Key{Press: "ctrl+x", Hint: "make up", Help: "make something up (asks)"}}
	defer func() { all[0] = before }()

	k := of("made.up")
	if k.Name != "made.up" || k.Help().Key != "ctrl+x" || k.Help().Desc != "make up" || k.Long != "make something up (asks)" || !k.Writes {
		t.Errorf("the key is %+v", k)
	}
	m := &Map{Compliance: Compliance{Share: k}}
	m.ReadOnly("read-only")
	if why := m.Compliance.Share.Why(); !strings.Contains(why, "read-only") {
		t.Errorf("read-only it is %q", why)
	}
	m = &Map{Compliance: Compliance{Share: k}}
	m.Allow(func(name string) string {
		if a, ok := act.Find(name); ok && a.Refusal(api.Viewer, false) != nil {
			return "not for a viewer"
		}
		return ""
	})
	if !m.Compliance.Share.Barred() {
		t.Error("a viewer may press it")
	}
}
