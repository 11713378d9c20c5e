//go:build linux

package e2e

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"opdeck/api"
	"opdeck/api/endpoint"
)

// otherWorld is the program in a home of its own, on the other service.
type otherWorld struct {
	*other
	t     *testing.T
	home  string
	tries int
	codes []reported // in the order of the tries
}

// reported is the outcome by a command's exit code.
type reported struct {
	name string
	code int
}

// settleWait is how long a command looks for the outcome of a write in these
// tests, [writes] settle_wait.
const settleWait = 60 * time.Millisecond

// newOtherWorld starts the other service and writes a config for it.
func newOtherWorld(t *testing.T) *otherWorld {
	t.Helper()
	return newPatientWorld(t, 20*time.Second, settleWait)
}

// newPatientWorld is newOtherWorld with other waits: for an answer, and for the
// outcome of a write.
func newPatientWorld(t *testing.T, timeout, settleWait time.Duration) *otherWorld {
	t.Helper()
	w := &otherWorld{other: newOther(t), t: t, home: t.TempDir()}
	w.file("opdeck.toml", fmt.Sprintf(`default_context = "t"
[contexts.t]
base_url = %q
login = "machine@example.com"
password_env = "PW"
timeout = %q
[index]
enabled = false
[writes]
settle_wait = %q
[limits]
per_minute = { login = 1000, refresh = 1000, account = 1000, customer = 1000, billing = 1000, general = 1000 }
`, w.base, timeout, settleWait))
	return w
}

func (w *otherWorld) file(name, content string) string {
	w.t.Helper()
	path := filepath.Join(w.home, name)
	if err := os.WriteFile(path, []byte(content), 0o600); err != nil {
		w.t.Fatal(err)
	}
	return path
}

// ran is a command that has ended.
type ran struct {
	code     int
	out, err string
}

// command is the program with arguments, not started.
func (w *otherWorld) command(args ...string) *exec.Cmd {
	cmd := exec.Command(binary, args...)
	cmd.Dir = w.home
	cmd.Env = []string{"HOME=" + w.home, "PW=secret-password", "OPDECK_CONFIG=" + filepath.Join(w.home, "opdeck.toml"), "TZ=UTC"}
	return cmd
}

func (w *otherWorld) run(args ...string) ran {
	w.t.Helper()
	cmd := w.command(args...)
	var out, errs bytes.Buffer
	cmd.Stdout, cmd.Stderr = &out, &errs
	err := cmd.Run()
	var exit *exec.ExitError
	if err != nil && !errors.As(err, &exit) {
		w.t.Fatal(err)
	}
	return ran{cmd.ProcessState.ExitCode(), out.String(), errs.String()}
}

// aWrite is a write command and what can prove it. allWrites fills in kind and readable.
type aWrite struct {
	kind     api.ActKind
	readable bool // a read can show that it was done
	// object makes the object of one try: the command, how the service names it
	// in sent and done.
	object func(w *otherWorld, n int) (args []string, key string)
	// refusals are the service's own words: STATUS BODY and the exit code.
	refusals []refusal
}

type refusal struct {
	statuses []int
	body     string
	code     int
}

var (
	ended      = refusal{[]int{200, 400, 409, 422, 423, 500}, `{"error":"Cannot modify documents for completed operations"}`, 5}
	locked     = refusal{[]int{200, 423, 500}, `{"error":"Document is locked and cannot be removed"}`, 5}
	noOp       = refusal{[]int{200, 404, 500}, `{"error":"Operation not found: OPID"}`, 4}
	noCustomer = refusal{[]int{200, 404, 500}, `{"success":false,"message":"Customer not found: CUID"}`, 4}
)

