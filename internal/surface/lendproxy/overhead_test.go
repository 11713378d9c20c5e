package lendproxy

import (
	"bytes"
	"io"
	"net/http"
	"os"
	"slices"
	"testing"
	"time"

	"opdeck/api/session"
	"opdeck/internal/domain/lending"
	"opdeck/internal/e2e/racedetector"
)

// TestOverhead calls the service in turns directly and through the lender, each on one
// kept connection, and compares the medians. OPDECK_TEST_LONG=1 asks for less than a
// millisecond; otherwise the machine is shared with other tests, and five will do.
func TestOverhead(t *testing.T) {
	if racedetector.Enabled {
		t.Skip("the race detector measures itself")
	}
	r := newRig(t, "")
	most, n := 5*time.Millisecond, 200
	if os.Getenv("OPDECK_TEST_LONG") == "1" {
		most, n = time.Millisecond, 600
	}
	token := ""
	r.set(func(_ http.Handler, w http.ResponseWriter, req *http.Request) { // answers at once: what is measured is the way
		token = req.Header.Get("Authorization")
		w.Header().Set("Content-Type", "application/json")
		_, _ = w.Write([]byte(`{"meta":{"page":0,"pageSize":1,"total":"0"},"items":[]}`))
	})
	const path = "/v2/account"
	r.call("admin", "GET", path, "")
	ask := func(url, name, value string) time.Duration {
		req, err := http.NewRequestWithContext(t.Context(), http.MethodGet, url+path, bytes.NewReader(nil))
		if err != nil {
			t.Fatal(err)
		}
		req.Header.Set(name, value)
		began := time.Now()
		resp, err := http.DefaultClient.Do(req)
		if err != nil {
			t.Fatal(err)
		}
		defer func() { _ = resp.Body.Close() }()
		if _, err := io.Copy(io.Discard, resp.Body); err != nil || resp.StatusCode != 200 {
			t.Fatal(resp.StatusCode, err)
		}
		return time.Since(began)
	}
	var direct, lent []time.Duration
	for range n {
		direct = append(direct, ask(r.app.Context.BaseURL, "Authorization", token))
		lent = append(lent, ask(r.url, lending.HeaderKey, keyOf("analyst")))
	}
	slices.Sort(direct)
	slices.Sort(lent)
	over := lent[n/2] - direct[n/2]
	t.Logf("%d calls: directly p50 %s, lent p50 %s, p99 %s and %s: overhead p50 %s", n, direct[n/2], lent[n/2], direct[n*99/100], lent[n*99/100], over)
	if over > most {
		t.Errorf("the overhead is %s, want less than %s", over, most)
	}
}

// TestReportedAndShared: other processes see the calls, and the trail says who borrowed what.
func TestReportedAndShared(t *testing.T) {
	r := newRig(t, "")
	r.call("viewer", "GET", "/v2/customer?meta.pageSize=1", "")
	r.call("viewer", "POST", "/v2/auth/login", "{}")
	r.stop()
	st, err := r.app.SharedSession().Status(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	i := slices.IndexFunc(st.Borrowers, func(b session.Borrower) bool { return b.Name == "viewer" })
	if i < 0 || st.Borrowers[i].Calls != 2 || st.Borrowers[i].Refused != 1 || st.Borrowers[i].Running {
		t.Errorf("%+v", st.Borrowers)
	}
}
