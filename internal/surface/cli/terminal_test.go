package cli_test

import (
	"bytes"
	"context"
	"encoding/json"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"opdeck/api"
	"opdeck/internal/app"
	"opdeck/internal/present"
	"opdeck/internal/surface/cli"
)

// person is someone at a terminal.
type person struct {
	t        *testing.T
	dir      string
	flags    []string
	out, err bytes.Buffer
}

func atTerminal(t *testing.T) *person {
	dir := t.TempDir()
	return &person{t: t, dir: dir, flags: []string{"--config", filepath.Join(dir, "c.toml"), "--state",
		filepath.Join(dir, "state")}}
}

// customer is the id of the first customer.
func (p *person) customer(t *testing.T) string {
	t.Helper()
	if code := p.runs("", "", "customer", "list", "-o", "csv"); code != 0 {
		t.Fatal(p.err.String())
	}
	return strings.Split(strings.Split(p.out.String(), "\n")[1], ",")[0]
}

// runs runs a command with what is typed and what is typed hidden.
func (p *person) runs(typed, hidden string, args ...string) int {
	p.out.Reset()
	p.err.Reset()
	env := cli.Env{Args: append(p.flags, args...), In: strings.NewReader(typed), Out: &p.out, Err: &p.err, InTTY: true,
		Getenv: func(k string) string { return map[string]string{"HOME": p.dir}[k] }, Version: "test",
		Secret: func(prompt string) (string, error) { p.err.WriteString(prompt); return hidden, nil }}
	return cli.Run(context.Background(), env)
}

func TestConfigInitAsks(t *testing.T) {
	t.Parallel()
	p := atTerminal(t)
	kept := filepath.Join(p.dir, "secret")
	if err := os.WriteFile(kept, []byte("a password\n"), 0o600); err != nil { // config check reads it
		t.Fatal(err)
	}
	answers := "st ge\nsandbox!\n\"\nstage\nhttp://far.example.com\nhttps://stage.example.com\nm@example.com\nfile:" + kept + "\nmaybe\nproduction\n"
	if code := p.runs(answers, "", "config", "init", "--offline"); code != 0 {
		t.Fatalf("exit %d: %s", code, p.err.String())
	}
	for _, want := range []string{"This creates ", "Name of the context [stage]: a context's name consists of letters",
		"…: plain http:// is refused", "Where to find it [OPDECK_PASSWORD]: ", "Kind, test or production [test]: "} {
		if !strings.Contains(p.err.String(), want) {
			t.Errorf("%q was not said: %s", want, p.err.String())
		}
	}
	file := filepath.Join(p.dir, "c.toml")
	b, err := os.ReadFile(file)
	if err != nil {
		t.Fatal(err)
	}
	for _, want := range []string{"[contexts.stage]", `base_url = "https://stage.example.com"`,
		`password_file = "` + kept + `"`, `kind = "production"`} {
		if !strings.Contains(string(b), want) {
			t.Errorf("%s is not in\n%s", want, b)
		}
	}
	if info, err := os.Stat(file); err != nil || info.Mode().Perm() != 0o600 {
		t.Errorf("mode %v %v", info.Mode(), err)
	}
	if code := p.runs("", "", "config", "check"); code != 0 {
		t.Errorf("what init wrote has mistakes: %s", p.err.String())
	}
}

func TestConfigInitStops(t *testing.T) {
	t.Parallel()
	p := atTerminal(t)
	if code := p.runs("stage\n", "", "config", "init", "--offline"); code != 130 {
		t.Errorf("exit %d: %s", code, p.err.String())
	}
	if code := p.runs("stage\nhttps://x.example\nm\nhunter 2!\n\n", "", "config", "init", "--offline"); code != 130 ||
		strings.Contains(p.err.String(), "hunter") ||
		!strings.Contains(p.err.String(), "do not put the password itself into the file") {
		t.Errorf("a password as the name of a variable: exit %d: %s", code, p.err.String())
	}
	if _, err := os.Stat(filepath.Join(p.dir, "c.toml")); err == nil {
		t.Error("something was written")
	}
}

