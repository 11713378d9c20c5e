package api_test

import (
	"testing"

	"opdeck/api"
)

// TestReadID: ids as mails, sheets and browsers give them.
func TestReadID(t *testing.T) {
	const id = "62387cd9-6926-45b3-bf48-8a53f850c0b8"
	for text, want := range map[string]string{
		id: id, " " + id + "\r\n": id, "\ufeff" + id: id, "62387cd9‑6926‑45b3‑bf48‑8a53f850c0b8": id, "62387cd9–6926–45b3–bf48–8a53f850c0b8": id, `"` + id + `"`: id, "“" + id + "”,": id, "<" + id + ">": id,
		id + ",": id, id + ".": id, "(" + id + ")": id, "Operation: " + id: id, "Operation ID: " + id + ".": id, "opid=" + id: id, "https://pay.example/operations/" + id + "?tab=documents#x": id, "`" + id + "`": id,
		"see " + id + " please": id, id + " " + id: id, "62387cd9\u200b-6926-45b3-bf48-8a53f850c0b8": id, "６２３８７ｃｄ９－6926-45b3-bf48-8a53f850c0b8": id, "\u00a0" + id + "\u00a0": id,
		"DrAG8VQ-cgGo": "DrAG8VQ-cgGo", "'DrAG8VQ‑cgGo',": "DrAG8VQ-cgGo", "Customer: DrAG8VQ-cgGo": "DrAG8VQ-cgGo", "https://pay.example/customers/DrAG8VQ-cgGo/": "DrAG8VQ-cgGo", "_x-": "_x-",
		"62387cd": "62387cd", "62387cd…50c0b8": "62387cd…50c0b8", "62387cd...": "62387cd...", "oak iron": "oak iron", "": "", "a:b": "a:b", "id:b": "b", "op:1:2": "op:1:2",
		id + " 237f91db-a65d-4f18-a240-17ab808bf1b4": id + " 237f91db-a65d-4f18-a240-17ab808bf1b4",
	} {
		if got := api.ReadID(text); got != want {
			t.Errorf("%q is read as %q, want %q", text, got, want)
		}
	}
	if got := api.Unusual("62387сd9…x"); got != `'с' (U+0441)` {
		t.Error(got)
	}
}
