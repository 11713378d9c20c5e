package journey

import (
	"fmt"
	"strings"
	"time"

	"opdeck/api"
	"opdeck/api/untrusted"
)

// State is the state of one step.
type State string

// The states of a step.
const (
	Todo     State = "to do"
	Done     State = "done"
	NotYet   State = "not yet"
	Blocked  State = "blocked"
	Optional State = "not needed"
	Unclear  State = "not known" // an answer was lost
)

// Step is one step of the checklist.
type Step struct {
	Key   string `json:"key"` // share, outstanding, link, application, finalize
	Name  string `json:"name"`
	State State  `json:"state"`
	Note  string `json:"note,omitempty"` // safe to draw
}

// Next is the next action. Text names no key and no command: each surface adds its own with Sentence.
type Next struct {
	Text string      `json:"next"`
	Act  api.ActKind `json:"next_act,omitempty"` // "" while the customer, the service or nobody has to act

	form string // Text with a %s after each of acts
	acts []api.ActKind
}

// Sentence is Text with the result of how after the name of each act, for example " (S)".
func (n Next) Sentence(how func(api.ActKind) string) string {
	args := make([]any, len(n.acts))
	for i, act := range n.acts {
		args[i] = how(act)
	}
	return fmt.Sprintf(n.form, args...)
}

// wait is a Next without an act; acts are those named in form.
func wait(form string, acts ...api.ActKind) Next {
	n := Next{form: form, acts: acts}
	n.Text = n.Sentence(func(api.ActKind) string { return "" })
	return n
}

// do is a Next with the first act named in form.
func do(form string, acts ...api.ActKind) Next {
	n := wait(form, acts...)
	n.Act = acts[0]
	return n
}

// result is the word for a final status of a customer or application (service's webhook page), "" for others.
func result(status string) string {
	return map[api.Standing]string{api.StandingAccepted: "accepted", api.StandingRejected: "rejected",
		api.StandingBanned: "banned"}[api.StandingOf(untrusted.Text(status))]
}

var submittedStates = map[string]bool{"SUBMITTED": true, "MODERATION": true, "MODERATED": true, "VERIFY": true,
	"PROCESSING": true, "UNDER_REVIEW": true}

// final is the word for a customer's final status, "" for others.
func final(c api.Customer) string { return result(string(c.Status)) }

// Steps builds the checklist. It is a pure function.
func Steps(c api.Customer, app api.Application, r Record, now time.Time) ([]Step, Next) {
	finalized := !r.FinalizedAt.IsZero() || submitted(app, r)
	verified := final(c) != "" && (!r.acted() || result(r.Status.Now) != "")
	share, outstanding, link, finalize := shareStep(c, r), outstandingStep(r), linkStep(r, now),
		finalizeStep(app, r, finalized)
	if verified {
		for _, s := range []*Step{&share, &finalize} {
			if s.State == Todo {
				s.State = Optional
			}
		}
		switch {
		case !r.Applied:
			outstanding.State, outstanding.Note = Optional, "Nothing is required."
		case outstanding.State == Todo || outstanding.State == Unclear:
			outstanding.State, outstanding.Note = Optional, "Nothing is required any more: the customer is "+final(c)+"."
		}
	}
	if (finalized || verified) && link.State == Todo {
		link.State = Optional
	}
	application := Step{Key: "application", Name: "Application", State: Todo, Note: "There is no application yet."}
	if app.Unread {
		application.State, application.Note = Unclear, "It could not be read."
	} else if app.Kind() != "" {
		application.State, application.Note = Done, strings.ToLower(app.Kind())+", "+orDash(app.Status.Line(30))
	}
	if verified && application.State == Todo {
		application.State, application.Note = Optional, "No application."
	}
	steps := []Step{share, outstanding, link, application, finalize}
	switch {
	case finalized && verified:
		return steps, wait("None required: the customer is " + final(c) + ".")
	case finalized && final(c) != "":
		return steps, wait("Wait for the review's result. The customer is " + final(c) +
			", which may be older than what was submitted.")
	case finalized:
		return steps, wait("Wait for the review's result.")
	case verified && final(c) == "banned":
		return steps, wait("None required: the customer is banned.")
	case verified:
		none := "None required: the customer is " + final(c) + "."
		if r.Applied {
			return steps, wait(none)
		}
		return steps, wait(none+" A share token%s starts a new verification.", api.ActShare)
	}
	return steps, next(share.State, link.State, finalize.State, r, now)
}

// submitted reports whether the application's own status shows that it was submitted, after the last share if there
// was one.
func submitted(app api.Application, r Record) bool {
	status := strings.ToUpper(string(app.Status))
	shows := submittedStates[status] || result(status) != ""
	return shows && (!r.Applied && !r.Unclear || r.Submission.Now != "")
}

