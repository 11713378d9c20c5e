package endpoint_test

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"os/exec"
	"slices"
	"strings"
	"testing"

	"opdeck/api"
	"opdeck/api/endpoint"
	"opdeck/api/secret"
	"opdeck/internal/sandbox"
)

func TestRemoveAndPutBack(t *testing.T) {
	r := newRig(t, true, sandbox.Options{})
	op := r.pick(open)
	guid := string(op.Documents[0].GUID)
	now, err := endpoint.Do(r.ctx, r.client, endpoint.RemoveDocument, api.RemoveDocument{OPID: string(op.OPID), GUID: guid,
		Seen: &op})
	if err != nil {
		t.Fatal(err)
	}
	if _, still := now.Document(guid); still || len(now.Documents) != len(op.Documents)-1 {
		t.Error("the document is still there")
	}
	back, err := endpoint.Do(r.ctx, r.client, endpoint.AttachDocument, endpoint.Attachment{OPID: string(op.OPID),
		GUID: guid})
	if err != nil {
		t.Fatal(err)
	}
	if _, is := back.Document(guid); !is {
		t.Error("the document was not put back")
	}
	if len(r.trail.intents) != 2 || len(r.trail.outcomes) != 2 || r.trail.outcomes[0].Verdict != api.Done ||
		r.trail.intents[0].Item != guid {
		t.Errorf("the trail holds %+v %+v", r.trail.intents, r.trail.outcomes)
	}
}

// TestRefusals is the service's error table and our own guards.
func TestRefusals(t *testing.T) {
	r := newRig(t, true, sandbox.Options{})
	op := r.pick(open)
	other := r.pick(func(o api.Operation) bool { return open(o) && o.OPID != op.OPID })
	ended := r.pick(func(o api.Operation) bool {
		return o.Phase().Ended() && len(o.Documents) > 0 &&
			!o.Documents[0].Lock.Is()
	})
	locked := r.pick(func(o api.Operation) bool {
		return o.Phase() == api.PhaseOpen && slices.ContainsFunc(o.Documents, func(d api.Document) bool { return d.Lock.Is() })
	})
	lock := locked.Documents[slices.IndexFunc(locked.Documents, func(d api.Document) bool { return d.Lock.Is() })]
	remove := func(opid, guid string, force bool) error {
		_, err := endpoint.Do(r.ctx, r.client, endpoint.RemoveDocument, api.RemoveDocument{OPID: opid, GUID: guid,
			Force: force})
		return err
	}
	const none = "00000000-0000-4000-8000-000000000000"
	for name, c := range map[string]struct {
		err  error
		kind api.Kind
		rule api.Rule
	}{
		"unknown operation": {remove(none, none, false), api.NotFound, api.RuleOperationUnknown},
		"not attached": {remove(string(op.OPID), string(other.Documents[0].GUID), false), api.Refused,
			api.RuleNotAttached},
		"locked":         {remove(string(locked.OPID), string(lock.GUID), false), api.Refused, api.RuleLocked},
		"locked, forced": {remove(string(locked.OPID), string(lock.GUID), true), api.Refused, api.RuleLocked},
		"ended": {remove(string(ended.OPID), string(ended.Documents[0].GUID), false), api.Refused,
			api.RuleEndState},
		"ended, forced": {remove(string(ended.OPID), string(ended.Documents[0].GUID), true), api.Refused,
			api.RuleEndState},
		"id that leads up":  {remove("a/../b", none, false), api.Usage, api.RuleIdentifier},
		"id with dots":      {remove("..", none, false), api.Usage, api.RuleIdentifier},
		"id with an escape": {remove(none, "a\x1b[2J", false), api.Usage, api.RuleIdentifier},
		"attach what is not": {errOf(endpoint.Do(r.ctx, r.client, endpoint.AttachDocument,
			endpoint.Attachment{OPID: string(op.OPID), GUID: none})), api.NotFound, api.RuleDocumentUnknown},
		"attach to an unknown": {errOf(endpoint.Do(r.ctx, r.client, endpoint.AttachDocument,
			endpoint.Attachment{OPID: none, GUID: string(op.Documents[0].GUID)})), api.NotFound, api.RuleOperationUnknown},
	} {
		t.Run(name, func(t *testing.T) { wants(t, c.err, c.kind, c.rule) })
	}
	if n := r.wire.of("DELETE"); n != 1 { // the forced one on an ended operation
		t.Errorf("%d DELETEs were sent", n)
	}
}

