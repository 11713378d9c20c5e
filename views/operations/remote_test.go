package operations

import (
	"encoding/base64"
	"strings"
	"testing"

	"github.com/aymanbagabas/go-osc52/v2"

	"opdeck/api/untrusted"
	"opdeck/internal/domain/index/filter"
	"opdeck/ui"
	"opdeck/ui/uitest"
	"opdeck/ui/uitest/shelltest"
)

// TestExportsOverSSHAreCommands: no form opens that would write a file on the server.
func TestExportsOverSSHAreCommands(t *testing.T) {
	const host = "ssh -p 2222 ana@192.0.2.7 "
	for name, c := range map[string]struct {
		keys []string
		copy string
	}{
		"export":        {[]string{"e"}, host + "operation export - --sort -created -o csv > FILE"},
		"marked":        {[]string{" ", "e"}, host + "operation export - --filter id:" + id(0) + " --sort -created -o csv > FILE"},
		"totals":        {[]string{"T", "tab", "e"}, host + "operation totals --by currency -o csv > FILE"},
		"too many mark": {[]string{"*", "e"}, ""},
	} {
		t.Run(name, func(t *testing.T) {
			copied := ""
			d := open(t, &fake{n: 40}, func(o *ui.Options) {
				o.About.Remote, o.About.Role = strings.TrimSpace(host), "admin"
				o.Copy = func(text []osc52.Sequence) error { copied = text[0].String(); return nil }
			})
			d.keys(c.keys...)
			if c.copy == "" {
				d.Has("40 marked operations are too many")
				return
			}
			d.Has("Files here are on the server.", "y copy the command")
			d.Send(d.clock.Wait(shelltest.Armed), uitest.Key("y"))
			if want := base64.StdEncoding.EncodeToString([]byte(c.copy)); !strings.Contains(copied, want) {
				t.Errorf("copied %q, not %q\n%s", copied, c.copy, d.View())
			}
		})
	}
}

// TestNamedOperationsAreAFilter: what a command names is read back as it was meant.
func TestNamedOperationsAreAFilter(t *testing.T) {
	var ids []string
	for i := range mostNamed {
		ids = append(ids, id(i))
	}
	text := filter.OfIDs(ids).String()
	if f, err := filter.Parse(text); err != nil || f.String() != text || untrusted.Text(text).Flags().Suspicious() {
		t.Errorf("%v: %s", err, text)
	}
}
