package session

import (
	"context"
	"errors"
	"fmt"
	"io"
	"math/rand/v2"
	"net/http"
	"net/http/httptrace"
	"slices"
	"strings"
	"sync"
	"time"

	"opdeck/api/limit"
)

// faults are the chances of what may go wrong at the service, each in [0,1).
type faults struct {
	notSent, lost, late, spoilt, refused500 float64
	spoiltLogin                             float64       // of the logins among the spoilt answers
	lag                                     time.Duration // replicas learn a new pair so much later
	strict                                  bool          // a login kills refresh tokens as well
	throttle                                float64       // 429 on auth calls
}

// service is the service as the protocol sees it, in virtual time. Tokens are
// opaque; every login and refresh kills what was issued before.
type service struct {
	mu         sync.Mutex
	rnd        *rand.Rand // decides about auth calls
	faults     faults
	accessTTL  time.Duration
	refreshTTL time.Duration
	password   string
	twoFactor  bool
	// after changes what happens to the n-th login or refresh.
	after func(n int, login bool, t *trip)
	// answer changes a good answer.
	answer func(*http.Response)

	n         int
	access    string
	refresh   string
	old       string // the access token before
	issued    time.Time
	logins    []time.Time // ours
	refreshes []time.Time
	refusedR  int
	badLogins int
	foreign   int
	presented map[string]int
	calls     map[limit.Class][]time.Time
	status    map[int]int // answers to API calls
}

func newService(rnd *rand.Rand) *service {
	return &service{rnd: rnd, accessTTL: 5 * time.Minute, refreshTTL: 15 * time.Minute, password: "right",
		presented: map[string]int{},
		calls:     map[limit.Class][]time.Time{}, status: map[int]int{}}
}

// issue makes a new pair; s.mu is held.
func (s *service) issue() (access, refresh string) {
	s.n++
	s.old, s.issued = s.access, time.Now()
	s.access, s.refresh = fmt.Sprintf("access-%d", s.n), fmt.Sprintf("refresh-%d", s.n)
	return s.access, s.refresh
}

// foreignLogin is someone else's client on the same account.
func (s *service) foreignLogin() {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.foreign++
	keep := s.refresh
	s.issue()
	if !s.faults.strict {
		s.refresh = keep
	}
}

var errNet = errors.New("the network failed")

// trip is what one auth exchange will suffer.
type trip struct {
	notSent, lost, late, spoilt, spoiltLogin, status500, throttled bool
	up, down                                                       time.Duration
}

func (s *service) plan() trip {
	s.mu.Lock()
	defer s.mu.Unlock()
	f := s.faults
	return trip{
		notSent: s.rnd.Float64() < f.notSent, lost: s.rnd.Float64() < f.lost, late: s.rnd.Float64() < f.late,
		spoilt: s.rnd.Float64() < f.spoilt, spoiltLogin: s.rnd.Float64() < f.spoiltLogin, status500: s.rnd.Float64() < f.refused500,
		throttled: s.rnd.Float64() < f.throttle,
		up:        delay(s.rnd, 20, 60), down: delay(s.rnd, 20, 60),
	}
}

func delay(r *rand.Rand, from, to int) time.Duration {
	return time.Duration(from)*time.Millisecond + time.Duration(r.Int64N(int64(to-from)*int64(time.Millisecond)))
}

