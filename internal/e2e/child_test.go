//go:build linux

package e2e

import (
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"sync/atomic"
	"testing"

	"opdeck/internal/sandbox"
)

// TestNoChildGetsASecret: no program that opdeck starts has a variable that the config names as one with a secret, of
// whatever context and section: session exec, the notice command, password_command.
func TestNoChildGetsASecret(t *testing.T) {
	t.Parallel()
	w := newWorld(t, sandbox.Options{}, "")
	file := filepath.Join(w.home, "opdeck.toml")
	base, err := os.ReadFile(file)
	if err != nil {
		t.Fatal(err)
	}
	seen := filepath.Join(w.home, "seen")
	named := `[contexts.other]
base_url = "https://other.example.com"
login = "m"
password_env = "SECRET_password_env"
[webhooks]
secret_env = "SECRET_secret_env"
[lend.borrowers.nightly]
key_env = "SECRET_key_env"
[contexts.printed]
base_url = "https://printed.example.com"
login = "m"
password_command = "env > ` + seen + `; echo printed-password"
`
	told, signed := named+"[notify]\ncommand = [\"sh\", \"-c\", \"env > "+seen+"\"]\n",
		named+"[notify]\nurl = \"https://told.example.com\"\nsecret_env = \"SECRET_notify\"\n"
	example, err := os.ReadFile("../../config.example.toml")
	if err != nil {
		t.Fatal(err)
	}
	for _, key := range regexp.MustCompile(`(?m)^(?:# )?(\w+_env) =`).FindAllSubmatch(example, -1) {
		if !strings.Contains(named, string(key[1])+" = \"SECRET_") {
			t.Errorf("the test's config has no %s", key[1])
		}
	}
	run := func(config string, args ...string) string {
		t.Helper()
		w.config(string(base) + config)
		cmd := exec.Command(binary, args...)
		cmd.Env = slices.Concat(w.env, []string{"HOME=" + w.home, "PATH=" + os.Getenv("PATH"), "PW=sandbox", "KEPT=kept",
			"OPDECK_PASSWORD=geheim", "OPDECK_BACKUP_PASSPHRASE=geheim-and-longer", "PGPASSWORD=geheim",
			"SECRET_password_env=geheim", "SECRET_secret_env=geheim-0123456789-abcdef-0123456789",
			"SECRET_key_env=geheim-QWERTZ-0815-abcxyz-4711"})
		if config == signed {
			cmd.Env = append(cmd.Env, "SECRET_notify=geheim-0123456789-abcdef")
		}
		out, err := cmd.CombinedOutput()
		if err != nil {
			t.Logf("%v: %v: %s", args, err, out)
		}
		return string(out)
	}
	look := func(what, env string) {
		t.Helper()
		if !strings.Contains(env, "KEPT=kept") || strings.Contains(env, "geheim") || strings.Contains(env, "PW=") {
			t.Errorf("%s has\n%s", what, env)
		}
	}
	inFile := func() string {
		t.Helper()
		b, err := os.ReadFile(seen)
		if err != nil {
			t.Fatal(err)
		}
		_ = os.Remove(seen)
		return string(b)
	}
	look("session exec", run(signed, "session", "exec", "--", "env"))
	run(told, "notify", "test")
	look("the notice command", inFile())
	run(signed, "-c", "printed", "doctor")
	look("password_command", inFile())
}

// TestWrittenSecrets: what Windows tools, editors and shells add to a secret is refused by name and file, at config
// check and by what uses it, and nothing is sent; one line end is not a part of it.
func TestWrittenSecrets(t *testing.T) {
	t.Parallel()
	s := newScene(t)
	var calls atomic.Int32
	s.up.answers(func(w http.ResponseWriter, r *http.Request) { calls.Add(1); good(w, r) })
	const text = "Xk7-pQ2v.Lm9rTz4wBn8sHc3y"
	utf16 := "\xff\xfe"
	for _, c := range text {
		utf16 += string(c) + "\x00"
	}
	odd := map[string]string{"\ufeff" + text: "begins with a BOM", utf16: "is UTF-16", text + " \n": "ends with a blank",
		text + "\u00a0": "has a no-break", `"` + text + `"`: "is in quotes", text + "\n\n": "ends with an empty line"}
	file := s.write("written", "")
	check := func(what, want string) {
		t.Helper()
		if got := s.run("config", "check"); got.code != 2 || !strings.Contains(got.err, want) {
			t.Errorf("%s: config check, exit %d: %s; want %s", what, got.code, got.err, want)
		}
	}
	s.env = append(s.env, "KEY=0")
	for written, problem := range odd {
		s.write("written", written)
		s.password, s.rest = "password_file = \""+file+"\"", ""
		s.configure()
		check("password", "password_file: secret file "+file+" "+problem)
		if got := s.run(theCall...); got.code != 2 || !strings.Contains(got.err, problem) {
			t.Errorf("a call with it: exit %d: %s; want 2, %s", got.code, got.err, problem)
		}
		s.password = "password_env = \"PW\""
		for _, rest := range []string{"[webhooks]\nlisten = \"127.0.0.1:0\"\nsecret_file = ", "[store]\nkey_file = ",
			"[notify]\nurl = \"https://told.example.com\"\nsecret_file = ", "[backup]\npassphrase_file = ",
			"[lend.borrowers.nightly]\nkey_file = "} {
			s.rest = rest + "\"" + file + "\"\n"
			s.configure()
			check(rest, "file "+file+" "+problem)
		}
		if !strings.Contains(written, "\x00") {
			s.rest = "[webhooks]\nsecret_env = \"KEY\"\n"
			s.configure()
			s.env[len(s.env)-1] = "KEY=" + written
			check("a variable", "the environment variable KEY "+problem)
		}
	}
	if n := calls.Load(); n > 0 {
		t.Errorf("%d calls were sent", n)
	}
	s.write("written", text+"\r\n")
	s.password, s.rest = "password_file = \""+file+"\"", ""
	s.configure()
	if got := s.run(theCall...); got.code != 0 {
		t.Errorf("with a line end: exit %d: %s", got.code, got.err)
	}
}
