package present

import (
	"cmp"
	"strconv"
	"strings"
	"time"

	"opdeck/api"
	"opdeck/api/untrusted"
	"opdeck/internal/domain/journey"
	"opdeck/internal/field"
	"opdeck/internal/format"
)

// Begun is the cell of an unfinished verification in the list of customers: since when, and what it waits for.
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

// standing is the state of an unfinished journey in a word or two.
func standing(r journey.Record, now time.Time) string {
	switch {
	case r.Unclear:
		return "share: unknown outcome"
	case r.FinalizeUnclear:
		return "finalize: unknown outcome"
	case !r.LinkAt.IsZero() && now.Before(r.LinkUntil):
		return "link open"
	case !r.LinkAt.IsZero():
		return "link expired"
	case r.Applied && (len(r.Outstanding) > 0 || r.Outstanding == nil):
		return "needs a link"
	}
	return "to finalize"
}

// JourneyStep is a step of a customer's verification.
type JourneyStep struct {
	Mark
	Number int // from 1
	Name   string
	Note   string // safe to draw
	state  journey.State
}

// JourneyColumns are the columns of a verification's checklist.
var JourneyColumns = []Column[JourneyStep]{
	{Name: "step", Column: field.Column{Title: "step"}, Cell: func(_ Options, s JourneyStep) Cell {
		return Cell{Text: strconv.Itoa(s.Number) + " " + s.Name}
	}},
	{Name: "state", Column: field.Column{Title: "state"}, Cell: func(o Options, s JourneyStep) Cell {
		return s.Cell(o)
	}, Exact: func(s JourneyStep) string { return string(s.state) }},
	{Name: "what", Column: field.Column{Title: "what"}, Cell: func(_ Options, s JourneyStep) Cell {
		return Cell{Text: s.Note, Tone: Dim}
	}},
}

// JourneySteps lists the steps of a verification. One of them is next, unless the verification was finalized, an
// answer was lost, or the customer must act.
func JourneySteps(j journey.Journey) []JourneyStep {
	last := len(j.Steps) - 1
	next := last >= 0 && j.Steps[last].State != journey.Done && !j.Record.Unclear && !j.Record.FinalizeUnclear &&
		j.Record.LinkAt.IsZero()
	out := make([]JourneyStep, len(j.Steps))
	for i, st := range j.Steps {
		out[i] = JourneyStep{Mark: stepMark(st), Number: i + 1, Name: safe(st.Name, 60), Note: safe(st.Note, 300),
			state: st.State}
		if next && st.State == journey.Todo && st.Key != "outstanding" { // outstanding documents are requested by the link
			out[i].Mark, next = Mark{Look{SignNext, Accent}, "next"}, false
		}
		if st.Key == "application" && st.State == journey.Done {
			kind := j.Application.Kind()
			out[i].Note = kind[:1] + strings.ToLower(kind[1:]) + " application, status " +
				cmp.Or(j.Application.Status.Line(30), "–")
			if s := j.Steps[last].State; s != journey.Done && s != journey.Unclear {
				out[i].Note += ", not submitted here"
			}
		}
	}
	return out
}

func stepMark(st journey.Step) Mark {
	switch st.State {
	case journey.Done:
		switch st.Key { // both are a beginning
		case "application":
			return Mark{Look{SignGood, Good}, "exists"}
		case "link":
			return Mark{Look{SignInfo, Info}, "created"}
		}
		return Mark{Look{SignGood, Good}, "done"}
	case journey.Optional:
		if st.Key == "outstanding" {
			return Mark{Look{SignOff, Dim}, "not needed"}
		}
		return Mark{Look{SignOff, Dim}, "optional"}
	case journey.Blocked:
		return Mark{Look{SignBad, Bad}, "failed"}
	case journey.Unclear:
		return Mark{Look{SignUnknown, Warn}, "unknown"}
	}
	return Mark{Look{SignWait, Dim}, "open"}
}

// AskedCustomer lists the facts in a question about a customer, below the customer's id.
func AskedCustomer(id string, c api.Customer) []Fact {
	return []Fact{{Label: "customer", Value: CustomerName(id, c.DisplayName()), Long: true},
		{Label: "kind", Value: known(c.Type)}, {Label: "status", Value: known(c.Status)}}
}

// ShareRisk is what a share token may undo; "" for a customer whose verification has no result.
func ShareRisk(c api.Customer) string {
	if api.StandingOf(c.Status) != api.StandingAccepted {
		return ""
	}
	return "This customer is " + c.Status.Line(20) + " already. A token that is applied begins the verification again: " +
		"the customer may lose that status until the application is finalized and accepted."
}

// ShareRiskUnread is said instead of ShareRisk of a customer who could not be read.
const ShareRiskUnread = "The customer could not be read, so it is not known whether they are accepted already. A " +
	"token that is applied begins the verification again."

// AskedFinalize lists the facts in a question about finalizing.
func AskedFinalize(id string, j journey.Journey) []Fact {
	out, app := AskedCustomer(id, j.Customer), "none seen"
	switch k := j.Application.Kind(); {
	case k != "":
		app = strings.ToLower(k) + ", " + cmp.Or(j.Application.Status.Line(30), "–")
	case j.Application.Unread:
		app = "could not be read"
	}
	out = append(out, Fact{Label: "application", Value: app})
	switch r := j.Record; {
	case len(r.Outstanding) > 0:
		out = append(out, Fact{Label: "outstanding", Value: safe(strings.Join(r.Outstanding, ", "), 600), Long: true})
	case r.Applied && r.Outstanding == nil:
		out = append(out, Fact{Label: "outstanding", Value: "not known: the answer to the share was lost", Long: true})
	}
	return out
}

// CustomerName is what a customer is called: name, of its record (api.Customer.DisplayName) or, where that was not
// read, of its operations; without a name the id.
func CustomerName(id string, name untrusted.Text) string {
	if n := name.Line(200); n != "" {
		return n
	}
	return "Customer " + safe(id, 64)
}

func known(u untrusted.Text) string { return cmp.Or(u.Line(30), "not known") }
