package config

import (
	"context"
	"errors"
	"flag"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
	"time"
)

func example(t *testing.T) string {
	t.Helper()
	b, err := os.ReadFile("../../../config.example.toml")
	if err != nil {
		t.Fatal(err)
	}
	return string(b)
}

// TestExample: the example file is what the declaration says, and says the defaults; without its leading # the
// sections with names of their own are valid too.
func TestExample(t *testing.T) {
	src := example(t)
	if src != Example() {
		if err := os.WriteFile("../../../config.example.toml", []byte(Example()), 0o644); *update && err != nil {
			t.Fatal(err)
		}
		t.Fatal("config.example.toml is not what keys.go says: go test ./internal/app/config -update")
	}
	c, err := Parse("f", []byte(src))
	want := Default()
	want.Path = "f"
	if err != nil || !alike(c, want) {
		t.Errorf("%v; the example says\n%+v\nthe defaults are\n%+v", err, c, want)
	}
	c, err = Parse("f", []byte(regexp.MustCompile(`(?m)^# ((# )?[\[a-z_.-]+( = .*)?\]?)$`).ReplaceAllString(src, "$1")))
	x := c.Contexts["stage"]
	if err != nil || x.Login != "machine@example.com" || x.Timeout != seconds(15) || c.Lend.Borrowers["nightly"].KeyEnv == "" ||
		c.Views["pending-eur"].Sort != "-amount" || c.Presses()["document.remove"] != "D" {
		t.Errorf("%v: %+v", err, c)
	}
}

var update = flag.Bool("update", false, "write config.example.toml")

// alike compares by what a file says.
func alike(a, b Config) bool { return a.Text() == b.Text() && a.Path == b.Path }

