package server_test

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	gossh "golang.org/x/crypto/ssh"

	"opdeck/api"
	"opdeck/internal/app"
	"opdeck/internal/domain/approval"
	"opdeck/internal/e2e/lockedbuffer"
	"opdeck/internal/surface/cli"
	"opdeck/internal/surface/server"
	"opdeck/internal/surface/sshserver"
)

// inPairs is a place whose writes need a second person.
func inPairs(t *testing.T) *place {
	t.Helper()
	p := prepare(t, "")
	b, err := os.ReadFile(p.file("config.toml"))
	if err != nil {
		t.Fatal(err)
	}
	p.write("config.toml", strings.Replace(string(b), "sandbox = true", "sandbox = true\napproval = \"second_person\"", 1))
	return p
}

// startAt is start with a clock of the test.
func (p *place) startAt(now func() time.Time) { p.startOn(now, func(*app.App) {}) }

// startOn is startAt, and hands out the App before anyone is let in.
func (p *place) startOn(now func() time.Time, tell func(*app.App)) {
	t := p.t
	t.Helper()
	env := func(name string) string { return map[string]string{"HOOK_SECRET": secret}[name] }
	ctx, cancel := context.WithCancel(context.Background())
	a, err := app.Open(ctx, app.Options{ConfigFlag: p.file("config.toml"), StateFlag: p.file("state"),
		LogFile: p.file("log"), Getenv: env, Now: now})
	if err != nil {
		t.Fatal(err)
	}
	tell(a)
	done := make(chan error, 1)
	go func() {
		done <- server.Run(ctx, a, server.Options{Out: p.out, Getenv: env,
			Exec: func(ctx context.Context, a *app.App, c sshserver.Command) int {
				return cli.Run(ctx, cli.Env{Args: c.Args, In: c.In, Out: c.Out, Err: c.Err, Getenv: env, App: a,
					Actor: api.ActorOf(ctx)})
			}})
	}()
	p.stop = sync.OnceValue(func() int {
		cancel()
		err := <-done
		if err := a.Close(); err != nil {
			t.Error(err)
		}
		if err != nil {
			t.Error(err)
			return 1
		}
		return 0
	})
	t.Cleanup(func() { p.stop() })
	p.listens()
}

// requests are those that the judge sees, newest first.
func (p *place) requests(states ...string) (out []approval.Request) {
	p.t.Helper()
	command := "approval list -o json"
	for _, s := range states {
		command += " --status " + s
	}
	list, errs, code := p.run(api.Admin, "", command)
	if err := json.Unmarshal([]byte(list), &out); err != nil || code != 0 {
		p.t.Fatalf("%s: %q %q, exit %d", command, list, errs, code)
	}
	return out
}

// ask runs a write that has to wait for a second person, and returns the request.
func (p *place) ask(command string) approval.Request {
	p.t.Helper()
	before := len(p.requests("open"))
	if _, errs, code := p.run(api.Operator, "", command); code != 5 || !strings.Contains(errs, "second person") {
		p.t.Fatalf("%s: %q, exit %d", command, errs, code)
	}
	open := p.requests("open")
	if len(open) != before+1 || open[0].Requester.Name != "p-operator" {
		p.t.Fatalf("after %s there are %+v", command, open)
	}
	return open[0]
}

func (p *place) want(role api.Role, command string, exit int, says string) {
	p.t.Helper()
	if out, errs, code := p.run(role, "", command); code != exit || !strings.Contains(out+errs, says) {
		p.t.Errorf("%s: %s: exit %d, want %d, %q: %q %q", role, command, code, exit, says, out, errs)
	}
}

func (p *place) attached(opid, guid string) bool {
	p.t.Helper()
	out, errs, code := p.run(api.Admin, "", "document list "+opid+" -o json")
	if code != 0 {
		p.t.Fatal(errs)
	}
	return strings.Contains(out, guid)
}

