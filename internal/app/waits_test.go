package app

import (
	"testing"
	"testing/synctest"
	"time"

	"opdeck/api"
)

// TestWaits: what a call waits for is reported after a while and then rarely; the progress of a body more often.
func TestWaits(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		type reported struct {
			at       time.Duration
			sentence string
			moves    bool
		}
		var got []reported
		began := time.Now()
		w := newWaits(func(sentence string, moves bool) { got = append(got, reported{time.Since(began), sentence, moves}) }, nil)
		at := func(d time.Duration, c api.Call) {
			time.Sleep(d - time.Since(began))
			synctest.Wait()
			w.onCall(c)
		}
		call := api.Call{ID: "1", Op: "download document", Phase: api.CallRuns}
		moved := func(done, size int64) api.Call { c := call; c.Moved, c.Size = done, size; return c }
		at(0, call)
		at(3*time.Second, moved(300_000, 0))
		at(4*time.Second, moved(1_000_000, 0))
		at(9*time.Second, moved(2_000_000, 8_000_000))
		at(11*time.Second, moved(8_000_000, 8_000_000))
		at(31*time.Second, api.Call{ID: "1", Phase: api.CallEnded})
		at(time.Minute, api.Call{ID: "1", Phase: api.CallEnded})
		want := []reported{
			{2 * time.Second, "Waiting for the service to answer (download document).", false},
			{5 * time.Second, "Received 1.0 MB (download document).", true},
			{10 * time.Second, "Received 2.0 MB of 8.0 MB (download document).", true},
			{15 * time.Second, "Waiting for the service to answer (download document).", false},
		}
		if len(got) != len(want) {
			t.Fatalf("%+v", got)
		}
		for i, g := range got {
			if g != want[i] {
				t.Errorf("%+v, want %+v", g, want[i])
			}
		}
	})
}
