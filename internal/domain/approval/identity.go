package approval

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"time"
	"unicode"

	"golang.org/x/text/cases"
	"golang.org/x/text/unicode/norm"

	"opdeck/api"
	"opdeck/api/untrusted"
)

// Person is the requester or approver of a request, copied from api.Actor.
type Person struct {
	Name     string   `json:"name"`
	Role     api.Role `json:"role"`
	Via      string   `json:"via,omitempty"`
	From     string   `json:"from,omitempty"`
	Key      string   `json:"key,omitempty"`
	Login    string   `json:"login,omitempty"`
	Cert     string   `json:"cert,omitempty"`
	Serial   string   `json:"serial,omitempty"`
	Proof    string   `json:"proof,omitempty"`
	UID      string   `json:"uid,omitempty"`
	LoginUID string   `json:"login_uid,omitempty"`
	Host     string   `json:"host,omitempty"`
	Doubt    string   `json:"doubt,omitempty"`
}

func person(a api.Actor) Person {
	return Person{Name: a.Name, Role: a.Role, Via: a.Via, From: a.From, Key: a.Key, Login: a.Login, Cert: a.Cert,
		Serial: a.Serial, Proof: a.Proof, UID: a.UID, LoginUID: a.LoginUID, Host: a.Host, Doubt: a.Doubt}
}

// String is the name and what it is based on.
func (p Person) String() string {
	switch claim := p.Claim(); {
	case claim != "":
		return p.Name + " (" + claim + ")"
	case p.Cert != "":
		return fmt.Sprintf("%s (login %s, key %s, certificate %s)", p.Name, p.Login, p.Key, p.Cert)
	case p.Key != "":
		return fmt.Sprintf("%s (key %s)", p.Name, p.Key)
	}
	return p.Name
}

// Claim says what the name of a local person is based on; see api.Actor.
func (p Person) Claim() string {
	return api.Actor{UID: p.UID, LoginUID: p.LoginUID, Doubt: p.Doubt}.Claim()
}

// Local reports whether the person is identified by a user id of a host.
func (p Person) Local() bool { return p.UID != "" }

// proven reports whether anything besides the name identifies the person.
func (p Person) proven() bool { return p.Local() || p.Key != "" && p.Login != "" }

// id is the key of a person's requests: the login name over SSH, the user id and host locally.
func (p Person) id() string {
	switch {
	case p.Local():
		return "uid " + p.UID + " of " + p.Host
	case p.Login != "":
		return "login " + fold(p.Login)
	}
	return "name " + fold(p.Name)
}

// same reports whether p is certainly q: the same login name with the same key or certificate id, or the same user id
// of the same host.
func (p Person) same(q Person) bool {
	if p.id() != q.id() || p.Local() != q.Local() {
		return false
	}
	return p.Local() || p.Key == q.Key || fold(p.Name) == fold(q.Name)
}

// names are all the names of a person, folded.
func (p Person) names() []string {
	var out []string
	for _, n := range []string{p.Login, p.Cert, p.Name} {
		if n = fold(n); n != "" {
			out = append(out, n)
		}
	}
	return out
}

// IsRequester reports whether this person filed r; only they can use its approval.
func IsRequester(who api.Actor, r Request) bool { return person(who).same(r.Requester) }

// WaitsFor reports whether a request waits for who: they can decide it, or it is theirs, was approved and can be sent.
func WaitsFor(who api.Actor, r Request) bool {
	return Decides(who, r) || r.State == Approved && IsRequester(who, r)
}

// Decides reports whether a request waits for a decision that who may make.
func Decides(who api.Actor, r Request) bool {
	return r.State == Open && WhyNotSecond(who, r.Requester) == nil && who.Role.May(api.MayApprove)
}

