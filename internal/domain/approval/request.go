package approval

import (
	"time"

	"opdeck/api"
	"opdeck/api/limit"
)

// Lifetime is how long after its filing a request can be used, approved or not.
const Lifetime = 30 * time.Minute

// State is the state of a request.
type State string

// The states.
const (
	Open     State = "open"     // waiting for another person
	Approved State = "approved" // the requester may repeat the act
	Denied   State = "denied"
	Lapsed   State = "lapsed" // expired
	Spent    State = "spent"  // the act went through the gate
	Void     State = "void"   // the act was repeated after its object or its content changed
)

// Request is a write that needs, or had, an approval.
type Request struct {
	ID        string      `json:"id"`
	Scope     string      `json:"scope"` // base_url and account
	State     State       `json:"state"`
	Act       api.Act     `json:"act"`
	Digest    string      `json:"digest"` // of the act, with the content seen
	Target    string      `json:"target"` // identifies the object of the act, without its content
	Requester Person      `json:"requester"`
	Created   time.Time   `json:"created"`
	Expires   time.Time   `json:"expires"`
	Decider   *Person     `json:"decider,omitempty"`
	Decided   time.Time   `json:"decided,omitzero"`
	Comment   string      `json:"comment,omitempty"`
	Spent     time.Time   `json:"spent,omitzero"`
	Ended     string      `json:"ended,omitempty"`   // why it lapsed early
	Verdict   api.Verdict `json:"verdict,omitempty"` // outcome of the act
}

// actDigest identifies an act whatever its reason.
func actDigest(a api.Act) string {
	a.Reason = ""
	return a.Digest()
}

// target identifies what an act is about, whatever the content of the object
// and of the request.
func target(a api.Act) string {
	t := api.Act{Kind: a.Kind, Method: a.Method, Path: a.Path, Object: a.Object, ID: a.ID, Item: a.Item}
	if t.Item == "" {
		t.Item = a.Name
	}
	return t.Digest()
}

// LimitTimes cuts times that are implausibly far ahead: the store's clock was set back, or a host's own clock wrote
// them. It reports whether it changed anything.
func (r *Request) LimitTimes(now time.Time) bool {
	if !r.Expires.After(now.Add(Lifetime)) {
		return false
	}
	r.Expires = now.Add(Lifetime)
	if r.Created.After(now) {
		r.Created = now
	}
	return true
}

// onHostClock returns the request for display on this host, with its times converted from the store's clock.
func (r Request) onHostClock(storeNow, hostNow time.Time) Request {
	for _, t := range []*time.Time{&r.Created, &r.Expires, &r.Decided, &r.Spent} {
		*t = limit.ToWall(*t, storeNow, hostNow)
	}
	return r
}

// AsOf returns the request at a time: it may have expired by then.
func (r Request) AsOf(now time.Time) Request {
	if r.Waits() && !now.Before(r.Expires) {
		r.State = Lapsed
	}
	return r
}

// Waits reports whether time can end the request.
func (r Request) Waits() bool { return r.State == Open || r.State == Approved }
