package app

import (
	"cmp"
	"context"
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"opdeck/api"
	"opdeck/api/endpoint"
	"opdeck/internal/domain/notify"
	"opdeck/internal/domain/verdict"
	"opdeck/internal/domain/verdict/verdicttest"
	"opdeck/internal/e2e/racedetector"
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
		time.Sleep(2 * time.Minute)
		if b, _ := os.ReadFile(file); len(b) > 0 {
			t.Fatalf("before the outage: %s", b)
		}
		w.service.answers(503, `{"error":"maintenance of 4111 1111 1111 1111"}`)
		time.Sleep(2 * time.Minute)
		for k, i := range w.running {
			i.end(false)
			w.running[k] = begin()
		}
		time.Sleep(2 * time.Minute)
		w.service.answers(0, "")
		time.Sleep(5*time.Minute + time.Second) // the processes end one after the other, between two observations
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

// TestShapesAreAnOutage: each answer that is of no use, given to every call of a live session, is found as an outage
// within five seconds of the call that meets it, with its sentence, and the next proper answer ends it. The built
// program is brought into four of them, on every surface (TestIncidentsOfTheProgram).
func TestShapesAreAnOutage(t *testing.T) {
	racedetector.Skip(t)
	all := verdicttest.Incidents()
	for _, shape := range verdicttest.Shapes {
		t.Run(shape.Shape, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				w := newQuietWorld(t, 1)
				i := w.begin()
				defer i.end(false)
				ctx := api.WithActor(t.Context(), api.Actor{Name: "check", Role: api.Viewer, Via: "command"})
				look := func() (cause verdict.Cause, sentence string) {
					time.Sleep(5 * time.Second)
					first, _ := Verdict(ctx, i.App).First()
					return first.Cause, first.Sentence
				}
				calls := func() error {
					_, one := endpoint.Do(ctx, i.Client, endpoint.ListOperations, api.OperationQuery{})
					_, two := endpoint.Do(ctx, i.Client, endpoint.ListCustomers, api.CustomerQuery{})
					return cmp.Or(one, two)
				}
				time.Sleep(20 * time.Second)
				if cause, said := look(); cause != "" {
					t.Fatalf("before it: %s", said)
				}
				w.service.answers(shape.Status, shape.Body)
				if err := calls(); err == nil {
					t.Fatal("a call succeeded")
				}
				want := strings.ReplaceAll(all["live, then "+shape.Shape].Want, "stage.example.com", "service.test")
				if _, said := look(); said != want {
					t.Errorf("said %q, want %q", said, want)
				}
				w.service.answers(0, "")
				time.Sleep(time.Minute)
				if cause, said := look(); cause != "" {
					t.Errorf("after it: %s", said)
				}
			})
		})
	}
}
