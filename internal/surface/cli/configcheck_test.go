package cli

import (
	"bytes"
	"crypto/ed25519"
	"crypto/rand"
	"encoding/pem"
	"fmt"
	"net"
	"os"
	"path/filepath"
	"strings"
	"testing"

	gossh "golang.org/x/crypto/ssh"
)

// checkConfig runs config check on a text and returns the exit code and what it says.
func checkConfig(t *testing.T, file, text string) (int, string) {
	t.Helper()
	if text != "" {
		if err := os.WriteFile(file, []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	var out, errs bytes.Buffer
	code := Run(t.Context(), Env{Args: []string{"config", "check", file}, Out: &out, Err: &errs, Getenv: func(string) string { return "" }})
	return code, out.String() + errs.String()
}

const anasKey = "ssh-ed25519 AAAAC3NzaC1lZDI1NTE5AAAAIIOVi4VIVVQ1U0xWvMFDXtxcLWJWlIc1Gj0tbJZB2Rh5"

// TestConfigCheckLooksAtTheHost: what only the host shows is found, with file and line; a config whose files and
// addresses are in order passes, and its ports are free afterwards.
func TestConfigCheckLooksAtTheHost(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	in := func(name string) string { return filepath.Join(dir, name) }
	write := func(name, text string) {
		if err := os.WriteFile(in(name), []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	_, private, err := ed25519.GenerateKey(rand.Reader)
	if err != nil {
		t.Fatal(err)
	}
	block, err := gossh.MarshalPrivateKey(private, "")
	if err != nil {
		t.Fatal(err)
	}
	write("host", string(pem.EncodeToMemory(block)))
	write("good", `name="ana",role="operator" `+anasKey+"\n")
	write("behind", anasKey+` name="ana",role="operator"`+"\n")
	write("comment", `name="ana",role="operator" `+anasKey+` name="no options behind"`+"\n")
	write("seal", strings.Repeat("0f", 32))
	write("password", "secret-password\n")
	free, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	addr := free.Addr().String()
	_ = free.Close()
	ssh := func(host, keys string) string {
		return fmt.Sprintf("[ssh]\nlisten = %q\nhost_key = %q\nauthorized_keys = %q\n", addr, in(host), in(keys))
	}
	context := func(name, login, more string) string {
		return fmt.Sprintf("[contexts.%s]\nbase_url = \"https://s.example\"\nlogin = %q\npassword_file = %q\n%s", name, login, in("password"), more)
	}
	for name, c := range map[string]struct {
		text string
		says string // "" : valid
	}{
		"good":                       {ssh("host", "good") + context("a", "m@h", "") + fmt.Sprintf("[store]\nkey_file = %q\n", in("seal")), ""},
		"a comment":                  {ssh("host", "comment"), ""},
		"options behind":             {ssh("host", "behind"), in("behind") + `:1: the options are behind the key; put them in front: name="…",role="…" ssh-ed25519`},
		"no host key":                {ssh("none", "good"), "config.toml:3: ssh.host_key: host key " + in("none") + ": there is no such file; create one with ssh-keygen"},
		"no keys":                    {ssh("host", "none"), "config.toml:4: ssh.authorized_keys: " + in("none") + ": there is no such file"},
		"key file":                   {fmt.Sprintf("[store]\nkey_file = %q\n", in("none")), "config.toml:2: store.key_file: "},
		"password file":              {strings.Replace(context("a", "m@h", ""), "password\"", "none\"", 1), "config.toml:4: contexts.a.password_file: "},
		"one address twice":          {ssh("host", "good") + fmt.Sprintf("[serve]\nmetrics = %q\n", addr), "serve.metrics: " + addr + " is the address of ssh.listen, too"},
		"contexts beside each other": {ssh("host", "good") + context("a", "m@h", "") + context("b", "n@h", "serve = { ssh = \"127.0.0.1:0\" }\n"), ""},
		"contexts, one address": {ssh("host", "good") + context("a", "m@h", "") + context("b", "n@h", "serve = { metrics = \"127.0.0.1:0\" }\n"),
			"contexts.b.serve.ssh: " + addr + " is the address of ssh.listen, too"},
		"a context's keys": {ssh("host", "good") + context("b", "n@h", fmt.Sprintf("serve = { authorized_keys = %q }\n", in("behind"))),
			in("behind") + ":1: the options are behind the key"},
		"a context's address": {context("b", "n@h", "serve = { lend = \"0.0.0.0:99\" }\n"), "contexts.b.serve.lend: must be a loopback address"},
		"not an address":      {"[serve]\nmetrics = \"203.0.113.7:9\"\n", "config.toml:2: serve.metrics: 203.0.113.7:9 cannot be opened: "},
		"one account":         {context("a", "m@h", "") + context("b", "m@h", "approval = \"second_person\"\n"), "contexts.b: is the same account as contexts.a"},
		"two accounts":        {context("a", "m@h", "") + context("b", "n@h", "approval = \"second_person\"\n"), ""},
		"one, the same rule":  {context("a", "m@h", "") + context("b", "m@h", "role = \"viewer\"\n"), ""},
	} {
		code, says := checkConfig(t, in("config.toml"), c.text)
		if c.says == "" && code != 0 || c.says != "" && (code != 2 || !strings.Contains(says, c.says)) {
			t.Errorf("%s: exit %d: %s", name, code, says)
		}
	}
	l, err := net.Listen("tcp", addr)
	if err != nil {
		t.Errorf("the port is not free: %v", err)
	} else {
		_ = l.Close()
	}
}

// TestPackagedConfig: the config of the packages has no mistake but the two files that the administrator creates, and
// says how.
func TestPackagedConfig(t *testing.T) {
	t.Parallel()
	if _, err := os.Stat("/etc/opdeck"); err == nil {
		t.Skip("opdeck is installed here")
	}
	code, says := checkConfig(t, "../../../packaging/config.toml", "")
	if code != 2 || !strings.Contains(says, "ssh.host_key: host key /etc/opdeck/credentials/host_key: there is no such file; create one with ssh-keygen") ||
		!strings.Contains(says, "ssh.authorized_keys: /etc/opdeck/authorized_keys: there is no such file; each line is") || strings.Count(says, "config.toml") != 2 {
		t.Errorf("exit %d: %s", code, says)
	}
	if code, says := checkConfig(t, "../../../config.example.toml", ""); code != 0 {
		t.Errorf("exit %d: %s", code, says)
	}
}

// TestTemplateIsTheUnit: the unit for one of several contexts is the other one, but for the context.
func TestTemplateIsTheUnit(t *testing.T) {
	t.Parallel()
	lines := func(name string) (out []string) {
		b, err := os.ReadFile("../../../packaging/" + name)
		if err != nil {
			t.Fatal(err)
		}
		for line := range strings.Lines(string(b)) {
			if !strings.HasPrefix(line, "#") {
				out = append(out, line)
			}
		}
		return out
	}
	one, many := lines("opdeck.service"), lines("opdeck@.service")
	text := strings.NewReplacer(" for the context %i", "", " -c %i", "", "RuntimeDirectoryPreserve=yes\n", "").Replace(strings.Join(many, ""))
	if text != strings.Join(one, "") {
		t.Errorf("the template differs:\n%s", text)
	}
	if !strings.Contains(strings.Join(many, ""), "opdeck serve -c %i ") {
		t.Error("the template does not choose the context")
	}
}