// next is the action for a verification that is neither submitted nor final.
func next(share, link, finalize State, r Record, now time.Time) Next {
	switch {
	case r.FinalizeUnclear:
		return wait("Wait, or reload: finalize was sent, and the application shows whether it was submitted.")
	case r.Unclear:
		return do("Share a new token%s: the service answers 409 if it applied the first. Never send the same token again.",
			api.ActShare)
	case link == Todo && r.Applied && r.Outstanding == nil:
		return do("Create a link%s: opdeck does not know what is outstanding, but the link shows the customer what is "+
			"missing.",
			api.ActLink)
	case link == Todo && len(r.Outstanding) > 0:
		return do("Create a link%s for the outstanding document sets.", api.ActLink)
	case link == Todo:
		return do("Create a link%s for the customer.", api.ActLink)
	case !r.LinkAt.IsZero() && now.Before(r.LinkUntil):
		return wait("Wait for the customer, who opens the link and uploads what is missing. Then finalize%s.",
			api.ActFinalize)
	case !r.LinkAt.IsZero():
		return do("The link has expired. If the customer has uploaded everything, finalize%s; else create another link%s.",
			api.ActFinalize, api.ActLink)
	case r.Applied || finalize == Todo && share != Todo:
		return do("Finalize the application%s.", api.ActFinalize)
	case share == Todo:
		return do("Share a token%s.", api.ActShare)
	}
	return do("Create a link%s.", api.ActLink)
}

func shareStep(c api.Customer, r Record) Step {
	s := Step{Key: "share", Name: "Share", State: Todo,
		Note: "The customer's kind is not known; the service will check the token."}
	switch c.Type {
	case api.Individual:
		s.Note = "One share token contains the verified data of the customer."
	case api.Corporate:
		s.Note = "One share token contains the verified data of the company and its beneficiaries."
	}
	switch {
	case r.Applied:
		s.State, s.Note = Done, "Applied. This works once for each customer."
	case r.Unclear:
		s.State, s.Note = Unclear,
			"Sent, with an unknown outcome. Try a new token: the service answers 409 if it applied the first."
	case r.BaaS:
		s.State, s.Note = Blocked,
			"The service forbade it (403), as for accounts on the BaaS verification program. Use the link, or try again."
		if r.BaaSSaid != "" {
			s.Note = strings.TrimRight(r.BaaSSaid, ".") + ". Use the link, or try again."
		}
	case r.Rejected != "":
		s.Note = "Last token rejected: " + r.Rejected
	}
	return s
}

func outstandingStep(r Record) Step {
	s := Step{Key: "outstanding", Name: "Outstanding sets", State: NotYet,
		Note: "Known once a token is accepted."}
	switch {
	case r.Applied && len(r.Outstanding) > 0:
		s.State, s.Note = Todo, strings.Join(r.Outstanding, ", ")
	case r.Applied && r.Outstanding == nil:
		s.State, s.Note = Unclear, "The answer was not seen; create a link to find out what is missing."
	case r.Applied:
		s.State, s.Note = Optional, "Nothing was reported outstanding."
	}
	return s
}

func linkStep(r Record, now time.Time) Step {
	s := Step{Key: "link", Name: "Link", State: Optional, Note: "For document sets that the token did not cover."}
	switch {
	case !r.LinkAt.IsZero() && now.Before(r.LinkUntil):
		s.State, s.Note = Done, "Created. It works once, until "+r.LinkUntil.UTC().Format("15:04:05")+" UTC."
	case !r.LinkAt.IsZero():
		s.State, s.Note = Done, "Created at "+r.LinkAt.UTC().Format("2006-01-02 15:04")+" UTC, expired."
	case len(r.Outstanding) > 0 || r.BaaS || r.Applied && r.Outstanding == nil:
		s.State = Todo
	}
	return s
}

func finalizeStep(app api.Application, r Record, finalized bool) Step {
	s := Step{Key: "finalize", Name: "Finalize", State: NotYet, Note: "Submits the application for review."}
	switch {
	case finalized:
		s.State, s.Note = Done, "Submitted."
		if !r.FinalizedAt.IsZero() {
			s.Note = "Submitted by " + orDash(r.By) + "."
		}
		return s
	case r.FinalizeUnclear:
		s.State, s.Note = Unclear, "Sent; the outcome is still unknown. opdeck keeps checking."
	case r.Applied || app.Kind() != "" || app.Unread || !r.LinkAt.IsZero():
		s.State = Todo
	}
	if r.FinalizeLate {
		s.Note = "Sent before, but not confirmed in time. Check the application, then finalize again."
	}
	return s
}

func orDash(s string) string {
	if s == "" {
		return "–"
	}
	return s
}
