package api

import (
	"net/url"
	"strings"
	"testing"
)

// Any text that people can see is an identifier; what leads elsewhere in a path, escaped or not, is none.
func TestCheckID(t *testing.T) {
	for _, id := range []string{"D7k3xbc-ERrj", "a/b", "a b", "ö✓", "100%", "a?b#c", "urn:op:1;v=2", "...", "a..b", strings.Repeat("x", MaxID)} {
		if err := CheckID("id", id); err != nil {
			t.Errorf("%q: %v", id, err)
		}
		u, err := url.Parse("https://h/v2/operation/" + EscapeID(id) + "/tree")
		if err != nil || u.Path != "/v2/operation/"+id+"/tree" || strings.Count(u.EscapedPath(), "/") != 4 || u.RawQuery != "" {
			t.Errorf("%q is not one segment: %v, %v", id, u, err)
		}
	}
	for _, id := range []string{"", ".", "..", "a/../b", `..\b`, "a/.", "a\x00", "a\nb", " a", "\u202ea", "\xff", strings.Repeat("x", MaxID+1)} {
		if CheckID("id", id) == nil {
			t.Errorf("%q passes", id)
		}
	}
}
