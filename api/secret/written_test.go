package secret

import (
	"strings"
	"testing"
	"unicode/utf16"
)

// TestWritten: a text that is only the secret is read, with or without one line end; what editors and shells add is
// named and never shown.
func TestWritten(t *testing.T) {
	const p = "pass wörd-0123456789"
	var utf16le []byte
	for _, u := range utf16.Encode([]rune(p)) {
		utf16le = append(utf16le, byte(u), byte(u>>8))
	}
	for text, want := range map[string]string{
		p: "", p + "\n": "", p + "\r\n": "", `"` + p: "", "it's": "",
		"": "is empty", "\n": "is empty", "  \n": "is empty",
		p + "\n\n": "ends with an empty line", p + "\n" + p: "has 2 lines",
		"\ufeff" + p: "begins with a BOM", "\xff\xfe" + string(utf16le): "is UTF-16", string(utf16le): "is UTF-16",
		"p\xe4ss": "is not UTF-8", p + "\u00a0": "U+00A0", "\u00a0" + p: "U+00A0", "a\u2007b": "U+2007", "a\u200bb": "U+200B",
		p + "\t": "U+0009", p + "\r": "U+000D", p + " ": "ends with a blank", p + " \r\n": "ends with a blank",
		" " + p: "begins with a blank", `"` + p + `"`: "in quotes", "'" + p + "'\n": "in quotes", "“" + p + "”": "in quotes",
		"„" + p + "“": "in quotes", strings.Repeat("x", MaxWritten+1): "is longer than 4096 bytes",
	} {
		v, err := Written([]byte(text), 1)
		switch {
		case want == "" && (err != nil || v.Reveal() != strings.TrimRight(text, "\r\n")):
			t.Errorf("%q: %q, %v", text, v.Reveal(), err)
		case want != "" && (err == nil || !v.Empty() || !strings.Contains(err.Error(), want)):
			t.Errorf("%q: %v, want %s", text, err, want)
		case err != nil && strings.Contains(err.Error(), p):
			t.Errorf("%q is shown: %v", text, err)
		}
	}
	if v, err := Written([]byte(p+"\r\nold\r\n"), 2); err != nil || v.Reveal() != p+"\nold" {
		t.Errorf("two lines: %v", err)
	}
	if _, err := Written([]byte(p+"\n'old'"), 2); err == nil {
		t.Error("quotes on the second line are taken")
	}
}
