package keymap

import (
	"flag"
	"fmt"
	"os"
	"strings"
	"testing"
)

var update = flag.Bool("update", false, "write docs/keys.md")

// TestKeysDocument holds the table in docs/keys.md against the keys as they are
// declared.
func TestKeysDocument(t *testing.T) {
	const file, from, to = "../../docs/keys.md", "<!-- keys: written by `go test ./ui/keymap -update` -->\n",
		"<!-- /keys -->"
	b, err := os.ReadFile(file)
	if err != nil {
		t.Fatal(err)
	}
	head, rest, ok := strings.Cut(string(b), from)
	_, tail, ok2 := strings.Cut(rest, to)
	if !ok || !ok2 {
		t.Fatal("docs/keys.md has no place for the table")
	}
	want := head + from + "\n" + markdown() + "\n" + to + tail
	if want == string(b) {
		return
	}
	if !*update {
		t.Fatal("docs/keys.md is not today's; go test ./ui/keymap -update writes it")
	}
	if err := os.WriteFile(file, []byte(want), 0o644); err != nil {
		t.Fatal(err)
	}
}

// markdown is the table of all keys for docs/keys.md, made from this package.
func markdown() string {
	m := New()
	var b strings.Builder
	for _, g := range []struct {
		title string
		group any
	}{
		{"Anywhere", m.Global}, {"Moving", m.Nav}, {"Lists", m.List}, {"The thing under the cursor", m.Item},
		{"Operations", m.Operations}, {"Totals of operations", m.Totals}, {"Choosing columns", m.Columns},
		{"Operation", m.Operation}, {"What is known of an operation", m.Related}, {"Notes for colleagues", m.Notes}, {"Documents", m.Documents},
		{"A customer's files", m.Files}, {"Compliance", m.Compliance},
		{"Limits", m.Tariffs}, {"Session", m.Session}, {"Events", m.Events}, {"Webhook settings", m.Hooks},
		{"Audit", m.Audit}, {"Approvals", m.Approvals},
		{"A question", m.Dialog}, {"Input", m.Form}, {"Raw JSON, help, activity", m.Viewer},
		{"Menus and the palette", m.Menu},
	} {
		fmt.Fprintf(&b, "**%s**\n\n| Key | Does |\n|---|---|\n", g.title)
		for _, k := range All(g.group) {
			does := k.Long
			if k.Writes {
				does += " (writes)"
			}
			fmt.Fprintf(&b, "| %s | %s |\n", "`"+strings.Join(k.Shown(), "` `")+"`", does)
		}
		b.WriteByte('\n')
	}
	return strings.TrimSuffix(b.String(), "\n")
}