func errOf[T any](_ T, err error) error { return err }

// TestChangedSinceSeen: the document was locked after it was shown.
func TestChangedSinceSeen(t *testing.T) {
	r := newRig(t, true, sandbox.Options{})
	op := r.pick(open)
	seen := op
	seen.Status = "PROCESSING_X"
	_, err := endpoint.Do(r.ctx, r.client, endpoint.RemoveDocument, api.RemoveDocument{OPID: string(op.OPID),
		GUID: string(op.Documents[0].GUID), Seen: &seen})
	wants(t, err, api.Refused, api.RuleChanged)
	if r.wire.of("DELETE") != 0 {
		t.Error("it was sent")
	}
}

// TestLostAnswers: however the answer is lost, the write is sent once, and a read shows its outcome.
func TestLostAnswers(t *testing.T) {
	for _, c := range []struct {
		fault   string
		kind    api.Kind // "" when the read shows the wanted state
		verdict api.Verdict
	}{
		{"drop=remove", "", api.Seen},
		{"reset=remove", "", api.Seen},
		{"truncate=remove", "", api.Seen},
		{"after=remove:504", "", api.Seen},
		{"status=remove:502", api.UnknownOutcome, api.Unclear},
		{"rubbish=remove", "", api.Seen},
	} {
		t.Run(c.fault, func(t *testing.T) {
			r := newRig(t, false, sandbox.Options{})
			op := r.pick(open)
			r.fault(c.fault)
			_, err := endpoint.Do(r.ctx, r.client, endpoint.RemoveDocument, api.RemoveDocument{OPID: string(op.OPID),
				GUID: string(op.Documents[0].GUID)})
			if api.KindOf(err) != c.kind {
				t.Errorf("got %v", err)
			}
			if n := r.wire.of("DELETE"); n != 1 {
				t.Errorf("%d DELETEs", n)
			}
			if out := r.trail.outcomes; len(out) != 1 || out[0].Verdict != c.verdict {
				t.Errorf("the trail says %+v", out)
			}
		})
	}
}

// TestUnknownOutcome: the answer is lost, and so is every read after it. The
// write is not repeated, and the trail keeps it as unknown.
func TestUnknownOutcome(t *testing.T) {
	r := newRig(t, false, sandbox.Options{})
	op := r.pick(open)
	r.fault("drop=remove,status=get:503:2") // the first get is the one before the write
	_, err := endpoint.Do(r.ctx, r.client, endpoint.RemoveDocument, api.RemoveDocument{OPID: string(op.OPID),
		GUID: string(op.Documents[0].GUID)})
	if n := r.wire.of("DELETE"); n != 1 {
		t.Errorf("%d DELETEs", n)
	}
	if api.KindOf(err) != "" { // the second look got through
		t.Errorf("the second look is not used: %v", err)
	}
	r.fault("drop=attach,drop=get~1") // the read before the write comes through
	_, err = endpoint.Do(r.ctx, r.client, endpoint.AttachDocument, endpoint.Attachment{OPID: string(op.OPID),
		GUID: string(op.Documents[0].GUID)})
	wants(t, err, api.UnknownOutcome, "")
	if n := r.wire.of("POST"); n != 1 {
		t.Errorf("%d POSTs", n)
	}
	if out := r.trail.outcomes; out[len(out)-1].Verdict != api.Unclear {
		t.Errorf("the trail says %+v", out)
	}
}

func TestGateRefusals(t *testing.T) {
	op := api.RemoveDocument{}
	for name, c := range map[string]struct {
		set  func(*rig)
		rule api.Rule
	}{
		"role":      {func(r *rig) { r.ctx = api.WithActor(r.ctx, api.Actor{Name: "vic", Role: api.Viewer}) }, api.RuleRole},
		"nobody":    {func(r *rig) { r.ctx = context.WithoutCancel(context.Background()) }, api.RuleRole},
		"read-only": {func(r *rig) { r.gate.ReadOnly = true }, api.RuleReadOnly},
		"audit":     {func(r *rig) { r.trail.intentErr = errors.New("disk full") }, api.RuleAudit},
	} {
		t.Run(name, func(t *testing.T) {
			r := newRig(t, true, sandbox.Options{})
			o := r.pick(open)
			op = api.RemoveDocument{OPID: string(o.OPID), GUID: string(o.Documents[0].GUID)}
			c.set(r)
			_, err := endpoint.Do(r.ctx, r.client, endpoint.RemoveDocument, op)
			wants(t, err, api.Refused, c.rule)
			if r.wire.of("DELETE") != 0 {
				t.Error("it was sent")
			}
			if name != "audit" && len(r.trail.notes) != 1 {
				t.Errorf("the denied attempt is not recorded: %+v", r.trail.notes)
			}
		})
	}
}

