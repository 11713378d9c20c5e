package present

import (
	"time"

	"opdeck/internal/domain/journey"
	"opdeck/internal/format"
)

// Begun is a verification that was started, not finalized, in a row of the list of customers: since when, and
// what it waits for.
func Begun(o Options, r journey.Record) Cell {
	state := standing(r, o.Now)
	out := Cell{Text: state, Tone: Warn}
	if at := r.Begun(); !at.IsZero() {
		var ago string
		ago, out.Until = format.Ago(at, o.Now)
		out.Text = ago + ", " + state
	}
	return out
}

// standing says where an unfinished journey stands, in a word or two.
func standing(r journey.Record, now time.Time) string {
	switch {
	case r.Unclear:
		return "share not known"
	case r.FinalizeUnclear:
		return "finalize not known"
	case !r.LinkAt.IsZero() && now.Before(r.LinkUntil):
		return "link is out"
	case !r.LinkAt.IsZero():
		return "link lapsed"
	case r.Applied && (len(r.Outstanding) > 0 || r.Outstanding == nil):
		return "needs a link"
	}
	return "to finalize"
}