func TestMistakesNameLineAndKey(t *testing.T) {
	const ctx = "[contexts.a]\nbase_url = \"https://x\"\nlogin = \"m\"\npassword_env = \"P\"\n"
	for _, c := range []struct{ src, want string }{
		{"[stroe]\nurl = \"sqlite\"\n", `f:1: stroe: unknown key; did you mean store?`},
		{"[store]\n\nurll = 1\n", `f:3: store.urll: unknown key; did you mean url?`},
		{ctx + "pasword = \"hunter2\"\n", `f:5: contexts.a.pasword: unknown key`},
		{"[store]\nurl = 5\n", `f:2: store.url: `},
		{"[store\n", `f:2: expected`},
		{"[store]\nurl = \"a\"\nurl = \"b\"\n", `f:3: `},
		{"[store]\nurl = \"mysql://x\"\n", `f:2: store.url: must be`},
		{"[store]\nurl = \"postgres://h/d\"\n", `store.key_file: is required with PostgreSQL`},
		{"[limits]\nmax_wait = \"soon\"\n", `f:2: limits.max_wait: a duration like`},
		{"[limits]\nmax_wait = \"-1s\"\n", `f:2: limits.max_wait: must be above zero`},
		{"[retention]\ndays = \"90d\"\n", `f:2: retention.days: must be a whole number`},
		{"[retention]\ndays = -3\n", `f:2: retention.days: must be from 0`},
		{"retention = 3\n", `f:1: retention: must be a section`},
		{"[retention]\nold = \"1d\"\n", `f:2: retention.old: unknown key`},
		{"[notify]\ncomand = [\"x\"]\n", `f:2: notify.comand: unknown key; did you mean command?`},
		{"[notify]\ncommand = \"x\"\n", `f:2: notify.command: `},
		{"[notify]\ncommand = [\"x\"]\nurl = \"https://h/p\"\n", `f:3: notify.url: command and url exclude each other`},
		{"[notify]\ncommand = [\"bin/x\"]\n", `f:2: notify.command: the program must be an absolute path`},
		{"[notify]\ncommand = [\"x\"]\nsecret_env = \"S\"\n", `f:1: notify: a secret belongs to url`},
		{"[notify]\nurl = \"http://h.example/p\"\nsecret_env = \"S\"\n", `f:2: notify.url: plain http`},
		{"[notify]\nurl = \"https://h.example/p\"\n", `f:2: notify.url: exactly one of secret_env`},
		{"[notify]\nmin = \"bad\"\n", `f:2: notify.min: must be one of warning, critical`},
		{"[serve]\nlog_format = \"text\"\n", `f:2: serve.log_format: must be one of logfmt, json`},
		{"[serve]\nlog_level = \"trace\"\n", `f:2: serve.log_level: must be one of debug`},
		{"[audit]\narchive = \"here\"\n", "f:2: audit.archive: retired: audit records stay in the store"},
		{"[lend]\nsocket = \"here\"\n", "f:2: lend.socket: must be an absolute path"},
		{"[limits]\npolicy = \"maybe\"\n", `f:2: limits.policy: must be one of wait, warn`},
		{"[limits]\nper_minute = { biling = 3 }\n", `f:2: limits.per_minute: biling is not an endpoint class`},
		{"[limits.per_minute]\nbilling = 0\n", `f:1: limits.per_minute: billing must be from 1`},
		{"[keys]\ndocument.remove = 5\n", `f:2: keys.document.remove: must be a key in quotes`},
		{"[ui]\ntheme = \"pink\"\n", `f:2: ui.theme: must be one of auto`},
		{"[ui]\ncolumns = [\"id\", \"colour\"]\n", `f:2: ui.columns: there is no column "colour"; use one of created, status`},
		{"[views.a]\nfilter = \"\"\ncolumns = [\"fee\", \"fee\"]\n",
			`f:3: views.a.columns: the column commission is listed twice`},
		{"[views.a]\ncolumns = [\"created:5\"]\n", `f:2: views.a.columns: the width of created must be from 16 to 200`},
		{"[views.a]\ncolumns = \"fee\"\n", `f:2: views.a.columns: `},
		{"default_context = \"b\"\n" + ctx, `f:1: default_context: there is no [contexts.b]`},
		{strings.Replace(ctx, "https://x", "http://far.example.com", 1),
			`f:2: contexts.a.base_url: plain http:// is refused`},
		{ctx + "password_file = \"x\"\n", `f:1: contexts.a: exactly one of password_env`},
		{ctx + "kind = \"prod\"\n", `f:5: contexts.a.kind: must be one of test, production`},
		{ctx + "role = \"root\"\n", `f:5: contexts.a.role: must be viewer`},
		{"[webhooks]\nlisten = \"0.0.0.0:1\"\nverify = \"none\"\n", `"none" is allowed on a loopback address only`},
		{"[webhooks]\nlisten = \"127.0.0.1:1\"\n", `secret_env or secret_file is required`},
		{"[ssh]\nlisten = \"127.0.0.1:1\"\n", `host_key is required`},
		{"[service]\nlist_page_size = 0\n", `f:2: service.list_page_size: must be from 1`},
		{"[service]\nstatus_words = { X = \"gone\" }\n", `f:2: service.status_words: X must be one of open`},
	} {
		_, err := Parse("f", []byte(c.src))
		if err == nil || !strings.Contains(err.Error(), c.want) {
			t.Errorf("%q\n gives %v\n want %s", c.src, err, c.want)
		}
		if err != nil && strings.Contains(err.Error(), "hunter2") {
			t.Errorf("a value shows in %v", err)
		}
		var m Mistakes
		if err != nil && !errors.As(err, &m) {
			t.Errorf("%T is not Mistakes", err)
		}
	}
}

func TestOneClassKeepsTheOthers(t *testing.T) {
	c, err := Parse("f", []byte("[limits.per_minute]\nbilling = 6\n"))
	if err != nil || c.Limits.PerMinute["billing"] != 6 || c.Limits.PerMinute["general"] != 20 {
		t.Errorf("%v %v", c.Limits.PerMinute, err)
	}
}