// TestConfigInitLooks: after the questions each step to the service is looked at,
// and the last line says what comes next.
func TestConfigInitLooks(t *testing.T) {
	t.Parallel()
	for command, want := range map[string]string{"echo secret": "Next: opdeck opens the console",
		"false": "Fix the error, then run opdeck doctor"} {
		p := atTerminal(t)
		// No one listens on port 1; the built-in service needs no address.
		args := []string{"config", "init", "--name", "s", "--sandbox", "--kind", "test"}
		if command == "false" {
			args = []string{"config", "init", "--name", "s", "--base-url", "http://127.0.0.1:1", "--login", "m",
				"--password-command", command, "--kind", "test"}
		}
		code := p.runs("", "", args...)
		if (code == 0) != (command != "false") || !strings.Contains(p.err.String(), want) ||
			strings.Contains(p.err.String(), "This creates") {
			t.Errorf("%s: exit %d: %s%s", command, code, p.err.String(), p.out.String())
		}
	}
}

// TestFarewell: a person who tried the built-in service gets the next steps; one with a config does not.
func TestFarewell(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	file := filepath.Join(dir, "c.toml")
	if err := os.WriteFile(file, []byte("[contexts.s]\nsandbox = true\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	for _, flags := range [][]string{{"--state", filepath.Join(dir, "a")}, {"--state", filepath.Join(dir, "b"), "--config",
		file}} {
		var out, errs bytes.Buffer
		opened := false
		env := cli.Env{Args: flags, In: strings.NewReader(""), Out: &out, Err: &errs, InTTY: true, OutTTY: true,
			Getenv:  func(k string) string { return map[string]string{"HOME": dir}[k] },
			Console: func(context.Context, *app.App, cli.ConsoleOptions) error { opened = true; return nil }}
		if code := cli.Run(t.Context(), env); code != 0 || !opened {
			t.Fatalf("exit %d: %s", code, errs.String())
		}
		said := strings.Contains(errs.String(), "opdeck config init") && strings.Contains(errs.String(), "opdeck --help") &&
			strings.Contains(errs.String(), "opdeck doctor")
		if said != (len(flags) == 2) || out.Len() > 0 {
			t.Errorf("%v: %q", flags, errs.String())
		}
	}
}

// TestCodeOnATerminal: a QR code brings its ground where colours may be used.
func TestCodeOnATerminal(t *testing.T) {
	t.Parallel()
	p := atTerminal(t)
	p.flags = p.flags[2:] // no config: the built-in service
	cuid := p.customer(t)
	for _, c := range []struct {
		tty, noColor, want bool
	}{{true, false, true}, {true, true, false}, {false, false, false}} {
		var out, errs bytes.Buffer
		env := cli.Env{Args: append(slices.Clone(p.flags), "compliance", "link", cuid, "--qr", "--yes"),
			In: strings.NewReader(""), Out: &out, Err: &errs, OutTTY: c.tty,
			Getenv: func(k string) string {
				if k == "NO_COLOR" && c.noColor {
					return "1"
				}
				return map[string]string{"HOME": p.dir}[k]
			}}
		if code := cli.Run(t.Context(), env); code != 0 || !strings.Contains(out.String(), "█▀") {
			t.Fatalf("exit %d: %s%s", code, out.String(), errs.String())
		}
		if got := strings.Contains(out.String(), "\x1b[97;40m"); got != c.want {
			t.Errorf("%+v: a ground of its own: %v", c, got)
		}
	}
}

