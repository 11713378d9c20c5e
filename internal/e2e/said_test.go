//go:build linux

package e2e

import (
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"os"
	"strings"
	"sync/atomic"
	"testing"
	"time"
	"unicode"

	"github.com/google/uuid"
)

// saidOf is what the service says about an operation, with what nobody may read.
func saidOf(opid string) string {
	return "Account 40817810 (IBAN de89 3704-0044-0532-0130-00, card 4111 1111 1111 1111, requisites ４０７０２８１０９) of " +
		"ana.lopez@example.com, +372 5551 2345, bars operation " + opid
}

// leaksIn are the parts of what nobody may read that can be read in an output, in whatever groups and digits.
func leaksIn(output string) (out []string) {
	plain := strings.Map(func(r rune) rune {
		if r >= 0xff01 && r <= 0xff5e {
			r -= 0xff01 - '!'
		}
		if !unicode.IsLetter(r) && !unicode.IsDigit(r) {
			return -1
		}
		return unicode.ToLower(r)
	}, output)
	for _, secret := range []string{"4081781", "37040044", "41111111", "407028", "analopez", "37255512"} {
		if strings.Contains(plain, secret) {
			out = append(out, secret)
		}
	}
	return out
}

// marked is an operation with what nobody may read in each of its texts.
func marked(opid string) map[string]any {
	iban := "DE89 3704 0044 0532 0130 00"
	sum := map[string]any{"sum": map[string]any{"currencyCode": "EUR", "units": "12", "nanos": 0}}
	party := map[string]any{"account": map[string]any{"id": uuid.NewString(), "name": "for " + iban, "number": "40817810",
		"customer": map[string]any{"cuid": uuid.NewString(), "name": iban}}}
	return map[string]any{"opid": opid, "isVisible": true, "status": "PENDING", "type": "WITHDRAW", "paymentType": "SWIFT",
		"createdAt": "2026-03-02T12:00:00Z", "updatedAt": "2026-03-02T12:00:00Z", "source": party, "sourceAmount": sum,
		"destination": map[string]any{"counterpartyAccount": map[string]any{"id": uuid.NewString(), "name": iban,
			"number": "4111111111111111", "counterparty": map[string]any{"suid": uuid.NewString(), "name": iban}}},
		"destinationAmount": sum, "commissionAmount": sum, "currentBalanceAmount": sum,
		"comment": "pay " + iban, "reference": iban, "isParent": false,
		"customer": map[string]any{"cuid": uuid.NewString(), "name": iban},
		"documents": []any{map[string]any{"guid": uuid.NewString(), "fileName": iban + ".pdf", "size": 5, "info": iban,
			"mime": "application/pdf", "docType": "OPERATION_DOCUMENT", "isLock": false, "createAt": "2026-03-02T12:00:00Z"}},
		"failureReason": saidOf(opid), "statusMessage": saidOf(opid), "payerEmail": "ana.lopez@example.com",
		"phone": "+372 5551 2345", "toIban": "de89-3704-0044-0532-0130-00",
		"lastError": map[string]any{"text": saidOf(opid), "code": 7}}
}

