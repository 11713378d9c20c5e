package present

import (
	"cmp"
	"encoding/hex"
	"encoding/json"
	"fmt"
	"slices"
	"strconv"
	"strings"
	"time"

	"opdeck/api"
	"opdeck/api/hook"
	"opdeck/api/untrusted"
	"opdeck/internal/domain/mask"
	"opdeck/internal/domain/receiver"
	"opdeck/internal/field"
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
		return Mark{Look{SignBad, Bad}, "conflict"}, "An earlier event has the same event id and another body: one of the " +
			"two is wrong or forged. Compare both."
	case s.Status == receiver.Quarantined:
		return Mark{Look{SignLocked, Bad}, "quarantined"}, "It cannot be used. It is kept unchanged, in quarantine."
	case !s.Verdict.Authenticated:
		return Mark{Look{SignUnknown, Warn}, "unverified"},
			"Its origin is not proven: it was added manually, or verify is \"none\"."
	case s.Verdict.Bound:
		return Mark{Look{SignGood, Good}, "verified"}, "The signature is valid and covers the " +
			"body: its content can be trusted."
	}
	return Mark{Look{SignWarn, Warn}, "hint only"}, "The signature is valid but does not cover the body: only a hint " +
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
	out := Text("event id", untrusted.Text(s.HookID), "")
	if s.Key != s.HookID {
		out = append(out, Text("kept as", untrusted.Text(s.Key), "–")...)
	}
	times := format.Count(max(s.Deliveries, 1))
	if s.Deliveries > 1 {
		times += " with the same body, the last " + format.Time(s.LastAt, o.Zone)
	}
	out = append(out, Fact{Label: "received", Value: o.moment(s.ReceivedAt)}, Fact{Label: "from",
		Value: safe(string(s.Source), 100)}, Fact{Label: "deliveries", Value: times, Long: true},
		Fact{Label: "status", Value: safe(string(s.Status), 40)},
		Fact{Label: "signature", Value: signature(s)})
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

// signature says whether the origin of a delivery is proven, how, and whether the proof covers the body.
func signature(s receiver.Stored) string {
	switch by := safe(s.Verdict.Verifier, 40); {
	case !s.Verdict.Authenticated:
		return "not verified"
	case s.Verdict.Bound:
		return "verified (" + by + "), covers the body"
	default:
		return "verified (" + by + "), does not cover the body"
	}
}

// EventIssues lists the unusable parts of an event.
func EventIssues(e Event) []Sentence {
	var out []Sentence
	for _, issue := range e.Said.Issues {
		out = append(out, Sentence{Look{SignWarn, Warn}, safe(issue.Path, 80) + ": " + safe(issue.Why, 200)})
	}
	return out
}

// eventObject is the part of an event about its object.
type eventObject struct {
	Options
	Event
	codes hook.Meanings
}

func (p eventObject) sections() []Section {
	e := p.Said
	status := Fact{Label: "status", Value: hook.StatusText(p.Object, e.Status)}
	var facts []Fact
	var more []Section
	switch {
	case e.Operation != nil:
		facts = p.operation()
	case e.Client != nil:
		c := e.Client
		facts = append(Texts("cuid", string(e.CUID), "name", string(c.Name), "last name", string(c.Lastname)), status,
			p.stamp("created", e.CreatedAt), p.stamp("updated", e.UpdatedAt), p.stamp("onboarded", c.OnboardingAt))
	case e.Account != nil:
		facts, more = p.account(status)
	case e.Counterparty != nil:
		c := e.Counterparty
		facts = Texts("id", string(e.ObjectID), "cuid", string(e.CUID), "description", string(c.Description))
		for i, a := range c.Accounts {
			facts = append(facts, Fact{Label: "account " + strconv.Itoa(i+1), Value: untrusted.Text(a.SUID).Line(100) + " " +
				a.CurrencyISO.Line(12) + ", " + hook.StatusText(p.Object, a.Status), Long: true})
		}
	}
	name := safe(string(p.Object), 40)
	facts = slices.DeleteFunc(facts, func(f Fact) bool { return f.Value == "" }) // what the event does not say
	return append([]Section{{Title: name, Facts: under(strings.ToLower(name), facts)}}, more...)
}