var theWrites = map[api.ActKind]aWrite{
	api.ActRemoveDocument: {object: func(w *otherWorld, _ int) ([]string, string) {
		op := w.newOperation()
		return []string{"document", "remove", op.opid, w.documentOf(op), "--yes"}, op.opid
	}, refusals: []refusal{ended, locked, noOp, {[]int{200, 404, 500}, `{"error":"Document not found: DOC"}`, 4}, {[]int{200, 409, 500}, `{"error":"Document DOC is not attached to operation OPID"}`, 5}}},
	api.ActAttachDocument: {object: func(w *otherWorld, _ int) ([]string, string) {
		op := w.newOperation()
		return []string{"document", "attach", op.opid, w.fileOf(op), "--yes"}, op.opid
	}, refusals: []refusal{ended, noOp}},
	api.ActUploadDocument: {object: func(w *otherWorld, n int) ([]string, string) {
		c, name := w.newCustomer(), fmt.Sprintf("file-%d.pdf", n)
		return []string{"document", "upload", w.file(name, "%PDF-1.4\n"), "--customer", c.cuid, "--yes"}, name
	}, refusals: []refusal{{[]int{413}, `{"error":"The file is too large: the limit for PDF is 10 MB"}`, 5}, {[]int{200, 500}, `{"error":"Customer not found: D1"}`, 4}}},
	api.ActSetApplication: {object: func(w *otherWorld, n int) ([]string, string) {
		c := w.newCustomer()
		file := w.file(fmt.Sprintf("app-%d.json", n), fmt.Sprintf(`{"individual":{"application":{"firstName":"Ana%d","lastName":"New"}}}`, n))
		return []string{"customer", "set-application", c.cuid, file, "--yes"}, c.cuid
	}, refusals: []refusal{noCustomer}},
	api.ActFinalize: {object: func(w *otherWorld, _ int) ([]string, string) {
		c := w.newCustomer()
		return []string{"compliance", "finalize", c.cuid, "--yes"}, c.cuid
	}, refusals: []refusal{noCustomer, {[]int{200, 409}, `{"success":false,"message":"Application is not configured"}`, 5}}},
	api.ActShare: {object: func(w *otherWorld, n int) ([]string, string) {
		c := w.newCustomer()
		return []string{"compliance", "share", c.cuid, "--token-file", w.file(fmt.Sprintf("token-%d", n), fmt.Sprintf("share-token-of-test-%d", n)), "--yes"}, c.cuid
	}, refusals: []refusal{noCustomer, {[]int{409}, `{"error":"A share token was already applied"}`, 5}, {[]int{409, 403}, ``, 5},
		{[]int{403}, `{"error":"Not for partners on the BaaS verification program"}`, 5}, {[]int{200, 400}, `{"applied":false,"message":"The share token has expired"}`, 5}}},
	api.ActLink: {object: func(w *otherWorld, _ int) ([]string, string) {
		c := w.newCustomer()
		return []string{"compliance", "link", c.cuid, "--yes"}, c.cuid
	}, refusals: []refusal{noCustomer}},
	api.ActSetHooks: {object: func(w *otherWorld, n int) ([]string, string) {
		return []string{"hook", "set", "--url", fmt.Sprintf("https://new.example/%d", n), "--yes"}, ""
	}, refusals: []refusal{{[]int{400, 422}, `{"error":"hookUrl must be reachable"}`, 5}}},
	api.ActDeleteFile: {object: func(w *otherWorld, _ int) ([]string, string) {
		c := w.newCustomer()
		w.mu.Lock()
		defer w.mu.Unlock()
		id := c.files[0].id
		return []string{"customer", "delete-file", c.cuid, id, "--yes"}, id + c.cuid
	}, refusals: []refusal{{[]int{200, 423, 500}, `{"error":"Document is locked and cannot be removed"}`, 5}}},
}

// allWrites are the writes that are declared, in the order of their numbers; one without a
// row in theWrites fails.
func allWrites(t *testing.T) (out []aWrite) {
	t.Helper()
	for _, r := range endpoint.Writes() {
		if !r.Writes() {
			continue
		}
		write, ok := theWrites[r.Kind]
		if !ok {
			t.Errorf("%s has no row in theWrites", r.Kind)
			continue
		}
		write.kind, write.readable = r.Kind, r.Write.Look != nil
		out = append(out, write)
	}
	return out
}

// theWrite is the row of one kind.
func theWrite(t *testing.T, kind api.ActKind) aWrite {
	t.Helper()
	all := allWrites(t)
	return all[slices.IndexFunc(all, func(w aWrite) bool { return w.kind == kind })]
}