func TestQuestionsOnATerminal(t *testing.T) {
	t.Parallel()
	p := atTerminal(t)
	p.flags = p.flags[2:] // no config: the built-in service
	cuid := p.customer(t)
	for _, no := range []string{"\n", "n\n", "no\n", "yess\n"} {
		if code := p.runs(no, "", "compliance", "finalize", cuid); code != 2 ||
			!strings.Contains(p.err.String(), "nothing was sent") {
			t.Errorf("%q: exit %d: %s", no, code, p.err.String())
		}
	}
	if code := p.runs("", "", "compliance", "finalize", cuid); code != 130 {
		t.Errorf("end of input: exit %d: %s", code, p.err.String())
	}
	if code := p.runs("y\n", "demo-corporate-ok-77", "compliance", "share", cuid); code != 0 ||
		!strings.Contains(p.err.String(), "Share token (not shown)") {
		t.Errorf("exit %d: %s", code, p.err.String())
	}
	if strings.Contains(p.out.String()+p.err.String(), "demo-corporate") {
		t.Error("the token is shown")
	}
	if code := p.runs("y\n", "", "compliance", "finalize", cuid); code != 0 {
		t.Errorf("exit %d: %s", code, p.err.String())
	}
}

// TestShareWarnsAtBothDoors: the command says of an accepted customer what the screen says, before it asks and with
// --yes, and of no other.
func TestShareWarnsAtBothDoors(t *testing.T) {
	t.Parallel()
	p := atTerminal(t)
	p.flags = p.flags[2:] // no config: the built-in service
	if code := p.runs("", "", "customer", "list", "--output", "json"); code != 0 {
		t.Fatal(p.err.String())
	}
	var list struct{ Items []api.Customer }
	if err := json.Unmarshal(p.out.Bytes(), &list); err != nil {
		t.Fatal(err)
	}
	tried := map[bool]int{}
	for _, c := range list.Items {
		risk := present.ShareRisk(c)
		if tried[risk != ""]++; tried[risk != ""] > 1 {
			continue
		}
		for _, args := range [][]string{nil, {"--yes"}} {
			p.runs("n\n", "demo-corporate-none", append([]string{"compliance", "share", string(c.CUID)}, args...)...)
			if got := strings.Contains(p.err.String(), " already. A token"); got != (risk != "") {
				t.Errorf("%s, %s %v: warned %v:\n%s", c.CUID, c.Status, args, got, p.err.String())
			}
		}
	}
	if tried[true] == 0 || tried[false] == 0 {
		t.Errorf("only customers of one kind were tried: %v", tried)
	}
}

// TestProductionAsksForTheID: y is not enough where it is real.
func TestProductionAsksForTheID(t *testing.T) {
	t.Parallel()
	p := atTerminal(t)
	if err := os.WriteFile(filepath.Join(p.dir, "c.toml"),
		[]byte("[contexts.live]\nsandbox = true\nkind = \"production\"\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	cuid := p.customer(t)
	if code := p.runs(cuid[len(cuid)-4:]+"\n", "demo-corporate-ok-78", "compliance", "share", cuid); code != 0 {
		t.Fatal(p.err.String())
	}
	for _, no := range []string{"y\n", "yes\n", "\n"} {
		if code := p.runs(no, "", "compliance", "finalize", cuid); code != 2 ||
			!strings.Contains(p.err.String(), "PRODUCTION") {
			t.Errorf("%q: exit %d: %s", no, code, p.err.String())
		}
	}
	if code := p.runs(cuid[len(cuid)-4:]+"\n", "", "compliance", "finalize", cuid); code != 0 {
		t.Errorf("exit %d: %s", code, p.err.String())
	}
	for _, row := range [][]string{{"session", "refresh", "dbox"}, {"session", "reset", "dbox"},
		{"hook", "set", "--operations", "ings"}} { // as in the console, not the name of the context
		command, end := row[:len(row)-1], row[len(row)-1]
		if code := p.runs("live\n", "", command...); code != 2 || !strings.Contains(p.err.String(), ", "+end+", to continue") {
			t.Errorf("%q: exit %d: %s", command, code, p.err.String())
		}
		if code := p.runs(end+"\n", "", command...); code != 0 {
			t.Errorf("%q: exit %d: %s", command, code, p.err.String())
		}
	}
}