// One asks, a colleague on another connection sees it and lets it pass once.
func TestTwoPeople(t *testing.T) {
	t.Parallel()
	p := inPairs(t)
	p.start()
	opid, guid := p.opid()
	remove := "document remove " + opid + " " + guid + " --yes"
	r := p.ask(remove)
	if r.Act.ID != opid || r.Act.Item != guid || !p.attached(opid, guid) {
		t.Fatalf("the request is %+v", r)
	}
	p.want(api.Operator, "approval approve --yes "+r.ID, 5, "own request")
	p.want(api.Viewer, "approval approve --yes "+r.ID, 5, "Your role (viewer)")
	p.want(api.Admin, "approval approve --yes "+r.ID+" --digest 00", 5, "changed since you read it")
	p.want(api.Operator, remove, 5, "second person")
	p.want(api.Admin, "approval approve --yes "+r.ID+" --digest "+r.Digest, 0, "Approved")
	p.want(api.Operator, remove, 0, "Removed")
	if p.attached(opid, guid) {
		t.Error("the document is there")
	}
	p.want(api.Admin, "approval approve --yes "+r.ID, 5, "no longer open") // it is spent

	restore := "document restore --yes " + opid + " " + guid
	r = p.ask(restore)
	p.want(api.Admin, "approval deny --yes "+r.ID, 2, "--reason is required")
	p.want(api.Admin, "approval deny --yes "+r.ID+" --reason no", 0, "Denied")
	p.want(api.Operator, restore, 5, "")
	p.want(api.Admin, "approval approve --yes "+r.ID, 5, "denied by p-admin")
	if p.attached(opid, guid) {
		t.Error("what was denied was done")
	}

	// What is approved is that content and no other.
	attach := "document attach --yes " + opid + " " + guid + " --name "
	r = p.ask(attach + "one")
	p.want(api.Admin, "approval approve --yes "+r.ID, 0, "Approved")
	p.want(api.Operator, attach+"two", 5, "changed after approval was asked for")
	if p.attached(opid, guid) {
		t.Error("changed content passed")
	}
	if got := p.requests("void"); len(got) != 1 || got[0].ID != r.ID {
		t.Errorf("void: %+v", got)
	}
	r = p.ask(attach + "two")
	p.want(api.Admin, "approval approve --yes "+r.ID, 0, "Approved")
	p.want(api.Operator, attach+"two", 0, "Attached")
	if !p.attached(opid, guid) {
		t.Error("what was approved was not done")
	}
}

// The requester leaves, the server is started again, two people approve at once: the
// approval counts once, for who asked, as long as their role allows it.
func TestApprovalOutlivesServerAndConnection(t *testing.T) {
	t.Parallel()
	p := inPairs(t)
	p.start()
	opid, guid := p.opid()
	remove := "document remove " + opid + " " + guid + " --yes"
	r := p.ask(remove)
	_ = p.shared[api.Operator].Close() // the requester is gone
	if code := p.stop(); code != 0 {
		t.Fatalf("the server's exit is %d: %s", code, p.errs)
	}
	p.out, p.errs, p.shared = &lockedbuffer.Buffer{}, &lockedbuffer.Buffer{}, map[api.Role]*gossh.Client{}
	p.start()
	if got := p.requests("open"); len(got) != 1 || got[0].ID != r.ID {
		t.Fatalf("after the restart: %+v", got)
	}
	approve := "approval approve --yes " + r.ID
	judges := []*gossh.Client{p.login(api.Admin), p.loginAs("p-4")} // p-4 is an admin too
	codes := make([]int, len(judges))
	var wg sync.WaitGroup
	for i, c := range judges {
		s, err := c.NewSession()
		if err != nil {
			t.Fatal(err)
		}
		wg.Go(func() { codes[i] = exitOf(s.Run(approve)) })
	}
	wg.Wait()
	if codes[0]+codes[1] != 5 || codes[0] != 0 && codes[1] != 0 {
		t.Errorf("two approve at once: exits %v, want one 0 and one 5", codes)
	}
	p.want(api.Admin, remove, 5, "second person") // it is not theirs

	// The requester's role is lowered meanwhile: the approval does not help.
	keys, err := os.ReadFile(p.file("keys"))
	if err != nil {
		t.Fatal(err)
	}
	p.write("keys", strings.Replace(string(keys), `name="p-operator",role="operator"`, `name="p-operator",role="viewer"`,
		1))
	if code := p.stop(); code != 0 {
		t.Fatalf("the server's exit is %d: %s", code, p.errs)
	}
	p.out, p.errs, p.shared = &lockedbuffer.Buffer{}, &lockedbuffer.Buffer{}, map[api.Role]*gossh.Client{}
	p.start()
	p.want(api.Operator, remove, 5, "Your role (viewer)")
	p.write("keys", string(keys))
	if code := p.stop(); code != 0 {
		t.Fatalf("the server's exit is %d: %s", code, p.errs)
	}
	p.out, p.errs, p.shared = &lockedbuffer.Buffer{}, &lockedbuffer.Buffer{}, map[api.Role]*gossh.Client{}
	p.start()
	p.want(api.Operator, remove, 0, "Removed")
	if p.attached(opid, guid) {
		t.Error("the document is there")
	}
}

// An approval that is not used in time is none.
func TestApprovalLapses(t *testing.T) {
	t.Parallel()
	p := inPairs(t)
	var ahead atomic.Int64
	p.startAt(func() time.Time { return time.Now().Add(time.Duration(ahead.Load())) })
	opid, guid := p.opid()
	remove := "document remove " + opid + " " + guid + " --yes"
	r := p.ask(remove)
	p.want(api.Admin, "approval approve --yes "+r.ID, 0, "Approved")
	ahead.Store(int64(approval.Lifetime + time.Second))
	p.want(api.Operator, remove, 5, "second person")
	if got := p.requests("lapsed"); len(got) != 1 || got[0].ID != r.ID {
		t.Errorf("lapsed: %+v", got)
	}
	if !p.attached(opid, guid) {
		t.Error("the document was removed")
	}
}

