package present

import (
	"encoding/hex"
	"encoding/json"
	"fmt"
	"strconv"
	"strings"

	"opdeck/api"
	"opdeck/api/hook"
	"opdeck/api/untrusted"
	"opdeck/internal/domain/mask"
	"opdeck/internal/domain/receiver"
	"opdeck/internal/format"
)

// Event is a decoded delivery of a webhook.
type Event struct {
	receiver.Stored
	Said   hook.Envelope
	Good   bool        // Said is usable
	Before *hook.Event // the previous state of the same object; nil: not known
	Late   bool        // a newer state of the object arrived earlier
}

// EventOf decodes a stored delivery.
func EventOf(s receiver.Stored) Event {
	out := Event{Stored: s}
	if s.Status != receiver.Quarantined {
		if e, err := hook.Decode(s.Raw); err == nil {
			out.Said, out.Good = e, true
		}
	}
	return out
}

// Sensitive reports whether the body cannot be masked, because it is not JSON.
func (e Event) Sensitive() bool { return !json.Valid(e.Raw) }

// Trust is how far an event is trusted, as a mark and a sentence.
func Trust(s receiver.Stored) (Mark, string) {
	switch {
	case s.Status == receiver.Conflict:
		return Mark{Look{SignBad, Bad}, "conflict"}, "An earlier event has the same hook_id and another body: one of the " +
			"two is wrong or forged. Compare both."
	case s.Status == receiver.Quarantined:
		return Mark{Look{SignLocked, Bad}, "quarantined"}, "It cannot be used. It is kept unchanged, in quarantine."
	case !s.Verdict.Authenticated:
		return Mark{Look{SignUnknown, Warn}, "unverified"},
			"Its origin is not proven: it was added by hand, or verify is \"none\"."
	case s.Verdict.Bound:
		return Mark{Look{SignGood, Good}, "bound"}, "Verified, and the signature covers the body: its content can be trusted."
	}
	return Mark{Look{SignWarn, Warn}, "unbound"}, "Verified, but the signature does not cover the body: only a hint " +
		"to read the object again."
}

// EventType is the service's name of a type.
func EventType(t hook.Type) string {
	if t == 0 {
		return "Unknown type"
	}
	return t.String()
}

// EventFacts lists everything about an event except its body: how it was received, and what it says of its object,
// with known meanings of codes.
func EventFacts(o Options, e Event, codes hook.Meanings) []Section {
	out := []Section{{Title: "Delivery", Facts: delivered(o, e.Stored)}}
	if e.Good {
		p := eventObject{o, e, codes}
		out = append(out, p.sections()...)
	}
	return out
}

func delivered(o Options, s receiver.Stored) []Fact {
	out := Text("hook_id", untrusted.Text(s.HookID), "–")
	if s.Key != s.HookID {
		out = append(out, Text("kept as", untrusted.Text(s.Key), "–")...)
	}
	times := "once"
	if s.Deliveries > 1 {
		times = format.Count(s.Deliveries) + " times with the same body, last " + format.Time(s.LastAt, o.Zone)
	}
	out = append(out, Fact{Label: "received", Value: o.moment(s.ReceivedAt)}, Fact{Label: "from",
		Value: safe(string(s.Source), 100)}, Fact{Label: "arrived", Value: times, Long: true},
		Fact{Label: "status", Value: safe(string(s.Status), 40)},
		Fact{Label: "verified by", Value: safe(s.Verdict.Verifier, 40)},
		Fact{Label: "authentic", Value: format.YesNo(s.Verdict.Authenticated)},
		Fact{Label: "body bound", Value: format.YesNo(s.Verdict.Bound)})
	if s.Verdict.OldSecret {
		out = append(out, Fact{Label: "secret", Value: "the previous one (being replaced)", Tone: Warn})
	}
	if r := s.Retry; r.Waiting() {
		first, _ := format.Ago(r.First, o.Now)
		out = append(out, Fact{Label: "not merged", Tone: Warn, Long: true,
			Value: safe(fmt.Sprintf("%s, first %s; the next %s: %s", format.Plural(r.Tries, "try", "tries"),
				first, format.Time(r.Next, o.Zone), r.Reason), 500)})
	}
	if why := SetAside(s); why != "" {
		out = append(out, Fact{Label: "set aside", Value: why, Tone: Warn, Long: true})
	}
	return append(out, Fact{Label: "number", Value: format.Count(int(s.Seq))},
		Fact{Label: "SHA-256", Value: hex.EncodeToString(s.Hash[:]), Tone: Dim, Long: true})
}

// EventIssues lists the unusable parts of an event.
func EventIssues(e Event) []Sentence {
	var out []Sentence
	for _, issue := range e.Said.Issues {
		out = append(out, Sentence{Look{SignWarn, Warn}, safe(issue.Path, 80) + ": " + safe(issue.Why, 200)})
	}
	return out
}

// Attempt describes a replay of an event: the answer, then where and when.
func Attempt(o Options, a receiver.Attempt) (answer Sentence, to string) {
	answer = Sentence{Look{SignGood, Good}, AttemptAnswer(a)}
	if !a.OK() {
		answer.Look = Look{SignBad, Bad}
	}
	return answer, safe(a.Act, 20) + " to " + safe(a.Target, 200) + ", " + format.Time(a.At, o.Zone)
}

// AttemptAnswer is the answer to a replay: status and latency, or why there is none.
func AttemptAnswer(a receiver.Attempt) string {
	if a.Error != "" {
		return safe(a.Error, 200)
	}
	return strconv.Itoa(a.Status) + " after " + format.Duration(a.Latency)
}