func (p eventObject) operation() []Fact {
	o, e := p.Said.Operation, p.Said.Event
	out := Texts("operation id", string(e.ObjectID), "cuid", string(e.CUID))
	for _, c := range []struct {
		label string
		f     hook.Field
		code  hook.Code
	}{{"status", hook.FieldStatus, e.Status}, {"type", hook.FieldType, e.OperationType},
		{"payment", hook.FieldPaymentType, e.PaymentType}} {
		out = append(out, Fact{Label: c.label, Value: safe(p.codes.Text(c.f, c.code), 200), Long: true})
	}
	out = append(out, Fact{Label: "visible", Value: eventFlag(e.IsVisible)}, p.stamp("created", e.CreatedAt),
		p.stamp("updated", e.UpdatedAt))
	for _, side := range []struct {
		label string
		s     hook.Side
	}{{"source", o.Source}, {"destination", o.Destination}} {
		out = append(out, Texts(side.label+" account", string(side.s.Account), side.label+" counterparty",
			string(side.s.Beneficiar))...)
	}
	before := e
	if p.Before != nil {
		before = *p.Before
	}
	for _, a := range []struct {
		label   string
		is, was api.Amount
	}{{"amount", e.SourceAmount, before.SourceAmount}, {"received", e.DestinationAmount, before.DestinationAmount},
		{"commission", e.CommissionAmount, before.CommissionAmount},
		{"balance", e.CurrentBalanceAmount, before.CurrentBalanceAmount}} {
		value, was := eventMoney(a.is), eventMoney(a.was)
		if was != value {
			value = cmp.Or(was, "–") + " → " + cmp.Or(value, "–")
		}
		out = append(out, Fact{Label: a.label, Value: value, Long: true})
	}
	return out
}

func (p eventObject) account(status Fact) ([]Fact, []Section) {
	e, a := p.Said.Event, p.Said.Account
	facts := Texts("id", string(e.ObjectID), "cuid", string(e.CUID), "name", string(a.Name), "number",
		string(mask.NumberIf(a.Number, p.Masked)))
	facts = append(facts, Fact{Label: "currency", Value: a.CurrencyISO.Line(12)}, status,
		Fact{Label: "default", Value: eventFlag(a.IsDefault)},
		Fact{Label: "balance", Value: eventMoney(e.CurrentBalanceAmount)},
		Fact{Label: "hold", Value: eventMoney(api.Amount(a.Hold))})
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
	return Fact{}
}

// eventMoney is an exact amount of a webhook.
func eventMoney(a api.Amount) string {
	if a.Sum.Empty() {
		return ""
	}
	if _, err := a.Sum.Decimal(); err != nil {
		return "? " + safe(a.Sum.Raw(), 200)
	}
	return format.Money(a.Sum)
}

func eventFlag(f hook.Flag) string {
	if f == hook.NotGiven {
		return ""
	}
	return format.YesNo(f == hook.Yes)
}

// shortType is a type in lists.
func shortType(t hook.Type) string {
	if t == 0 {
		return "unknown" // not a whole number
	}
	return cmp.Or(strings.ToUpper(t.Word()), t.String())
}

