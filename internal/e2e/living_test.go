//go:build linux

package e2e

import (
	"bufio"
	"context"
	"crypto/ed25519"
	"encoding/pem"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"syscall"
	"testing"

	"golang.org/x/crypto/ssh"

	"opdeck/internal/sandbox"
	"opdeck/internal/sandbox/faulty"
)

// surfaces are those that keep a process running, with their config and what they
// show when they run.
var surfaces = map[string]struct {
	args            []string
	config, running string
}{
	"screen":      {nil, "", "operations"},
	"plain":       {[]string{"--plain"}, "", "Operations"},
	"serve ssh":   {[]string{"serve"}, "[ssh]\nlisten = \"127.0.0.1:0\"\nhost_key = \"host\"\nauthorized_keys = \"keys\"\n", "ctrl+c ends"},
	"serve hooks": {[]string{"serve"}, "[webhooks]\nlisten = \"127.0.0.1:0\"\nverify = \"header\"\nheader = \"X-Secret\"\nsecret_env = \"HOOK\"\n", "ctrl+c ends"},
}

// builtIn is a surface that runs on a built-in service of its own, and no one
// touches a key.
type builtIn struct {
	*terminal
	home   string
	before []string // operations
}

func runBuiltIn(t *testing.T, name, still string) *builtIn {
	t.Helper()
	s, b := surfaces[name], &builtIn{home: t.TempDir()}
	_, key, err := ed25519.GenerateKey(nil)
	if err != nil {
		t.Fatal(err)
	}
	host, err := ssh.MarshalPrivateKey(key, "")
	if err != nil {
		t.Fatal(err)
	}
	for file, text := range map[string][]byte{"host": pem.EncodeToMemory(host), "keys": nil, "opdeck.toml": []byte("[contexts.box]\nsandbox = true\n" + s.config)} {
		if err := os.WriteFile(filepath.Join(b.home, file), text, 0o600); err != nil {
			t.Fatal(err)
		}
	}
	b.terminal = start(t, 120, 40, b.home, []string{"HOOK=0123456789abcdef0123456789abcdef"}, append(b.flags(still), s.args...)...)
	b.cut = name != "screen" // the others draw nothing
	b.shows(s.running)
	b.before = b.operations()
	return b
}

func (b *builtIn) flags(still string) []string {
	return []string{still, "--config", filepath.Join(b.home, "opdeck.toml"), "--state", filepath.Join(b.home, "state")}
}

// operations are those that the service has now.
func (b *builtIn) operations() (list []string) {
	b.t.Helper()
	s, err := sandbox.Open(context.Background(), sandbox.Options{Path: filepath.Join(b.home, "state", "sandbox.db")})
	if err != nil {
		b.t.Fatal(err)
	}
	defer s.Close()
	raw, err := faulty.Of(s).Operations(context.Background())
	if err != nil {
		b.t.Fatal(err)
	}
	for _, op := range raw {
		list = append(list, string(op))
	}
	return list
}

// events runs a command that prints stored events, and returns its first line.
func (b *builtIn) events(args ...string) string {
	b.t.Helper()
	cmd := exec.Command(binary, append(b.flags("--still"), args...)...)
	cmd.Env = []string{"HOME=" + b.home, "HOOK=0123456789abcdef0123456789abcdef"}
	out, err := cmd.StdoutPipe()
	if err == nil {
		err = cmd.Start()
	}
	if err != nil {
		b.t.Fatal(err)
	}
	lines := bufio.NewScanner(out)
	lines.Scan()
	_ = cmd.Process.Signal(syscall.SIGTERM)
	_ = cmd.Wait()
	return lines.Text()
}

// TestBuiltInServiceLives: on each surface that keeps a process running the
// built-in service changes without a key, and its webhooks arrive in the inbox.
// With --still neither happens meanwhile.
func TestBuiltInServiceLives(t *testing.T) {
	t.Parallel()
	for name := range surfaces {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			still, lives := runBuiltIn(t, name, "--still"), runBuiltIn(t, name, "--still=false")
			if e := lives.events("event", "list", "--follow", "--limit", "1"); !strings.Contains(e, "verified") {
				t.Errorf("the first event is %q", e)
			}
			if e := lives.events("event", "list", "-o", "jsonl"); !strings.Contains(e, "verified") {
				t.Errorf("the inbox begins with %q", e)
			}
			if slices.Equal(lives.before, lives.operations()) {
				t.Error("no operation changed")
			}
			if e := still.events("event", "list", "-o", "jsonl"); e != "" {
				t.Errorf("with --still there is the event %s", e)
			}
			if now := still.operations(); !slices.Equal(still.before, now) {
				t.Errorf("with --still the %d operations became %d others", len(still.before), len(now))
			}
		})
	}
}
