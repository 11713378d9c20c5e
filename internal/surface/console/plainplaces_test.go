package console_test

import (
	"errors"
	"io"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"opdeck/api"
	"opdeck/internal/e2e/racedetector"
	"opdeck/internal/sandbox/faulty"
	"opdeck/internal/surface/console"
)

func TestHostileSamplesAreReadSafely(t *testing.T) {
	racedetector.Skip(t)
	t.Parallel()
	a := filled(t, "")
	p, _ := startPlain(t, a, ana, nil) // every byte is checked as it is heard
	p.say("1")
	p.say("filter ref:ODD", "attention: ")
	p.say("menu")
	for _, n := range []int{10, 11, 12, 13, 14, 15, 16, 17, 18, 19, 20, 21, 35} {
		op := newest(t, a, n)
		p.say("open " + string(op.OPID))
		all := strings.Join(p.say("all", "That is all."), "\n")
		p.say("reveal")
		p.say("raw", `"opid"`)
		p.say("history")
		p.say("1")
		p.say("documents")
		p.say("1")
		p.say("menu")
		for _, want := range map[int][]string{
			10: {"98,765,432,109,876,543,210.99 EUR"}, 11: {"-1,234.56 EUR"}, 12: {"0.000000001 EUR"}, 13: {"9.999999999 USD"},
			14: {"4,200.12345678 XQZ"}, 15: {"cannot be trusted", `units "5" nanos "-500000000"`},
			16: {"control characters", `\x1b]52;c;`}, 17: {"hidden characters", `\u202e`}, 18: {`\u200b`}, 19: {`\x00`},
			20: {"goes on."}, 21: {"(unknown)", "riskScore, 0.12345678901234568", "bigNumber, 12345678901234567890"}, 35: {"commission: none", "comment: ?"},
		}[n] {
			if !strings.Contains(all, want) {
				t.Errorf("operation %d: %q was not said:\n%s", n, want, all)
			}
		}
	}
	if err := p.leave(); err != nil {
		t.Error(err)
	}
}

func TestRolesAndReadOnly(t *testing.T) {
	t.Parallel()
	a := filled(t, "read_only = true")
	op := newest(t, a, 0)
	p, greeting := startPlain(t, a, ana, nil)
	if !strings.Contains(strings.Join(greeting, "\n"), "READ-ONLY") {
		t.Errorf("greeting: %q", greeting)
	}
	p.say("open " + string(op.OPID))
	p.say("documents")
	p.say("remove 1", "remove cannot be used now. This context is read-only")
	p.say("?", "remove [NUMBER], or x: remove the document (asks). Not now. This context is read-only")
	if err := p.leave(); err != nil {
		t.Error(err)
	}
	v, _ := startPlain(t, a, api.Actor{Name: "vic", Role: api.Viewer, Via: "ssh"}, nil)
	v.say("open " + string(op.OPID))
	v.say("reveal", "role (viewer) may not reveal")
	v.never("all", op.Source.Account.Number.Line(0))
	v.never("raw", op.Source.Account.Number.Line(0))
	v.say("menu")
	v.say("8", "role (viewer)")
	v.say("menu")
	v.say("6")
	v.say("login", "log-in-again cannot be used now. This context is read-only")
	if err := v.leave(); err != nil {
		t.Error(err)
	}
}

func TestAuditAndEvents(t *testing.T) {
	t.Parallel()
	a := filled(t, "")
	op := newest(t, a, 0)
	p, _ := startPlain(t, a, ana, nil)
	p.say("open " + string(op.OPID))
	p.say("documents")
	p.say("remove 1")
	p.say("yes", "Done.")
	p.say("menu")
	p.say("8", "document.remove")
	p.say("all records", "records of all kinds")
	p.say("filter id:"+string(op.OPID), "event document.remove", "outcome done", "outcome to be sent")
	p.say("1", "hash: ")
	p.say("back")
	p.say("filter event:console.*", "person ana, event console.open")
	p.say("filter outcome:", "Not a valid filter.")
	p.say("verify", "intact", "What was checked")
	p.say("back")
	p.say("menu")
	p.say("7", "No event has been received yet.")
	p.say("settings", "At the service")
	p.say("back")
	p.say("codes", "Numeric codes")
	p.say("back")
	p.say("rejected", "No delivery was rejected.")
	if err := p.leave(); err != nil {
		t.Error(err)
	}
}

// A trail whose checkpoints fail says so before its records.
func TestTroubleOfTheTrailIsSaid(t *testing.T) {
	t.Parallel()
	a := filled(t, "")
	ctx := api.WithActor(t.Context(), ana)
	if err := a.Audit.Note(ctx, ana, api.Event{Name: "reveal"}); err != nil {
		t.Fatal(err)
	}
	if err := a.Audit.Signer.Checkpoint(ctx); err != nil {
		t.Fatal(err)
	}
	names, err := filepath.Glob(filepath.Join(a.State, "checkpoints", "audit-*.jsonl"))
	if err != nil || len(names) != 1 {
		t.Fatal(names, err)
	}
	name := names[0]
	good, err := os.ReadFile(name)
	if err != nil {
		t.Fatal(err)
	}
	prints := func(says string) {
		t.Helper()
		p, _ := startPlain(t, a, ana, nil)
		p.say("8", says, "Audit")
		if err := p.leave(); err != nil {
			t.Error(err)
		}
	}
	forged := strings.ReplaceAll(string(good), `\ntime 2`, `\ntime 3`)
	if err := os.WriteFile(name, []byte(forged), 0o600); err != nil || a.Audit.Signer.Checkpoint(ctx) == nil {
		t.Fatalf("a forged checkpoint passes, %v", err)
	}
	prints("The trail was tampered with: ")
	if err := errors.Join(os.Remove(name), os.Mkdir(name, 0o700)); err != nil || a.Audit.Signer.Checkpoint(ctx) == nil {
		t.Fatalf("a checkpoint was written into nothing, %v", err)
	}
	prints("The last checkpoint could not be written")
	if err := errors.Join(os.Remove(name), os.WriteFile(name, good, 0o600), a.Audit.Signer.Checkpoint(ctx)); err != nil {
		t.Fatal(err)
	}
	p, _ := startPlain(t, a, ana, nil)
	if heard := p.say("8"); strings.Contains(strings.Join(heard, "\n"), "attention") {
		t.Errorf("all is well, and it is said: %q", heard)
	}
	if err := p.leave(); err != nil {
		t.Error(err)
	}
}

