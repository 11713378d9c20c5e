//go:build linux

package e2e

import (
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"syscall"
	"testing"
	"time"

	"opdeck/api"
)

// TestLateDelivery: a gateway answers 504 and delivers the write afterwards. The
// command says that it does not know; a look after the delivery finds the state, and the
// request is listed until its time is over.
func TestLateDelivery(t *testing.T) {
	t.Parallel()
	for _, write := range allWrites(t) {
		if !write.readable {
			continue
		}
		t.Run(string(write.kind), func(t *testing.T) {
			t.Parallel()
			w := newOtherWorld(t)
			w.late1(write, otherAnswer{status: 504, kind: "text/html", body: "<h1>504 Gateway Time-out</h1>"})
		})
	}
	t.Run("no answer in time", func(t *testing.T) {
		t.Parallel()
		newPatientWorld(t, 2*time.Second, settleWait).late1(theWrite(t, api.ActRemoveDocument), otherAnswer{way: "hang"})
	})
}

// late1 runs a write whose act is done only after the command has ended.
func (w *otherWorld) late1(write aWrite, how otherAnswer) {
	w.t.Helper()
	hold, arrive := w.holds()
	how.hold = hold
	w.answers(write.kind, how)
	args, key := write.object(w, 1)
	if got := w.run(append(args, "-o", "json")...); got.code != 7 {
		w.t.Errorf("exit code %d, want 7\n%s%s", got.code, got.out, got.err)
	}
	if rows := w.unsettled(7, "--settle"); len(rows) != 1 || rows[0].State != "unknown" {
		w.t.Errorf("unsettled: %v", rows)
	}
	arrive()
	w.until("the late delivery", func() bool { _, done := w.counts(write.kind, key); return done == 1 })
	if rows := w.unsettled(7, "--settle"); len(rows) != 1 || rows[0].State != "seen" {
		w.t.Errorf("after the delivery: %v", rows)
	}
	w.timeIsOver()
	if rows := w.unsettled(0, "--settle"); len(rows) != 0 {
		w.t.Errorf("still unsettled: %v", rows)
	}
	if sent, done := w.counts(write.kind, key); sent != 1 || done != 1 {
		w.t.Errorf("sent %d times, done %d times", sent, done)
	}
	w.trailSaysSeen()
}

// trailSaysSeen fails if the trail does not say that the state was seen, or says ok of a request without an answer.
func (w *otherWorld) trailSaysSeen() {
	w.t.Helper()
	trail := w.run("audit", "list", "--phase", "outcome", "-o", "json")
	if !strings.Contains(trail.out, `"seen"`) || strings.Contains(trail.out, `"outcome": "ok"`) {
		w.t.Errorf("the trail says:\n%s", trail.out)
	}
	if got := w.run("audit", "verify"); got.code != 0 {
		w.t.Errorf("audit verify: exit code %d\n%s%s", got.code, got.out, got.err)
	}
}

// timeIsOver ends [writes] late_after for what was sent, as if it had passed.
func (w *otherWorld) timeIsOver() {
	w.t.Helper()
	config, err := os.ReadFile(filepath.Join(w.home, "opdeck.toml"))
	if err != nil {
		w.t.Fatal(err)
	}
	w.file("opdeck.toml", strings.Replace(string(config), "[writes]", "[writes]\nlate_after = \"1us\"", 1))
}

