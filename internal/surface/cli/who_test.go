package cli

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"opdeck/api"
	"opdeck/internal/app"
	"opdeck/internal/domain/audit"
	"opdeck/internal/domain/holdings"
)

const anasKey = "ssh-ed25519 AAAAC3NzaC1lZDI1NTE5AAAAIIOVi4VIVVQ1U0xWvMFDXtxcLWJWlIc1Gj0tbJZB2Rh5"

// whoWorld returns an App in which the person ana has one thing of every kind, and the path of the SSH keys.
func whoWorld(t *testing.T) (a *app.App, keys string) {
	t.Helper()
	dir := t.TempDir()
	keys = filepath.Join(dir, "keys")
	if err := os.WriteFile(keys, []byte("# people\nname=\"ana\",role=\"operator\" "+anasKey+"\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	file := filepath.Join(dir, "config.toml")
	text := fmt.Sprintf(`
[store]
url = "memory"
[contexts.box]
sandbox = true
[ssh]
listen = "127.0.0.1:0"
host_key = %q
authorized_keys = %q
[lend]
listen = "127.0.0.1:0"
[lend.borrowers.ana]
key_env = "ANA_KEY"
role = "viewer"
[lend.borrowers.nightly]
key_env = "NIGHTLY_KEY"
`, filepath.Join(dir, "host"), keys)
	if err := os.WriteFile(file, []byte(text), 0o600); err != nil {
		t.Fatal(err)
	}
	a, err := app.Open(t.Context(), app.Options{ConfigFlag: file, StateFlag: filepath.Join(dir, "state"),
		Getenv: func(string) string { return "" }})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = a.Close() })
	return a, keys
}

// runOn runs a command on an App as a person.
func runOn(t *testing.T, a *app.App, who api.Actor, args ...string) (code int, out, errs string) {
	t.Helper()
	var o, e bytes.Buffer
	code = Run(t.Context(), Env{Args: args, In: strings.NewReader(""), Out: &o, Err: &e, App: a, Actor: who,
		Getenv: func(string) string { return "" }, Version: "test"})
	return code, o.String(), e.String()
}

// TestWho: the list names each kind of holding with what removes it, and what nothing here can show.
func TestWho(t *testing.T) {
	t.Parallel()
	a, keys := whoWorld(t)
	ctx := t.Context()
	ana := api.Actor{Name: "ana", Role: api.Operator, Via: "ssh", From: "198.51.100.7", Key: "SHA256:ana", Login: "ana",
		Session: "s1"}
	note := func(who api.Actor, event string) {
		if err := a.Audit.Note(ctx, who, api.Event{Name: event, Object: "console"}); err != nil {
			t.Fatal(err)
		}
	}
	note(ana, audit.EventConsoleOpen)
	gone := ana
	gone.Session = "s0"
	note(gone, audit.EventConsoleOpen)
	note(gone, audit.EventConsoleClose)
	act := api.Act{Kind: api.ActRemoveDocument, Method: "DELETE", Path: "/x", Object: "operation", ID: "op-1", Item: "doc-1"}
	if _, err := a.Approvals.Check(ctx, ana, act); err == nil {
		t.Fatal("nobody approved it")
	}
	ref, err := a.Audit.Intent(ctx, ana, act)
	if err != nil {
		t.Fatal(err)
	}
	if _, err := a.Follow.Sending(ctx, api.Pending{Ref: ref, Act: act, Who: ana}); err != nil {
		t.Fatal(err)
	}
	unclear := api.Outcome{Verdict: api.Unclear}
	if err := errors.Join(a.Follow.Ended(ctx, ref, unclear), a.Audit.Outcome(ctx, ref, unclear)); err != nil {
		t.Fatal(err)
	}
	admin := api.Actor{Name: "kim", Role: api.Admin, Via: "command"}
	code, out, errs := runOn(t, a, admin, "who", "ana", "-o", "json")
	var got whoJSON
	if err := json.Unmarshal([]byte(out), &got); err != nil || code != 0 {
		t.Fatalf("exit %d, %v: %s%s", code, err, out, errs)
	}
	for kind, where := range map[string]string{"ssh key": keys + ":2", "borrower key": "config.toml:13", "session": "198.51.100.7",
		"request": "", "write": ref} {
		n := 0
		for _, h := range got.Holds {
			if string(h.Kind) != kind {
				continue
			}
			if n++; !strings.Contains(h.Where, where) || h.Remove == "" {
				t.Errorf("%s: %+v", kind, h)
			}
		}
		if n != 1 {
			t.Errorf("%d of kind %q: %+v", n, kind, got.Holds)
		}
	}
	if len(got.Acts) == 0 || len(got.NotRead) != 0 {
		t.Errorf("%d acts, not read: %v", len(got.Acts), got.NotRead)
	}
	_, text, _ := runOn(t, a, admin, "who", "ana")
	for _, want := range []string{keys + ":2", "to remove: delete this line", "[lend.borrowers.ana]", "opdeck approval deny ",
		"opdeck audit unsettled --settle", "Last records:", "opdeck has no record of these", "borrowers ana, nightly", "host key"} {
		if !strings.Contains(text, want) {
			t.Errorf("no %q in:\n%s", want, text)
		}
	}
}

// TestWhoFails: an unknown person is exit 4, a key file that cannot be read or has a bad line exit 1, without the
// permission exit 5.
func TestWhoFails(t *testing.T) {
	t.Parallel()
	a, keys := whoWorld(t)
	admin := api.Actor{Name: "kim", Role: api.Admin, Via: "command"}
	if code, out, errs := runOn(t, a, admin, "who", "nobody-here"); code != 4 || out != "" || !strings.Contains(errs, "nobody-here") {
		t.Errorf("exit %d: %s%s", code, out, errs)
	}
	if code, _, errs := runOn(t, a, api.Actor{Name: "bo", Role: api.Viewer, Via: "command"}, "who", "ana"); code != 5 {
		t.Errorf("a viewer: exit %d: %s", code, errs)
	}
	if err := os.WriteFile(keys, []byte(anasKey+" name=\"ana\",role=\"operator\"\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	if code, out, _ := runOn(t, a, admin, "who", "ana"); code != 1 || !strings.Contains(out, "Not read: "+keys+":1") {
		t.Errorf("a bad line: exit %d: %s", code, out)
	}
	if err := os.Remove(keys); err != nil {
		t.Fatal(err)
	}
	if code, out, _ := runOn(t, a, admin, "who", "zoe"); code != 1 || !strings.Contains(out, "Not read: "+keys) {
		t.Errorf("a missing file: exit %d: %s", code, out)
	}
}

// TestWhoLooksAlike: a name that looks like another one counts as that person.
func TestWhoLooksAlike(t *testing.T) {
	t.Parallel()
	a, _ := whoWorld(t)
	admin := api.Actor{Name: "kim", Role: api.Admin, Via: "command"}
	_, out, _ := runOn(t, a, admin, "who", "Аna", "-o", "json") // the first letter is Cyrillic
	var got whoJSON
	if err := json.Unmarshal([]byte(out), &got); err != nil || !slices.ContainsFunc(got.Holds, func(h holdings.Holding) bool { return h.Kind == holdings.SSHKey }) {
		t.Errorf("%v: %s", err, out)
	}
}