func TestCheckBaseURL(t *testing.T) {
	good := []string{"https://a.example", "https://a.example:8443/x/", "http://127.0.0.1:8787", "http://[::1]:1",
		"http://127.8.9.1", "https://a.example/v2x/pay-v2", "HTTPS://A.example"}
	bad := []string{"", "a.example", "ftp://x", "http://localhost", "http://localhost:80", "http://127.0.0.1.evil.example",
		"http://2130706433",
		"http://0x7f000001", "http://127.1", "http://0.0.0.0", "https://u:p@x", "https://x?q=1", "https://x?", "https://x#f",
		"https://x\\y",
		"https://x\n", "http://[fe80::1%25eth0]", "https://", "https://x:99999", "https://x:0", "https:x", "//x",
		"http://10.0.0.1",
		"https://a.example/v2", "https://a.example/v2/", "https://a.example/api/V2", "https://a.example/v2/auth/login"}
	for _, u := range good {
		if err := CheckBaseURL(u); err != nil {
			t.Errorf("%q refused: %v", u, err)
		}
	}
	for _, u := range bad {
		if CheckBaseURL(u) == nil {
			t.Errorf("%q accepted", u)
		}
	}
}

func TestPassword(t *testing.T) {
	dir := t.TempDir()
	write := func(name, content string, mode os.FileMode) string {
		p := filepath.Join(dir, name)
		if err := os.WriteFile(p, []byte(content), mode); err != nil {
			t.Fatal(err)
		}
		return p
	}
	link := filepath.Join(dir, "link")
	if err := os.Symlink(write("good", "cnry\n", 0o600), link); err != nil {
		t.Fatal(err)
	}
	env := func(k string) string { return map[string]string{"P": "cnry"}[k] }
	for _, c := range []struct {
		x    Context
		fail string
	}{
		{Context{PasswordEnv: "P"}, ""},
		{Context{PasswordEnv: "Q"}, "empty or not set"},
		{Context{PasswordFile: filepath.Join(dir, "good")}, ""},
		{Context{PasswordFile: write("crlf", "cnry\r\n", 0o400)}, ""},
		{Context{PasswordFile: write("open", "cnry\n", 0o644)}, "lets others read it"},
		{Context{PasswordFile: write("empty", "\n", 0o600)}, "empty"},
		{Context{PasswordFile: write("big", strings.Repeat("x", 5000), 0o600)}, "longer"},
		{Context{PasswordFile: link}, "not a regular file"},
		{Context{PasswordFile: dir}, "not a regular file"},
		{Context{PasswordFile: filepath.Join(dir, "none")}, "is missing"},
		{Context{PasswordCommand: "echo cnry"}, ""},
		{Context{PasswordCommand: "echo 'gpg: no secret key' >&2; echo more >&2; exit 3"},
			`exit status 3; it says: "gpg: no secret key"`},
		{Context{PasswordCommand: "echo cnry; echo 'not cnry today' >&2; exit 3"}, `exit status 3; it says: "not … today"`},
		{Context{PasswordCommand: "printf '\\033[2J a\\007b' >&2; exit 1"}, `it says: "·[2J a·b"`},
		{Context{PasswordCommand: "printf '%0300d' 7 | sed 's/0/a /g' >&2; exit 1"}, `a a…"`},
		{Context{PasswordCommand: "echo token " + strings.Repeat("x", 50) + " >&2; exit 1"}, `it says: "token …"`},
		{Context{PasswordCommand: "echo 'vault is sealed' >&2"}, `empty; it says: "vault is sealed"`},
		{Context{}, "has no password setting"},
	} {
		v, err := new(Config).Password(context.Background(), c.x, env)
		if c.fail == "" && (err != nil || v.Reveal() != "cnry") {
			t.Errorf("%+v: %v", c.x, err)
		}
		if c.fail != "" && (err == nil || !strings.Contains(err.Error(), c.fail) || strings.Contains(err.Error(), "cnry")) {
			t.Errorf("%+v: %v, want %s", c.x, err, c.fail)
		}
	}
}

