package sandbox_test

import (
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"io"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/golang-jwt/jwt/v5"

	"opdeck/internal/sandbox"
	"opdeck/internal/sandbox/faulty"
)

type event struct {
	HookID   string                     `json:"hook_id"`
	HookType int                        `json:"hook_type"`
	Data     map[string]json.RawMessage `json:"Data"`
}

// receiver verifies deliveries; it answers with the codes of refuse first.
func receiver(t *testing.T, secret string, refuse ...int) (address string, events chan event, tries *atomic.Int64) {
	t.Helper()
	events, tries = make(chan event, 100), &atomic.Int64{}
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		n := tries.Add(1)
		body, _ := io.ReadAll(r.Body)
		claims := jwt.MapClaims{}
		_, err := jwt.ParseWithClaims(strings.TrimPrefix(r.Header.Get("Authorization"), "Bearer "), claims,
			func(*jwt.Token) (any, error) { return []byte(secret), nil },
			jwt.WithValidMethods([]string{"HS256"}), jwt.WithIssuedAt(), jwt.WithExpirationRequired())
		var e event
		sum := sha256.Sum256(body)
		if json.Unmarshal(body, &e) != nil || err != nil || claims["jti"] != e.HookID ||
			claims["body_sha256"] != hex.EncodeToString(sum[:]) {
			t.Errorf("bad delivery: %v %v %s", err, claims, body)
		}
		if int(n) <= len(refuse) {
			w.WriteHeader(refuse[n-1])
			return
		}
		events <- e
	}))
	t.Cleanup(server.Close)
	return server.URL, events, tries
}

func next(t *testing.T, events chan event) event {
	t.Helper()
	select {
	case e := <-events:
		return e
	case <-time.After(time.Minute):
		t.Fatal("no delivery in 10 s")
		return event{}
	}
}

func TestEveryChangeRaisesItsEvent(t *testing.T) {
	address, events, _ := receiver(t, sandbox.DefaultHookSecret)
	s := open(t, sandbox.Options{HookURL: address})
	c := connect(t, s).login()
	o := c.operation(0)
	opid, cuid := o["opid"].(string), c.cuid("Ana")
	account := c.want(200, "GET", "/v2/account?meta.pageSize=1", nil)["items"].([]any)[0].(map[string]any)["id"].(string)
	counterparty := c.want(200, "GET", "/v2/counterparty?meta.pageSize=1", nil)["items"].([]any)[0].(map[string]any)
	payee := counterparty["accounts"].([]any)[0].(map[string]any)["accountId"].(string)
	change := func(ch faulty.Change) func() {
		return func() {
			if err := s.Change(t.Context(), ch); err != nil {
				t.Fatal(err)
			}
		}
	}
	tests := []struct {
		name     string
		do       func()
		hookType int
		key      string
		parts    []string
	}{
		{"removal", func() { c.want(200, "DELETE", path(opid, documents(o)[0]["guid"].(string)), nil) }, 1, "Operation",
			[]string{`"opid":"` + opid, `"status":1`, `"type":3`, `"payment_type":3`, `"is_visible":true`,
				`"source":{"account":"U`, `"destination":{"beneficiar":"U`, `"created_at":{"seconds":`,
				`"sum":{"currency_code":"USD",`}},
		{"status", change(faulty.Change{Kind: "operation", ID: opid, Status: "SUCCESS"}), 1, "Operation",
			[]string{`"status":3`}},
		{"share", func() { c.share(cuid, "demo-individual-ok-1") }, 3, "Client",
			[]string{`"cuid":"` + cuid, `"status":6`, `"create_at":{"seconds":`, `"lastname":"Kovačević"`}},
		{"finalize", func() { c.want(200, "PATCH", "/v2/customer/"+cuid+"/application", nil) }, 3, "Client",
			[]string{`"status":1`}},
		{"account", change(faulty.Change{Kind: "account", ID: account, Status: "BANNED", Units: "98765432109876543210",
			Nanos: 1}), 2, "Account",
			[]string{`"suid":"` + account, `"status":5`,
				`"money":{"currency_code":"EUR","nanos":1,"units":98765432109876543210}`, `"currency_iso":"EUR"`,
				`"requisites":[`}},
		{"requisite", change(faulty.Change{Kind: "requisite", ID: account,
			Set: json.RawMessage(`[{"title":"New","items":[]}]`)}), 5, "Account", []string{`"title":"New"`}},
		{"counterparty", change(faulty.Change{Kind: "counterparty", ID: payee, Status: "REJECT"}), 4, "Counterparty",
			[]string{`"suid":"` + payee, `"status":4`}},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			tt.do()
			e := next(t, events)
			if e.HookType != tt.hookType || len(e.Data) != 1 || len(e.HookID) != 36 || e.HookID[14] != '4' {
				t.Fatalf("%+v", e)
			}
			for _, part := range tt.parts {
				if !strings.Contains(string(e.Data[tt.key]), part) {
					t.Errorf("%s lacks %s", e.Data[tt.key], part)
				}
			}
			if strings.Contains(string(e.Data[tt.key]), `"nanos":0`) || strings.Contains(string(e.Data[tt.key]), `"units":0`) {
				t.Errorf("zeros must be left out: %s", e.Data[tt.key])
			}
		})
	}
}

