//go:build linux

package e2e

import (
	"encoding/json"
	"fmt"
	"net/http"
	"net/http/httptest"
	"net/http/httputil"
	"net/url"
	"os"
	"path/filepath"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"opdeck/api"
	"opdeck/internal/store"
	"opdeck/internal/store/storetest"
)

// more adds to the config of the world.
func (w *otherWorld) more(text string) {
	w.t.Helper()
	name := filepath.Join(w.home, "opdeck.toml")
	conf, err := os.ReadFile(name)
	if err != nil {
		w.t.Fatal(err)
	}
	w.file("opdeck.toml", string(conf)+text)
}

// TestKilledWriteIsListedBehindAPooler: behind PgBouncer no process sees whether another one runs, so that a write whose
// process was killed is listed at once as sending, and settling it ends with 7.
func TestKilledWriteIsListedBehindAPooler(t *testing.T) {
	t.Parallel()
	pooled := storetest.Pooled(t, storetest.URL(t, store.Postgres))
	w := newPatientWorld(t, time.Minute, settleWait)
	w.more(fmt.Sprintf("[store]\nurl = %q\nkey_file = %q\n", pooled, w.file("key", strings.Repeat("0123456789abcdef", 4))))
	args, key := theWrite(t, api.ActShare).object(w, 1)
	w.answers(api.ActShare, otherAnswer{way: "hang"})
	came := make(chan struct{}, 1)
	w.mu.Lock()
	w.came = func(api.ActKind) { came <- struct{}{} }
	w.mu.Unlock()
	cmd := w.command(args...)
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	select {
	case <-came:
	case <-time.After(time.Minute):
		_ = cmd.Process.Kill()
		t.Fatal("nothing was sent")
	}
	_ = cmd.Process.Kill()
	_ = cmd.Wait()
	var open []struct{ What, State string }
	listed := w.run("audit", "unsettled", "-o", "json")
	if err := json.Unmarshal([]byte(listed.out), &open); err != nil || len(open) != 1 ||
		open[0].What != string(api.ActShare) || open[0].State != "sending" {
		t.Errorf("%v, listed: %s%s", err, listed.out, listed.err)
	}
	if got := w.run("audit", "unsettled", "--settle"); got.code != 7 {
		t.Errorf("settled with exit code %d: %s%s", got.code, got.out, got.err)
	}
	w.answers(api.ActShare, otherAnswer{})
	if got := w.run(args...); got.code != 5 {
		t.Errorf("sent again with exit code %d: %s%s", got.code, got.out, got.err)
	}
	if sent, _ := w.counts(api.ActShare, key); sent != 1 {
		t.Errorf("sent %d times", sent)
	}
}

// TestKilledSyncIsReplacedOnTheHost: a process that is killed while it reads the list leaves no running pass behind, and
// another one on the host reads on within max_age and five seconds.
func TestKilledSyncIsReplacedOnTheHost(t *testing.T) {
	t.Parallel()
	w := newOtherWorld(t)
	for range 3 {
		w.newOperation()
	}
	to, err := url.Parse(w.base)
	if err != nil {
		t.Fatal(err)
	}
	var hangs atomic.Bool
	came, proxy := make(chan struct{}, 8), httputil.NewSingleHostReverseProxy(to)
	before := httptest.NewServer(http.HandlerFunc(func(rw http.ResponseWriter, r *http.Request) {
		if hangs.Load() && r.URL.Path == "/v2/billing/operation" {
			came <- struct{}{}
			<-r.Context().Done()
			return
		}
		proxy.ServeHTTP(rw, r)
	}))
	t.Cleanup(before.Close)
	conf, err := os.ReadFile(filepath.Join(w.home, "opdeck.toml"))
	if err != nil {
		t.Fatal(err)
	}
	w.file("opdeck.toml", strings.NewReplacer(w.base, before.URL, "enabled = false", "enabled = true\nmax_age = \"1s\"").
		Replace(string(conf)))
	hangs.Store(true)
	cmd := w.command("index", "sync", "--wait")
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	<-came
	_ = cmd.Process.Kill()
	_ = cmd.Wait()
	hangs.Store(false)
	var is struct{ Pass struct{ Running bool } }
	got := w.run("index", "status", "-o", "json")
	if err := json.Unmarshal([]byte(got.out), &is); err != nil || is.Pass.Running {
		t.Errorf("%v, a pass runs after the kill: %s%s", err, got.out, got.err)
	}
	began, within := time.Now(), 20*time.Second // TestKilledSyncerIsReplaced: of another host after 30 s, of this one after 6 s
	if long() {
		within = 6 * time.Second
	}
	if got := w.run("index", "sync", "--wait"); got.code != 0 || time.Since(began) > within {
		t.Errorf("exit code %d after %s: %s%s", got.code, time.Since(began), got.out, got.err)
	}
}