// EventColumns are the columns of a list of events; codes are what is known of their numbers. They are built once for
// many rows.
func EventColumns(codes hook.Meanings) []Column[Event] {
	received := TimeColumn("received", field.Layout{Min: 16, HidePriority: 6}, time.DateTime, func(e Event) time.Time {
		return e.ReceivedAt
	})
	typed := exactly(textColumn("type", field.Layout{Min: 9, Max: 12, Flex: 1, HidePriority: 3}, func(e Event) string {
		return shortType(e.Type)
	}), func(e Event) string { return e.Type.String() })
	amount := column("amount", field.Layout{Min: 14, HidePriority: 5}, func(_ Options, e Event) Cell {
		return Cell{Text: eventAmount(e)}
	})
	amount.Align = field.Decimal
	age := rightColumn("age", field.Layout{Min: 5, HidePriority: 4}, func(o Options, e Event) Cell {
		text, next := format.Age(e.ReceivedAt, o.Now)
		return Cell{Text: text, Tone: Dim, Until: next}
	})
	return []Column[Event]{received, typed,
		column("change", field.Layout{Min: 14, Flex: 3}, func(_ Options, e Event) Cell { return EventChange(e, codes) }),
		amount, age,
		column("trust", field.Layout{Min: 13, HidePriority: 2}, func(o Options, e Event) Cell {
			if e.Retry.Waiting() {
				return Mark{Look{SignWarn, Warn}, "not merged"}.Cell(o)
			}
			trust, _ := Trust(e.Stored)
			return trust.Cell(o)
		}),
		column("object", field.Layout{Min: 13, Max: 36, ID: true, HidePriority: 1},
			func(_ Options, e Event) Cell { return Cell{Text: e.ObjectID.Line(128), Tone: Dim} }),
	}
}

// eventAmount is what the operation of an event pays, or the balance of an account; "" if the event has neither.
func eventAmount(e Event) string {
	sum := e.Said.SourceAmount.Sum
	if e.Said.Object == hook.ObjectAccount {
		sum = e.Said.CurrentBalanceAmount.Sum
	}
	if !e.Good || sum.Empty() {
		return ""
	}
	return format.Money(sum)
}

// EventListed are the columns of a list of events as commands print it; whose is the context that they are of.
func EventListed(whose string) []Column[Event] {
	return Named(append(EventColumns(nil),
		NumberColumn("seq", field.Layout{HidePriority: 10}, func(e Event) int64 { return e.Seq }),
		textColumn("context", field.Layout{HidePriority: 9}, func(Event) string { return safe(whose, 120) }),
		textColumn("status", field.Layout{HidePriority: 4}, func(e Event) string { return safe(string(e.Status), 40) }),
		NumberColumn("deliveries", field.Layout{HidePriority: 8}, func(e Event) int64 { return int64(e.Deliveries) }),
		textColumn("hook id", field.Layout{Min: 13, CutMiddle: true, HidePriority: 5},
			func(e Event) string { return safe(e.Key, 500) }),
		textColumn("problem", field.Layout{HidePriority: 7}, eventProblem)),
		"seq", "received", "context", "type", "object", "status", "deliveries", "hook id", "problem")
}

// eventProblem is why an event cannot be used, or is not in the index yet; "" for one that is.
func eventProblem(e Event) string {
	if e.Retry.Waiting() {
		return safe("not merged yet ("+format.Plural(e.Retry.Tries, "try", "tries")+"): "+e.Retry.Reason, 2000)
	}
	return SetAside(e.Stored)
}

// EventChange describes the change of an event's object: before → after if both are known.
func EventChange(e Event, codes hook.Meanings) Cell {
	if !e.Good {
		return Cell{Text: SetAside(e.Stored), Tone: Warn}
	}
	if c := e.Said.Counterparty; c != nil {
		return Cell{Text: format.Plural(len(c.Accounts), "account", "accounts")}
	}
	is := eventStatus(e.Said.Event, codes)
	switch {
	case e.Late:
		return Cell{Text: is + " (late: a newer state is known)", Tone: Warn}
	case e.Before != nil && e.Before.Status != e.Said.Status:
		return Cell{Text: eventStatus(*e.Before, codes) + " → " + is}
	case e.Before != nil:
		return Cell{Text: is + " (unchanged)", Tone: Dim}
	}
	return Cell{Text: is}
}

// SetAside is why an event is unusable; "" if it is usable.
func SetAside(s receiver.Stored) string {
	if s.Reason == "" {
		return ""
	}
	return safe(string(s.Reason)+": "+s.Detail, 2000)
}

func eventStatus(e hook.Event, codes hook.Meanings) string {
	if e.Object == hook.ObjectOperation {
		return codes.Text(hook.FieldStatus, e.Status)
	}
	return hook.StatusText(e.Object, e.Status)
}

