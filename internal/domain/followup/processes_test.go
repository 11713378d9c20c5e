package followup_test

import (
	"context"
	"fmt"
	"net/http"
	"net/http/httptest"
	"os"
	"os/exec"
	"strings"
	"sync"
	"testing"
	"time"

	"opdeck/api"
	"opdeck/api/endpoint"
	"opdeck/api/secret"
	"opdeck/api/session"
	"opdeck/internal/domain/audit"
	"opdeck/internal/domain/followup"
	"opdeck/internal/store"
	"opdeck/internal/store/journal"
	"opdeck/internal/store/storetest"
)

const (
	contenders = 3
	contendURL = "OPDECK_CONTEND_STORE"
	contendAt  = "OPDECK_CONTEND_SERVICE"
)

// rounds is how often the processes contend.
func rounds() int {
	if os.Getenv("OPDECK_TEST_LONG") == "1" {
		return 200
	}
	return 50
}

// meeting is a service whose answers to writes are never conclusive, and a barrier for the processes of each round.
type meeting struct {
	mu    sync.Mutex
	sent  map[string]int           // guarded by mu: by customer
	here  map[string]int           // guarded by mu: by round
	begun map[string]chan struct{} // guarded by mu
}

func (m *meeting) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	m.mu.Lock()
	if r.Method == http.MethodPost {
		m.sent[strings.Split(r.URL.Path, "/")[3]]++
		m.mu.Unlock()
		w.WriteHeader(http.StatusGatewayTimeout)
		return
	}
	c := m.begun[r.URL.Path]
	if c == nil {
		c = make(chan struct{})
		m.begun[r.URL.Path] = c
	}
	if m.here[r.URL.Path]++; m.here[r.URL.Path] == contenders {
		close(c)
	}
	m.mu.Unlock()
	select {
	case <-c:
	case <-r.Context().Done():
	}
}

// anySession lends a token without a session.
type anySession struct{}

func (anySession) Do(ctx context.Context, _ session.Route, send api.Send) error {
	_, _, err := send(ctx, secret.New("token-1"))
	return err
}

// TestOneOfThreeProcessesSends: of three processes that make the same write at once, 200 times,
// one sends it each time, and the others are refused as in doubt.
func TestOneOfThreeProcessesSends(t *testing.T) {
	if url := os.Getenv(contendURL); url != "" {
		contend(t, url, os.Getenv(contendAt))
		return
	}
	for _, e := range []store.Engine{store.SQLite, store.Postgres} {
		t.Run(e.String(), func(t *testing.T) {
			url := storetest.URL(t, e)
			m := &meeting{sent: map[string]int{}, here: map[string]int{}, begun: map[string]chan struct{}{}}
			service := httptest.NewServer(m)
			defer service.Close()
			var all sync.WaitGroup
			for range contenders {
				all.Go(func() {
					child := exec.CommandContext(t.Context(), os.Args[0], "-test.run=^TestOneOfThreeProcessesSends$")
					child.Env = append(os.Environ(), contendURL+"="+url, contendAt+"="+service.URL)
					if out, err := child.CombinedOutput(); err != nil {
						t.Errorf("%v: %s", err, out)
						service.CloseClientConnections() // the others wait for it
					}
				})
			}
			all.Wait()
			for n := range rounds() {
				if sent := m.sent[fmt.Sprint("cust-", n)]; sent != 1 {
					t.Errorf("round %d: sent %d times", n, sent)
				}
			}
		})
	}
}

// contend is one of the processes.
func contend(t *testing.T, url, service string) {
	st := storetest.OpenURL(t, url)
	log, err := audit.New(audit.Options{Store: journal.NewAudit(st.Core)})
	if err != nil {
		t.Fatal(err)
	}
	tracker := followup.New(followup.Options{Store: journal.NewUnsettled(st.Core, "ctx"), Trail: log.Intents,
		LateAfter: lateAfter})
	client, err := endpoint.New(api.Options{BaseURL: service, Transport: http.DefaultTransport, Session: anySession{}.Do,
		Timeout: time.Minute, Now: time.Now, Gate: &api.Gate{Audit: log, Follow: tracker, Now: time.Now}})
	if err != nil {
		t.Fatal(err)
	}
	ctx := api.WithActor(t.Context(), ana)
	for n := range rounds() {
		resp, err := http.Get(fmt.Sprint(service, "/round/", n))
		if err != nil {
			t.Fatal(err)
		}
		resp.Body.Close()
		_, err = endpoint.Do(ctx, client, endpoint.Share, endpoint.ShareToken{CUID: fmt.Sprint("cust-", n),
			Token: secret.New("share-token-1")})
		if e := api.AsError(err); e == nil || e.Kind != api.UnknownOutcome && e.Rule != api.RuleDoubt {
			t.Fatalf("round %d: %v", n, err)
		}
	}
}