func TestPaths(t *testing.T) {
	dir := t.TempDir()
	at := func(name string) string { return filepath.Join(dir, name) }
	for _, f := range []string{"etc/config.toml", "with/.config/opdeck/config.toml", "var/x"} {
		if err := errors.Join(os.MkdirAll(filepath.Dir(at(f)), 0o700), os.WriteFile(at(f), nil, 0o600)); err != nil {
			t.Fatal(err)
		}
	}
	host := System{Config: at("etc/config.toml"), State: at("var")}
	for name, c := range map[string]struct {
		config, state string
		env           map[string]string
		system        System
		want          Found
	}{
		"none":            {env: map[string]string{"HOME": at("h")}, want: Found{Path: at("h/.config/opdeck/config.toml"), State: at("h/.local/state/opdeck")}},
		"of the user":     {env: map[string]string{"HOME": at("with")}, system: host, want: Found{Path: at("with/.config/opdeck/config.toml"), State: at("with/.local/state/opdeck")}},
		"of the system":   {env: map[string]string{"HOME": at("h")}, system: host, want: Found{Path: host.Config, State: host.State}},
		"own state":       {state: "s", env: map[string]string{"HOME": at("h")}, system: host, want: Found{Path: host.Config, State: "s"}},
		"state by name":   {env: map[string]string{"HOME": at("h"), "OPDECK_STATE": "s"}, system: host, want: Found{Path: host.Config, State: "s"}},
		"not packaged":    {env: map[string]string{"HOME": at("h"), "XDG_STATE_HOME": "/s"}, system: System{Config: host.Config, State: at("none")}, want: Found{Path: host.Config, State: "/s/opdeck"}},
		"environment":     {env: map[string]string{"HOME": at("with"), "OPDECK_CONFIG": "c"}, system: host, want: Found{Path: "c", Named: true, State: at("with/.local/state/opdeck")}},
		"flag":            {config: "f", env: map[string]string{"HOME": at("with"), "OPDECK_CONFIG": "c"}, system: host, want: Found{Path: "f", Named: true, State: at("with/.local/state/opdeck")}},
		"the system's by": {config: host.Config, env: map[string]string{"HOME": at("with")}, system: host, want: Found{Path: host.Config, Named: true, State: host.State}},
	} {
		got := Find(c.config, c.state, func(k string) string { return c.env[k] }, c.system)
		if got.Path != c.want.Path || got.Named != c.want.Named || got.State != c.want.State {
			t.Errorf("%s: %+v, want %+v", name, got, c.want)
		}
	}
	if c, err := Load(filepath.Join(t.TempDir(), "none"), false); err != nil || c.Store.URL != "sqlite" {
		t.Error(c, err)
	}
	if _, err := Load(filepath.Join(t.TempDir(), "none"), true); err == nil ||
		!strings.Contains(err.Error(), "no such file") {
		t.Error(err)
	}
	if Duration(time.Second).D() != time.Second {
		t.Error("duration")
	}
}

// TestRetiredKeys: a key or section that left is one mistake with its line and its substitute.
func TestRetiredKeys(t *testing.T) {
	for name, instead := range retired {
		section, key, _ := strings.Cut(name, ".")
		file := "[" + section + "]\n" + key + " = \"x\"\n"
		at := "f:2: " + name
		if key == "NAME" {
			at, file = "f:2: "+section+".page", "\n["+section+".page]\ncommand = [\"x\"]\non = [\"view\"]\n"
		}
		_, err := Parse("f", []byte(file))
		if want := at + ": retired: " + instead; err == nil || err.Error() != want {
			t.Errorf("%v; want %s", err, want)
		}
	}
	_, err := Parse("f", []byte("[notify]\npage.command = [\"x\"]\n"))
	if err == nil || !strings.Contains(err.Error(), retired["notify.NAME"]) {
		t.Errorf("with dots: %v", err)
	}
}