// eventObject is the part of an event about its object.
type eventObject struct {
	Options
	Event
	codes hook.Meanings
}

func (p eventObject) sections() []Section {
	e := p.Said
	facts := p.common()
	var more []Section
	switch {
	case e.Operation != nil:
		facts = p.operation()
	case e.Client != nil:
		c := e.Client
		facts = append(dashed("cuid", string(e.CUID), "name", string(c.Name), "last name", string(c.Lastname)), facts...)
		facts = append(facts, p.stamp("created", e.CreatedAt), p.stamp("updated", e.UpdatedAt),
			p.stamp("onboarded", c.OnboardingAt))
	case e.Account != nil:
		facts, more = p.account()
	case e.Counterparty != nil:
		c := e.Counterparty
		facts = dashed("id", string(e.ObjectID), "cuid", string(e.CUID), "description", string(c.Description))
		for i, a := range c.Accounts {
			facts = append(facts, Fact{Label: "account " + strconv.Itoa(i+1), Value: a.SUID.Line(100) + " " +
				a.CurrencyISO.Line(12) + ", " + hook.StatusText(p.Object, a.Status), Long: true})
		}
	default:
		facts = nil
	}
	name := safe(string(p.Object), 40)
	return append([]Section{{Title: name, Facts: under(strings.ToLower(name), facts)}}, more...)
}

func (p eventObject) common() []Fact {
	return []Fact{{Label: "status", Value: hook.StatusText(p.Object, p.Said.Status)}}
}

func (p eventObject) operation() []Fact {
	o, e := p.Said.Operation, p.Said.Event
	out := dashed("opid", string(e.ObjectID), "cuid", string(e.CUID))
	for _, c := range []struct {
		label string
		f     hook.Field
		code  hook.Code
	}{{"status", hook.FieldStatus, e.Status}, {"type", hook.FieldType, e.OperationType},
		{"payment", hook.FieldPaymentType, e.PaymentType}} {
		value := c.code.String()
		if c.code.Given {
			value = safe(p.codes.Lookup(c.f, c.code.Value).String(), 200)
		}
		out = append(out, Fact{Label: c.label, Value: value, Long: true})
	}
	out = append(out, Fact{Label: "visible", Value: eventFlag(e.IsVisible)}, p.stamp("created", e.CreatedAt),
		p.stamp("updated", e.UpdatedAt))
	for _, side := range []struct {
		label string
		s     hook.Side
	}{{"source", o.Source}, {"destination", o.Destination}} {
		out = append(out, dashed(side.label+" account", string(side.s.Account), side.label+" counterparty",
			string(side.s.Beneficiar))...)
	}
	for _, a := range []struct {
		label string
		of    func(hook.Event) api.Amount
	}{{"amount", func(e hook.Event) api.Amount { return e.SourceAmount }},
		{"received", func(e hook.Event) api.Amount { return e.DestinationAmount }},
		{"commission", func(e hook.Event) api.Amount { return e.CommissionAmount }},
		{"balance", func(e hook.Event) api.Amount { return e.CurrentBalanceAmount }}} {
		value := eventMoney(a.of(e))
		if p.Before != nil {
			if before := eventMoney(a.of(*p.Before)); before != value {
				value = before + " → " + value
			}
		}
		out = append(out, Fact{Label: a.label, Value: value, Long: true})
	}
	return out
}

func (p eventObject) account() ([]Fact, []Section) {
	e, a := p.Said.Event, p.Said.Account
	facts := dashed("id", string(e.ObjectID), "cuid", string(e.CUID), "name", string(a.Name), "number",
		string(mask.NumberIf(a.Number, p.Masked)))
	facts = append(append(append(facts, Fact{Label: "currency", Value: a.CurrencyISO.Line(12)}), p.common()...),
		Fact{Label: "default", Value: eventFlag(a.IsDefault)},
		Fact{Label: "balance", Value: eventMoney(e.CurrentBalanceAmount)}, Fact{Label: "hold", Value: eventMoney(a.Hold)})
	var more []Section
	for _, q := range a.Requisites {
		s := Section{Title: "Requisites: " + q.Title.Line(60)}
		for _, i := range q.Items {
			s.Facts = append(s.Facts, Fact{Label: i.Key.Line(40), Value: mask.Requisite(i.Key, i.Value, p.Masked).Line(400),
				Long: true})
		}
		more = append(more, s)
	}
	return facts, more
}

func (p eventObject) stamp(label string, t hook.Stamp) Fact {
	at, ok := t.Time()
	switch {
	case ok:
		return Fact{Label: label, Value: p.moment(at)}
	case t.Given:
		return Fact{Label: label, Value: "out of range: " + t.String(), Tone: Warn}
	}
	return Fact{Label: label, Value: "not given", Tone: Dim}
}

// eventMoney is an exact amount of a webhook.
func eventMoney(a api.Amount) string {
	if a.Sum.Empty() {
		return "–"
	}
	if _, err := a.Sum.Decimal(); err != nil {
		return "? " + safe(a.Sum.Raw(), 200)
	}
	return format.Money(a.Sum)
}

func eventFlag(f hook.Flag) string {
	if f == hook.NotGiven {
		return "not given"
	}
	return format.YesNo(f == hook.Yes)
}

// dashed are Texts with a dash for empty ones.
func dashed(labelsAndTexts ...string) []Fact {
	var out []Fact
	for i := 0; i+1 < len(labelsAndTexts); i += 2 {
		out = append(out, Text(labelsAndTexts[i], untrusted.Text(labelsAndTexts[i+1]), "–")...)
	}
	return out
}