func TestShare(t *testing.T) {
	r := newRig(t, true, sandbox.Options{})
	for _, kind := range []string{api.Individual, api.Corporate} {
		c := r.customer(kind)
		cuid, word := string(c.CUID), strings.ToLower(kind)
		res, err := endpoint.Do(r.ctx, r.client, endpoint.Share,
			endpoint.ShareToken{CUID: cuid, Token: secret.New("demo-" + word + "-rejected-1")})
		if err != nil || res.Applied || res.Message == "" {
			t.Fatalf("a rejected token: %+v %v", res, err)
		}
		res, err = endpoint.Do(r.ctx, r.client, endpoint.Share,
			endpoint.ShareToken{CUID: cuid, Token: secret.New("demo-" + word + "-outstanding-1")})
		if err != nil || !res.Applied || len(res.Outstanding) == 0 || res.Outstanding[0].Name == "" {
			t.Fatalf("a good token: %+v %v", res, err)
		}
		_, err = endpoint.Do(r.ctx, r.client, endpoint.Share,
			endpoint.ShareToken{CUID: cuid, Token: secret.New("demo-" + word + "-ok-2")})
		wants(t, err, api.Refused, api.RuleShared)
		l, err := endpoint.Do(r.ctx, r.client, endpoint.MakeLink, cuid)
		if err != nil || l.TTL <= 0 || !strings.HasPrefix(string(l.URL), "http://sandbox.invalid/") {
			t.Fatalf("link: %+v %v", l, err)
		}
		if f, err := endpoint.Do(r.ctx, r.client, endpoint.Finalize, cuid); err != nil || !f.Success {
			t.Fatalf("finalize: %+v %v", f, err)
		}
	}
	for _, a := range r.trail.intents {
		if b, _ := json.Marshal(a); bytes.Contains(b, []byte("demo-")) {
			t.Errorf("the token is in the trail: %s", b)
		}
	}
}

func TestShareOnTheBaaSProgram(t *testing.T) {
	r := newRig(t, true, sandbox.Options{})
	r.fault("status=share:403/baas")
	_, err := endpoint.Do(r.ctx, r.client, endpoint.Share,
		endpoint.ShareToken{CUID: string(r.customer(api.Individual).CUID), Token: secret.New("demo-individual-ok-1")})
	wants(t, err, api.Refused, api.RuleBaaS)
}

// TestATokenIsPresentedOnce: the answer is lost, no read shows the outcome, and the service has seen the token once.
func TestATokenIsPresentedOnce(t *testing.T) {
	for _, fault := range []string{"drop=share", "after=share:500", "refuse=share", "status=share:503"} {
		t.Run(fault, func(t *testing.T) {
			r := newRig(t, false, sandbox.Options{})
			cuid := string(r.customer(api.Individual).CUID)
			r.fault(fault)
			before := r.wire.of("POST")
			res, err := endpoint.Do(r.ctx, r.client, endpoint.Share,
				endpoint.ShareToken{CUID: cuid, Token: secret.New("demo-individual-ok-9")})
			if res.Applied || api.KindOf(err) != api.UnknownOutcome {
				t.Errorf("%+v %v", res, err)
			}
			if n := r.wire.of("POST") - before; n != 1 {
				t.Errorf("presented %d times", n)
			}
			if err != nil && strings.Contains(fmt.Sprintf("%+v %v", err, errors.Unwrap(err)), "demo-") {
				t.Errorf("the token is in the error: %v", err)
			}
		})
	}
}

