package console

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"opdeck/api"
	"opdeck/internal/app"
	"opdeck/internal/app/config"
)

// TestWhichPrograms: the pager and the editor are those of the environment, found in PATH;
// less gets no flags, and cat is no pager.
func TestWhichPrograms(t *testing.T) {
	bin := t.TempDir()
	for _, name := range []string{"less", "most", "vi", "ed"} {
		if err := os.WriteFile(filepath.Join(bin, name), []byte("#!/bin/sh\n"), 0o700); err != nil {
			t.Fatal(err)
		}
	}
	t.Setenv("PATH", bin)
	for _, c := range []struct {
		env                            map[string]string
		pager, noPager, editor, noEdit string
	}{
		{map[string]string{}, "less", "", "", "No editor is named"},
		{map[string]string{"PAGER": "cat", "EDITOR": "ed"}, "less", "", "ed", ""},
		{map[string]string{"PAGER": "/bin/cat", "EDITOR": "ed", "VISUAL": "vi -n"}, "less", "", "vi -n", ""},
		{map[string]string{"PAGER": "less -rX"}, "less", "", "", "No editor"},
		{map[string]string{"PAGER": bin + "/less -r"}, bin + "/less", "", "", "No editor"},
		{map[string]string{"PAGER": "most -x"}, "most -x", "", "", "No editor"},
		{map[string]string{"PAGER": "gone -x", "VISUAL": "gone"}, "", "gone is not found. Set $PAGER", "", "gone is not found. Set $VISUAL"},
	} {
		p := newPrograms(&app.App{}, func(k string) string { return c.env[k] })
		for _, v := range []struct{ got, want, why, wantWhy string }{
			{p.pager.String(), c.pager, p.pager.why, c.noPager}, {p.editor.String(), c.editor, p.editor.why, c.noEdit},
		} {
			if v.got != v.want || !strings.Contains(v.why, v.wantWhy) || (v.why == "") != (v.wantWhy == "") {
				t.Errorf("%v: %q, %q; want %q, %q", c.env, v.got, v.why, v.want, v.wantWhy)
			}
		}
	}
}

// TestWhyNoViewer: over SSH and in plain mode there is none, whatever is configured.
func TestWhyNoViewer(t *testing.T) {
	a := &app.App{Config: config.Default(), State: "/state"}
	local := newPrograms(a, func(string) string { return "" })
	for _, c := range []struct {
		via      string
		programs *programs
		viewer   []string
		want     string
	}{
		{"ssh", nil, []string{"v", "{file}"}, "on the server"},
		{"console", nil, []string{"v", "{file}"}, "plain mode does not"},
		{"console", local, nil, "set viewer in [ui]"},
		{"console", local, []string{"v", "{file}"}, ""},
	} {
		a.Config.UI.Viewer = c.viewer
		d := &backend{App: a, programs: c.programs, noPrograms: noPrograms(api.Actor{Via: c.via})}
		name, folder, why := d.Viewer()
		if !strings.Contains(why, c.want) || (why == "") != (c.want == "") || why == "" && (name != "v {file}" || folder != "/state") {
			t.Errorf("%s %v: %q, %q, %q", c.via, c.viewer, name, folder, why)
		}
		if err := d.ViewDocument(t.Context(), "c", "d", "n"); err == nil {
			t.Errorf("%s %v: a program that is not there was run", c.via, c.viewer)
		}
	}
}
