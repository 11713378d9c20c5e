package console_test

import (
	"flag"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"opdeck/api"
	"opdeck/api/endpoint"
	"opdeck/api/secret"
	"opdeck/internal/app/config"
	"opdeck/internal/domain/approval"
	"opdeck/internal/domain/audit"
	"opdeck/internal/e2e/racedetector"
	"opdeck/internal/surface/console"
)

var update = flag.Bool("update", false, "write the transcript anew")

// TestTranscript holds one session against a file, word for word.
func TestTranscript(t *testing.T) {
	racedetector.Skip(t)
	t.Parallel()
	a := mirrored(t)
	op := newest(t, a, 0)
	p, _ := startPlain(t, a, ana, nil)
	for _, l := range []string{"?", "1", "?", "next", "first", "filter status:PENDING currency:EUR", "totals", "totals",
		"back", "views pending", "sort created", "filter off", "1",
		"all", "history", "back", "documents", "3", "back", "remove 3", "remove 1", "y", "remove 1", "yes", "restore", "yes",
		"back", "back", "open " + string(op.OPID), "menu", "7", "back"} {
		p.say(l)
	}
	if err := p.leave(); err != nil {
		t.Error(err)
	}
	file := filepath.Join("testdata", "plain.txt")
	if *update {
		if err := os.WriteFile(file, []byte(p.transcript()), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	want, err := os.ReadFile(file)
	if err != nil {
		t.Fatal(err)
	}
	got, wanted := strings.Split(p.transcript(), "\n"), strings.Split(string(want), "\n")
	for i := range min(len(got), len(wanted)) {
		if got[i] != wanted[i] {
			t.Fatalf("line %d (go test -update writes it anew):\n got %s\nwant %s", i+1, got[i], wanted[i])
		}
	}
	if len(got) != len(wanted) {
		t.Errorf("%d lines, want %d", len(got), len(wanted))
	}
}

func TestDocumentsFromEndToEnd(t *testing.T) {
	t.Parallel()
	a := filled(t, "")
	op := newest(t, a, 0)
	id := string(op.OPID)
	p, _ := startPlain(t, a, ana, nil)
	p.say("open "+id, "Operation "+id+".", "PENDING (open)", "Parts: ")
	p.say("all", "reference: ", "number: ••••", "That is all.")
	p.say("reveal", "number: "+op.Source.Account.Number.Line(0))
	p.say("raw", `"opid": "`+id+`"`)
	p.say("all", "1. cuid: "+op.Customer.CUID.Line(0), "6. ")
	p.say("99", "Type a number on this page: 1 to ")
	p.say("6", " 3 rows.")
	p.say("back", "Operation "+id)
	p.say("documents", "1. name "+op.Documents[0].FileName.Line(0), "lock locked")
	p.say("remove 3", "is locked and cannot be removed.", "Only the compliance team")
	p.say("remove 9", "1 to 3")
	p.say("remove 1", "SANDBOX. Context backend", "document id: "+op.Documents[0].GUID.Line(0),
		"document: "+op.Documents[0].FileName.Line(0), "operation id: "+id, "Type yes to remove")
	p.say("yes", "Done. Removed", "To restore it: restore.", " 2 rows.")
	if _, still := now(t, a, id).Document(string(op.Documents[0].GUID)); still {
		t.Error("the document is still there")
	}
	p.say("restore", "Type yes to restore")
	p.say("yes", "Done. Restored", " 3 rows.")
	p.say("z", "restore cannot be used now. Nothing to restore")

	file := filepath.Join(t.TempDir(), "new contract.txt")
	if err := os.WriteFile(file, []byte("the new text"), 0o600); err != nil {
		t.Fatal(err)
	}
	p.say("replace 1", "Each step is recorded first", "File on this host, or back:")
	p.say(file, "Type, or an empty line for OPERATION_DOCUMENT:")
	p.say("CONTRACT", "Description")
	p.say("", "Replace ", "Between the removal and the new attachment")
	p.say("yes", "Done. Replaced", "new contract.txt")
	p.say("replace 1 /no/such/file", "The file does not exist.", "File on this host, or back:")
	p.say("back")
	p.say("upload "+file, "Type, or")
	p.say("", "Description")
	p.say("", "Upload new contract.txt and attach it", "file: "+file, "Type yes to upload")
	p.say("no", "No. Nothing was sent.")
	p.say("attach "+op.Documents[0].GUID.Line(0), "file id: "+op.Documents[0].GUID.Line(0), "Type yes to attach")
	p.say("yes", "Done. Attached invoice.pdf.", " 4 rows.")
	p.say("back", "Operation "+id)
	p.say("history", "invoice.pdf removed by ana", "source read")
	p.say("back")
	p.say("tree", "reports no parent and no child")
	if err := p.leave(); err != nil {
		t.Error(err)
	}
}

func TestAReplacementThatStandsStillIsOffered(t *testing.T) {
	t.Parallel()
	a := filled(t, "")
	op := newest(t, a, 0)
	ctx := api.WithActor(t.Context(), ana)
	u := api.Upload{CUID: string(op.Customer.CUID), FileName: "new.txt", Content: []byte("text")}
	if _, err := a.Jobs.Plan(ctx, op, string(op.Documents[1].GUID), u, false); err != nil {
		t.Fatal(err)
	}
	p, greeting := startPlain(t, a, ana, nil)
	if all := strings.Join(greeting, "\n"); !strings.Contains(all, "A replacement of contract.pdf is unfinished") ||
		!strings.Contains(all, string(op.OPID)) {
		t.Fatalf("not reported:\n%s", all)
	}
	p.say("documents "+string(op.OPID), "A replacement of contract.pdf is unfinished", "nothing was sent yet")
	p.say("replace 2", "1. Resume", "Abandon", "Leave it")
	p.say("leave it", "Documents of ")
	p.say("R 1", "1. Resume")
	p.say("1", "Resume: ", "so far: nothing was sent yet", "Type yes to resume")
	p.say("no", "No. Nothing was sent.")
	p.say("resume", "1. Resume")
	p.say("1", "Type yes to resume")
	p.say("yes", "Done. Replaced contract.pdf.")
	if got := now(t, a, string(op.OPID)); got.Documents[len(got.Documents)-1].FileName != "new.txt" {
		t.Errorf("documents are %v", got.Documents)
	}
	if err := p.leave(); err != nil {
		t.Error(err)
	}
}

func TestNothingIsConfirmedByAccident(t *testing.T) {
	t.Parallel()
	a := filled(t, "")
	op := newest(t, a, 0)
	p, _ := startPlain(t, a, ana, nil)
	p.say("open " + string(op.OPID))
	p.say("documents")
	for _, answer := range []string{"", "y", "Y", "1", "yes.", "yes yes", "remove 1", "back", "\x1b[A"} {
		p.say("remove 1", "Type yes")
		p.say(answer, "No. Nothing was sent.", "Documents of ")
	}
	// A paste: command and answers in one piece. The answers are gone; the question waits.
	p.say("remove 1\nyes\nyes", "Type yes to remove")
	p.say("", "No. Nothing was sent.")
	p.say("remove 1", "Type yes to remove")
	p.say("yes\nback", "That counts as No.")
	p.say("back")
	page, err := a.Audit.Reader.Find(api.WithActor(t.Context(), ana), audit.Query{Event: string(api.ActRemoveDocument)})
	if err != nil || len(page.Entries) != 0 {
		t.Errorf("%d records of removals, %v", len(page.Entries), err)
	}
	if err := p.leave(); err != nil {
		t.Error(err)
	}
}

func TestProductionAsksForTheIdsEnd(t *testing.T) {
	t.Parallel()
	a := filled(t, "")
	op := newest(t, a, 0)
	a.Context.Sandbox, a.Context.Kind = false, config.Production // the service stays the built-in one
	p, greeting := startPlain(t, a, ana, nil)
	if !strings.Contains(strings.Join(greeting, "\n"), "PRODUCTION. Context backend.") {
		t.Errorf("greeting: %q", greeting)
	}
	guid := string(op.Documents[0].GUID)
	p.say("open " + string(op.OPID))
	p.say("documents")
	for _, wrong := range []string{"yes", "", guid[len(guid)-3:], guid} {
		p.say("remove 1", "PRODUCTION.", "Type the last 4 characters of the document id to remove")
		p.say(wrong, "No. Nothing was sent.")
	}
	p.say("remove 1")
	p.say(guid[len(guid)-4:], "Done. Removed")
	if err := p.leave(); err != nil {
		t.Error(err)
	}
}

func TestVerificationFromEndToEnd(t *testing.T) {
	t.Parallel()
	a := filled(t, "")
	token := "demo-corporate-rejected-1"
	p, _ := startPlain(t, a, ana, func(o *console.PlainOptions) {
		o.Secret = func(string) (string, error) {
			return token,
				nil
		}
	})
	p.say("4", "Customers 1 to 10 of 20")
	p.say("next", "Customers 11 to 20 of 20")
	p.say("next", "No more pages.")
	p.say("filter Harbour", "1. name Harbour & Finch")
	p.say("1", "Share: not needed.", "Finalize: ", "Nothing to do: the customer is accepted.")
	p.say("share "+token, "Do not type a secret after the command")
	p.say("share", "CORPORATE: one share token", "not shown, stored or logged", "Type yes to apply")
	p.say("yes", "The token was not applied.", "Try again")
	token = "demo-corporate-outstanding-2"
	p.say("S", "Type yes to apply")
	p.say("yes", "Done. Applied. Create a link with ", "for the outstanding document sets", "Outstanding sets: ", "Next: Create a link")
	p.say("share", "share cannot be used now.", "can be shared only once")
	p.say("link", "Type yes to create a link")
	if l := find(t, p.say("yes", "expires in "), "http"); !strings.Contains(l, "://") {
		t.Errorf("link %q", l)
	}
	p.say("application", "company name: Harbour & Finch")
	p.say("finalize", "outstanding: ", "cannot withdraw")
	p.say("yes", "Done. Finalized.", "Finalize: done.", "Next: Wait for the review's result.")
	p.say("finalize", "has been submitted")
	p.say("operations", "filter customer:")
	p.say("back")
	p.say("back", "Verification.")
	if err := p.leave(); err != nil {
		t.Error(err)
	}
	if strings.Contains(p.transcript(), token) {
		t.Error("the token was said")
	}
}

func TestRefusedSharesAreExplained(t *testing.T) {
	t.Parallel()
	a := filled(t, "")
	ctx := api.WithActor(t.Context(), ana)
	page, err := endpoint.Do(ctx, a.Client, endpoint.ListCustomers, api.CustomerQuery{})
	if err != nil {
		t.Fatal(err)
	}
	shared, other := string(page.Items[0].CUID), string(page.Items[1].CUID)
	if res, err := endpoint.Do(ctx, a.Client, endpoint.Share,
		endpoint.ShareToken{CUID: shared, Token: secret.New("demo-" + strings.ToLower(string(page.Items[0].Type)) +
			"-ok-x")}); err != nil || !res.Applied {
		t.Fatal(res, err) // by someone whose store is another one
	}
	dir := t.TempDir()
	file := filepath.Join(dir, "token")
	if err := os.WriteFile(file, []byte("demo-corporate-ok-zz\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	p, _ := startPlain(t, a, ana, nil) // no way to hide what is typed
	p.say("compliance "+shared, "Verification")
	p.say("share", "Input cannot be hidden here, so you cannot type a secret.", "which reads standard input",
		"File with the token")
	p.say(file, "Type yes to apply")
	p.say("yes", "Applying the share token refused.", "A share token was already applied", "Outstanding sets: ",
		"opdeck does not know what is outstanding")
	p.say("compliance " + other)
	p.say("share")
	p.say(file)
	p.say("yes", "The token was not applied.", "for a customer of type CORPORATE", "Try again with a corrected token (share).")
	p.say("share", "works once and is valid for about 20 minutes") // it is never off for ever
	p.say("back")
	if err := p.leave(); err != nil {
		t.Error(err)
	}
}

func TestSessionAndLimits(t *testing.T) {
	t.Parallel()
	a := filled(t, "")
	p, _ := startPlain(t, a, ana, nil)
	p.say("1")
	p.say("live")
	p.say("menu")
	p.say("5", "billing: ", " of 1000 used in the last minute, ", "policy wait")
	p.say("back", "Main menu.")
	p.say("6", "No fault known.", "state: OK, tokens are valid", "Access token: ", " of 5m left", "Refresh token: ",
		"generation: 1")
	p.say("history", "login ok")
	p.say("processes", "process")
	p.say("refresh", "recommends one refresh per minute", "Type yes to refresh")
	p.say("yes", "Done. The tokens were refreshed.", "generation: 2")
	p.say("login", "at most six logins per minute")
	p.say("", "No. Nothing was sent.")
	p.say("reset", "Sends nothing now")
	p.say("yes", "Done. The session was reset", "state: no tokens")
	p.say("where", "SANDBOX.", "The session is none.")
	p.say("activity", "list operations")
	if err := p.leave(); err != nil {
		t.Error(err)
	}
}

func TestASecondPerson(t *testing.T) {
	t.Parallel()
	a := filled(t, `approval = "second_person"`)
	a.AuthorizeSSH(func(approval.Person) (api.Role, error) { return api.Operator, nil })
	op := newest(t, a, 0)
	asker, _ := startPlain(t, a, ben, nil)
	asker.say("open " + string(op.OPID))
	asker.say("documents")
	asker.say("remove 1", "They read the reason", "or an empty line for none:")
	asker.say("wrong customer", "reason: wrong customer", "A second person must approve this. Nothing is sent yet.",
		"Type yes to ask for approval")
	asker.say("yes", "Removal needs a second person.", "Ask a colleague")

	judge, greeting := startPlain(t, a, ana, nil)
	if !strings.Contains(strings.Join(greeting, "\n"), "News. Attention. ben asks for approval") {
		t.Errorf("no news:\n%s", strings.Join(greeting, "\n"))
	}
	judge.say("9", "1 approval waits", "asked by ben")
	judge.say("details 1", "Only detaches the document", "DELETE /v2/billing/operation/", string(op.Documents[0].GUID),
		op.Customer.Name.Line(40), "wrong customer")
	judge.say("back")
	judge.say("1", "Operation "+string(op.OPID), "News. ben has this operation open too.")
	judge.say("back")
	judge.say("approve 1", "asked by: ben", "Type yes to approve")
	judge.say("y", "No. Nothing was sent.")
	judge.say("approve 1")
	judge.say("yes", "Done. Approved")

	asker.say("again", "News. Done. ana approved: Remove document")
	asker.say("remove 1", "Approved by ana. This sends it now.",
		"Type yes to send now (approved by ana)")
	asker.say("yes", "Done. Removed")
	asker.say("restore")
	asker.say("", "Type yes to ask for approval")
	asker.say("yes", "needs a second person")
	asker.say("menu")
	asker.say("9", "1 approval waits")
	asker.say("details 1", "Request ")
	asker.say("approve", "ask a colleague")
	if err := asker.leave(); err != nil {
		t.Error(err)
	}
	judge.say("again", "News. Attention. ben asks")
	judge.say("again", "1 approval waits")
	judge.say("deny 1", "or back:")
	judge.say("not today", "Type yes to deny")
	judge.say("yes", "Done. Denied")
	judge.say("again", "denied", "spent")
	if err := judge.leave(); err != nil {
		t.Error(err)
	}
}
