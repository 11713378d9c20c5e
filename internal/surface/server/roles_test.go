package server_test

import (
	"bytes"
	"os"
	"strings"
	"testing"

	"opdeck/api"
	"opdeck/internal/app"
	"opdeck/internal/surface/cli"
	"opdeck/internal/surface/server/roletest"
)

// TestRolesByCommand: in this process and over SSH, who lacks the permission is refused with exit code 5 in words that
// name the roles that have it, nothing is sent, and the attempt is recorded once;
// who has it gets as far as the service.
func TestRolesByCommand(t *testing.T) {
	t.Parallel()
	p := prepare(t, "")
	b, err := os.ReadFile(p.file("config.toml"))
	if err != nil {
		t.Fatal(err)
	}
	limits := roletest.Config[strings.Index(roletest.Config, "per_minute"):]
	p.write("config.toml", strings.Replace(string(b), "policy = \"warn\"\n", "policy = \"warn\"\n"+limits, 1))
	w := &roletest.World{}
	p.startOn(w.Now, func(a *app.App) { w.Use(t, a) })
	for _, r := range roletest.Smoke() {
		if r.Command == "" {
			continue
		}
		w.Later()
		for _, role := range roletest.SmokeRoles {
			for _, way := range []string{"locally", "over SSH"} {
				words := w.Objects(r)
				m, command, in := w.Mark(), words.Fill(r.Command), words.Fill(r.In)
				name := "p-" + string(role)
				var out, errs string
				var code int
				if way == "locally" {
					name = "l-" + string(role)
					var o, e bytes.Buffer
					code = cli.Run(t.Context(), cli.Env{Args: strings.Fields(command), In: strings.NewReader(in), Out: &o, Err: &e,
						App:    w.App,
						Getenv: func(string) string { return "" }, Actor: roletest.Known(api.Actor{Name: name, Role: role, Via: "command",
							From: "here"})})
					out, errs = o.String(), e.String()
				} else {
					out, errs, code = p.run(role, in, command)
				}
				refused := code == 5 && strings.Contains(errs, "Your role ("+string(role)+") may not "+string(r.Need)) &&
					strings.Contains(errs, "Roles that may: "+api.WhoMay(r.Need)+".")
				if !refused && code != 0 && !strings.Contains(errs, "The service refused this") {
					t.Errorf("%s, %s as %s: exit %d: %s", r.Name, way, role, code, errs)
				}
				if refused && out != "" {
					t.Errorf("%s, %s as %s: refused, and yet there is %q", r.Name, way, role, out)
				}
				w.Check(m, r, way, role, name, errs, refused)
			}
		}
	}
}
