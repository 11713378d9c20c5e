package approval

import (
	"time"

	"opdeck/api"
	"opdeck/api/limit"
)

// Lifetime is how long after its filing a request, approved or not, can be used.
const Lifetime = 30 * time.Minute

// State is where a request stands.
type State string

// The states.
const (
	Open     State = "open"     // waits for another person
	Approved State = "approved" // the requester may repeat the act
	Denied   State = "denied"
	Lapsed   State = "lapsed" // its time ran out
	Spent    State = "spent"  // the act went through the gate
	Void     State = "void"   // the act was repeated with other content
)

// Request is a write that waits for, or had, a second person.
type Request struct {
	ID        string      `json:"id"`
	Scope     string      `json:"scope"` // base_url and account
	State     State       `json:"state"`
	Act       api.Act     `json:"act"`
	Digest    string      `json:"digest"` // of the act, with the content seen
	Target    string      `json:"target"` // of what the act is about, without the content
	Requester Person      `json:"requester"`
	Created   time.Time   `json:"created"`
	Expires   time.Time   `json:"expires"`
	Decider   *Person     `json:"decider,omitempty"`
	Decided   time.Time   `json:"decided,omitzero"`
	Comment   string      `json:"comment,omitempty"`
	Spent     time.Time   `json:"spent,omitzero"`
	Ended     string      `json:"ended,omitempty"`   // why it lapsed before its time
	Verdict   api.Verdict `json:"verdict,omitempty"` // what became of the act
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

// LimitTimes bounds times that lie further ahead than they can: the store's clock was set
// back, or a host's own clock wrote them. It reports whether it changed anything.
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

// onHostClock returns the request as people at this host read it: its times moved from
// the store's clock to the host's time of day.
func (r Request) onHostClock(storeNow, hostNow time.Time) Request {
	for _, t := range []*time.Time{&r.Created, &r.Expires, &r.Decided, &r.Spent} {
		*t = limit.ToWall(*t, storeNow, hostNow)
	}
	return r
}

// asOf returns the request as it is at that moment: time alone can end it.
func (r Request) asOf(now time.Time) Request {
	if (r.State == Open || r.State == Approved) && !now.Before(r.Expires) {
		r.State = Lapsed
	}
	return r
}
