package faulty

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"net/http"
	"slices"
	"strings"
	"time"

	"opdeck/api/limit"
)

// AuthEvent is one line of the log of logins and refreshes.
type AuthEvent struct {
	At      time.Time `json:"at"`
	Kind    string    `json:"kind"`    // login, refresh
	Outcome string    `json:"outcome"` // ok, or the text of the refusal
	Token   string    `json:"token"`   // fingerprint of the refresh token presented
}

// Stats are what the service was asked since it was opened or the counts were reset.
type Stats struct {
	Logins           int64 `json:"logins"` // succeeded, without foreign ones
	LoginsRefused    int64 `json:"logins_refused"`
	ForeignLogins    int64 `json:"foreign_logins"`
	Refreshes        int64 `json:"refreshes"` // succeeded
	RefreshesRefused int64 `json:"refreshes_refused"`
	Unauthorized     int64 `json:"unauthorized"` // 401 answers of the service to other calls

	// By class: requests taken in, warnings, 429s, and the most requests that
	// were taken in within any 60 s.
	Requests     map[string]int64 `json:"requests"`
	Warned       map[string]int64 `json:"warned"`
	Throttled    map[string]int64 `json:"throttled"`
	MaxPerMinute map[string]int64 `json:"max_per_minute"`

	// Presentations counts how often each refresh token was shown, by fingerprint.
	Presentations     map[string]int64 `json:"presentations"`
	MostPresentations int64            `json:"most_presentations"`

	Calls map[string]int64 `json:"calls"` // by endpoint: requests taken in
	Done  map[string]int64 `json:"done"`  // by endpoint: writes that were done, late ones too
	Late  int64            `json:"late"`  // requests that were executed after their answer

	OutboxWaiting int64 `json:"outbox_waiting"` // of the last 200 webhooks
}

// counts are the counts of an injector.
type counts struct {
	stats  Stats
	auth   []AuthEvent
	recent map[limit.Class][]time.Time // requests of the last minute
}

func newCounts() counts {
	return counts{recent: map[limit.Class][]time.Time{}, stats: Stats{
		Requests: map[string]int64{}, Warned: map[string]int64{}, Throttled: map[string]int64{},
		MaxPerMinute:  map[string]int64{},
		Presentations: map[string]int64{}, Calls: map[string]int64{}, Done: map[string]int64{}}}
}

// count changes the counts.
func (in *Injector) count(f func(*counts)) {
	in.mu.Lock()
	defer in.mu.Unlock()
	f(&in.seen)
}

// Stats returns what the service was asked.
func (in *Injector) Stats(ctx context.Context) (Stats, error) {
	waiting := int64(0)
	outbox, err := in.service.Outbox(ctx)
	for _, e := range outbox {
		if e.State == "waiting" {
			waiting++
		}
	}
	in.mu.Lock()
	defer in.mu.Unlock()
	raw := encode(in.seen.stats) // a copy of the maps
	var st Stats
	if err := json.Unmarshal(raw, &st); err != nil {
		return st, err
	}
	st.OutboxWaiting = waiting
	for _, n := range st.Presentations {
		st.MostPresentations = max(st.MostPresentations, n)
	}
	return st, err
}

// AuthLog returns logins and refreshes in the order they were decided.
func (in *Injector) AuthLog() []AuthEvent {
	in.mu.Lock()
	defer in.mu.Unlock()
	return slices.Clone(in.seen.auth)
}

// take counts a request that is taken in, once. mu is held.
func (c *call) take(at time.Time) {
	if c.taken {
		return
	}
	c.taken = true
	k, class := &c.in.seen, c.rt.Class
	k.stats.Requests[string(class)]++
	k.stats.Calls[c.rt.Name]++
	k.recent[class] = append(k.recent[class], at)
	k.recent[class] = slices.DeleteFunc(k.recent[class], func(t time.Time) bool { return at.Sub(t) >= time.Minute })
	k.stats.MaxPerMinute[string(class)] = max(k.stats.MaxPerMinute[string(class)], int64(len(k.recent[class])))
}

// countAnswer counts a request that the service answered.
func (in *Injector) countAnswer(c *call, a answer) {
	at := in.service.Now()
	class := string(c.rt.Class)
	in.count(func(k *counts) {
		if a.header.Get("X-RateLimit-Warning") != "" {
			k.stats.Warned[class]++
		}
		switch {
		case a.status == http.StatusTooManyRequests:
			k.stats.Throttled[class]++
			return
		case c.rt.Class == limit.Login || c.rt.Class == limit.Refresh:
			k.authenticated(c, a, at)
			in.noteIssued(a, at)
		case a.status == http.StatusUnauthorized:
			k.stats.Unauthorized++
		}
		c.take(at)
		if c.r.Method != http.MethodGet && a.status < 300 {
			k.stats.Done[c.rt.Name]++
		}
	})
}

// authenticated counts a login or a refresh.
func (c *counts) authenticated(call *call, a answer, at time.Time) {
	e := AuthEvent{At: at, Kind: string(call.rt.Class), Outcome: "ok"}
	won, lost := &c.stats.Logins, &c.stats.LoginsRefused
	if call.rt.Class == limit.Refresh {
		e.Token = fingerprint(call.param(0))
		c.stats.Presentations[e.Token]++
		won, lost = &c.stats.Refreshes, &c.stats.RefreshesRefused
	}
	switch a.status {
	case http.StatusOK:
		*won++
	case http.StatusUnauthorized:
		*lost++
		e.Outcome, _ = sentence(a.body)
	default:
		return
	}
	c.auth = append(c.auth, e)
}

// noteIssued keeps when an access token was issued, for the fault "lag".
func (in *Injector) noteIssued(a answer, at time.Time) {
	var v struct{ AccessToken string }
	if a.status == http.StatusOK && json.Unmarshal(a.body, &v) == nil && v.AccessToken != "" && in.faults.lag > 0 {
		in.issued[v.AccessToken] = at
	}
}

// lagging reports whether the call's access token is still unknown.
func (c *call) lagging() bool {
	c.in.mu.Lock()
	defer c.in.mu.Unlock()
	_, token, _ := strings.Cut(c.r.Header.Get("Authorization"), " ")
	at, fresh := c.in.issued[strings.TrimSpace(token)]
	return fresh && c.in.service.Now().Sub(at) < c.general.lag
}

// fingerprint replaces a token in logs and statistics.
func fingerprint(token string) string {
	sum := sha256.Sum256([]byte(token))
	return hex.EncodeToString(sum[:12])
}
