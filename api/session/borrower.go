package session

import "time"

// Borrower is a script that uses the session through opdeck, with its calls of the last day through all proxies.
type Borrower struct {
	Name       string    `json:"name"`
	Role       string    `json:"role"`
	Priority   string    `json:"priority"`
	LastMinute int       `json:"calls_last_minute"` // answered or refused
	Calls      int64     `json:"calls"`
	Writes     int64     `json:"writes"` // of the calls
	Waits      int64     `json:"waits"`  // calls that waited for a slot or the session
	Waited     float64   `json:"waited_seconds"`
	Refused    int64     `json:"refused"` // by opdeck, not by the service
	Last       time.Time `json:"last_call_at"`
	Running    bool      `json:"running"` // its proxy is running
}

// Add adds what another proxy reports about the same borrower.
func (b Borrower) Add(o Borrower) Borrower {
	if o.Last.After(b.Last) {
		b.Role, b.Priority, b.Last = o.Role, o.Priority, o.Last
	}
	b.LastMinute += o.LastMinute
	b.Calls += o.Calls
	b.Writes += o.Writes
	b.Waits += o.Waits
	b.Waited += o.Waited
	b.Refused += o.Refused
	b.Running = b.Running || o.Running
	return b
}