func TestUpload(t *testing.T) {
	r := newRig(t, true, sandbox.Options{})
	cuid := string(r.customer(api.Corporate).CUID)
	f, err := endpoint.Do(r.ctx, r.client, endpoint.UploadDocument, api.Upload{CUID: cuid, FileName: "Rechnung März.pdf",
		Content: []byte("%PDF-1.4 x"), Type: "INVOICE"})
	if err != nil || f.ID == "" {
		t.Fatal(f, err)
	}
	var b bytes.Buffer
	if n, err := endpoint.Do(r.ctx, r.client, endpoint.DownloadDocument, endpoint.Download{CUID: cuid, GUID: string(f.ID),
		To: &b}); err != nil || n != 10 || b.String() != "%PDF-1.4 x" {
		t.Errorf("%d %q %v", n, b.String(), err)
	}
	_, err = endpoint.Do(r.ctx, r.client, endpoint.UploadDocument, api.Upload{CUID: cuid, FileName: "a.txt",
		Content: make([]byte, 2<<20)})
	wants(t, err, api.Refused, api.RuleFile)
	_, err = endpoint.Do(r.ctx, r.client, endpoint.UploadDocument, api.Upload{CUID: cuid, FileName: "a.txt"})
	wants(t, err, api.Refused, api.RuleFile)
}

func TestALostUploadIsFoundByReading(t *testing.T) {
	r := newRig(t, false, sandbox.Options{})
	cuid := string(r.customer(api.Corporate).CUID)
	r.fault("drop=upload")
	f, err := endpoint.Do(r.ctx, r.client, endpoint.UploadDocument, api.Upload{CUID: cuid, FileName: "lost.pdf",
		Content: []byte("%PDF-lost")})
	if err != nil || f.ID == "" || r.wire.of("POST") != 1 {
		t.Errorf("%+v %v, %d POSTs", f, err, r.wire.of("POST"))
	}
}

func TestReads(t *testing.T) {
	r := newRig(t, true, sandbox.Options{})
	p, err := endpoint.Do(r.ctx, r.client, endpoint.ListOperations, api.OperationQuery{Size: 7, Page: 2})
	if err != nil || len(p.Items) != 7 || p.Page != 2 || p.Total != "500" {
		t.Fatalf("%d items, page %d, total %q, %v", len(p.Items), p.Page, p.Total, err)
	}
	parent := r.pick(func(o api.Operation) bool { return o.IsParent })
	tree, err := endpoint.Do(r.ctx, r.client, endpoint.GetOperationTree, string(parent.OPID))
	if err != nil || tree.Parent.OPID != parent.OPID || len(tree.Children) == 0 {
		t.Errorf("tree: %d children, %v", len(tree.Children), err)
	}
	child := string(tree.Children[0].OPID)
	if of, err := endpoint.Do(r.ctx, r.client, endpoint.GetOperationTree, child); err != nil ||
		string(of.Parent.OPID) != child || len(of.Ancestors) > 0 {
		t.Errorf("of a child: %d above, %v", len(of.Ancestors), err)
	}
	r.fault("variant=whole-tree")
	if of, err := endpoint.Do(r.ctx, r.client, endpoint.GetOperationTree, child); err != nil ||
		string(of.Parent.OPID) != child || len(of.Ancestors) != 1 || of.Ancestors[0].OPID != parent.OPID {
		t.Errorf("of a child, where the service answers the whole tree: %+v, %v", of.Ancestors, err)
	}
	r.fault("")
	h, err := endpoint.Do(r.ctx, r.client, endpoint.GetHooks, struct{}{})
	if err != nil {
		t.Fatal(err)
	}
	r.ctx = api.WithActor(r.ctx, api.Actor{Name: "root", Role: api.Admin})
	h.Enabled, h.HookURL, h.JWTSecret = true, "https://example.com/hooks", secret.New(hookSecret)
	if _, err := endpoint.Do(r.ctx, r.client, endpoint.SetHooks, h); err != nil {
		t.Fatal(err)
	}
	if now, err := endpoint.Do(r.ctx, r.client, endpoint.GetHooks, struct{}{}); err != nil || now.HookURL != h.HookURL ||
		!now.JWTSecret.Equal(h.JWTSecret) {
		t.Errorf("%+v %v", now, err)
	}
}