// HookSettings lists the service's webhook settings without the secret, named by the flags that change them.
func HookSettings(h api.HookSettings) []Fact {
	enabled := OnOff(h, "enabled", "enabled", h.Enabled)
	if enabled.Label = "webhooks"; !h.Enabled {
		enabled.Tone = Warn
	}
	out := append([]Fact{enabled}, Text("sent to", h.HookURL, "not set")...)
	out[1].Name = "url"
	key := "set, " + h.JWTSecret.String()
	switch {
	case !h.Knows("jwtSecret"):
		key = "not reported"
	case h.JWTSecret.Empty():
		key = "none"
	}
	return append(out, Fact{Label: "secret", Value: key}, OnOff(h, "operations", "hookOperation", h.HookOperation),
		OnOff(h, "customers", "hookCustomer", h.HookCustomer), OnOff(h, "accounts", "hookDepositAccount",
			h.HookDepositAccount),
		OnOff(h, "counterparties", "hookCounterparty", h.HookCounterparty))
}

// OnOff is a switch of the settings; it says so if the answer lacks it.
func OnOff(h api.HookSettings, label, member string, on bool) Fact {
	value := "off"
	switch {
	case !h.Knows(member):
		value = "not reported"
	case on:
		value = "on"
	}
	return Fact{Name: label, Label: label, Value: value}
}

// CodeColumns are the columns of a list of codes.
var CodeColumns = []Column[hook.Said]{
	textColumn("field", field.Layout{}, func(s hook.Said) string { return safe(string(s.Field), 60) }),
	NumberColumn("code", field.Layout{}, func(s hook.Said) int64 { return s.Code }),
	textColumn("word", field.Layout{}, func(s hook.Said) string { return s.Word.Line(64) }),
	textColumn("operation", field.Layout{ID: true}, func(s hook.Said) string { return s.OPID.Line(64) }),
}

// RejectedColumns are the columns of a list of deliveries that were not accepted, in the context of this name.
func RejectedColumns(whose string) []Column[receiver.Rejection] {
	type rejection = receiver.Rejection
	return []Column[rejection]{
		textColumn("key", field.Layout{}, func(x rejection) string { return x.Key() }),
		TimeColumn("at", field.Layout{}, time.DateTime, func(x rejection) time.Time { return x.At }),
		textColumn("context", field.Layout{}, func(rejection) string { return safe(whose, 120) }),
		textColumn("from", field.Layout{}, func(x rejection) string { return safe(string(x.Source), 100) }),
		NumberColumn("answer", field.Layout{}, func(x rejection) int64 { return int64(x.Status) }),
		textColumn("reason", field.Layout{}, func(x rejection) string { return safe(x.Reason, 200) }),
		NumberColumn("bytes", field.Layout{}, func(x rejection) int64 { return x.Size }),
		textColumn("what to do", field.Layout{}, func(x rejection) string { return safe(x.Detail, 2000) })}
}

// Rejected lists all facts of a rejected delivery except its body.
func Rejected(x receiver.Rejection) []Fact {
	out := []Fact{{Label: "answer", Value: strconv.Itoa(x.Status)}}
	out = append(out, Texts("reason", x.Reason, "what to do", x.Detail, "request", x.Request, "algorithm", x.Algorithm,
		"claims", strings.Join(x.Claims, " "))...)
	for _, h := range x.Header {
		out = append(out, Fact{Label: "header", Value: safe(h.Name, 60) + ": " + safe(h.Value, 200), Tone: Dim, Long: true})
	}
	size := format.Count(int(x.Size)) + " bytes"
	if x.Size >= 10_000 {
		size = format.Size(x.Size) + " (" + size + ")"
	}
	if kept := len(x.Body); int64(kept) < x.Size {
		size += "; the first " + format.Count(kept) + " are kept"
	}
	return append(out, Fact{Label: "body", Value: size})
}

// RejectedAt says which delivery was rejected, when, and from whom.
func RejectedAt(o Options, x receiver.Rejection) string {
	return x.Key() + "  " + format.Time(x.At, o.Zone) + "  " + safe(string(x.Source), 64)
}