// TestNobodyReadsWhatTheServiceSays: whatever the service says, at whatever status, and whatever its records hold: no
// output of a person who may not reveal shows an account's number, a mail address or a telephone number, while the
// sentence and its ids can be read.
func TestNobodyReadsWhatTheServiceSays(t *testing.T) {
	t.Parallel()
	opid, cuid, hookid := uuid.NewString(), uuid.NewString(), uuid.NewString()
	record := marked(opid)
	docid := record["documents"].([]any)[0].(map[string]any)["guid"].(string) //nolint:forcetypeassert // as marked says
	var answer, removal atomic.Int32                                          // the status of all calls; of removals
	answer.Store(200)
	removal.Store(200)
	s := newScene(t)
	s.context = "role = \"viewer\"\n"
	s.lends()
	s.receives()
	notices := s.file("notices")
	s.rest += fmt.Sprintf("[notify]\ncommand = [\"/bin/sh\", \"-c\", \"cat >> %s\"]\n", notices)
	s.up.answers(func(w http.ResponseWriter, r *http.Request) {
		code := int(answer.Load())
		if r.Method == http.MethodDelete {
			code = int(removal.Load())
		}
		if code == 200 || isLogin(r) && code < 1000 {
			switch {
			case isLogin(r):
				pair(w, 300)
			case strings.HasSuffix(r.URL.Path, opid):
				writeJSON(w, map[string]any{"item": record})
			case strings.HasSuffix(r.URL.Path, "/billing/operation"):
				writeJSON(w, map[string]any{"meta": map[string]any{"total": "1"}, "items": []any{record}})
			default:
				good(w, r)
			}
			return
		}
		w.Header().Set("Content-Type", "application/json")
		w.WriteHeader(code % 1000)
		_, _ = fmt.Fprintf(w, `{"error":%q}`, saidOf(opid))
	})
	s.serves()
	said := map[string]int{} // how often each kind of output has the sentence
	look := func(what, output string) {
		t.Helper()
		if leaks := leaksIn(output); len(leaks) > 0 {
			t.Errorf("status %d, %s shows %q:\n%s", answer.Load(), what, leaks, output)
		}
		if plain := letters(output); strings.Contains(plain, "Account••••") || strings.Contains(plain, "barsoperation"+opid) {
			said[what]++
		}
	}
	run := func(what string, args ...string) {
		t.Helper()
		got := s.run(args...)
		look(what, got.out+got.err)
	}
	event, err := json.Marshal(map[string]any{"hook_id": hookid, "hook_type": 1, "message": saidOf(opid),
		"Data": map[string]any{"Operation": record}})
	if err != nil {
		t.Fatal(err)
	}
	s.delivered(string(event), hookSecret)
	records := [][]string{{"event", "list"}, {"customer", "list"}, {"account", "list"},
		{"counterparty", "list"}, {"operation", "totals", "--by", "customer"}, {"note", "list"}, {"approval", "list"},
		{"audit", "list"}, {"audit", "unsettled"}, {"operation", "tree", opid}, {"operation", "get", opid}, {"operation", "list"}, {"operation", "list", "--live"},
		{"operation", "history", opid}, {"document", "list", opid}, {"operation", "totals"}}
	s.run("index", "sync")
	for _, args := range records {
		run("a record", args...)
		run("a record as JSON", append(args, "-o", "json")...)
	}
	run("an event", "event", "show", hookid)
	run("an event", "event", "show", hookid, "-o", "json")
	for _, form := range []string{"csv", "jsonl"} {
		run("a list as "+form, "operation", "list", "-o", form)
	}
	run("a record with its evidence", "operation", "get", opid, "--why")

	config, err := os.ReadFile(s.file("opdeck.toml"))
	if err != nil {
		t.Fatal(err)
	}
	analyst := s.write("analyst.toml", strings.Replace(string(config), `"viewer"`, `"analyst"`, 1))
	for _, form := range []string{"csv", "jsonl"} {
		run("an export", "--config", analyst, "operation", "export", s.file("list."+form))
		exported, err := os.ReadFile(s.file("list." + form))
		if err != nil {
			t.Error(err)
		}
		look("an export", string(exported))
	}
	writer := s.write("writer.toml", strings.Replace(string(config), `"viewer"`, `"operator"`, 1))
	for _, code := range []int32{400, 403, 404, 409, 422, 500, 503} { // after the last it is in doubt
		removal.Store(code)
		run("a write", "--config", writer, "document", "remove", opid, docid, "--yes")
		run("the trail", "audit", "list")
		run("the trail as JSON", "audit", "list", "-o", "json")
		run("what is in doubt", "audit", "unsettled", "-o", "json")
	}

	x := start(t, 120, 40, s.home, s.env)
	defer x.stop()
	x.shows("Operations", "1 operation")
	codes := []int32{400, 404, 409, 503, 429} // after the last no call is sent for a while
	if long() {
		codes = []int32{400, 403, 404, 409, 422, 500, 502, 503, 429}
	}
	for _, code := range codes {
		answer.Store(code)
		run("the error of a read", "operation", "get", opid)
		run("the error as JSON", "operation", "get", opid, "-o", "json", "--verbose")
		run("the error with its evidence", "customer", "get", cuid, "--why")
		run("the error of a list", "operation", "list", "--live")
		run("check --all", "check", "--all")
		run("check --all", "check", "--all", "-o", "json")
		run("session status", "session", "status", "--why")
		run("doctor", "doctor")
		run("index status", "index", "status")
		look("plain mode", s.reads("12\nall\n", "--plain").out)
		_, body := s.get("/metrics")
		look("/metrics", body)
		_, body = s.get("/healthz")
		look("/healthz", body)
		look("a lent answer", s.lentBody(t, "/v2/billing/operation/"+opid))
		look("Activity", pressed(x, "1", "r", "!"))
		x.press(esc)
		for _, key := range []string{"6", "5", "B", "7", "1"} {
			look("a screen", pressed(x, key))
		}
	}
	answer.Store(401)
	waits := s.start("customer", "get", cuid, "--verbose")
	run("session status", "session", "status")
	run("check --all", "check", "--all")
	got := s.ends(waits)
	look("a call without a session", got.out+got.err)
	for _, code := range []int32{1403, 1401, 1423} { // of logins
		answer.Store(code)
		s.run("session", "login", "--yes", "-c", "t")
		run("the error of a login", "operation", "get", opid)
		run("check --all", "check", "--all")
		run("session status", "session", "status")
		run("session status", "session", "status", "--check")
		run("doctor", "doctor")
		look("a screen", pressed(x, "6"))
	}
	look("the log of serve", s.log.String())
	sent, err := os.ReadFile(notices)
	if err != nil {
		t.Error(err)
	}
	look("a notice", string(sent))
	trail, err := os.ReadFile(s.file("state/opdeck.db-wal"))
	if err != nil {
		t.Error(err)
	}
	look("the store", string(trail))
	for _, what := range []string{"the error of a read", "the error as JSON", "the error with its evidence", "check --all",
		"session status", "doctor", "plain mode", "a lent answer", "Activity", "a screen", "a write", "an event",
		"a notice", "the log of serve", "the store"} {
		if said[what] == 0 {
			t.Errorf("%s never has the sentence: the test cannot judge it", what)
		}
	}
	t.Log(said)
}

// pressed is what the screen shows after keys, once nothing changes for a moment.
func pressed(x *terminal, keys ...string) string {
	var all strings.Builder
	for _, k := range keys {
		x.press(k)
		for n, still := x.written(), time.Now(); time.Since(still) < 300*time.Millisecond; time.Sleep(20 * time.Millisecond) {
			if now := x.written(); now != n {
				n, still = now, time.Now()
			}
			if time.Since(still) > 3*time.Second {
				break
			}
		}
		all.WriteString(x.screen())
	}
	return all.String()
}

// lentBody is the answer to a read of the borrower nightly.
func (s *scene) lentBody(t *testing.T, path string) string {
	t.Helper()
	req, err := http.NewRequest(http.MethodGet, "http://"+s.lent+path, nil)
	if err != nil {
		t.Fatal(err)
	}
	req.Header.Set("X-Opdeck-Key", borrowerKey)
	resp, err := http.DefaultClient.Do(req)
	if err != nil {
		t.Fatal(err)
	}
	defer resp.Body.Close()
	body, err := io.ReadAll(resp.Body)
	if err != nil {
		t.Fatal(err)
	}
	return string(body)
}