const page502 = "<!doctype html><title>502 Bad Gateway</title>"

// unproven are the answers that prove nothing, whatever was done. only: the
// kinds of write which it does not prove; nil: all.
var unproven = []struct {
	name   string
	answer otherAnswer
	only   []api.ActKind
}{
	{"200 html", otherAnswer{status: 200, kind: "text/html", body: "<!doctype html><title>Sign in</title>"}, nil},
	{"200 {}", otherAnswer{status: 200, kind: "application/json", body: "{}"}, nil},
	{"200 null", otherAnswer{status: 200, kind: "application/json", body: "null"}, nil},
	{"200 nothing", otherAnswer{status: 200, kind: "application/json"}, nil},
	{"200 text", otherAnswer{status: 200, kind: "text/plain", body: "OK"}, nil},
	{"200 error", otherAnswer{status: 200, kind: "application/json", body: `{"error":"Something went wrong"}`}, nil},
	{"200 success", otherAnswer{status: 200, kind: "application/json", body: `{"success":true,"message":"OK"}`}, []api.ActKind{api.ActRemoveDocument, api.ActAttachDocument, api.ActUploadDocument, api.ActShare, api.ActLink}},
	{"200 item without documents", otherAnswer{status: 200, kind: "application/json", body: `{"item":{"opid":"OPID","status":"PENDING"}}`}, []api.ActKind{api.ActRemoveDocument, api.ActAttachDocument}},
	{"200 another item", otherAnswer{status: 200, kind: "application/json", body: `{"item":{"opid":"5b55db86-17e5-4612-81f9-29d3bd5082a1","documents":[]}}`}, []api.ActKind{api.ActRemoveDocument}},
	{"202 {}", otherAnswer{status: 202, kind: "application/json", body: "{}"}, nil},
	{"204", otherAnswer{status: 204}, nil},
	{"302", otherAnswer{status: 302, kind: "text/html", body: "<a href='/login'>"}, nil},
	{"408", otherAnswer{status: 408, kind: "application/json", body: `{"error":"Request Timeout"}`}, nil},
	{"408 nothing", otherAnswer{status: 408}, nil},
	{"425", otherAnswer{status: 425}, nil},
	{"499", otherAnswer{status: 499}, nil},
	{"500 words", otherAnswer{status: 500, kind: "application/json", body: `{"error":"Internal Server Error"}`}, nil},
	{"500 nothing", otherAnswer{status: 500}, nil},
	{"502 html", otherAnswer{status: 502, kind: "text/html", body: page502}, nil},
	{"503", otherAnswer{status: 503, kind: "application/json", body: `{"error":"Service Unavailable"}`}, nil},
	{"504", otherAnswer{status: 504, kind: "application/json", body: `{"error":"context deadline exceeded"}`}, nil},
	{"403 html", otherAnswer{status: 403, kind: "text/html", body: "<title>Blocked by the firewall</title>"}, nil},
	{"cut", otherAnswer{status: 200, kind: "application/json", body: `{"item":{"opid":"OPID","success":true,"applied":true}}`, way: "cut"}, nil},
	{"no answer", otherAnswer{way: "drop"}, nil},
}

// notReported is what is never said of a write whose outcome is unknown.
var notReported = []string{"nothing was changed", "was not done", "Try again", "try again in a moment", "Removed.", "Attached.", "Finalized.", "Applied."}

