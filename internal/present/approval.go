package present

import (
	"cmp"
	"strings"

	"opdeck/api"
	"opdeck/api/untrusted"
	"opdeck/internal/act"
	"opdeck/internal/domain/approval"
	"opdeck/internal/format"
)

// Request is everything that an approver decides about: the state of the request, what would be sent, the act, its
// record, and the people. about are known sections of that record.
func Request(o Options, r approval.Request, about ...Section) []Section {
	sent := Section{Title: "Request", Facts: append(Texts("id", r.ID, "state", string(r.State), "what", r.Act.Summary,
		"request", strings.TrimSpace(r.Act.Method+" "+r.Act.Path), "body", string(r.Act.Body),
		"consequence", act.Consequence(r.Act.Kind), "ended", r.Ended), Fact{Label: "binds", Value: binds(r), Long: true})}
	return append(append([]Section{sent}, about...), RequestFacts(o, r)...)
}

// RequestFacts are the act, the requester, and the approver.
func RequestFacts(o Options, r approval.Request) []Section {
	acted := append(actFacts(r.Act), Fact{Label: "digest", Value: safe(r.Digest, 128), Tone: Dim, Long: true,
		Copy: r.Digest})
	asked := append(person(r.Requester), Text("reason", untrusted.Text(r.Act.Reason), "none given")...)
	asked = append(asked, Fact{Label: "asked", Value: o.moment(r.Created)}, Fact{Label: "lapses",
		Value: format.Time(r.Expires, o.Zone)})
	out := []Section{{Title: "Act", Facts: acted}, {Title: "Asked by", Facts: under("asked by", asked)}}
	if r.Decider == nil {
		return out
	}
	decided := append(person(*r.Decider), Fact{Label: "decided", Value: format.Time(r.Decided, o.Zone)})
	decided = append(decided, Text("comment", untrusted.Text(r.Comment), "none")...)
	if !r.Spent.IsZero() {
		decided = append(decided, Fact{Label: "used", Value: format.Time(r.Spent, o.Zone)}, Fact{Label: "outcome",
			Value: verdict(r.Verdict)})
	}
	return append(out, Section{Title: "Decided by", Facts: under("decided by", decided)})
}

// RequestTitle is an act in one safe line: what happens to which record.
func RequestTitle(a api.Act) string {
	out := safe(string(a.Kind), 40)
	if name := cmp.Or(a.Name, a.Item); name != "" {
		out += " " + safe(name, 60)
	}
	return out + " on " + safe(a.Object, 20) + " " + format.File(untrusted.Text(a.ID), 40)
}

func verdict(v api.Verdict) string {
	switch v {
	case "", api.Unclear:
		return "not known yet"
	case api.NotSeen:
		return "not seen in time"
	}
	return safe(string(v), 20)
}

// actFacts are the object of an act and what its requester saw.
func actFacts(a api.Act) []Fact {
	var out []Fact
	for _, f := range []struct{ label, text, none string }{{"act", string(a.Kind), "–"}, {"summary", a.Summary, "–"},
		{"object", a.Object, "–"},
		{"id", a.ID, "–"}, {"item", a.Item, ""}, {"name", a.Name, ""}, {"content shown", a.Seen, "not recorded"}} {
		out = append(out, Text(f.label, untrusted.Text(f.text), f.none)...)
	}
	if a.SecretDigest != "" {
		out = append(out, Text("secret or file", untrusted.Text("sha256 "+a.SecretDigest), "")...)
	}
	under("act", out[1:])
	return out
}

// person identifies somebody, as far as it is proven.
func person(who approval.Person) []Fact {
	out := append(Text("name", untrusted.Text(who.Name), "–"), Text("role", untrusted.Text(who.Role), "–")...)
	login := who.Login
	if login == who.Name {
		login = ""
	}
	return append(out, Texts("login", login, "key", who.Key, "certificate", who.Serial, "known as", who.Claim(), "via",
		who.Via, "from", who.From)...)
}

// binds lists who may approve a request, and whom the rule cannot exclude.
func binds(q approval.Request) string {
	if q.Requester.Local() {
		return "another user id of this host; root and people with the password of the account or of the store are not bound"
	}
	return "another key, login name and certificate over SSH; people with the password of the account or of the store" +
		" are not bound"
}

// safe is a text from outside as one line of at most max runes.
func safe(s string, max int) string { return untrusted.Text(s).Line(max) }