// TestColleagueRemovesTheSame: a gateway gives up on a removal, and a colleague removes the same document. The document
// is removed; our request may still arrive, and until then it is not restored. Then it is, and stays.
func TestColleagueRemovesTheSame(t *testing.T) {
	t.Parallel()
	for _, arrives := range []bool{true, false} {
		t.Run(fmt.Sprint("arrives ", arrives), func(t *testing.T) {
			t.Parallel()
			w := newOtherWorld(t)
			op := w.newOperation()
			doc := w.documentOf(op)
			hold, arrive := w.holds()
			w.answers(api.ActRemoveDocument, otherAnswer{status: 503, kind: "text/html", body: page502, hold: hold})
			w.mu.Lock()
			w.came = func(api.ActKind) { op.documents = nil }
			w.mu.Unlock()
			got := w.run("document", "remove", op.opid, doc, "--yes")
			said := mayArrive.FindStringSubmatch(got.err)
			if got.code != 0 || said == nil || !strings.Contains(got.err, "The document is removed.") ||
				strings.Contains(got.err, "document restore") {
				t.Fatalf("exit code %d\n%s%s", got.code, got.out, got.err)
			}
			w.mu.Lock()
			w.came = nil
			w.mu.Unlock()
			restore := []string{"document", "restore", op.opid, doc, "--yes", "-o", "json"}
			refused := func() {
				t.Helper()
				got := w.run(restore...)
				if sent, _ := w.counts(api.ActAttachDocument, op.opid); got.code != 5 || sent != 0 ||
					!strings.Contains(got.err, `"kind": "refused"`) && !strings.Contains(got.err, `"kind":"refused"`) ||
					!strings.Contains(got.err, "may still arrive until "+said[1]) {
					t.Errorf("restore: exit code %d, sent %d times\n%s%s", got.code, sent, got.out, got.err)
				}
				rows := w.unsettled(7, "--settle")
				if len(rows) != 1 || rows[0].State != "seen" || rows[0].Until.UTC().Format("15:04:05 UTC") != said[1] {
					t.Errorf("unsettled: %v", rows)
				}
			}
			refused()
			if arrives {
				arrive()
				w.late.Wait()
				refused()
			}
			w.trailSaysSeen()
			w.timeIsOver()
			if rows := w.unsettled(0, "--settle"); len(rows) != 0 {
				t.Errorf("still unsettled: %v", rows)
			}
			if got := w.run(restore...); got.code != 0 {
				t.Errorf("afterwards: exit code %d\n%s%s", got.code, got.out, got.err)
			}
			if got := w.run("document", "list", op.opid, "-o", "json"); !strings.Contains(got.out, doc) {
				t.Errorf("the document is not there: %s%s", got.out, got.err)
			}
		})
	}
}

// mayArrive finds the time in what a command says of a request without an answer.
var mayArrive = regexp.MustCompile(`[Nn]o answer says whether our request was done, and it may still arrive until (\d\d:\d\d:\d\d UTC)\.`)

// TestTheOppositeWaits: a removal that is in doubt is done late. Putting the document back in
// between could be undone by it, so that it is refused and sends nothing, also when a read
// shows the removal. Once its time is over it goes through.
func TestTheOppositeWaits(t *testing.T) {
	t.Parallel()
	for _, status := range []int{202, 504} {
		t.Run(fmt.Sprint(status), func(t *testing.T) {
			t.Parallel()
			w := newOtherWorld(t)
			hold, arrive := w.holds()
			w.answers(api.ActRemoveDocument, otherAnswer{status: status, hold: hold})
			op := w.newOperation()
			doc := w.documentOf(op)
			if got := w.run("document", "remove", op.opid, doc, "--yes"); got.code != 7 {
				t.Fatalf("exit code %d, want 7\n%s%s", got.code, got.out, got.err)
			}
			w.answers(api.ActAttachDocument, otherAnswer{status: 204, undone: true})
			restore := []string{"document", "restore", op.opid, doc, "--yes", "-o", "json"}
			got := w.run(restore...)
			if sent, _ := w.counts(api.ActAttachDocument, op.opid); got.code != 5 || sent != 0 || !strings.Contains(got.err, "Removing old.pdf") {
				t.Errorf("in between: exit code %d, sent %d times\n%s%s", got.code, sent, got.out, got.err)
			}
			if other := w.run("document", "attach", op.opid, w.fileOf(op), "--yes"); other.code != 7 {
				t.Errorf("another document: exit code %d, want 7\n%s%s", other.code, other.out, other.err)
			}
			arrive()
			w.until("the late removal", func() bool { _, done := w.counts(api.ActRemoveDocument, op.opid); return done == 1 })
			w.run("operation", "get", op.opid) // any read shows the removal
			if got := w.run(restore...); got.code != 5 {
				t.Errorf("removed: exit code %d\n%s%s", got.code, got.out, got.err)
			}
			w.timeIsOver()
			w.answers(api.ActAttachDocument, otherAnswer{status: 204})
			if got := w.run(restore...); got.code != 0 {
				t.Errorf("afterwards: exit code %d\n%s%s", got.code, got.out, got.err)
			}
			if _, done := w.counts(api.ActAttachDocument, op.opid); done != 1 {
				t.Errorf("put back %d times, want once", done)
			}
		})
	}
}

