package keymap

import (
	"maps"
	"strings"
	"testing"
)

// TestRemap: a key gets another press with its hint, and the old one no longer works; a conflict or a name that does not
// exist changes nothing and says why.
func TestRemap(t *testing.T) {
	m := New()
	if wrong := m.Remap(map[string]string{"document.remove": "D", "operation.history": "space"}); len(wrong) != 1 ||
		!strings.Contains(wrong["operation.history"], "space") || m.Documents.Remove.Keys()[0] != "x" {
		t.Errorf("%v, remove is %q", wrong, m.Documents.Remove.Keys())
	}
	if wrong := m.Remap(map[string]string{"document.remove": "D", "list.mark": "space"}); len(wrong) > 0 {
		t.Fatal(wrong)
	}
	k := m.Documents.Remove
	if !k.Match(Parse("D")) || k.Match(Parse("x")) || k.Help().Key != "D" || !m.List.Mark.Match(Parse(" ")) {
		t.Errorf("remove is %q, %q", k.Keys(), k.Help().Key)
	}
	for _, c := range []struct{ name, press, want string }{
		{"document.remove", "R", "R is also the key of document.replace (documents)"}, {"document.remove", "q", "q is also the key of quit"},
		{"document.remov", "D", "no key of this name"}, {"document.open", "D", "retired: w saves"}, {"dialog.yes", "Y", "cannot be changed"}, {"leave", "ctrl+q", "cannot be changed"},
		{"audit.list", "ctrl+a", "cannot be changed"}, {"document.remove", "ctrl+c", "must be one character"}, {"document.remove", "9", "must be one character"},
		{"document.remove", "ж", "must be one character"}, {"document.remove", "", "must be one character"}, {"document.remove", "xx", "must be one character"},
	} {
		one := New()
		if wrong := one.Remap(map[string]string{c.name: c.press}); !strings.Contains(wrong[c.name], c.want) || len(wrong) != 1 || one.Documents.Remove.Keys()[0] != "x" {
			t.Errorf("%s = %q: %v, want %q", c.name, c.press, wrong, c.want)
		}
	}
	swapped := New()
	if wrong := swapped.Remap(map[string]string{"document.remove": "R", "document.replace": "x"}); len(wrong) > 0 || !swapped.Documents.Replace.Match(Parse("x")) {
		t.Errorf("exchanged: %v", wrong)
	}
	if got := New(); !maps.Equal(got.Remap(nil), map[string]string{}) {
		t.Error("nothing to change is wrong")
	}
}
