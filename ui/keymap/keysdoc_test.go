package keymap

import (
	"cmp"
	"flag"
	"fmt"
	"os"
	"slices"
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

// verbs are the letters that more than one key has, with what they do everywhere: one verb on different objects.
var verbs = map[string]string{
	"A": "accounts", "L": "live, not from what is stored", "P": "counterparties", "c": "columns", "d": "documents",
	"e": "export", "i": "its operations", "q": "back, and out of what is over the screen",
	"u": "send a file or an event", "x": "remove", "y": "copy", ".": "show more of it",
}

// answers reports whether k answers a question: nothing else is pressed while one is open.
func answers(k Key) bool { return k.Name == "dialog.yes" || k.Name == "dialog.no" }

// titled is a group of keys under the name of its place.
type titled struct {
	title string
	group any
}

// markdown are the tables of all keys for docs/keys.md, made from this package.
func markdown() string {
	m := New()
	screens := []titled{{"Operations", m.Operations}, {"Totals of operations", m.Totals}, {"Operation", m.Operation},
		{"What is known of an operation", m.Related}, {"Notes for colleagues", m.Notes}, {"Documents", m.Documents},
		{"A customer's files", m.Files}, {"Compliance", m.Compliance}, {"Limits", m.Tariffs}, {"Session", m.Session},
		{"Events", m.Events}, {"Webhook settings", m.Hooks}, {"Audit", m.Audit}, {"Approvals", m.Approvals}}
	var b strings.Builder
	for _, g := range []titled{{"Anywhere", m.Global}, {"Moving", m.Nav}, {"Lists", m.List},
		{"The thing under the cursor", m.Item}} {
		g.write(&b)
	}
	writeMeanings(&b, screens)
	for _, g := range []titled{{"Choosing columns", m.Columns}, {"A question", m.Dialog}, {"Input", m.Form},
		{"Raw JSON, help, activity", m.Viewer}, {"Menus and the palette", m.Menu}} {
		g.write(&b)
	}
	writeNames(&b, m)
	return strings.TrimSuffix(b.String(), "\n")
}

// writeNames writes the names by which the config changes keys.
func writeNames(b *strings.Builder, m *Map) {
	b.WriteString("**Names in `[keys]`**\n\n")
	var names []string
	for _, k := range m.Everything() {
		if !m.isFixed(k.Name) {
			names = append(names, "`"+k.Name+"` (`"+k.Help().Key+"`)")
		}
	}
	b.WriteString(strings.Join(names, ", ") + "\n\n")
}

// write writes the keys of a group as a table.
func (g titled) write(b *strings.Builder) {
	fmt.Fprintf(b, "**%s**\n\n| Key | Does |\n|---|---|\n", g.title)
	for _, k := range All(g.group) {
		fmt.Fprintf(b, "| %s | %s |\n", "`"+strings.Join(k.Shown(), "` `")+"`", does(k))
	}
	b.WriteByte('\n')
}

func does(k Key) string {
	if k.Writes {
		return k.Long + " (writes)"
	}
	return k.Long
}

// writeMeanings writes the keys of the screens as one table: each key once, with its meaning and its places.
func writeMeanings(b *strings.Builder, screens []titled) {
	var order []string
	where, hints := map[string][]string{}, map[string]string{}
	for _, g := range screens {
		for _, k := range All(g.group) {
			shown := "`" + strings.Join(k.Shown(), "` `") + "`"
			if _, known := where[shown]; !known {
				order = append(order, shown)
			}
			where[shown] = append(where[shown], g.title+": "+does(k))
			hints[shown] = cmp.Or(verbs[k.Keys()[0]], k.Help().Desc)
		}
	}
	slices.SortStableFunc(order, func(x, y string) int {
		return cmp.Or(cmp.Compare(strings.ToLower(x), strings.ToLower(y)), -cmp.Compare(x, y))
	})
	b.WriteString("**On the screens, by key: one key means the same on all of them**\n\n| Key | Means | Where |\n|---|---|---|\n")
	for _, shown := range order {
		fmt.Fprintf(b, "| %s | **%s** | %s |\n", shown, hints[shown], strings.Join(where[shown], "; "))
	}
	b.WriteByte('\n')
}