// unsettled is opdeck audit unsettled, with its exit code.
func (w *otherWorld) unsettled(code int, args ...string) (rows []struct {
	State, ID string
	Until     time.Time
}) {
	w.t.Helper()
	got := w.run(append([]string{"audit", "unsettled", "-o", "json"}, args...)...)
	if got.code != code {
		w.t.Errorf("audit unsettled: exit code %d, want %d\n%s%s", got.code, code, got.out, got.err)
	}
	var wrapped struct{ Items json.RawMessage }
	raw := json.RawMessage(got.out)
	if json.Unmarshal(raw, &wrapped) == nil && wrapped.Items != nil {
		raw = wrapped.Items
	}
	if err := json.Unmarshal(raw, &rows); err != nil {
		w.t.Errorf("audit unsettled: %v\n%s", err, got.out)
	}
	return rows
}

// until waits for something at the service.
func (w *otherWorld) until(what string, ok func() bool) {
	w.t.Helper()
	for end := time.Now().Add(patience); !ok(); time.Sleep(5 * time.Millisecond) {
		if time.Now().After(end) {
			w.t.Fatalf("%s did not come", what)
		}
	}
}

// TestALookInTimeFindsIt: a delivery within settle_wait is reported as done.
func TestALookInTimeFindsIt(t *testing.T) {
	t.Parallel()
	w := newPatientWorld(t, 20*time.Second, 20*time.Second) // the second look is after 2 s
	hold, arrive := w.holds()
	w.answers(api.ActRemoveDocument, otherAnswer{status: 502, hold: hold})
	args, opid := theWrite(t, api.ActRemoveDocument).object(w, 1)
	go func() {
		w.until("the removal", func() bool { sent, _ := w.counts(api.ActRemoveDocument, opid); return sent == 1 })
		arrive()
	}()
	if got := w.run(args...); got.code != 0 {
		t.Errorf("exit code %d\n%s%s", got.code, got.out, got.err)
	}
}

// TestNeverSent: a write that never left is reported as such.
func TestNeverSent(t *testing.T) {
	t.Parallel()
	w := newOtherWorld(t)
	c := w.newCustomer()
	if got := w.run("customer", "application", c.cuid); got.code != 0 { // there is a session now
		t.Fatalf("%s%s", got.out, got.err)
	}
	w.server.CloseClientConnections()
	w.server.Close()
	if got := w.run("compliance", "link", c.cuid, "--yes", "-o", "json"); got.code != 1 || !strings.Contains(got.err, "unavailable") {
		t.Errorf("exit code %d\n%s", got.code, got.err)
	}
	if rows := w.unsettled(0); len(rows) != 0 {
		t.Errorf("unsettled: %v", rows)
	}
}

// TestReplaceOutcomes: each step of a replacement against answers that prove
// nothing. Nothing is sent twice, and the operation never lacks its document
// without an open job. Any answers in any order are replace's
// TestAnyAnswersAnyKills; here each answer meets two steps.
func TestReplaceOutcomes(t *testing.T) {
	t.Parallel()
	names := []string{"200 {}", "200 success", "204", "502 html", "cut", "no answer"}
	for k, step := range []api.ActKind{api.ActRemoveDocument, api.ActAttachDocument, api.ActUploadDocument} {
		t.Run(string(step), func(t *testing.T) {
			t.Parallel()
			w := newOtherWorld(t)
			for _, u := range unproven {
				if i := slices.Index(names, u.name); i < 0 || (i+k)%3 == 0 {
					continue
				}
				for _, undone := range []bool{false, true} {
					how := u.answer
					if how.undone = undone; undone && how.status == 0 {
						how.status = 200 // never seen
					}
					w.replaces(step, fmt.Sprintf("%s, not done %v", u.name, undone), how)
				}
			}
			status := []int{200, 409, 500}[k]
			w.replaces(step, fmt.Sprintf("refused with %d", status), otherAnswer{undone: true, status: status, kind: "application/json", body: ended.body})
		})
	}
}