// TestOutcomes: done and not done are reported with proof only, and nothing is sent twice. Every write × every answer
// is proven by api's TestEveryWriteEveryAnswer. Here, where each try is a process, the first write meets every second
// answer and each other write every ninth one (OPDECK_TEST_LONG=1: all), in turn; and each refusal comes with one of
// its statuses.
func TestOutcomes(t *testing.T) {
	t.Parallel()
	every, first := 9, 2
	if long() {
		every, first = 1, 1
	}
	for k, write := range allWrites(t) {
		t.Run(string(write.kind), func(t *testing.T) {
			t.Parallel()
			w := newOtherWorld(t)
			if write.kind == api.ActSetHooks { // all its tries are of one object
				w.timeIsOver()
			}
			w.try(write, "the service's own answer", otherAnswer{}, []int{0}, 1)
			for i, u := range unproven {
				if u.only != nil && !slices.Contains(u.only, write.kind) || k > 0 && (i+k)%every != 0 || k == 0 && i%first != 0 {
					continue
				}
				done, undone := u.answer, u.answer
				undone.undone = true
				if undone.way == "drop" {
					undone.status = 200 // never seen
				}
				code := 7
				if write.readable {
					code = 0
				}
				w.try(write, u.name+", done", done, []int{code}, 1)
				w.try(write, u.name+", not done", undone, []int{7}, 0)
			}
			for i, r := range write.refusals {
				status := r.statuses[(i+k)%len(r.statuses)]
				w.try(write, fmt.Sprintf("%d %s", status, r.body), otherAnswer{undone: true, status: status, kind: "application/json", body: r.body}, []int{r.code}, 0)
			}
			w.audited()
			for _, undone := range []bool{false, true} { // each in a home of its own: afterwards its calls wait
				w := newOtherWorld(t)
				code, done := []int{7}, 0
				if !undone {
					done = 1
					if write.readable {
						code = append(code, 0) // when the read may be made in time
					}
				}
				w.try(write, fmt.Sprintf("429, not done %v", undone), otherAnswer{undone: undone, status: 429, kind: "application/json", body: `{"error":"Too many requests"}`}, code, done)
			}
		})
	}
}

// try runs one write against one answer.
func (w *otherWorld) try(write aWrite, name string, answer otherAnswer, code []int, done int) {
	w.t.Helper()
	w.mu.Lock()
	w.tries++
	n := w.tries
	w.next[write.kind] = answer
	before := w.sent[string(write.kind)+" "]
	doneBefore := w.done[string(write.kind)+" "]
	w.mu.Unlock()
	args, key := write.object(w, n)
	got := w.run(append(args, "-o", "json")...)
	w.mu.Lock()
	defer w.mu.Unlock()
	w.codes = append(w.codes, reported{name, got.code})
	sent, did := w.sent[string(write.kind)+" "+key], w.done[string(write.kind)+" "+key]
	if key == "" { // one object for all tries
		sent, did = sent-before, did-doneBefore
	}
	if !slices.Contains(code, got.code) {
		w.t.Errorf("%s: exit code %d, want %d\n%s%s", name, got.code, code, got.out, got.err)
	}
	if sent != 1 || did != done {
		w.t.Errorf("%s: sent %d times, done %d times, want 1 and %d", name, sent, did, done)
	}
	if got.code == 7 {
		for _, words := range notReported {
			if strings.Contains(got.out+got.err, words) {
				w.t.Errorf("%s: nobody knows, and it says %q\n%s%s", name, words, got.out, got.err)
			}
		}
	}
}

// audited compares the trail with the commands' outcomes.
func (w *otherWorld) audited() {
	w.t.Helper()
	list := w.run("audit", "list", "--limit", "1000", "-o", "json")
	var trail struct {
		Items []struct {
			Record struct{ Event, Phase, Outcome, Ref string }
		}
	}
	if err := json.Unmarshal([]byte(list.out), &trail); err != nil {
		w.t.Fatalf("%v\n%s%s", err, list.out, list.err)
	}
	slices.Reverse(trail.Items) // the oldest first
	seen := map[string]bool{}
	var outcomes []string
	for _, it := range trail.Items {
		r := it.Record
		if r.Phase == "outcome" && !seen[r.Ref] && !strings.HasPrefix(r.Event, "session.") {
			seen[r.Ref] = true
			outcomes = append(outcomes, r.Outcome)
		}
	}
	if len(outcomes) != len(w.codes) {
		w.t.Fatalf("%d outcomes of %d writes: %v", len(outcomes), len(w.codes), outcomes)
	}
	for i, c := range w.codes {
		want := map[int][]string{0: {"ok", "seen"}, 7: {"unknown"}}[c.code]
		if want == nil {
			want = []string{"denied", "refused", "rejected"}
		}
		if !slices.Contains(want, outcomes[i]) {
			w.t.Errorf("%s: reported by exit code %d, audited as %q", c.name, c.code, outcomes[i])
		}
	}
}
