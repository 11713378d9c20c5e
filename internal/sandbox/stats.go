package sandbox

import (
	"context"
	"database/sql"
	"strings"
	"time"
)

// AuthEvent is one line of the auth log.
type AuthEvent struct {
	At      time.Time `json:"at"`
	Kind    string    `json:"kind"`    // login, refresh, foreign
	Outcome string    `json:"outcome"` // ok, or the text of the refusal
	Token   string    `json:"token"`   // fingerprint of the refresh token presented
}

// Stats are what the server saw since the file was made or resetStats.
type Stats struct {
	Logins           int64 `json:"logins"` // succeeded, without foreign ones
	LoginsRefused    int64 `json:"logins_refused"`
	ForeignLogins    int64 `json:"foreign_logins"`
	Refreshes        int64 `json:"refreshes"` // succeeded
	RefreshesRefused int64 `json:"refreshes_refused"`
	Unauthorized     int64 `json:"unauthorized"` // 401 answers to API calls

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

	OutboxWaiting int64 `json:"outbox_waiting"`
}

// Stats returns what the server has seen.
func (s *store) Stats(ctx context.Context) (Stats, error) {
	st := Stats{Requests: map[string]int64{}, Warned: map[string]int64{}, Throttled: map[string]int64{},
		MaxPerMinute: map[string]int64{},
		Calls:        map[string]int64{}, Done: map[string]int64{}}
	counters, err := counts(ctx, s.ro, `SELECT name, value FROM counter`)
	if err != nil {
		return st, err
	}
	byPrefix := map[string]map[string]int64{"requests": st.Requests, "warned": st.Warned, "throttled": st.Throttled,
		"max":   st.MaxPerMinute,
		"calls": st.Calls, "done": st.Done}
	for name, n := range counters {
		prefix, class, dot := strings.Cut(name, ".")
		if into := byPrefix[prefix]; dot && into != nil {
			into[class] = n
		}
	}
	st.Unauthorized, st.Late = counters["unauthorized"], counters["late"]
	auth, err := counts(ctx, s.ro, `SELECT kind || iif(outcome = 'ok', '', '!'), count(*) FROM authlog GROUP BY 1`)
	if err != nil {
		return st, err
	}
	st.Logins, st.LoginsRefused, st.ForeignLogins = auth["login"], auth["login!"], auth["foreign"]
	st.Refreshes, st.RefreshesRefused = auth["refresh"], auth["refresh!"]
	if st.Presentations, err = counts(ctx, s.ro, `SELECT token, times FROM presented`); err != nil {
		return st, err
	}
	for _, n := range st.Presentations {
		st.MostPresentations = max(st.MostPresentations, n)
	}
	st.OutboxWaiting, err = count(ctx, s.ro, `SELECT count(*) FROM outbox WHERE state = 'waiting'`)
	return st, err
}

func counts(ctx context.Context, q querier, text string) (map[string]int64, error) {
	type row struct {
		name string
		n    int64
	}
	rows, err := query(ctx, q, func(r *row) []any { return []any{&r.name, &r.n} }, text)
	found := map[string]int64{}
	for _, r := range rows {
		found[r.name] = r.n
	}
	return found, err
}

// AuthLog returns logins and refreshes in the order they were decided.
func (s *store) AuthLog(ctx context.Context) ([]AuthEvent, error) {
	return query(ctx, s.ro, func(e *AuthEvent) []any { return []any{unixNano{&e.At}, &e.Kind, &e.Outcome, &e.Token} },
		`SELECT at, kind, outcome, token FROM authlog ORDER BY id`)
}

// resetStats forgets counts, windows, auth log and presentations.
func (s *store) resetStats(ctx context.Context) error {
	return s.write(ctx, func(tx *sql.Tx) error {
		return execute(ctx, tx, `DELETE FROM authlog; DELETE FROM presented; DELETE FROM request;
			DELETE FROM counter WHERE name NOT IN ('operations', 'inserted')`)
	})
}