// TestSpoiltReads: a read that went wrong on its way is tried once more, one
// that answered nonsense is an error in words; nothing panics or hangs.
func TestSpoiltReads(t *testing.T) {
	for _, c := range []struct {
		fault string
		kind  api.Kind // "" when the second try succeeds
		gets  int
	}{
		{"drop=get#1", "", 2},
		{"status=get:503#1", "", 2},
		{"status=get:503", api.Unavailable, 2},
		{"rubbish=get", api.Internal, 1},
		{"truncate=get", api.Unavailable, 2},
		{"blank=get", "", 1},
		{"huge=get:20971520", api.Unavailable, 1},
		{"redirect=get:https://evil.example/", api.Unavailable, 2},
		{"busy=get:30s", api.RateLimited, 1},
	} {
		t.Run(c.fault, func(t *testing.T) {
			r := newRig(t, false, sandbox.Options{})
			op := r.pick(open)
			before := r.wire.of("GET")
			r.fault(c.fault)
			_, err := endpoint.Do(r.ctx, r.client, endpoint.GetOperation, string(op.OPID))
			if api.KindOf(err) != c.kind {
				t.Errorf("got %v (%s)", err, api.KindOf(err))
			}
			if n := r.wire.of("GET") - before; n != c.gets {
				t.Errorf("%d GETs, want %d", n, c.gets)
			}
		})
	}
}

func TestDryRunSendsNothing(t *testing.T) {
	r := newRig(t, true, sandbox.Options{})
	ctx, acts := api.DryRun(r.ctx)
	for _, err := range []error{
		errOf(endpoint.Do(ctx, r.client, endpoint.RemoveDocument, api.RemoveDocument{OPID: "op", GUID: "doc"})),
		errOf(endpoint.Do(ctx, r.client, endpoint.AttachDocument, endpoint.Attachment{OPID: "op", GUID: "doc", Name: "n"})),
		errOf(endpoint.Do(ctx, r.client, endpoint.UploadDocument, api.Upload{CUID: "c", FileName: "a.pdf",
			Content: []byte("x")})),
		errOf(endpoint.Do(ctx, r.client, endpoint.Share, endpoint.ShareToken{CUID: "c", Token: secret.New("cnry-token")})),
		errOf(endpoint.Do(ctx, r.client, endpoint.MakeLink, "c")),
		errOf(endpoint.Do(ctx, r.client, endpoint.Finalize, "c")),
		errOf(endpoint.Do(ctx, r.client, endpoint.SetApplication,
			endpoint.NewApplication{CUID: "c", Body: json.RawMessage(`{"individual":{}}`)})),
		errOf(endpoint.Do(ctx, r.client, endpoint.SetHooks, api.HookSettings{JWTSecret: secret.New(hookSecret)})),
	} {
		if !errors.Is(err, api.ErrDryRun) {
			t.Error(err)
		}
	}
	b, _ := json.Marshal(acts)
	if len(*acts) != 8 || bytes.Contains(b, []byte("cnry")) {
		t.Errorf("%s", b)
	}
	if len(r.wire.n) != 0 || len(r.trail.intents) != 0 {
		t.Error("something was sent or recorded")
	}
}

func TestListedOddItemIsKept(t *testing.T) {
	r := newRig(t, false, sandbox.Options{Operations: 5})
	p, err := endpoint.Do(r.ctx, r.client, endpoint.ListOperations, api.OperationQuery{})
	if err != nil || len(p.Items) == 0 {
		t.Fatal(err)
	}
	for _, o := range p.Items {
		if len(o.Raw) == 0 {
			t.Error("an item without what the service sent")
		}
	}
}

func TestRolesAndActs(t *testing.T) {
	for _, r := range endpoint.Writes() {
		if r.Need == "" || !api.Admin.May(r.Need) || api.Viewer.May(r.Need) || api.Role("x").May(r.Need) ||
			api.Role("").May(r.Need) {
			t.Errorf("%s: who may is wrong", r.Kind)
		}
	}
	if api.Operator.May(api.MaySession) || !api.OnCall.May(api.MaySession) || api.Analyst.May(api.MayDocuments) ||
		!api.Analyst.May(api.MayExport) {
		t.Error("the table of roles is wrong")
	}
}

// TestImports: api knows neither screens nor SQL.
func TestImports(t *testing.T) {
	out, err := exec.Command("go", "list", "-deps", "opdeck/api", "opdeck/api/endpoint", "opdeck/api/session",
		"opdeck/api/limit", "opdeck/api/hook").Output()
	if err != nil {
		t.Fatal(err)
	}
	for _, p := range strings.Fields(string(out)) {
		ours := strings.HasPrefix(p, "opdeck/") && !strings.HasPrefix(p, "opdeck/api")
		if ours || strings.Contains(p, "bubbletea") || strings.Contains(p, "lipgloss") || p == "database/sql" {
			t.Errorf("api depends on %s", p)
		}
	}
}