func TestListAndExport(t *testing.T) {
	t.Parallel()
	a := mirrored(t)
	p, _ := startPlain(t, a, ana, nil)
	p.say("1", "Operations 1 to 10 of 500")
	p.say("last", "Operations 491 to 500 of 500")
	p.say("next", "No more pages.")
	p.say("first")
	p.say("previous", "This is the first page.")
	p.say("11", "Type a number on this page: 1 to 10.")
	p.say("copy 2", "The operation id:")
	p.say("sort amount", "sorted by amount, largest first", "98,765,432,109,876,543,210.99 EUR")
	p.say("sort amount", "sorted by amount, smallest first")
	p.say("sort colour", "Not one of these: colour.", "3. amount, reversed")
	p.say("back", "Unchanged.")
	p.say("filter statsu:PENDING", "Not a valid filter.", "The list is unchanged.")
	p.say("filter help", "status")
	p.say("views", "pending, ")
	p.say("2", "filter status:PENDING")
	p.say("totals", "EUR: ", "by day: ")
	p.say("totals", "PENDING: ")
	p.say("split type", "PENDING, WITHDRAW: ")
	p.say("split do not split")
	p.say("pane", "status all statuses, ", "status PENDING, operations ")
	p.say("open 2", "The list shows this already.")
	p.say("pane")
	p.say("mark 1", "1 row is marked.")
	p.say("back")
	file := filepath.Join(t.TempDir(), "out.csv")
	p.say("export "+file, "Exported ")
	if b, err := os.ReadFile(file); err != nil || !strings.Contains(string(b), "PENDING") {
		t.Errorf("export: %v", err)
	}
	p.say("export "+file, "exists already. An export overwrites no file: type another name.")
	p.say("", "exists already")
	p.say("back")
	p.say("documents 1", "Documents")
	p.say("menu")
	p.say("open ../such", "No operation in the local index matches “../such”")
	p.say("open 0000-none", "in the local index matches “0000-none”")
	p.say("open 00000000-0000-4000-8000-000000000000", "The service has no such operation.")
	p.say("menu")
	p.say("kyc", "Customers 1 to 10 of 20.") // a word of the palette
	p.say("local time", "Times are now local")
	if err := p.leave(); err != nil {
		t.Error(err)
	}
}

func TestEnds(t *testing.T) {
	t.Parallel()
	a := world(t, "", false)
	p, _ := startPlain(t, a, ana, nil)
	_ = p.in.Close()
	if err := p.end(); err != nil || !strings.Contains(p.transcript(), "The input has ended.") {
		t.Errorf("end of input: %v", err)
	}
	p, _ = startPlain(t, a, ana, nil)
	p.stop()
	if err := p.end(); api.KindOf(err) != api.Interrupted {
		t.Errorf("interrupted: %v", err)
	}
	p, _ = startPlain(t, a, ana, nil)
	if _, err := io.WriteString(p.in, "ope\x03"); err != nil {
		t.Fatal(err)
	}
	if err := p.end(); api.KindOf(err) != api.Interrupted {
		t.Errorf("ctrl+c: %v", err)
	}
}

func TestWidthCharactersAndEcho(t *testing.T) {
	t.Parallel()
	a := filled(t, "")
	p, _ := startPlain(t, a, ana, func(o *console.PlainOptions) {
		o.Width, o.Echo = 40, true
		o.Getenv = func(name string) string { return map[string]string{"LANG": "C"}[name] }
	})
	p.say("1", "You typed 1.")
	p.say("filter customer:株式会社", `\u682a\u5f0f`)
	_ = p.in.Close()
	if err := p.end(); err != nil {
		t.Error(err)
	}
	for l := range strings.SplitSeq(p.transcript(), "\n") {
		for _, r := range l {
			if r > 0x7e {
				t.Fatalf("%q is not ASCII", l)
			}
		}
		if len(l) > 40 {
			t.Errorf("%q is longer than 40", l)
		}
	}
}

func TestRevokedSessionIsReported(t *testing.T) {
	t.Parallel()
	a := filled(t, "")
	p, _ := startPlain(t, a, ana, nil)
	// Someone else logs the account in: our pair dies before its time.
	if err := faulty.Of(a.Sandbox).ForeignLogin(t.Context()); err != nil {
		t.Fatal(err)
	}
	p.say("1")
	p.say("live", "News. Attention. Our session was ended once in the last ten minutes", "Look for another program")
	p.never("again", "News.") // once is enough
	if err := p.leave(); err != nil {
		t.Error(err)
	}
}
