package present

import (
	"cmp"
	"strings"

	"opdeck/api"
	"opdeck/api/untrusted"
	"opdeck/internal/act"
	"opdeck/internal/domain/approval"
	"opdeck/internal/field"
	"opdeck/internal/format"
)

// Request is what a second person decides by, and what is behind it: exactly what is sent, the people, the digests.
func Request(o Options, r approval.Request) []Section {
	state, means := RequestState(o, r)
	judged := append(Texts("id", r.ID, "state", strings.TrimSuffix(state.Word+", "+means, ", ")), Judged(o, r)...)
	judged = append(append(judged, Fact{Label: "consequence", Value: act.Consequence(r.Act.Kind), Long: true}),
		append(Texts("ended", r.Ended), Fact{Label: "binds", Value: binds(r), Long: true})...)
	return append([]Section{{Title: "Request", Facts: judged}}, RequestDetails(o, r)...)
}

// RequestState is the state of a request at o.Now, which alone can end it, and what that means for the two people.
func RequestState(o Options, r approval.Request) (state Mark, means string) {
	is := r.AsOf(o.Now).State
	state = Mark{Look{SignOff, Dim}, safe(string(is), 20)}
	switch is {
	case approval.Open:
		state.Look, means = Look{SignWait, Warn}, "waits for a second person"
	case approval.Approved:
		state.Look, means = Look{SignGood, Good}, "the requester can send exactly this write, once"
	case approval.Denied:
		state.Look, means = Look{SignBad, Bad}, "denied by the second person"
	case approval.Lapsed:
		means = "not used in time"
	case approval.Spent:
		state.Look, means = Look{SignInfo, Info}, "the approved write was sent"
	case approval.Void:
		means = "the content changed after the request"
	}
	return state, means
}

// RequestColumns are the columns of a list of requests. "until" is when one lapses, "time left" how long that is.
var RequestColumns = []Column[approval.Request]{
	textColumn("id", field.Column{}, func(r approval.Request) string { return safe(r.ID, 40) }),
	column("state", field.Column{Min: 10}, func(o Options, r approval.Request) Cell {
		state, _ := RequestState(o, r)
		return state.Cell(o)
	}),
	textColumn("asked by", field.Column{Min: 6, Max: 24, Flex: 2}, func(r approval.Request) string {
		return safe(r.Requester.Name, 40)
	}),
	textColumn("act", field.Column{Min: 15, Max: 24, Flex: 1, HidePriority: 1}, func(r approval.Request) string {
		return safe(string(r.Act.Kind), 40)
	}),
	column("object", field.Column{Min: 10, Max: 50, Flex: 3, CutMiddle: true, HidePriority: 3},
		func(_ Options, r approval.Request) Cell { return Cell{Text: safe(r.Act.ID, 100), Tone: Dim} }),
	textColumn("item", field.Column{}, func(r approval.Request) string { return safe(r.Act.Item, 500) }),
	rightColumn("asked", field.Column{Min: 8, HidePriority: 4}, func(o Options, r approval.Request) Cell {
		ago, next := format.Ago(r.Created, o.Now)
		return Cell{Text: ago, Tone: Dim, Until: next}
	}),
	rightColumn("time left", field.Column{Min: 9, HidePriority: 2}, func(o Options, r approval.Request) Cell {
		if !r.Waits() || !o.Now.Before(r.Expires) {
			return Cell{Tone: Warn}
		}
		left, next := format.Until(r.Expires, o.Now)
		return Cell{Text: left, Tone: Warn, Until: next}
	}),
	column("until", field.Column{}, func(o Options, r approval.Request) Cell {
		return Cell{Text: format.Time(r.Expires, o.Zone)}
	}),
	textColumn("decided by", field.Column{}, func(r approval.Request) string {
		if r.Decider == nil {
			return ""
		}
		return safe(r.Decider.Name, 40)
	}),
	textColumn("what", field.Column{}, func(r approval.Request) string { return safe(r.Act.Summary, 2000) }),
}