func TestDeliveryIsRepeated(t *testing.T) {
	address, events, tries := receiver(t, "s3cret", 500, 302, 404)
	s := open(t, sandbox.Options{HookURL: address})
	configure(t, s, `{"hook": {"jwtSecret": "s3cret"}, "hook_backoff": "1ms"}`)
	if err := s.Step(t.Context()); err != nil {
		t.Fatal(err)
	}
	if e := next(t, events); e.HookType != 1 {
		t.Errorf("%+v", e)
	}
	if n := tries.Load(); n != 4 {
		t.Errorf("%d tries", n)
	}
}

func TestDeliveryIsGivenUp(t *testing.T) {
	address, _, tries := receiver(t, sandbox.DefaultHookSecret, 500, 500, 500, 500, 500, 500)
	s := open(t, sandbox.Options{HookURL: address})
	configure(t, s, `{"hook_backoff": "1ms", "hook_attempts": 3}`)
	if err := s.Step(t.Context()); err != nil {
		t.Fatal(err)
	}
	for end := time.Now().Add(time.Minute); ; time.Sleep(5 * time.Millisecond) {
		out, err := s.Outbox(t.Context())
		if err != nil {
			t.Fatal(err)
		}
		if len(out) == 1 && out[0].State == "given up" {
			break
		}
		if time.Now().After(end) {
			t.Fatalf("outbox %+v", out)
		}
	}
	if n := tries.Load(); n != 3 {
		t.Errorf("%d tries", n)
	}
}

func TestOutboxOutlivesTheProcess(t *testing.T) {
	file := t.TempDir() + "/s.db"
	first, err := sandbox.Open(t.Context(), sandbox.Options{Path: file, HookURL: "http://127.0.0.1:1/"})
	if err != nil {
		t.Fatal(err)
	}
	err = faulty.Of(first).Configure(t.Context(), []byte(`{"hook_backoff": "1ms", "hook_attempts": 1000}`))
	if err != nil {
		t.Fatal(err)
	}
	if err := faulty.Of(first).Step(t.Context()); err != nil {
		t.Fatal(err)
	}
	if err := first.Close(); err != nil {
		t.Fatal(err)
	}
	address, events, _ := receiver(t, sandbox.DefaultHookSecret)
	open(t, sandbox.Options{Path: file, HookURL: address})
	next(t, events)
}

func TestHookSettings(t *testing.T) {
	address, events, _ := receiver(t, "own")
	s := open(t, sandbox.Options{})
	c := connect(t, s).login()
	want := map[string]any{"enabled": true, "hookUrl": address, "jwtSecret": "own", "hookCustomer": true,
		"hookOperation": false, "hookDepositAccount": false, "hookCounterparty": false}
	c.want(200, "POST", "/v2/hook/set", map[string]any{"parameters": want})
	have := c.want(200, "GET", "/v2/hook/get", nil)
	for k, v := range want {
		if have[k] != v {
			t.Errorf("%s: %v, want %v", k, have[k], v)
		}
	}
	if err := s.Step(t.Context()); err != nil { // an operation: not asked for
		t.Fatal(err)
	}
	c.share(c.cuid("Ana"), "demo-individual-ok-1")
	if e := next(t, events); e.HookType != 3 {
		t.Errorf("%+v", e)
	}
	for _, bad := range []map[string]any{{}, {"parameters": map[string]any{"enabled": true}},
		{"parameters": merged(want, "hookUrl", "ftp://x")}} {
		if r := c.do("POST", "/v2/hook/set", bad); r.status != 400 {
			t.Errorf("%v: %d", bad, r.status)
		}
	}
}

func merged(m map[string]any, key string, value any) map[string]any {
	out := map[string]any{key: value}
	for k, v := range m {
		if k != key {
			out[k] = v
		}
	}
	return out
}

func TestActivity(t *testing.T) {
	s := openFaulty(t, faulty.Options{Activity: time.Millisecond})
	c := connect(t, s).login()
	before := string(c.do("GET", "/v2/billing/operation?meta.pageSize=100", nil).body)
	for end := time.Now().Add(time.Minute); string(c.do("GET", "/v2/billing/operation?meta.pageSize=100",
		nil).body) == before; time.Sleep(2 * time.Millisecond) {
		if time.Now().After(end) {
			t.Fatal("nothing moved in 10 s")
		}
	}
}