// WhyNotSecond says why who cannot approve a request of requester; nil if they can. It refuses everyone who might be
// the requester under another name: with the same key, login name, certificate id or user id, or with a difference
// that proves nothing.
func WhyNotSecond(who api.Actor, requester Person) *api.Error {
	p, q := person(who), requester
	switch {
	case fold(p.Name) == "":
		return refuse(api.RuleRole, "You are not logged in as a person, so you cannot approve.",
			"Start with a name: a person's own account, or an SSH key with name=….")
	case p.Key != "" && p.Key == q.Key && fold(p.Name) != fold(q.Name):
		return refuse(api.RuleRole, fmt.Sprintf("%s asked with the same key.", untrusted.Text(q.Name).Line(64)),
			"A second person needs a key of their own.")
	case overlap(p.names(), q.names()):
		return refuse(api.RuleRole, "You cannot approve or deny your own request.",
			"Ask a colleague; this also applies to admins. A request without a decision lapses.")
	case !p.proven() || !q.proven():
		return refuse(api.RuleRole, "Nothing proves that you and the requester are different people.",
			"Over SSH a key proves it, locally a user id.")
	case p.Local() != q.Local():
		return refuse(api.RuleRole,
			"One of you uses an SSH key and the other a local user id: that may be the same person.",
			"Ask and approve in the same way, preferably both over SSH.")
	case p.Local():
		return barsLocal(p, q)
	}
	return nil
}

// barsLocal compares two people with user ids.
func barsLocal(p, q Person) *api.Error {
	const ssh = "Over SSH, keys identify people."
	switch {
	case p.Doubt != "":
		return refuse(api.RuleRole, "Your user id "+p.UID+" "+p.Doubt+", so it does not count as a second person.", ssh)
	case q.Doubt != "":
		return refuse(api.RuleRole, "The requester's user id "+q.UID+" "+q.Doubt+", so opdeck cannot tell whether you are "+
			"another person.", ssh)
	case p.Host != q.Host:
		return refuse(api.RuleRole, "The request comes from another host. User ids identify people on one host only.", ssh)
	case overlap(p.uids(), q.uids()):
		return refuse(api.RuleRole, "You cannot decide your own request: it was made with your user id.",
			"Ask a colleague with an account of their own. "+ssh)
	}
	return nil
}

// uids are the user ids of a local person.
func (p Person) uids() []string {
	if p.LoginUID == "" {
		return []string{p.UID}
	}
	return []string{p.UID, p.LoginUID}
}

func overlap(a, b []string) bool {
	return slices.ContainsFunc(a, func(x string) bool { return slices.Contains(b, x) })
}

// SameName reports whether two names are treated as equal. Names prove nothing: use it only to choose whom to notify.
func SameName(a, b string) bool { return fold(a) == fold(b) }

// fold normalises a name for comparison: it ignores case, marks, widths, spaces, and look-alikes of Latin letters in
// other scripts.
func fold(s string) string {
	s = strings.Map(func(r rune) rune {
		if l, ok := latin[r]; ok {
			return l
		}
		return r
	}, norm.NFKD.String(s))
	return strings.Map(func(r rune) rune {
		if unicode.In(r, unicode.Mn, unicode.C, unicode.Z) {
			return -1
		}
		return r
	}, cases.Fold().String(s))
}

// latin maps look-alikes in other scripts to Latin letters.
var latin = func() map[rune]rune {
	m := map[rune]rune{}
	for to, alike := range map[rune]string{
		'a': "аАαΑɑ", 'b': "вВΒЬьβ", 'c': "сСϲᴄ", 'd': "ԁɗ", 'e': "еЕΕεє", 'f': "Ϝſ", 'g': "ɡցԌ", 'h': "НнΗһհҺ",
		'i': "іІΙιıɩ", 'j': "јЈȷյ", 'k': "кКΚκ", 'l': "ӏӀℓ", 'm': "мМΜ", 'n': "ΝпηոՈ", 'o': "оОοΟօՕσ",
		'p': "рРρΡք", 'q': "ԛզ", 'r': "гᴦ", 's': "ѕЅՏ", 't': "тТτΤ", 'u': "υսՍц", 'v': "ѵѴν",
		'w': "ԝԜωшщ", 'x': "хХχΧ", 'y': "уУΥүҮγ", 'z': "ΖᴢзZ",
	} {
		for _, from := range alike {
			m[from] = to
		}
	}
	return m
}()

