package app

import (
	"crypto/sha256"
	"fmt"
	"net/http/httptest"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"
	"time"

	"opdeck/api"
	"opdeck/api/hook"
	"opdeck/api/limit"
	"opdeck/api/reach"
	"opdeck/internal/domain/answers"
	"opdeck/internal/domain/receiver"
	"opdeck/internal/domain/verdict"
	"opdeck/internal/sandbox"
	"opdeck/internal/store"
	"opdeck/internal/store/storetest"
)

// TestDoctorNamesUnusableDeliveries: deliveries that were accepted and cannot be used (a batch, a form) are a warning
// with the reason, not a healthy feed.
func TestDoctorNamesUnusableDeliveries(t *testing.T) {
	svc, err := sandbox.Open(t.Context(), sandbox.Options{Operations: 1})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = svc.Close() })
	srv := httptest.NewServer(svc.Handler())
	t.Cleanup(srv.Close)
	dir := t.TempDir()
	file := filepath.Join(dir, "opdeck.toml")
	text := fmt.Sprintf("[contexts.t]\nbase_url = %q\nlogin = %q\npassword_env = \"PW\"\n"+
		"[webhooks]\nlisten = \"127.0.0.1:8788\"\nverify = \"none\"\n", srv.URL, sandbox.DefaultLogin)
	if err := os.WriteFile(file, []byte(text), 0o600); err != nil {
		t.Fatal(err)
	}
	opt := Options{ConfigFlag: file, StateFlag: filepath.Join(dir, "state"), Getenv: func(name string) string {
		return map[string]string{"PW": sandbox.DefaultPassword, "HOME": dir}[name]
	}}
	feed := func() (found Finding) {
		Doctor(t.Context(), opt, nil, false, func(f Finding) {
			if f.Name == "feed" {
				found = f
			}
		})
		return found
	}
	if f := feed(); f.Health != Skipped || f.Text != "no event yet" {
		t.Errorf("without a delivery: %+v", f)
	}
	a, err := Open(t.Context(), opt)
	if err != nil {
		t.Fatal(err)
	}
	raw := []byte(`[{"hook_id":"1"},{"hook_id":"2"}]`)
	_, err = a.Hooks().Inbox().Insert(t.Context(), receiver.Record{Key: "k", Raw: raw, Hash: sha256.Sum256(raw),
		ReceivedAt: time.Now(), Source: "192.0.2.1", Verdict: hook.Verdict{Verifier: hook.VerifyNone},
		Status: receiver.Quarantined, Reason: hook.ReasonJSON, Detail: "the body is a list"})
	if err != nil {
		t.Fatal(err)
	}
	if err := a.Close(); err != nil {
		t.Fatal(err)
	}
	if f := feed(); f.Health != Warned || !strings.Contains(f.Text, "1 delivery of the last 24 hours cannot be used") ||
		!strings.Contains(f.Text, "the body is a list") {
		t.Errorf("%+v", f)
	}
}

// TestDoctorSaysTheVerdict: each finding about budget, trail, writes and feed is in the report, in the same words but for
// a second by which two readings of a budget may differ, and no line of these parts is good beside one.
func TestDoctorSaysTheVerdict(t *testing.T) {
	a := watched(t, nil, "")
	err := a.Hooks().Inbox().Reject(t.Context(), []receiver.RejectCount{{Reason: "signature", N: 1, Last: time.Now(),
		Detail: "The token was signed with another secret."}}, nil)
	if err != nil {
		t.Fatal(err)
	}
	for range 40 {
		if _, err := a.Limits.Take(t.Context(), limit.Billing); err != nil {
			break
		}
	}
	lines, second := map[string][]Finding{}, regexp.MustCompile(`:\d\d\b`)
	Doctor(api.WithActor(t.Context(), a.LocalActor("command")), Options{}, a, false, func(f Finding) {
		lines[f.Name] = append(lines[f.Name], f)
	})
	v := Verdict(t.Context(), a)
	for _, part := range []verdict.Part{verdict.PartBudget, verdict.PartAudit, verdict.PartWrites, verdict.PartFeed} {
		for _, want := range v.In(part) {
			if !slices.ContainsFunc(lines[string(part)], func(f Finding) bool {
				return second.ReplaceAllString(f.Text, ":..") == second.ReplaceAllString(want.What(), ":..")
			}) {
				t.Errorf("%s is not in %+v", want.What(), lines[string(part)])
			}
		}
		if len(v.In(part)) > 0 && slices.ContainsFunc(lines[string(part)],
			func(f Finding) bool { return f.Health == Healthy }) {
			t.Errorf("%s is good: %+v", part, lines[string(part)])
		}
	}
	if len(v.In(verdict.PartFeed)) == 0 || len(v.In(verdict.PartBudget)) == 0 {
		t.Errorf("%+v", v.Findings)
	}
}