// replaces runs one replacement with one step answered by how, then resumes it with a service that answers properly.
func (w *otherWorld) replaces(step api.ActKind, name string, how otherAnswer) {
	w.t.Helper()
	w.tries++
	op, file := w.newOperation(), fmt.Sprintf("new-%d.pdf", w.tries)
	old := w.documentOf(op)
	w.answers(step, how)
	first := w.run("document", "replace", op.opid, old, w.file(file, "%PDF-1.4\nnew\n"), "--yes", "-o", "json")
	w.answers(step, otherAnswer{})
	job := w.jobOf(op.opid)
	var second ran
	if job != "" {
		second = w.run("document", "resume", job, "-o", "json")
	}
	w.mu.Lock()
	hasOld, hasNew := false, false
	for _, d := range op.documents {
		hasOld, hasNew = hasOld || d.id == old, hasNew || d.name == file
	}
	w.mu.Unlock()
	open := w.jobOf(op.opid) != ""
	problem := func(format string, args ...any) {
		w.t.Helper()
		w.t.Errorf("%s %s: %s\nreplace: %d\n%s%s\nresume: %d\n%s%s", step, name, fmt.Sprintf(format, args...), first.code, first.out, first.err, second.code, second.out, second.err)
	}
	for kind, key := range map[api.ActKind]string{api.ActRemoveDocument: op.opid, api.ActAttachDocument: op.opid, api.ActUploadDocument: file} {
		again := 1
		if strings.HasPrefix(name, "refused") && kind == step {
			again = 2 // what was refused may be tried again
		}
		if sent, done := w.counts(kind, key); sent > again || done > 1 {
			problem("%s was sent %d times and done %d times", kind, sent, done)
		}
	}
	switch {
	case !hasOld && !hasNew && !open:
		problem("the operation lacks its document, and no job is open")
	case !open && hasOld && hasNew:
		problem("the operation holds both documents")
	case !how.undone && (open || !hasNew || hasOld):
		problem("everything was done, but open job %v, old document %v, new document %v", open, hasOld, hasNew)
	case first.code == 0 && (!hasNew || hasOld):
		problem("reported as done, with old document %v, new document %v", hasOld, hasNew)
	}
}

// jobOf is the unfinished replacement of an operation, "" for none.
func (w *otherWorld) jobOf(opid string) string {
	w.t.Helper()
	var jobs []struct{ ID, OPID string }
	raw := json.RawMessage(w.run("document", "resume", "-o", "json").out)
	var wrapped struct{ Items json.RawMessage }
	if json.Unmarshal(raw, &wrapped) == nil && wrapped.Items != nil {
		raw = wrapped.Items
	}
	if err := json.Unmarshal(raw, &jobs); err != nil {
		w.t.Fatalf("document resume: %v\n%s", err, raw)
	}
	for _, j := range jobs {
		if j.OPID == opid {
			return j.ID
		}
	}
	return ""
}

// TestReplaceEndedAtEachStep: whatever signal ends a replacement, and at whichever of its calls,
// the next run continues at once, each call is sent once, and the operation gets its document.
func TestReplaceEndedAtEachStep(t *testing.T) {
	t.Parallel()
	w := newOtherWorld(t)
	steps := []api.ActKind{api.ActRemoveDocument, api.ActUploadDocument, api.ActAttachDocument}
	for _, sig := range []syscall.Signal{syscall.SIGINT, syscall.SIGTERM, syscall.SIGKILL} {
		for i, step := range steps {
			t.Run(fmt.Sprintf("%s/%s", step, sig), func(t *testing.T) {
				op, file := w.newOperation(), fmt.Sprintf("new-%d-%d.pdf", sig, i)
				old := w.documentOf(op)
				came := make(chan struct{}, 1)
				w.mu.Lock()
				w.came = func(kind api.ActKind) {
					if kind == step {
						came <- struct{}{}
					}
				}
				w.mu.Unlock()
				cmd := w.command("document", "replace", op.opid, old, w.file(file, "%PDF-1.4\nnew\n"), "--yes")
				if err := cmd.Start(); err != nil {
					t.Fatal(err)
				}
				<-came
				_ = cmd.Process.Signal(sig)
				_ = cmd.Wait()
				w.mu.Lock()
				w.came = nil
				w.mu.Unlock()
				if job := w.jobOf(op.opid); job != "" {
					if got := w.run("document", "resume", job, "--yes"); got.code != 0 {
						t.Errorf("resumed with exit code %d\n%s%s", got.code, got.out, got.err)
					}
				}
				for _, kind := range steps {
					key := op.opid
					if kind == api.ActUploadDocument {
						key = file
					}
					if sent, done := w.counts(kind, key); sent != 1 || done != 1 {
						t.Errorf("%s was sent %d times and done %d times", kind, sent, done)
					}
				}
			})
		}
	}
}
