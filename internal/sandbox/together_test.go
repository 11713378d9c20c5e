package sandbox_test

import (
	"bytes"
	"context"
	"fmt"
	"io"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"time"

	"opdeck/internal/sandbox"
	"opdeck/internal/sandbox/faulty"
)

// TestOneFileIsOneServer: what one process does counts for the other.
func TestOneFileIsOneServer(t *testing.T) {
	file := filepath.Join(t.TempDir(), "s.db")
	a := openFaulty(t, faulty.Options{Options: sandbox.Options{Path: file, AccessTTL: time.Minute, HardLimits: true}})
	b := open(t, sandbox.Options{Path: file})
	one, two := connect(t, a).login(), connect(t, b)
	two.access, two.fresh = one.access, one.fresh
	if !two.alive() {
		t.Error("a token of one server is unknown to the other")
	}
	two.renew()
	if one.alive() || one.refresh().status != 429 { // and the budget of refreshes is one
		t.Error("a refresh at one server must count at the other")
	}
	one.access = two.access
	o := two.operation(0)
	opid, doc := o["opid"].(string), documents(o)[0]["guid"].(string)
	two.want(200, "DELETE", path(opid, doc), nil)
	if n := len(documents(one.want(200, "GET", "/v2/billing/operation/"+opid, nil)["item"].(map[string]any))); n != 2 {
		t.Errorf("%d documents at the other server", n)
	}
}

// TestRefreshRace: of many uses of one refresh token at once exactly one wins.
func TestRefreshRace(t *testing.T) {
	file := filepath.Join(t.TempDir(), "s.db")
	services := []*faulty.Service{open(t, sandbox.Options{Path: file}), open(t, sandbox.Options{Path: file})}
	c := connect(t, services[0]).login()
	var wg sync.WaitGroup
	results := make(chan int, 32)
	for i := range 32 {
		wg.Go(func() {
			r, _ := http.NewRequestWithContext(t.Context(), "GET", "http://x/v2/auth/refresh/"+c.fresh, nil)
			resp, err := services[i%2].Transport().RoundTrip(r)
			if err != nil {
				t.Error(err)
				return
			}
			resp.Body.Close()
			results <- resp.StatusCode
		})
	}
	wg.Wait()
	close(results)
	count := map[int]int{}
	for status := range results {
		count[status]++
	}
	if count[200] != 1 || count[401] != 31 {
		t.Errorf("%v", count)
	}
}

// TestOneDeliverer: two servers on a file send each event once.
func TestOneDeliverer(t *testing.T) {
	address, events, tries := receiver(t, sandbox.DefaultHookSecret)
	file := filepath.Join(t.TempDir(), "s.db")
	a := open(t, sandbox.Options{Path: file, HookURL: address})
	b := open(t, sandbox.Options{Path: file})
	const each = 10
	var wg sync.WaitGroup
	for _, s := range []*faulty.Service{a, b} {
		wg.Go(func() {
			for range each {
				if err := s.Step(context.Background()); err != nil {
					t.Error(err)
				}
			}
		})
	}
	wg.Wait()
	seen := map[string]bool{}
	a.Close() // what it had not delivered is delivered by the other
	for range 2 * each {
		seen[next(t, events).HookID] = true
	}
	if len(seen) != 2*each || tries.Load() != 2*each {
		t.Errorf("%d events in %d deliveries", len(seen), tries.Load())
	}
}

// TestFirstStartRace: processes that make the same file at once get one set of data.
func TestFirstStartRace(t *testing.T) {
	if file := os.Getenv("SANDBOX_TEST_FILE"); file != "" {
		c := connect(t, open(t, sandbox.Options{Path: file}))
		c.do("GET", "/v2/hook/get", nil)
		return
	}
	file := filepath.Join(t.TempDir(), "s.db")
	var wg sync.WaitGroup
	for range 6 {
		wg.Go(func() {
			cmd := exec.Command(os.Args[0], "-test.run=^TestFirstStartRace$")
			cmd.Env = append(os.Environ(), "SANDBOX_TEST_FILE="+file)
			if out, err := cmd.CombinedOutput(); err != nil {
				t.Errorf("%v: %s", err, out)
			}
		})
	}
	wg.Wait()
	s := open(t, sandbox.Options{Path: file})
	if n := len(connect(t, s).login().all(nil)); n != 40 {
		t.Errorf("%d operations", n)
	}
}

func TestOptionsStayInTheFile(t *testing.T) {
	file := filepath.Join(t.TempDir(), "s.db")
	first, err := sandbox.Open(t.Context(), sandbox.Options{Path: file, AccessTTL: 7 * time.Second, Operations: 12,
		Seed: 3})
	if err != nil {
		t.Fatal(err)
	}
	first.Close()
	s := open(t, sandbox.Options{Path: file, RefreshTTL: 9 * time.Second, Operations: 99, Seed: 4})
	c := connect(t, s)
	v := c.want(200, "POST", "/v2/auth/login", map[string]string{"login": sandbox.DefaultLogin, "password": sandbox.DefaultPassword})
	if v["accessTtl"] != float64(7) || v["refreshTtl"] != float64(9) || len(truth(t, s)) != 12 {
		t.Errorf("%v", v)
	}
}

func TestServe(t *testing.T) {
	s := open(t, sandbox.Options{})
	ctx, cancel := context.WithCancel(t.Context())
	defer cancel()
	out, in := io.Pipe()
	done := make(chan error, 1)
	go func() { done <- s.Serve(ctx, "127.0.0.1:0", in); in.Close() }()
	var greeting bytes.Buffer
	for !strings.Contains(greeting.String(), "kind = \"test\"\n\n") {
		b := make([]byte, 4096)
		n, err := out.Read(b)
		if err != nil {
			t.Fatal(err)
		}
		greeting.Write(b[:n])
	}
	var base string
	fmt.Sscanf(greeting.String(), "Sandbox service on %s\n", &base)
	for _, part := range []string{"machine@sandbox", "demo-individual-ok-1", "base_url = \"" + base + "\"",
		"OPDECK_PASSWORD"} {
		if !strings.Contains(greeting.String(), part) {
			t.Errorf("greeting lacks %q:\n%s", part, greeting.String())
		}
	}
	c := connect(t, s)
	c.base, c.http = base, http.DefaultClient
	if c.login().operation(0)["opid"] == "" {
		t.Error("no operation over TCP")
	}
	cancel()
	if err := <-done; err != nil {
		t.Errorf("end: %v", err)
	}
	if err := s.Serve(t.Context(), "not an address", io.Discard); err == nil {
		t.Error("a wrong address was taken")
	}
}
