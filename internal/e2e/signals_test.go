//go:build linux

package e2e

import (
	"encoding/json"
	"fmt"
	"strings"
	"syscall"
	"testing"
	"time"

	"opdeck/api"
	"opdeck/api/endpoint"
)

// TestEveryWriteEndedBySignals: whatever signal ends the program while any declared write waits for its answer, and
// whether the write was done or not, it is not reported as done without proof, is listed until it is settled, and is not
// sent again by the next run.
func TestEveryWriteEndedBySignals(t *testing.T) {
	t.Parallel()
	for k, write := range allWrites(t) {
		t.Run(string(write.kind), func(t *testing.T) {
			t.Parallel()
			w, tries := newPatientWorld(t, answerIn, settleWait), 0
			for n, sig := range []syscall.Signal{syscall.SIGINT, syscall.SIGTERM, syscall.SIGKILL} {
				for u, undone := range []bool{false, true} {
					if !long() && (k+n+u)%2 > 0 { // each signal to each write, done or not in turn
						continue
					}
					tries++
					t.Run(fmt.Sprintf("%s/undone=%t", sig, undone), func(t *testing.T) {
						w.endedBy(t, write, tries, sig, undone)
					})
				}
			}
		})
	}
}

// answerIn is how long these programs wait for an answer, which a polite end waits out.
const answerIn = 700 * time.Millisecond

func (w *otherWorld) endedBy(t *testing.T, write aWrite, n int, sig syscall.Signal, undone bool) {
	args, key := write.object(w, n)
	wasSent, wasDone := w.counts(write.kind, key)
	w.answers(write.kind, otherAnswer{way: "hang", undone: undone})
	came := make(chan struct{}, 4)
	w.mu.Lock()
	w.came = func(kind api.ActKind) {
		if kind == write.kind {
			came <- struct{}{}
		}
	}
	w.mu.Unlock()
	cmd := w.command(args...)
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	ended := make(chan error, 1)
	go func() { ended <- cmd.Wait() }()
	select {
	case <-came:
		_ = cmd.Process.Signal(sig)
		<-ended
	case err := <-ended:
		t.Fatalf("%s ended without sending: %v", strings.Join(args, " "), err)
	}
	w.answers(write.kind, otherAnswer{})
	w.mu.Lock()
	w.came = nil
	w.mu.Unlock()
	sent, done := w.counts(write.kind, key)
	if sent -= wasSent; sent != 1 {
		t.Fatalf("sent %d times", sent)
	}
	code := cmd.ProcessState.ExitCode() // -1: killed
	switch {
	case code == 0 && (done == wasDone || !write.readable):
		t.Errorf("exit 0 without proof")
	case code != 0 && code != 7 && sig != syscall.SIGKILL:
		t.Errorf("exit %d of a write whose outcome is unknown", code)
	}
	var open []struct{ What, Item, ID, State string }
	listed := w.run("audit", "unsettled", "-o", "json")
	if err := json.Unmarshal([]byte(listed.out), &open); err != nil {
		t.Fatalf("%v\n%s%s", err, listed.out, listed.err)
	}
	if len(open) == 0 || open[0].What != string(write.kind) && open[len(open)-1].What != string(write.kind) {
		if code != 0 {
			t.Errorf("it is not listed:\n%s", listed.out)
		}
	}
	again := w.run(args...)
	now, _ := w.counts(write.kind, key)
	if now -= wasSent; now > 1 && code != 0 && !endpoint.Rule(write.kind).Again { // 0: a read has proven it
		t.Errorf("sent %d times; the second run ended with %d\n%s%s", now, again.code, again.out, again.err)
	}
	var refs []struct{ Ref string }
	_ = json.Unmarshal([]byte(w.run("audit", "unsettled", "-o", "json").out), &refs)
	for _, is := range refs { // the next try begins without doubt
		w.run("audit", "settle", is.Ref, "--note", "looked at by the test")
	}
}
