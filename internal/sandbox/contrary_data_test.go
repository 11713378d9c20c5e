package sandbox_test

import (
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"slices"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"opdeck/internal/e2e/racedetector"
	"opdeck/internal/sandbox"
	"opdeck/internal/sandbox/faulty"
)

// pages reads the whole list and gives the opids in the order in which they came.
func pages(c *client, size int) (ids []string) {
	c.t.Helper()
	for n := 0; ; n++ {
		v := c.want(200, "GET", fmt.Sprintf("/v2/billing/operation?meta.pageSize=%d&meta.page=%d", size, n), nil)
		items := v["items"].([]any)
		if len(items) == 0 {
			return ids
		}
		for _, it := range items {
			ids = append(ids, it.(map[string]any)["opid"].(string))
		}
	}
}

// truth are the opids at the service, the newest first.
func truth(t *testing.T, s *faulty.Service) (ids []string) {
	t.Helper()
	list, err := s.Operations(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	for _, raw := range list {
		var o struct{ Opid string }
		if err := json.Unmarshal(raw, &o); err != nil {
			t.Fatal(err)
		}
		ids = append(ids, o.Opid)
	}
	return ids
}

func TestOrders(t *testing.T) {
	racedetector.Skip(t)
	for _, inserted := range []int{0, 3} {
		s, c := contrary(t, "")
		if _, err := s.Insert(t.Context(), faulty.Insert{Count: inserted}); err != nil {
			t.Fatal(err)
		}
		newest := truth(t, s)
		if len(newest) != 40+inserted {
			t.Fatalf("%d operations", len(newest))
		}
		oldest := slices.Clone(newest)
		slices.Reverse(oldest)
		touched := newest[20]
		if err := s.Change(t.Context(), faulty.Change{Kind: "operation", ID: touched}); err != nil {
			t.Fatal(err)
		}
		order := func(word string) []string {
			s.SetFaults(faults(t, "order="+word))
			return pages(c, 7)
		}
		if got := order("newest"); !slices.Equal(got, newest) {
			t.Errorf("newest: %v, want %v", got, newest)
		}
		if got := order("oldest"); !slices.Equal(got, oldest) {
			t.Errorf("oldest: %v, want %v", got, oldest)
		}
		if got := order("updated"); got[0] != touched || len(got) != len(newest) {
			t.Errorf("updated: %v", got)
		}
		if got := order("updated-oldest"); got[len(got)-1] != touched {
			t.Errorf("updated-oldest: %v", got)
		}
		none := order("none")
		if slices.Equal(none, newest) || slices.Equal(none, oldest) || !slices.Equal(none, order("none")) {
			t.Errorf("none: %v", none)
		}
		slices.Sort(none)
		all := slices.Sorted(slices.Values(newest))
		if !slices.Equal(none, all) {
			t.Errorf("none has other operations: %v, want %v", none, all)
		}
		if slices.Equal(order("unstable"), order("unstable")) {
			t.Error("unstable is stable")
		}
	}
}

func TestPageSizes(t *testing.T) {
	for _, tt := range []struct {
		spec     string
		asked    int
		status   int
		rows     int
		reported float64
	}{
		{"cap=list:5", 20, 200, 5, 20}, {"cap=list:5", 3, 200, 3, 3}, {"fixed=list:5", 20, 200, 5, 5},
		{"fixed=list:5", 3, 200, 5, 5},
		{"most=list:5", 6, 400, 0, 0}, {"most=billing:5", 5, 200, 5, 5}, {"cap=customers:5", 20, 200, 20, 20},
	} {
		_, c := contrary(t, tt.spec)
		r := c.do("GET", fmt.Sprintf("/v2/billing/operation?meta.pageSize=%d", tt.asked), nil)
		if r.status != tt.status {
			t.Errorf("%s, %d: %d %s", tt.spec, tt.asked, r.status, r.body)
			continue
		}
		if r.status == 200 {
			v := r.json(t)
			if n, reported := len(v["items"].([]any)), v["meta"].(map[string]any)["pageSize"]; n != tt.rows || reported != tt.reported {
				t.Errorf("%s, %d: %d rows, reported %v", tt.spec, tt.asked, n, reported)
			}
		}
	}
	s, c := contrary(t, "cap=list:5")
	if got := pages(c, 20); !slices.Equal(got, truth(t, s)) {
		t.Errorf("capped pages give %d operations", len(got))
	}
}

// TestInsertAndRemove: the list, the total, filters of time and the single read
// follow, and so does a second process on the file.
func TestInsertAndRemove(t *testing.T) {
	at := newClock()
	s := open(t, sandbox.Options{Now: at.now})
	c := connect(t, s).login()
	before := truth(t, s)
	ids, err := s.Insert(t.Context(), faulty.Insert{Count: 30})
	if err != nil || len(ids) != 30 {
		t.Fatal(ids, err)
	}
	slices.Reverse(ids) // now the newest first
	if got, want := pages(c, 100), append(slices.Clone(ids), before...); !slices.Equal(got, want) {
		t.Errorf("list %v, want %v", got, want)
	}
	total := func(query string) any {
		return c.want(200, "GET", "/v2/billing/operation?meta.pageSize=1"+query, nil)["meta"].(map[string]any)["total"]
	}
	if total("") != "70" || total("&fromCreatedAt=2026-11-20T10:00:00Z") != "30" ||
		total("&toCreatedAt=2026-11-20T09:00:00Z") != "40" {
		t.Errorf("totals %v", total(""))
	}
	o := c.want(200, "GET", "/v2/billing/operation/"+ids[0], nil)["item"].(map[string]any)
	if len(documents(o)) != 1 || o["status"] != "PENDING" {
		t.Errorf("inserted %v", o)
	}
	c.want(200, "DELETE", path(ids[0], documents(o)[0]["guid"].(string)), nil)

	old := time.Date(2026, 10, 1, 0, 0, 0, 0, time.UTC)
	got, err := s.Insert(t.Context(), faulty.Insert{Count: 2, Created: old, Quiet: true})
	if err != nil {
		t.Fatal(err)
	}
	if list := truth(t, s); list[len(list)-1] != got[0] || list[len(list)-2] != got[1] {
		t.Error("operations of long ago must stand at the end")
	}
	if err := s.Remove(t.Context(), ids[0], before[0], got[0]); err != nil {
		t.Fatal(err)
	}
	if r := c.do("GET", "/v2/billing/operation/"+before[0], nil); r.status != 404 {
		t.Errorf("a removed operation: %d", r.status)
	}
	if err := s.Remove(t.Context(), before[0]); err == nil {
		t.Error("removed twice")
	}
	if total("") != "69" || len(pages(c, 100)) != 69 || len(truth(t, s)) != 69 {
		t.Errorf("total %v", total(""))
	}
}

// TestSilentChanges: without a webhook, and with updatedAt as it was.
func TestSilentChanges(t *testing.T) {
	s := open(t, sandbox.Options{HookURL: "http://127.0.0.1:1/"})
	configure(t, s, `{"hook_attempts": 1}`)
	c := connect(t, s).login()
	events := func() (n int64) {
		list, err := s.Outbox(t.Context())
		if err != nil {
			t.Fatal(err)
		}
		return int64(len(list))
	}
	for i, tt := range []struct{ quiet, still bool }{{false, false}, {true, false}, {false, true}, {true, true}} {
		o, n := c.operation(2+i), events()
		id := o["opid"].(string)
		err := s.Change(t.Context(), faulty.Change{Kind: "operation", ID: id, Status: "CANCELED", Quiet: tt.quiet, Still: tt.still})
		if err != nil {
			t.Fatal(err)
		}
		now := c.want(200, "GET", "/v2/billing/operation/"+id, nil)["item"].(map[string]any)
		if now["status"] != "CANCELED" || (now["updatedAt"] == o["updatedAt"]) != tt.still || (events() == n) != tt.quiet {
			t.Errorf("%+v: %v, %d events more", tt, now["updatedAt"], events()-n)
		}
	}
}

// TestDisturbances: data changes as it is read.
func TestDisturbances(t *testing.T) {
	s, c := contrary(t, "arrive=list:3#1")
	before := truth(t, s)
	if v := pages(c, 100); len(v) != 43 || !slices.Equal(v[3:], before) {
		t.Errorf("%d operations", len(v))
	}
	s, c = contrary(t, "vanish=list:5#1")
	before = truth(t, s)
	if got := pages(c, 10); !slices.Equal(got, append(before[:10:10], before[15:]...)) { // five are skipped by the shift
		t.Errorf("read %v of %v", got, before)
	}
	if now := truth(t, s); !slices.Equal(now, before[5:]) {
		t.Errorf("left are %v", now)
	}
	for _, kind := range []string{"silent", "touch"} {
		s, c := contrary(t, kind+"=list:4#1")
		before, err := s.Operations(t.Context())
		if err != nil {
			t.Fatal(err)
		}
		pages(c, 100)
		now, err := s.Operations(t.Context())
		if err != nil {
			t.Fatal(err)
		}
		changed := 0
		for i := range now {
			var a, b struct{ Opid, Status, UpdatedAt string }
			if json.Unmarshal(before[i], &a) != nil || json.Unmarshal(now[i], &b) != nil || a.Opid != b.Opid {
				t.Fatal("the operations are others")
			}
			if a.Status != b.Status {
				changed++
				if (a.UpdatedAt == b.UpdatedAt) != (kind == "silent") {
					t.Errorf("%s: updatedAt %s and %s", kind, a.UpdatedAt, b.UpdatedAt)
				}
			}
		}
		if changed != 4 {
			t.Errorf("%s: %d operations changed", kind, changed)
		}
	}
}

func TestVariants(t *testing.T) {
	s, c := contrary(t, "variant=customer-by-post,variant=hidden-application,variant=share-apart")
	cuid := c.cuid("Cedar")
	customer := "/v2/customer/" + cuid
	if r := c.do("GET", customer, nil); r.status != 405 {
		t.Errorf("GET customer: %d", r.status)
	}
	before := c.want(200, "POST", customer, map[string]any{})["item"].(map[string]any)
	if r := c.do("GET", customer+"/application", nil); r.status != 404 ||
		!strings.Contains(string(r.body), "not configured") {
		t.Errorf("GET application: %d %s", r.status, r.body)
	}
	if r := c.do("PATCH", customer+"/application", nil); r.status != 409 {
		t.Errorf("finalize before a share: %d", r.status)
	}
	if v := c.want(200, "POST", "/v2/compliance/"+cuid+"/share",
		map[string]string{"token": "demo-corporate-outstanding-1"}); v["applied"] != true {
		t.Errorf("share: %v", v)
	}
	if now := c.want(200, "POST", customer, map[string]any{})["item"].(map[string]any); now["status"] != before["status"] {
		t.Errorf("the customer is %v", now["status"])
	}
	s.SetFaults(faults(t, "variant=share-apart"))
	if v := c.want(200, "GET", customer+"/application", nil); v["status"] != "NEW" || len(v["outstanding"].([]any)) != 0 {
		t.Errorf("the application shows the share: %v", v)
	}
	c.want(200, "PATCH", customer+"/application", nil)
	if r := c.do("POST", customer, map[string]any{}); r.status != 404 {
		t.Errorf("POST customer without the variant: %d", r.status)
	}
}

// TestLate runs on virtual time: a write that was answered is executed later.
func TestLate(t *testing.T) {
	for spec, want := range map[string]int{"later=remove:4s": 504, "later=remove:4s/502/html": 502,
		"later=remove:4s/empty": 200, "later=remove:4s/drop": 0, "later=remove:4s/hang": 200} {
		t.Run(strings.ReplaceAll(spec, "/", " "), func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				s, err := faulty.Open(t.Context(), faulty.Options{Options: sandbox.Options{Operations: 5}})
				if err != nil {
					t.Fatal(err)
				}
				defer s.Close()
				c := connect(t, s).login()
				c.http = &http.Client{Transport: s.Transport()}
				_, _, call := removal(c)
				s.SetFaults(faults(t, spec))
				r, _ := http.NewRequestWithContext(t.Context(), "DELETE", c.base+call, nil)
				r.Header.Set("Authorization", "Bearer "+c.access)
				start, status := time.Now(), 0
				resp, err := c.http.Do(r)
				if err == nil {
					status = resp.StatusCode
					resp.Body.Close()
				}
				wait := time.Duration(0)
				if strings.HasSuffix(spec, "hang") {
					wait = 4 * time.Second
				}
				if status != want || (want == 0) != (err != nil) || time.Since(start) != wait {
					t.Errorf("%d %v after %v", status, err, time.Since(start))
				}
				if n := len(documents(c.operation(0))); wait == 0 && n != 3 {
					t.Errorf("executed at once: %d documents", n)
				}
				time.Sleep(4*time.Second - wait)
				synctest.Wait()
				st, err := s.Stats(t.Context())
				if n := len(documents(c.operation(0))); n != 2 || err != nil || st.Late != 1 || st.Done["remove"] != 1 ||
					st.Calls["remove"] != 1 {
					t.Errorf("%d documents, %+v, %v", n, st, err)
				}
			})
		})
	}
}