// RequestListed are the columns of a list of requests as commands print it.
var RequestListed = Named(RequestColumns, "id", "state", "act", "object", "item", "asked by", "until", "decided by",
	"what")

// Judged is what a second person decides by: the record that it changes as the requester saw it, the guards that it
// lifts, the reason, who asks, until when, and the act.
func Judged(o Options, r approval.Request) []Fact {
	a, s := r.Act, r.Act.Subject
	out := Texts("document", cmp.Or(s.Document, a.Name), "customer", s.Customer)
	if s.Amount != nil {
		out = append(out, Fact{Label: "amount", Value: format.Money(*s.Amount), Amount: true})
	}
	if s.Status != "" {
		out = append(out, o.Status("status", untrusted.Text(s.Status)))
	}
	for _, g := range a.Lifted {
		out = append(out, Fact{Label: "lifts", Value: guard(g), Tone: Warn, Long: true})
	}
	out = append(out, Text("reason", untrusted.Text(a.Reason), "none given")...)
	out = append(out, Fact{Label: "asked by", Value: safe(r.Requester.Name, 120) + ", " + safe(string(r.Requester.Role),
		40)}, Fact{Label: "until", Value: format.Time(r.Expires, o.Zone)})
	out = append(out, Texts("what", a.Summary, "act", string(a.Kind))...)
	return append(out, Text(safe(a.Object, 20)+" id", untrusted.Text(a.ID), "–")...)
}

// guard names a guard of the console that an act lifts.
func guard(g api.Rule) string {
	if g == api.RuleEndState {
		return "the guard for operations that have ended (--force)"
	}
	return "the guard " + safe(string(g), 40) + " (--force)"
}

// RequestDetails are exactly what is sent, who asked, who decided, and the digests that the approval binds to.
func RequestDetails(o Options, r approval.Request) []Section {
	a := r.Act
	sent := append(Texts("request", strings.TrimSpace(a.Method+" "+a.Path), "body", string(a.Body)), Texts("item", a.Item,
		"name", a.Name)...)
	asked := append(person(r.Requester), Fact{Label: "asked", Value: o.moment(r.Created)})
	out := []Section{{Title: "Sent", Facts: sent}, {Title: "Asked by", Facts: under("asked by", asked)}}
	if r.Decider != nil {
		decided := append(person(*r.Decider), Fact{Label: "decided", Value: format.Time(r.Decided, o.Zone)})
		decided = append(decided, Text("comment", untrusted.Text(r.Comment), "none")...)
		if !r.Spent.IsZero() {
			decided = append(decided, Fact{Label: "used", Value: format.Time(r.Spent, o.Zone)}, Fact{Label: "outcome",
				Value: outcome(r.Verdict)})
		}
		out = append(out, Section{Title: "Decided by", Facts: under("decided by", decided)})
	}
	if digests := Texts("content shown", a.Seen, "secret or file", a.SecretDigest, "digest", r.Digest); len(digests) > 0 {
		out = append(out, Section{Title: "Digests", Facts: digests})
	}
	return out
}

// RequestTitle is an act in one safe line: what happens to which record.
func RequestTitle(a api.Act) string {
	out := safe(string(a.Kind), 40)
	if name := cmp.Or(a.Name, a.Item); name != "" {
		out += " " + safe(name, 60)
	}
	return out + " on " + safe(a.Object, 20) + " " + format.File(untrusted.Text(a.ID), 40)
}

func outcome(v api.Verdict) string {
	switch v {
	case "", api.Unclear:
		return "unknown"
	case api.NotSeen:
		return "unknown: no read showed it in time"
	}
	return safe(string(v), 20)
}

// person is who someone is, as far as it is proven.
func person(who approval.Person) []Fact {
	out := append(Text("name", untrusted.Text(who.Name), "–"), Text("role", untrusted.Text(who.Role), "–")...)
	login := who.Login
	if login == who.Name {
		login = ""
	}
	return append(out, Texts("login", login, "key", who.Key, "certificate", who.Serial, "identified by", who.Claim(),
		"surface", who.Via, "host", who.From)...)
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
