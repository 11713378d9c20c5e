package keymap

import (
	"fmt"
	"strings"
)

// Markdown is the table of all keys for docs/keys.md, made from this package.
func Markdown() string {
	m := New()
	var b strings.Builder
	for _, g := range []struct {
		title string
		group any
	}{
		{"Anywhere", m.Global}, {"Moving", m.Nav}, {"Lists", m.List}, {"The thing under the cursor", m.Item},
		{"Operations", m.Operations}, {"Choosing columns", m.Columns}, {"Operation", m.Operation}, {"What is known of an operation", m.Related}, {"Documents", m.Documents}, {"Compliance", m.Compliance},
		{"Limits", m.Tariffs}, {"Session", m.Session}, {"Events", m.Events}, {"Webhook settings", m.Hooks}, {"Audit", m.Audit},
		{"A question", m.Dialog}, {"Input", m.Form}, {"Raw JSON, help, activity", m.Viewer}, {"Menus and the palette", m.Menu},
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
