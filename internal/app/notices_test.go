package app

import (
	"context"
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"opdeck/internal/domain/notify"
)

// TestNoticesOfAnOutage: the service is away for some minutes, and three instances of opdeck serve, which are all
// started again meanwhile, tell each cause and its end once, without an account's number.
func TestNoticesOfAnOutage(t *testing.T) {
	file := filepath.Join(t.TempDir(), "notices")
	synctest.Test(t, func(t *testing.T) {
		w := newQuietWorld(t, 1)
		conf := quietConfig + fmt.Sprintf("[notify]\ncommand = [\"/bin/sh\", \"-c\", 'cat >> \"%s\"']\n", file)
		if err := os.WriteFile(w.config, []byte(conf), 0o600); err != nil {
			t.Fatal(err)
		}
		begin := func() *quietInstance {
			i := w.begin()
			stop, err := NoticesOf(i.App).Start(context.Background(), os.Getenv)
			if err != nil {
				t.Fatal(err)
			}
			i.ends = append(i.ends, stop)
			return i
		}
		for range 3 {
			w.running = append(w.running, begin())
		}
		defer func() {
			for _, i := range w.running {
				i.end(false)
			}
		}()
		set := func(down bool) {
			w.service.mu.Lock()
			defer w.service.mu.Unlock()
			w.service.down = down
		}
		time.Sleep(2 * time.Minute)
		if b, _ := os.ReadFile(file); len(b) > 0 {
			t.Fatalf("before the outage: %s", b)
		}
		set(true)
		time.Sleep(2 * time.Minute)
		for k, i := range w.running {
			i.end(false)
			w.running[k] = begin()
		}
		time.Sleep(2 * time.Minute)
		set(false)
		time.Sleep(5 * time.Minute)
	})
	b, err := os.ReadFile(file)
	if err != nil {
		t.Fatal(err)
	}
	begun, ended := map[string]int{}, map[string]int{}
	for line := range strings.Lines(string(b)) {
		var n notify.Notice
		if err := json.Unmarshal([]byte(line), &n); err != nil || n.Context != "prod" || n.Severity == "" {
			t.Fatalf("%v: %s", err, line)
		}
		if n.Kind == notify.Cause {
			begun[n.ID]++
		} else {
			ended[n.Ends]++
		}
	}
	if len(begun) == 0 || len(begun) != len(ended) {
		t.Errorf("%d causes, %d ends:\n%s", len(begun), len(ended), b)
	}
	for id, n := range begun {
		if n != 1 || ended[id] != 1 {
			t.Errorf("%s: told %d times, its end %d times", id, n, ended[id])
		}
	}
	if strings.Contains(string(b), "4111") {
		t.Errorf("not masked: %s", b)
	}
}