// RoleLookup returns a person's current role, or an error for people that says why they have none any more: their key
// was removed, or their certificate was revoked or has expired.
type RoleLookup func(p Person) (now api.Role, err error)

// SetRoleLookup must be called before any other method; without a RoleLookup no approval is valid.
func (s *Service) SetRoleLookup(l RoleLookup) { s.roleOf = l }

// mayNoLonger says why a person may no longer approve; nil if they may.
func (s *Service) mayNoLonger(p Person) *api.Error {
	if s.roleOf == nil {
		return refuse(api.RuleRole, p.Name+" cannot be looked up here", "")
	}
	switch role, err := s.roleOf(p); {
	case err != nil:
		return refuse(api.RuleRole, p.Name+" may no longer approve: "+err.Error(), "")
	case !role.May(api.MayApprove):
		return refuse(api.RuleRole, p.Name+" may no longer approve: their role is now "+string(role), "")
	}
	return nil
}

// invalid says why the approval given by who is no longer valid; nil if it is valid or there is none.
func (s *Service) invalid(who api.Actor, r Request) *api.Error {
	if r.State != Approved || r.Decider == nil {
		return nil
	}
	if err := WhyNotSecond(who, *r.Decider); err != nil {
		return refuse(api.RuleRole, r.Decider.Name+" does not count as a second person: "+err.Public, "")
	}
	return s.mayNoLonger(*r.Decider)
}

// revoked is the refusal if the approval of r is no longer valid.
func revoked(r Request) error {
	return refuse(api.RuleApproval, "Approval "+r.ID+" no longer counts. "+r.Ended+".",
		"Repeat the write to ask for a new approval.")
}

// Waiting counts the open requests and the unused approvals, by state; 1000 at most.
func (s *Service) Waiting(ctx context.Context) (map[State]int, error) {
	list, err := s.store.List(ctx, Filter{Scope: s.scope, States: []State{Open, Approved}, Limit: 1000})
	if err != nil {
		return nil, err
	}
	now, err := s.store.Now(ctx)
	n := map[State]int{}
	for _, r := range list {
		n[r.AsOf(now).State]++
	}
	return n, err
}

// Usable finds an approved request that the person in ctx can send now: of one of these acts, about an object among
// ids. The first of the acts must be about an item among ids too.
func (s *Service) Usable(ctx context.Context, acts []api.ActKind, ids []string) (Request, bool, error) {
	list, err := s.List(ctx, Approved)
	for _, r := range list {
		item := r.Act.Item == "" || slices.Contains(ids, r.Act.Item) || r.Act.Kind != acts[0]
		if IsRequester(api.ActorOf(ctx), r) && slices.Contains(acts, r.Act.Kind) && slices.Contains(ids, r.Act.ID) && item {
			return r, true, nil
		}
	}
	return Request{}, false, err
}

// Recheck ends unused approvals whose approver, known at host, has lost their key or
// their role, and requests whose requester has lost theirs.
func (s *Service) Recheck(ctx context.Context, host string) error {
	list, err := s.store.List(ctx, Filter{Scope: s.scope, States: []State{Open, Approved}, Limit: 1000})
	for _, r := range list {
		why := s.lapseReason(host, r)
		if why == "" {
			continue
		}
		r, lapseErr := s.store.Decide(ctx, s.scope, r.ID, r.State,
			func(_ time.Time, r *Request) { r.State, r.Ended = Lapsed, why })
		switch {
		case errors.Is(lapseErr, ErrState):
		case lapseErr != nil:
			err = errors.Join(err, lapseErr)
		default:
			s.noteLapsed(ctx, r)
		}
	}
	return err
}

// lapseReason says why a request lapses early; "" if it does not.
func (s *Service) lapseReason(host string, r Request) string {
	if s.roleOf == nil {
		return ""
	}
	if r.Requester.Host == host {
		if _, err := s.roleOf(r.Requester); err != nil {
			return r.Requester.Name + " can no longer use it: " + err.Error()
		}
	}
	if r.State == Approved && r.Decider != nil && r.Decider.Host == host {
		if why := s.mayNoLonger(*r.Decider); why != nil {
			return why.Public
		}
	}
	return ""
}