// Two people remove the same document at once: it is removed once, and the second person gets an explanation
// (security case S26).
func TestTwoRemoveTheSame(t *testing.T) {
	t.Parallel()
	p := begin(t, "")
	opid, guid := p.opid()
	roles := []api.Role{api.Operator, api.Admin}
	for _, role := range roles {
		p.want(role, "limits", 0, "") // connected
	}
	var wg sync.WaitGroup
	var codes [2]int
	var errs [2]bytes.Buffer
	for i, role := range roles {
		s, err := p.shared[role].NewSession()
		if err != nil {
			t.Fatal(err)
		}
		s.Stderr = &errs[i]
		wg.Go(func() { codes[i] = exitOf(s.Run("document remove " + opid + " " + guid + " --yes")) })
	}
	wg.Wait()
	won, lost := 0, 1
	if codes[0] != 0 {
		won, lost = 1, 0
	}
	if codes[won] != 0 || codes[lost] != 5 && codes[lost] != 4 || len(strings.Fields(errs[lost].String())) < 4 {
		t.Errorf("exits %v: %q and %q", codes, &errs[0], &errs[1])
	}
	t.Logf("who came second is reported: %q", &errs[lost])
	if p.attached(opid, guid) {
		t.Error("the document is there")
	}
	out, _, _ := p.run(api.Admin, "", "audit list -o json --limit 200")
	if n := strings.Count(out, `"outcome": "ok"`); n != 1 {
		t.Errorf("%d acts are recorded as done: %s", n, out)
	}
}

// Uploads over SSH are read from standard input; a flag gives the name.
func TestFilesThroughStandardInput(t *testing.T) {
	t.Parallel()
	p := begin(t, "")
	opid, guid, cuid := p.sample()
	pdf := "%PDF-1.4\n" + strings.Repeat("x", 5000)
	out, errs, code := p.run(api.Operator, pdf,
		"document upload --yes - --name deed.pdf --customer "+cuid+" --type INVOICE")
	if code != 0 || strings.TrimSpace(out) == "" {
		t.Fatalf("upload: %q %q, exit %d", out, errs, code)
	}
	id := strings.TrimSpace(out)
	if out, errs, code := p.run(api.Admin, "", "document download "+cuid+" "+id+" -"); code != 0 || out != pdf {
		t.Errorf("what was stored: %d bytes, %q, exit %d", len(out), errs, code)
	}
	for _, c := range []struct {
		in, command, want string
		exit              int
	}{
		{pdf, "document upload --yes - --customer " + cuid, "--name is required", 2},
		{pdf, "document upload --yes - --name .. --customer " + cuid, "needs a name", 2},
		{"", "document upload --yes - --name a.pdf --customer " + cuid, "empty", 5},
		{strings.Repeat("x", api.MaxUpload+1), "document upload --yes - --name a.pdf --customer " + cuid, "too large", 5},
		{pdf, "document replace " + opid + " " + guid + " - --name new.pdf", "use --yes", 2},
		{`{"individual":{}}`, "customer set-application " + cuid + " -", "use --yes", 2},
		{strings.Repeat(" ", 1<<20+1), "customer set-application " + cuid + " - --yes", "larger than 1 MB", 2},
		{"not json", "customer set-application " + cuid + " - --yes", "JSON object", 2},
	} {
		if out, errs, code := p.run(api.Operator, c.in, c.command); code != c.exit || !strings.Contains(errs, c.want) {
			t.Errorf("%s: %q %q, exit %d", c.command, out, errs, code)
		}
	}
	if _, errs, code := p.run(api.Viewer, pdf, "document upload --yes - --name deed.pdf --customer "+cuid); code != 5 ||
		!strings.Contains(errs, "Your role") {
		t.Errorf("a viewer's upload: %q, exit %d", errs, code)
	}
	out, errs, code = p.run(api.Operator, pdf, "document replace "+opid+" "+guid+" - --name "+filepath.Join("some",
		"new.pdf")+" --yes")
	if code != 0 || p.attached(opid, guid) || !p.attached(opid, strings.TrimSpace(out)) {
		t.Errorf("replace: %q %q, exit %d", out, errs, code)
	}
}

func exitOf(err error) int {
	var exit *gossh.ExitError
	switch {
	case err == nil:
		return 0
	case errors.As(err, &exit):
		return exit.ExitStatus()
	}
	return -1
}
