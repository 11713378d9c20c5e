package present

import (
	"time"

	"opdeck/api"
	"opdeck/internal/act/remedy"
	"opdeck/internal/domain/followup"
	"opdeck/internal/field"
	"opdeck/internal/format"
)

// UnsettledState is what is known of a write without an answer: sending (nothing reports whether its process still
// runs), unknown, seen or not_seen.
func UnsettledState(r followup.Row) followup.State {
	switch {
	case r.Unsure:
		return followup.Sending
	case r.State == followup.Seen, r.State == followup.NotSeen:
		return r.State
	}
	return followup.Unknown
}

// UnsettledColumns are the columns of the writes whose outcome is unknown.
var UnsettledColumns = []Column[followup.Row]{
	column("sent", field.Column{}, func(o Options, r followup.Row) Cell {
		return Cell{Text: o.clockOrSecond(r.Sent), Tone: Dim}
	}),
	textColumn("write", field.Column{}, func(r followup.Row) string { return safe(r.What(), 200) }),
	textColumn("what", field.Column{}, func(r followup.Row) string { return safe(string(r.Kind), 60) }),
	textColumn("object", field.Column{}, func(r followup.Row) string { return safe(r.Object, 60) }),
	textColumn("id", field.Column{}, func(r followup.Row) string { return safe(r.ID, 200) }),
	textColumn("item", field.Column{}, func(r followup.Row) string { return safe(r.Item, 200) }),
	textColumn("who", field.Column{}, func(r followup.Row) string { return safe(r.Who, 120) }),
	column("last check", field.Column{}, func(o Options, r followup.Row) Cell {
		return Cell{Text: o.clockOrSecond(r.Looked)}
	}),
	column("next check", field.Column{}, func(o Options, r followup.Row) Cell {
		if r.State == followup.NotSeen {
			return Cell{Text: "–"}
		}
		return Cell{Text: o.clockOrSecond(r.Next)}
	}),
	column("until", field.Column{}, func(o Options, r followup.Row) Cell {
		if r.State == followup.NotSeen {
			return Cell{Text: "–"}
		}
		return Cell{Text: o.clockOrSecond(r.Until)}
	}),
	numberColumn("checks", field.Column{}, func(r followup.Row) int64 { return int64(r.Reads) }),
	textColumn("state", field.Column{}, func(r followup.Row) string { return string(UnsettledState(r)) }),
	textColumn("ref", field.Column{}, func(r followup.Row) string { return safe(r.Ref, 120) }),
}

// UnsettledListed are the columns of the writes whose outcome is unknown as commands print them.
var UnsettledListed = Named(UnsettledColumns, "what", "object", "id", "item", "who", "sent", "until",
	"last check", "next check", "checks", "state", "ref")

// UnsettledShort are the columns of the writes with an unknown outcome beside other tables.
var UnsettledShort = Named(UnsettledColumns, "sent", "write")

// Unsettled says what is not known of a write, until when it may arrive, and what is done about it.
func Unsettled(o Options, r followup.Row) string {
	what, sent := safe(r.What(), 90), o.clock(r.Sent)
	if from := r.FromBackup(); from != "" && r.State != followup.NotSeen {
		return what + ": sent at " + sent + "; " + from +
			", and its outcome is unknown here. opdeck checks again by itself."
	}
	if r.State == followup.NotSeen {
		return what + ": sent at " + sent + ", unknown outcome: no read showed it in time. " +
			remedy.Screen(&api.Error{Remedy: r.Advice()})
	}
	until := o.clock(r.Until)
	if r.State == followup.Seen {
		return what + ": a read shows the wanted state, but the request of " + sent +
			" had no answer and may still arrive until " + until + ". Until then it is neither repeated nor undone."
	}
	return what + ": sent at " + sent + "; unknown outcome. It may still arrive until " + until +
		"; opdeck checks again by itself."
}

// clockOrSecond is the time of day on screens; commands print the day too. "–" is none.
func (o Options) clockOrSecond(t time.Time) string {
	if o.Zone == nil {
		return format.Second(t, nil)
	}
	return format.Clock(t, o.Zone)
}
