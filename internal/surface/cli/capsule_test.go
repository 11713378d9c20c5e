package cli

import (
	"bytes"
	"context"
	"errors"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"opdeck/api"
	"opdeck/api/endpoint"
	"opdeck/internal/app"
	"opdeck/internal/domain/capsule"
	"opdeck/internal/e2e/racedetector"
	"opdeck/internal/surface/server/roletest"
)

// TestMarkedCapsule: nothing of a service, a store or a config with marks, and no token, name or amount, is in a
// capsule; capsule show prints what is in it.
func TestMarkedCapsule(t *testing.T) {
	racedetector.Skip(t)
	t.Parallel()
	m := roletest.OpenMarked(t)
	ctx := api.WithActor(t.Context(), roletest.Known(api.Actor{Name: "Marla Marked", Role: api.Admin, Via: "command"}))
	list, err := endpoint.Do(ctx, m.App.Client, endpoint.ListOperations, api.OperationQuery{Size: 20})
	if err != nil {
		t.Fatal(err)
	}
	act := api.Act{Kind: api.ActRemoveDocument, Method: "DELETE", Path: "/x", Object: "operation", ID: string(list.Items[0].OPID),
		Item: "doc-" + roletest.Marks["passportNumber"], Name: "Marla Marked.pdf", Summary: "for " + roletest.Marks["email"]}
	ref, err := m.App.Audit.Intent(ctx, api.ActorOf(ctx), act)
	if err != nil {
		t.Fatal(err)
	}
	if _, err = m.App.Follow.Sending(ctx, api.Pending{Ref: ref, Act: act, Who: api.ActorOf(ctx)}); err == nil {
		err = errors.Join(m.App.Follow.Ended(ctx, ref, api.Outcome{Verdict: api.Unclear}),
			m.App.Audit.Outcome(ctx, ref, api.Outcome{Verdict: api.Unclear}))
	}
	if err != nil {
		t.Fatal(err)
	}
	for _, form := range roletest.Forms { // answers that opdeck cannot read, quoted in errors and in the log
		m.Form.Store(form)
		_, _ = endpoint.Do(ctx, m.App.Client, endpoint.GetOperation, string(list.Items[0].OPID))
	}
	file := filepath.Join(t.TempDir(), "capsule")
	var out, errs bytes.Buffer
	env := Env{Args: []string{"capsule", "--log", m.Log, file}, In: strings.NewReader(""), Out: &out, Err: &errs, App: m.App,
		Actor: api.ActorOf(ctx), Getenv: func(string) string { return "" }, Version: "test"}
	if code := Run(context.Background(), env); code != 0 {
		t.Fatalf("exit %d: %s", code, errs.String())
	}
	if st, err := os.Stat(file); err != nil || st.Mode().Perm() != 0o600 {
		t.Fatalf("%v, %v", st.Mode(), err)
	}
	f, err := os.Open(file)
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	c, err := capsule.Read(f)
	if err != nil {
		t.Fatal(err)
	}
	env.Args, env.App = []string{"capsule", "show", file, "-o", "json"}, nil
	if code := Run(context.Background(), env); code != 0 {
		t.Fatalf("exit %d: %s", code, errs.String())
	}
	all := c.Summary + out.String()
	if leak := m.Leaks(all); leak != "" {
		t.Error(leak)
	}
	op := list.Items[0]
	for _, bad := range []string{"Marla", string(op.OPID), "machine@", "mark.mail", ref, roletest.Key("admin")[:20], filepath.Dir(m.Log),
		"units"} {
		if strings.Contains(all, bad) {
			t.Errorf("%q is in the capsule", bad)
		}
	}
	for _, kind := range []string{"version", "part", "config", "session", "rotation", "budget", "answer", "sync", "audit", "write", "size", "log"} {
		if !slices.ContainsFunc(c.Records, func(r capsule.Record) bool { return r.Kind == kind }) {
			t.Errorf("no record of %s:\n%s", kind, c.Summary)
		}
	}
	if !strings.Contains(c.Summary, "No fault known") && !strings.Contains(c.Summary, "unknown outcome") {
		t.Errorf("the summary has no verdict:\n%s", c.Summary)
	}
}

// TestCapsuleOfABrokenStore: what can be read is still written, and what cannot be read is named.
func TestCapsuleOfABrokenStore(t *testing.T) {
	t.Parallel()
	_, a := roletest.Open(t)
	if err := a.Store.Core.Close(); err != nil {
		t.Fatal(err)
	}
	e := app.CollectEvidence(t.Context(), a, a.Now())
	kinds := map[string]int{}
	for _, r := range e.Records {
		kinds[r.Kind]++
	}
	if kinds["unread"] == 0 || kinds["version"] != 1 || kinds["config"] != 1 {
		t.Errorf("%v", kinds)
	}
}

// TestCapsuleShowIsSafe: the text of a hostile file cannot control the terminal, and other files are refused.
func TestCapsuleShowIsSafe(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	var b bytes.Buffer
	if err := capsule.Write(&b, "\x1b[2Jcleared\n\u202eright to left", []capsule.Record{{Kind: "x\x1b[31m", Data: map[string]any{"k\u202e": "\x1b]52;c;eA==\a"}}}); err != nil {
		t.Fatal(err)
	}
	file := filepath.Join(dir, "capsule")
	if err := os.WriteFile(file, b.Bytes(), 0o600); err != nil {
		t.Fatal(err)
	}
	for _, form := range []string{"table", "json"} {
		var out, errs bytes.Buffer
		code := Run(t.Context(), Env{Args: []string{"capsule", "show", file, "-o", form}, Out: &out, Err: &errs, Getenv: func(string) string { return "" }})
		if code != 0 || strings.ContainsAny(out.String(), "\x1b\a\u202e") || !strings.Contains(out.String(), "cleared") {
			t.Errorf("%s: exit %d: %q %s", form, code, out.String(), errs.String())
		}
	}
	for _, name := range []string{dir, filepath.Join(dir, "none"), os.DevNull} {
		var out, errs bytes.Buffer
		if code := Run(t.Context(), Env{Args: []string{"capsule", "show", name}, Out: &out, Err: &errs, Getenv: func(string) string { return "" }}); code != 2 {
			t.Errorf("%s: exit %d: %s", name, code, errs.String())
		}
	}
}
