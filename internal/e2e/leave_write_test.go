//go:build linux

package e2e

import (
	"encoding/json"
	"path/filepath"
	"testing"
	"time"

	"opdeck/api"
)

// TestLeavingWhileAnAnswerHangs: a person who leaves with q and y while a write waits for its answer leaves nothing
// journalled that was not sent; the write is listed as unknown, is sent once, and a later look settles it.
func TestLeavingWhileAnAnswerHangs(t *testing.T) {
	t.Parallel()
	onDocuments := func(w *otherWorld, x *terminal) string {
		op := w.newOperation()
		x.press("o").shows("Open an operation").types(op.opid).confirms("WITHDRAW").press("d").shows("1 of 2")
		return op.opid
	}
	for name, c := range map[string]struct {
		kind api.ActKind
		send func(w *otherWorld, x *terminal) (key string)
		job  bool // the journal has an unfinished replacement afterwards
	}{
		"removal": {kind: api.ActRemoveDocument, send: func(w *otherWorld, x *terminal) string {
			key := onDocuments(w, x)
			x.press("x").armed("Remove").press("y")
			return key
		}},
		"replacement": {kind: api.ActRemoveDocument, job: true, send: func(w *otherWorld, x *terminal) string {
			key := onDocuments(w, x)
			x.press("R").shows("File on this host").types(w.file("amended.pdf", "%PDF-1.4\n")).press(enter, enter, enter).armed("amended.pdf").press("y")
			return key
		}},
		"finalize": {kind: api.ActFinalize, send: func(w *otherWorld, x *terminal) string {
			op := w.newOperation()
			x.press("o").shows("Open an operation").types(op.opid).confirms("WITHDRAW").press("4").shows("Verification").press("f").armed("Submit").press("y")
			return op.cuid
		}},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			w := newPatientWorld(t, 12*time.Second, settleWait) // a busy machine asks before that
			hold, arrive := w.holds()
			w.answers(c.kind, otherAnswer{way: "hang", hold: hold})
			x := start(t, 120, 40, w.home, []string{"PW=secret-password", "OPDECK_CONFIG=" + filepath.Join(w.home, "opdeck.toml")})
			x.shows("operations")
			key := c.send(w, x)
			w.until("the write at the service", func() bool { sent, _ := w.counts(c.kind, key); return sent == 1 })
			x.insists("q", "Leave the console?").armed("Leave the console?", "waits for the answer").press("y")
			x.leaves(0)
			if sent, done := w.counts(c.kind, key); sent != 1 || done != 0 {
				t.Fatalf("sent %d times, done %d times", sent, done)
			}
			var intents struct {
				Items []struct{ Record struct{ Event string } }
			}
			listed := w.run("audit", "list", "--phase", "intent", "-o", "json")
			if err := json.Unmarshal([]byte(listed.out), &intents); err != nil || len(intents.Items) != 1 ||
				intents.Items[0].Record.Event != string(c.kind) {
				t.Errorf("%v, the trail has another intent than what was sent:\n%s%s", err, listed.out, listed.err)
			}
			if open := w.jobOf(key) != ""; open != c.job {
				t.Errorf("an open replacement: %t", open)
			}
			if rows := w.unsettled(7, "--settle"); len(rows) != 1 || rows[0].State != "unknown" {
				t.Errorf("unsettled: %v", rows)
			}
			arrive()
			w.until("the late delivery", func() bool { _, done := w.counts(c.kind, key); return done == 1 })
			if rows := w.unsettled(7, "--settle"); len(rows) != 1 || rows[0].State != "seen" {
				t.Errorf("the state is there, the request has no answer of its own: %v", rows)
			}
			if sent, _ := w.counts(c.kind, key); sent != 1 {
				t.Errorf("sent %d times", sent)
			}
		})
	}
}
