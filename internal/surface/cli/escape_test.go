package cli

import (
	"encoding/json"
	"strings"
	"testing"
)

func TestEscapeFormat(t *testing.T) {
	in := `{"a":"x` + "\u202e\u200b\U000e0041\u2028\u009b" + `é漢"}` + "\n"
	got := escapeFormat(in)
	for _, bad := range []string{"\u202e", "\u200b", "\U000e0041", "\u2028", "\u009b"} {
		if strings.Contains(got, bad) {
			t.Errorf("%q is left in %q", bad, got)
		}
	}
	var a, b map[string]string
	if json.Unmarshal([]byte(in), &a) != nil || json.Unmarshal([]byte(got), &b) != nil || a["a"] != b["a"] {
		t.Errorf("%q became %q", a["a"], b["a"])
	}
}
