package present

import (
	"fmt"
	"strconv"
	"time"

	"opdeck/api/hook"
	"opdeck/internal/domain/receiver"
	"opdeck/internal/field"
	"opdeck/internal/format"
)

// shortTypes are the words for types in lists.
var shortTypes = map[hook.Type]string{hook.TypeOperation: "OPERATION", hook.TypeDepositAccount: "ACCOUNT",
	hook.TypeClient: "CLIENT", hook.TypeCounterparty: "COUNTERPARTY", hook.TypeDepositAccountRequisite: "REQUISITE"}

func shortType(t hook.Type) string {
	if s, ok := shortTypes[t]; ok {
		return s
	}
	if t == 0 {
		return "unknown" // not a whole number
	}
	return t.String()
}

// EventColumns are the columns of a list of events; codes are what is known of their numbers. They are built once for
// many rows.
func EventColumns(codes hook.Meanings) []Column[Event] {
	received := timeColumn("received", field.Column{Min: 16, HidePriority: 6}, exactSeconds, func(e Event) time.Time {
		return e.ReceivedAt
	})
	typed := textColumn("type", field.Column{Min: 9, Max: 12, Flex: 1, HidePriority: 3}, func(e Event) string {
		return shortType(e.Type)
	})
	typed.Exact = func(e Event) string { return e.Type.String() }
	amount := column("amount", field.Column{Min: 14, HidePriority: 5}, func(_ Options, e Event) Cell {
		return Cell{Text: eventAmount(e)}
	})
	amount.Align = Decimal
	age := rightColumn("age", field.Column{Min: 5, HidePriority: 4}, func(o Options, e Event) Cell {
		text, next := format.Age(e.ReceivedAt, o.Now)
		return Cell{Text: text, Tone: Dim, Until: next}
	})
	return []Column[Event]{received, typed,
		column("change", field.Column{Min: 14, Flex: 3}, func(_ Options, e Event) Cell { return EventChange(e, codes) }),
		amount, age,
		column("trust", field.Column{Min: 13, HidePriority: 2}, func(o Options, e Event) Cell {
			if e.Retry.Waiting() {
				return Mark{Look{SignWarn, Warn}, "not merged"}.Cell(o)
			}
			trust, _ := Trust(e.Stored)
			return trust.Cell(o)
		}),
		column("object", field.Column{Min: 13, Max: 36, ID: true, HidePriority: 1},
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
		numberColumn("seq", field.Column{}, func(e Event) int64 { return e.Seq }),
		textColumn("context", field.Column{}, func(Event) string { return safe(whose, 120) }),
		textColumn("status", field.Column{}, func(e Event) string { return safe(string(e.Status), 40) }),
		numberColumn("deliveries", field.Column{}, func(e Event) int64 { return int64(e.Deliveries) }),
		textColumn("hook id", field.Column{}, func(e Event) string { return safe(e.Key, 500) }),
		textColumn("problem", field.Column{}, eventProblem)),
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
		return learntCode(hook.FieldStatus, e.Status, codes)
	}
	return hook.StatusText(e.Object, e.Status)
}

// learntCode is an operation's code with its learnt meaning; "?" if evidence contradicts it, "not learned" if
// nothing is known.
func learntCode(f hook.Field, c hook.Code, codes hook.Meanings) string {
	m := codes.Lookup(f, c.Value)
	switch {
	case !c.Given:
		return c.String()
	case m.Word == "" && m.Contradictions == 0:
		return strconv.FormatInt(c.Value, 10) + ", not learned"
	case m.Word == "":
		return strconv.FormatInt(c.Value, 10) + ", undecided"
	}
	doubt := ""
	if m.Contradictions > 0 {
		doubt = "?"
	}
	return fmt.Sprintf("%d %s%s", c.Value, m.Word.Line(64), doubt)
}