// TestLateWithoutCaller: a caller that leaves does not stop it.
func TestLateWithoutCaller(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s, err := faulty.Open(t.Context(), faulty.Options{Options: sandbox.Options{Operations: 5}, Faults: faults(t, "later=remove:4s/hang")})
		if err != nil {
			t.Fatal(err)
		}
		defer s.Close()
		c := connect(t, s).login()
		_, _, call := removal(c)
		c.http = &http.Client{Transport: s.Transport(), Timeout: 2 * time.Second}
		r, _ := http.NewRequestWithContext(t.Context(), "DELETE", c.base+call, nil)
		r.Header.Set("Authorization", "Bearer "+c.access)
		if _, err := c.http.Do(r); err == nil {
			t.Error("it was answered")
		}
		if n := len(documents(c.operation(0))); n != 3 {
			t.Errorf("executed too early: %d documents", n)
		}
		time.Sleep(2 * time.Second)
		synctest.Wait()
		if n := len(documents(c.operation(0))); n != 2 {
			t.Errorf("not executed: %d documents", n)
		}
	})
}

// TestNeitherDoneNorAnswered: faults of one call strike together.
func TestNeitherDoneNorAnswered(t *testing.T) {
	for spec, left := range map[string]int{"status=remove:502,drop=remove": 3, "drop=remove": 2,
		"status=remove:200/stale,cut=remove:5": 3, "cut=remove:5": 2, "moved=remove:http://127.0.0.1:9/x": 2,
		"resend=remove:http://127.0.0.1:9/x": 3} {
		_, c := contrary(t, spec)
		_, _, call := removal(c)
		r, _ := http.NewRequestWithContext(t.Context(), "DELETE", c.base+call, nil)
		r.Header.Set("Authorization", "Bearer "+c.access)
		resp, err := c.http.Do(r)
		if err == nil {
			_, err = io.ReadAll(resp.Body)
			resp.Body.Close()
		}
		if moves := strings.HasPrefix(spec, "moved") || strings.HasPrefix(spec, "resend"); (err != nil) == moves {
			t.Errorf("%s: %v", spec, err)
		}
		if n := len(documents(c.operation(0))); n != left {
			t.Errorf("%s: %d documents", spec, n)
		}
	}
}

// TestSkips: not at the first call, and then once.
func TestSkips(t *testing.T) {
	_, c := contrary(t, "status=get:500~1#1,status=get:502~3@100%")
	opid := c.opid(0)
	var got []int
	for range 5 {
		got = append(got, c.do("GET", "/v2/billing/operation/"+opid, nil).status)
	}
	if !slices.Equal(got, []int{200, 500, 200, 502, 502}) {
		t.Errorf("%v", got)
	}
}

// TestDrip runs on virtual time.
func TestDrip(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s, err := faulty.Open(t.Context(), faulty.Options{Options: sandbox.Options{Operations: 1}, Faults: faults(t, "drip=login:20s")})
		if err != nil {
			t.Fatal(err)
		}
		defer s.Close()
		c := connect(t, s)
		c.http = &http.Client{Transport: s.Transport()}
		start := time.Now()
		status, body, _, err := c.try()
		if took := time.Since(start); status != 200 || err != nil || !json.Valid(body) || took < 18*time.Second ||
			took > 20*time.Second {
			t.Errorf("%d %v after %v", status, err, took)
		}
	})
}