// RoundTrip implements http.RoundTripper for auth calls.
func (s *service) RoundTrip(req *http.Request) (*http.Response, error) {
	t := s.plan()
	ctx := req.Context()
	trace := httptrace.ContextClientTrace(ctx)
	trace.GetConn(req.URL.Host)
	if t.notSent {
		_ = limit.Sleep(ctx, t.up)
		return nil, errNet
	}
	trace.GotConn(httptrace.GotConnInfo{})
	var body []byte
	if req.Body != nil {
		body, _ = io.ReadAll(req.Body)
	}
	// What has left arrives, whatever the sender does meanwhile.
	time.Sleep(t.up)
	status, answer := s.process(req, string(body), &t)
	if t.late {
		t.down = 30 * time.Second
	}
	if err := limit.Sleep(ctx, t.down); err != nil {
		return nil, err
	}
	if t.lost {
		return nil, io.ErrUnexpectedEOF
	}
	if t.spoilt && status == 200 && (req.Method == http.MethodGet || t.spoiltLogin) {
		answer = answer[:len(answer)/2]
	}
	out := &http.Response{StatusCode: status, Header: http.Header{"Date": {time.Now().UTC().Format(http.TimeFormat)},
		"Content-Type": {"application/json"}},
		Body: io.NopCloser(strings.NewReader(answer))}
	if s.answer != nil && status == 200 {
		s.answer(out)
	}
	return out, nil
}

func (s *service) process(req *http.Request, body string, t *trip) (int, string) {
	s.mu.Lock()
	defer s.mu.Unlock()
	now := time.Now()
	login := req.Method == http.MethodPost
	token := req.URL.Path[strings.LastIndexByte(req.URL.Path, '/')+1:]
	if login {
		s.logins = append(s.logins, now)
	} else {
		s.refreshes = append(s.refreshes, now)
		s.presented[token]++
	}
	if s.after != nil {
		n := len(s.refreshes)
		if login {
			n = len(s.logins)
		}
		s.after(n, login, t)
	}
	switch {
	case t.throttled:
		if !login {
			s.presented[token]-- // refused before it was looked at
		}
		return 429, `{"error":"too many requests"}`
	case s.twoFactor:
		return 401, `{"error":"TOTP code required"}`
	case login && !strings.Contains(body, `"password":"`+s.password+`"`):
		s.badLogins++
		return 401, `{"error":"wrong login or password"}`
	case !login && (token != s.refresh || now.Sub(s.issued) > s.refreshTTL):
		s.refusedR++
		return 401, `{"error":"Invalid or expired refresh token"}`
	}
	access, refresh := s.issue()
	if t.status500 {
		return 500, `oops`
	}
	return 200, fmt.Sprintf(`{"accessToken":%q,"refreshToken":%q,"accessTtl":%d,"refreshTtl":%d}`, access, refresh,
		int(s.accessTTL.Seconds()), int(s.refreshTTL.Seconds()))
}

// call is an API call that arrives now.
func (s *service) call(class limit.Class, token string, over, elsewhere bool) int {
	s.mu.Lock()
	defer s.mu.Unlock()
	now := time.Now()
	if !over {
		s.calls[class] = append(s.calls[class], now)
	}
	good := token == s.access && now.Sub(s.issued) < s.accessTTL
	if elsewhere && now.Sub(s.issued) < s.faults.lag { // a replica that does not know the new pair yet
		good = token == s.old
	}
	status := 401
	if good {
		status = 200
	}
	s.status[status]++
	return status
}

// most counts the largest number of times within any window.
func most(times []time.Time, window time.Duration, ignore func(time.Time) bool) int {
	times = slices.Clone(times)
	slices.SortFunc(times, time.Time.Compare)
	best, from := 0, 0
	for to, t := range times {
		for t.Sub(times[from]) >= window {
			from++
		}
		if n := to - from + 1; n > best && !ignore(t) {
			best = n
		}
	}
	return best
}

func (s *service) send(class limit.Class, rnd *rand.Rand) Send {
	return func(ctx context.Context, a Access) (int, http.Header, error) {
		if err := limit.Sleep(ctx, delay(rnd, 20, 60)); err != nil {
			return 0, nil, err
		}
		status := s.call(class, a.Token.Reveal(), a.Over, rnd.Float64() < 0.5)
		if err := limit.Sleep(ctx, delay(rnd, 20, 60)); err != nil {
			return 0, nil, err
		}
		if status == 401 {
			return status, http.Header{}, nil
		}
		return status, http.Header{}, nil
	}
}