// TestDoctorOfAStoreThatDoesNotOpen: the report has the sentence of the verdict, with the file of the store and a next
// step that is not the report itself.
func TestDoctorOfAStoreThatDoesNotOpen(t *testing.T) {
	state := filepath.Join(t.TempDir(), "state")
	if err := os.MkdirAll(state, 0o700); err != nil {
		t.Fatal(err)
	}
	file := filepath.Join(state, "opdeck.db")
	if err := os.WriteFile(file, []byte(strings.Repeat("no database ", 1000)), 0o600); err != nil {
		t.Fatal(err)
	}
	opt := Options{StateFlag: state, Getenv: func(name string) string { return map[string]string{"HOME": state}[name] }}
	var lines []Finding
	if Doctor(t.Context(), opt, nil, false, func(f Finding) {
		if f.Name == "store" {
			lines = append(lines, f)
		}
	}) {
		t.Error("everything is fine")
	}
	_, err := Open(t.Context(), opt)
	first, wrong := Unopened(err, time.Now()).First()
	if !wrong || len(lines) != 1 || lines[0].Health != Failed || !strings.HasPrefix(lines[0].Text, first.Sentence) ||
		!strings.Contains(lines[0].Text, file+" ") || !strings.HasPrefix(lines[0].Hint, first.Next.Do) ||
		strings.Contains(lines[0].Hint, "opdeck doctor") {
		t.Errorf("%+v, verdict %+v", lines, first)
	}
}

// TestAReadOnlyServer: a PostgreSQL that takes no writes is one sentence on every surface, which names it once.
func TestAReadOnlyServer(t *testing.T) {
	dir := t.TempDir()
	key, conf := filepath.Join(dir, "key"), filepath.Join(dir, "config.toml")
	url := storetest.URL(t, store.Postgres)
	for file, text := range map[string]string{key: strings.Repeat("0123456789abcdef", 4),
		conf: fmt.Sprintf("[store]\nurl = %q\nkey_file = %q\n[contexts.box]\nsandbox = true\nrole = \"admin\"\n", url, key)} {
		if err := os.WriteFile(file, []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	a, err := Open(t.Context(), Options{ConfigFlag: conf, StateFlag: filepath.Join(dir, "state")})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = a.Close() })
	const limit = "DO $$ BEGIN EXECUTE format('ALTER DATABASE %I SET default_transaction_read_only = on', " +
		"current_database()); END $$"
	if err := a.Store.Core.Exec(t.Context(), limit); err != nil {
		t.Fatal(err)
	}
	b, err := Open(t.Context(), Options{ConfigFlag: conf, StateFlag: filepath.Join(dir, "state")})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = b.Close() })
	first, _ := Verdict(t.Context(), b).First()
	if first.Cause != "store_read_only" || strings.Count(first.Sentence, "PostgreSQL") != 1 {
		t.Errorf("%s %q", first.Cause, first.Sentence)
	}
	Doctor(api.WithActor(t.Context(), b.LocalActor("command")), Options{}, b, false, func(f Finding) {
		if f.Name == "store" && (f.Health != Failed || !strings.HasPrefix(f.Text, first.Sentence)) {
			t.Errorf("%+v", f)
		}
	})
}

// TestADoctorThatGetsThrough: what kept calls from the service is not said beside a step that worked, and that step ends
// it for the other processes. It ends nothing that an answer without a login cannot show.
func TestADoctorThatGetsThrough(t *testing.T) {
	for class, ends := range map[reach.Class]bool{reach.TLSIssuer: true, reach.NoName: true, reach.Failed: false} {
		t.Run(string(class), func(t *testing.T) {
			a := watched(t, answer(404, "{}"), passwordEnv)
			err := a.answers.Put(t.Context(), a.Scope(), []answers.Answer{{Class: "billing", Route: "GET /v2/x", By: "serve",
				Fault: reach.Fault{Class: class, Status: 500}, Ago: time.Minute}})
			if err != nil {
				t.Fatal(err)
			}
			if first, _ := Verdict(t.Context(), a).First(); first.Cause != verdict.Cause(class) {
				t.Fatalf("before it: %+v", first)
			}
			named := false
			Doctor(api.WithActor(t.Context(), a.LocalActor("command")), Options{}, a, false, func(f Finding) {
				named = named || f.Name == "service" && f.Health == Failed
			})
			b, err := Open(t.Context(), Options{ConfigFlag: a.Config.Path, StateFlag: a.State})
			if err != nil {
				t.Fatal(err)
			}
			defer func() { _ = b.Close() }()
			if over := len(Verdict(t.Context(), b).In(verdict.PartService)) == 0; over != ends || named == ends {
				t.Errorf("over for another process: %t, named by the doctor: %t", over, named)
			}
		})
	}
}
