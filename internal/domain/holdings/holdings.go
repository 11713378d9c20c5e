// Package holdings lists what a person holds and did: keys, roles, requests for approval, open sessions, writes in
// doubt. It is the list for a person who leaves. It reads nothing by itself.
package holdings

import (
	"fmt"
	"slices"
	"time"

	"opdeck/api"
	"opdeck/internal/domain/approval"
	"opdeck/internal/domain/audit"
	"opdeck/internal/domain/followup"
)

// Kind is a kind of holding.
type Kind string

// The kinds.
const (
	SSHKey      Kind = "ssh key"
	Certificate Kind = "certificate"
	BorrowerKey Kind = "borrower key"
	Account     Kind = "account"  // on this host
	Asked       Kind = "request"  // an approval that the person asked for
	Decided     Kind = "decision" // one that the person approved or denied
	Session     Kind = "session"  // an open console or command
	Process     Kind = "process"  // an opdeck process under the person's name
	Doubt       Kind = "write"    // without a known outcome
)

// Holding is one thing that a person holds. Its texts may come from outside.
type Holding struct {
	Kind  Kind      `json:"kind"`
	What  string    `json:"what"`
	Where string    `json:"where"` // file and line, address or host; "" for none
	Role  api.Role  `json:"role,omitempty"`
	Since time.Time `json:"since,omitzero"`
	Until time.Time `json:"until,omitzero"` // when it ends by itself
	State string    `json:"state,omitempty"`
	// Remove says what to do about it; "" means that nothing is left to remove.
	Remove string `json:"remove,omitempty"`
}

// Person is what is known of a person.
type Person struct {
	Name     string
	Holdings []Holding
	Acts     []audit.Entry // the newest records of the person
	Unseen   []Unseen
	Unread   []string // sources that could not be read, with the reason
}

// Known reports whether anything names the person.
func (p Person) Known() bool { return len(p.Holdings) > 0 || len(p.Acts) > 0 }

// Unseen is what a person may hold and opdeck cannot see.
type Unseen struct {
	What string `json:"what"`
	Do   string `json:"do"`
}

// Requests returns the requests that a person asked for or decided, those that wait first.
func Requests(list []approval.Request, is func(name string) bool) []Holding {
	var waits, ended []Holding
	for _, r := range list {
		var mine []Holding
		what := fmt.Sprintf("%s of %s %s", r.Act.Kind, r.Act.Object, r.Act.ID)
		h := Holding{What: what, Where: r.ID, State: string(r.State), Since: r.Created}
		if r.Waits() {
			h.Until = r.Expires
		}
		if is(r.Requester.Name) || is(r.Requester.Login) {
			asked := h
			asked.Kind = Asked
			switch r.State {
			case approval.Open:
				asked.Remove = "opdeck approval deny " + r.ID
			case approval.Approved:
				asked.Remove = "remove the person's key: no one else can send it"
			}
			mine = append(mine, asked)
		}
		if r.Decider != nil && (is(r.Decider.Name) || is(r.Decider.Login)) {
			decided := h
			decided.Kind, decided.Since = Decided, r.Decided
			if r.State == approval.Approved {
				decided.Remove = "remove the person's key: the approval ends with it within a minute"
			}
			mine = append(mine, decided)
		}
		if r.Waits() {
			waits = append(waits, mine...)
		} else {
			ended = append(ended, mine...)
		}
	}
	return append(waits, ended...)
}

// Sessions returns the consoles and commands of a person that were opened and not closed, newest first. records are
// console.open and console.close of the person, ended the processes that have ended.
func Sessions(records []audit.Entry, ended func(boot string) bool) []Holding {
	type place struct{ boot, sid string }
	records = slices.Clone(records)
	slices.SortFunc(records, func(a, b audit.Entry) int { return int(b.Seq - a.Seq) })
	closed := map[place]int{}
	var out []Holding
	for _, e := range records {
		at := place{e.Boot, e.Sid}
		switch {
		case e.Event == audit.EventConsoleClose:
			closed[at]++
		case e.Event != audit.EventConsoleOpen:
		case closed[at] > 0:
			closed[at]--
		case ended(e.Boot):
		default:
			h := Holding{Kind: Session, What: string(audit.Unquote(e.Object)), Since: e.At, Role: api.Role(e.Actor.Role),
				Where: string(audit.Unquote(e.Via)) + " from " + string(audit.Unquote(e.From)), State: "not closed",
				Remove: "end the process there"}
			if e.Actor.Key != "" {
				h.Remove = "delete the person's key: the session ends within a minute"
			}
			out = append(out, h)
		}
	}
	return out
}

// Certificates returns the certificates that a person logged in with since a time, newest first. trusted is the file
// of their authorities.
func Certificates(records []audit.Entry, since time.Time, trusted string) []Holding {
	var out []Holding
	seen := map[string]bool{}
	for _, e := range records {
		serial := string(audit.Unquote(e.Actor.Serial))
		if e.Actor.Cert == "" || e.At.Before(since) || seen[serial] {
			continue
		}
		seen[serial] = true
		id := string(audit.Unquote(e.Actor.Cert))
		out = append(out, Holding{Kind: Certificate, What: id + ", serial " + serial, Where: trusted, Since: e.At,
			Role: api.Role(e.Actor.Role), Remove: "add the line @revoked id:" + id + " to " + trusted})
	}
	return out
}

// Writes returns the writes of a person without a known outcome.
func Writes(rows []followup.Row, is func(name string) bool) []Holding {
	var out []Holding
	for _, r := range rows {
		if is(r.Who) {
			out = append(out, Holding{Kind: Doubt, What: r.What(), Where: r.Ref, Since: r.Sent, State: string(r.State),
				Remove: "opdeck audit unsettled --settle"})
		}
	}
	return out
}
