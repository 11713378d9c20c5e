package app

import (
	"encoding/json"
	"fmt"
	"io"
	"math/rand/v2"
	"net/http"
	"net/http/httptrace"
	"strconv"
	"strings"
	"sync"
	"time"

	"opdeck/api/apitest"
	"opdeck/api/limit"
	"opdeck/api/session"
)

// What the calm service has and how long its tokens live.
const (
	calmRows    = 12
	calmAccess  = 5 * time.Minute
	calmRefresh = 15 * time.Minute
)

// calmService answers every call, some of them late. One pair is valid: each login and refresh ends the one before.
type calmService struct {
	mu       sync.Mutex
	rnd      *rand.Rand // guarded by mu, like all below
	n        int
	issued   time.Time
	logins   int
	renewals int
	calls    int
	late     int // answers after more than five seconds
	refused  int
	instead  int    // the status of every answer, with said; 0: proper ones
	said     string // its body
}

func newCalmService(seed uint64) *calmService {
	return &calmService{rnd: rand.New(rand.NewPCG(seed, 2))}
}

func opidOf(n int) string { return fmt.Sprintf("5b55db86-17e5-4612-81f9-29d3bd50%04d", n) }

// wait is how long an answer takes: up to most for the late ones, a share of all.
func (s *calmService) wait(most time.Duration, share float64) time.Duration {
	s.mu.Lock()
	defer s.mu.Unlock()
	d := time.Duration(20+s.rnd.IntN(60)) * time.Millisecond
	if s.rnd.Float64() < share {
		d = time.Duration(s.rnd.Int64N(int64(most)))
	}
	if d > 5*time.Second {
		s.late++
	}
	return d
}

// RoundTrip implements http.RoundTripper.
func (s *calmService) RoundTrip(req *http.Request) (*http.Response, error) {
	most, share := 20*time.Second, 0.03
	auth := strings.HasPrefix(req.URL.Path, session.AuthPath)
	if auth { // opdeck waits no longer for a token
		most, share = session.Defaults().AuthDeadline-time.Second, 0.25
	}
	d := s.wait(most, share)
	if trace := httptrace.ContextClientTrace(req.Context()); trace != nil && trace.GotConn != nil {
		trace.GotConn(httptrace.GotConnInfo{})
	}
	if req.Body != nil {
		_, _ = io.Copy(io.Discard, req.Body)
	}
	if err := limit.Sleep(req.Context(), d/2); err != nil {
		return nil, err
	}
	status, body := s.answer(req, auth)
	if err := limit.Sleep(req.Context(), d-d/2); err != nil {
		return nil, err
	}
	kind := "application/json"
	if strings.HasPrefix(body, "<") {
		kind = "text/html"
	}
	return &http.Response{StatusCode: status, Request: req, Header: http.Header{"Content-Type": {kind},
		"Date": {time.Now().UTC().Format(http.TimeFormat)}}, Body: io.NopCloser(strings.NewReader(body))}, nil
}

func (s *calmService) answer(req *http.Request, auth bool) (status int, body string) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.instead > 0 {
		return s.instead, s.said
	}
	now := time.Now()
	switch token, isRefresh := strings.CutPrefix(req.URL.Path, session.RefreshPath); {
	case auth && !isRefresh:
		s.logins++
		return http.StatusOK, s.pair(now)
	case auth && (token != s.token("refresh") || now.Sub(s.issued) > calmRefresh):
		s.refused++
		return http.StatusUnauthorized, `{"error":"invalid refresh token"}`
	case auth:
		s.renewals++
		return http.StatusOK, s.pair(now)
	}
	s.calls++
	if req.Header.Get("Authorization") != "Bearer "+s.token("access") || now.Sub(s.issued) > calmAccess {
		s.refused++
		return http.StatusUnauthorized, `{"error":"invalid token"}`
	}
	if opid, one := strings.CutPrefix(req.URL.Path, "/v2/billing/operation/"); one {
		return http.StatusOK, `{"item":` + operationJSON(opid) + `}`
	}
	return http.StatusOK, page(req)
}

// answers makes every answer that; status 0: proper ones again.
func (s *calmService) answers(status int, body string) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.instead, s.said = status, body
}

func (s *calmService) token(kind string) string { return kind + "-" + strconv.Itoa(s.n) }

// pair makes a new pair; s.mu is held.
func (s *calmService) pair(now time.Time) string {
	s.n, s.issued = s.n+1, now
	return fmt.Sprintf(`{"accessToken":%q,"refreshToken":%q,"accessTtl":%d,"refreshTtl":%d}`, s.token("access"),
		s.token("refresh"), int(calmAccess.Seconds()), int(calmRefresh.Seconds()))
}

func operationJSON(opid string) string {
	b, err := json.Marshal(apitest.Operation(map[string]any{"opid": opid}))
	if err != nil {
		panic(err)
	}
	return string(b)
}

// page is the page of the list that a request asks for.
func page(req *http.Request) string {
	size, number := 20, 0
	if n, err := strconv.Atoi(req.URL.Query().Get("meta.pageSize")); err == nil {
		size = n
	}
	if n, err := strconv.Atoi(req.URL.Query().Get("meta.page")); err == nil {
		number = n
	}
	var items []string
	for i := number * size; i < min(calmRows, (number+1)*size); i++ {
		items = append(items, operationJSON(opidOf(i)))
	}
	return fmt.Sprintf(`{"meta":{"pageSize":%d,"page":%d,"total":"%d"},"items":[%s]}`, size, number, calmRows,
		strings.Join(items, ","))
}
