// Package journey follows a customer's verification from share token to finalized application. Only the answer to the
// share call reports what is outstanding, so the store keeps what was seen: another shift can continue an unfinished
// journey.
package journey

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"time"

	"opdeck/api"
	"opdeck/api/endpoint"
	"opdeck/api/evidence"
	"opdeck/api/secret"
	"opdeck/api/untrusted"
)

// Record is the stored part of a customer's journey.
type Record struct {
	CUID      string    `json:"cuid"`
	Applied   bool      `json:"applied"`
	AppliedAt time.Time `json:"applied_at,omitzero"`
	// Outstanding are the sets named by the answer to the share, safe to draw; empty: none, nil: the answer is not
	// known.
	Outstanding []string `json:"outstanding" null:"unreported"`
	Rejected    string   `json:"rejected,omitempty"`  // the last rejection's reason
	BaaS        bool     `json:"baas,omitempty"`      // the last share got a 403
	BaaSSaid    string   `json:"baas_said,omitempty"` // its message, safe to draw
	Unclear     bool     `json:"unclear,omitempty"`   // a share has an unknown outcome
	// FinalizeUnclear: finalize has an unknown outcome. FinalizeLate: it did not show in time.
	FinalizeLate    bool      `json:"finalize_late,omitempty"`
	FinalizeUnclear bool      `json:"finalize_unclear,omitempty"`
	LinkAt          time.Time `json:"link_at,omitzero"`
	LinkUntil       time.Time `json:"link_until,omitzero"`
	FinalizedAt     time.Time `json:"finalized_at,omitzero"`
	// Status and Submission are what reads since our last act have shown: of the customer, and of the application
	// since the last share. Their first values may be older than the act.
	Status     Seen      `json:"status_since,omitzero"`
	Submission Seen      `json:"application_since,omitzero"`
	By         string    `json:"by,omitempty"` // person of the last act
	Updated    time.Time `json:"updated,omitzero"`
}

// Seen is a status word in the reads after an act of ours.
type Seen struct {
	First string `json:"first"`         // in the first read after it
	Now   string `json:"now,omitempty"` // in a later one with another word; "": none
}

// add returns s after one more read.
func (s Seen) add(status untrusted.Text) Seen {
	word := strings.ToUpper(status.Line(40))
	switch {
	case word == "":
	case s.First == "":
		s.First = word
	case s.Now != "" || word != s.First && (result(word) == "" || result(word) != result(s.First)):
		s.Now = word
	}
	return s
}

// acted reports whether opdeck did something for a verification: a status counts as its result only if it was seen to
// change after that.
func (r Record) acted() bool { return r.begun() || !r.FinalizedAt.IsZero() }

func (r Record) begun() bool {
	return r.Applied || r.Unclear || r.BaaS || r.FinalizeUnclear || !r.LinkAt.IsZero()
}

// Unfinished reports whether a verification was begun and is neither finalized nor ended by a result.
func (r Record) Unfinished() bool {
	return r.FinalizedAt.IsZero() && r.begun() && result(r.Status.Now) == ""
}

// shared records a sent share, which begins a verification.
func (r *Record) shared() {
	if !r.FinalizedAt.IsZero() { // of the previous verification
		r.FinalizedAt, r.LinkAt, r.LinkUntil = time.Time{}, time.Time{}, time.Time{}
	}
	r.FinalizeLate, r.FinalizeUnclear = false, false
	r.Status, r.Submission = Seen{}, Seen{}
}

// finalized records that the application was submitted.
func (r *Record) finalized(at time.Time) {
	r.FinalizedAt, r.FinalizeUnclear, r.FinalizeLate, r.Status = at, false, false, Seen{}
}

// Begun is the earliest known time; zero for none.
func (r Record) Begun() time.Time {
	first := r.Updated
	for _, at := range []time.Time{r.AppliedAt, r.LinkAt} {
		if !at.IsZero() && at.Before(first) {
			first = at
		}
	}
	return first
}

// Journey is the current state.
type Journey struct {
	CUID        string          `json:"cuid"`
	Customer    api.Customer    `json:"customer"`
	Application api.Application `json:"-"`
	Record      Record          `json:"record"`
	Steps       []Step          `json:"steps"`
	Next                        // "next" and "next_act"
	Problem     string          `json:"problem,omitempty"` // why the application could not be read
	// why the customer's record could not be read; then Customer holds little but the cuid
	NoRecord string `json:"customer_problem,omitempty"`
}

// Store keeps records of one account.
type Store interface {
	Journey(ctx context.Context, cuid string) (Record, error) // a zero Record with the cuid if there is none
	SaveJourney(ctx context.Context, r Record) error
	UnfinishedJourneys(ctx context.Context) ([]Record, error)
}

// Service runs the acts and records their results.
type Service struct {
	Store  Store
	Client endpoint.Caller
	Now    func() time.Time
}

// Read reads customer and application (two customer calls; more until the form of the customer call is known) and the
// stored record. The journey says which of the two could not be read. It fails if the service knows no such customer,
// or if no call was possible.
func (j *Service) Read(ctx context.Context, cuid string) (Journey, error) {
	rec, err := j.Store.Journey(ctx, cuid)
	if err != nil {
		return Journey{}, err
	}
	out := Journey{CUID: cuid, Record: rec}
	asked := j.Now()
	c, noRecord := endpoint.Do(ctx, j.Client, endpoint.GetCustomer, cuid)
	if out.Customer = c; noRecord != nil {
		if unasked(ctx, noRecord) {
			return Journey{}, noRecord
		}
		out.Customer = api.Customer{CUID: untrusted.Text(cuid)}
		out.NoRecord = "The customer record could not be read: " + api.AsError(noRecord).Public
	}
	app, err := endpoint.Do(ctx, j.Client, endpoint.GetApplication, cuid)
	switch e := api.AsError(err); {
	case err == nil:
		if out.Application = app; app.Unread {
			out.Problem = "The application could not be read: it is not of the documented form."
		}
	case noRecord != nil &&
		(unasked(ctx, err) || nobody(noRecord, e) || e.Status == 0 && api.AsError(noRecord).Status == 0):
		return Journey{}, noRecord
	case e.Kind != api.NotFound:
		out.Problem, out.Application.Unread = "The application could not be read: "+e.Public, true
	}
	if out.Customer.Type == "" {
		out.Customer.Type = untrusted.Text(out.Application.Kind())
	}
	if out.Record, err = j.saw(ctx, out); err != nil {
		return Journey{}, err
	}
	out.Steps, out.Next = Steps(out.Customer, out.Application, out.Record, j.Now())
	why, need := out.conclusion(asked)
	why, _ = why.Held(need, why.Says)
	evidence.Note(ctx, why)
	return out, nil
}

// conclusion is the conclusion about the customer's result, with what its evidence must fulfil.
func (j Journey) conclusion(asked time.Time) (evidence.Conclusion, evidence.Need) {
	word := final(j.Customer)
	need := evidence.Need{Routes: []string{"GET " + endpoint.GetCustomer.Template()}, Object: j.CUID,
		Covers: evidence.Whole}
	read := evidence.Evidence{Read: "the customer read", Route: need.Routes[0], Object: j.CUID,
		Seen: evidence.Moment{At: asked}, Covers: evidence.Whole, Shows: "shows " + orDash(j.Customer.Status.Line(40))}
	c := evidence.Conclusion{Kind: evidence.Accepted, Says: orDash(word), Object: j.CUID, Rests: []evidence.Evidence{read}}
	switch {
	case j.NoRecord != "":
		c.Says, c.Rests, c.Open = "result not known", nil, j.NoRecord
	case word == "":
		c.Says = "no result yet"
	case j.Record.acted() && result(j.Record.Status.Now) == "":
		c.Says, c.Open = "result not known", "nothing shows that it came after the last write here"
	case j.Record.acted():
		c.Rests[0].Shows += "; reads after the last write here showed " + j.Record.Status.First + " before"
	}
	return c, need
}

// saw records what a read has shown since our last act; it ignores a read that began before the act.
func (j *Service) saw(ctx context.Context, read Journey) (Record, error) {
	next := read.Record
	if !next.acted() {
		return next, nil
	}
	next.Status, next.Submission = next.Status.add(read.Customer.Status), next.Submission.add(read.Application.Status)
	if next.Status == read.Record.Status && next.Submission == read.Record.Submission {
		return next, nil
	}
	now, err := j.Store.Journey(ctx, read.CUID)
	if err != nil || !now.Updated.Equal(read.Record.Updated) {
		return now, err
	}
	return next, j.Store.SaveJourney(ctx, next)
}

// unasked reports whether the call failed before the service could answer, so that another call would fail too.
func unasked(ctx context.Context, err error) bool {
	switch api.KindOf(err) {
	case api.AuthFailed, api.RateLimited, api.Interrupted, api.BadConfig, api.Usage:
		return true
	}
	return ctx.Err() != nil
}

// nobody reports whether the service says that there is no such customer and has no application either.
func nobody(noRecord error, noApplication *api.Error) bool {
	return api.AsError(noRecord).Rule == api.RuleCustomerUnknown && noApplication.Kind == api.NotFound
}

// Share sends a token once and records the answer. A lost answer that no read resolves is recorded as unclear.
func (j *Service) Share(ctx context.Context, cuid string, token secret.Value) (api.ShareResult, error) {
	res, err := endpoint.Do(ctx, j.Client, endpoint.Share, endpoint.ShareToken{CUID: cuid, Token: token})
	return res, j.note(ctx, cuid, err, func(r *Record) {
		e := api.AsError(err)
		switch {
		case err == nil && res.Applied:
			r.shared()
			r.Applied, r.AppliedAt, r.Rejected, r.Unclear = true, j.Now().UTC(), "", false
			r.BaaS, r.BaaSSaid = false, ""
			r.Outstanding = nil
			if res.Outstanding != nil {
				r.Outstanding = []string{}
			}
			for _, o := range res.Outstanding {
				r.Outstanding = append(r.Outstanding, o.Name.Line(80))
			}
		case err == nil: // an earlier unclear share remains open: this one was judged by its own token
			r.Rejected, r.BaaS, r.BaaSSaid = res.Message.Line(300), false, ""
		case e.Rule == api.RuleShared:
			r.Applied, r.Unclear, r.BaaS, r.BaaSSaid = true, false, false, ""
		case e.Rule == api.RuleBaaS:
			r.BaaS, r.BaaSSaid, r.Status = true, untrusted.Text(e.Public).Line(300), Seen{}
		case e.Kind == api.UnknownOutcome:
			r.shared()
			r.Unclear = true
		}
	})
}

// Link makes a link for the customer and records its expiry.
func (j *Service) Link(ctx context.Context, cuid string) (api.Link, error) {
	l, err := endpoint.Do(ctx, j.Client, endpoint.MakeLink, cuid)
	return l, j.note(ctx, cuid, err, func(r *Record) {
		if err == nil {
			r.LinkAt, r.Status = j.Now().UTC(), Seen{}
			r.LinkUntil = l.Until(r.LinkAt)
		}
	})
}

// Finalize submits the application and records that.
func (j *Service) Finalize(ctx context.Context, cuid string) (api.Result, error) {
	res, err := endpoint.Do(ctx, j.Client, endpoint.Finalize, cuid)
	return res, j.note(ctx, cuid, err, func(r *Record) {
		switch api.KindOf(err) {
		case "":
			r.finalized(j.Now().UTC())
		case api.UnknownOutcome:
			r.FinalizeUnclear, r.FinalizeLate, r.Status = true, false, Seen{}
		}
	})
}

// Settled records an outcome that was found later, or that no one saw because the process ended.
func (j *Service) Settled(ctx context.Context, kind api.ActKind, cuid, who string, out api.Outcome) error {
	if kind != api.ActShare && kind != api.ActFinalize {
		return nil
	}
	return j.note(api.WithActor(ctx, api.Actor{Name: who}), cuid, nil, func(r *Record) {
		open := r.FinalizedAt.IsZero() || r.FinalizeUnclear || r.FinalizeLate
		switch {
		case kind == api.ActShare:
			r.Unclear = r.Unclear || !r.Applied
		case open && out.Verdict == api.Seen:
			r.finalized(j.Now().UTC())
		case r.FinalizedAt.IsZero():
			r.FinalizeUnclear, r.FinalizeLate = false, true
		}
	})
}

// note changes the record. If that fails, the error is added to the act's own result and does not replace it.
func (j *Service) note(ctx context.Context, cuid string, actErr error, change func(*Record)) error {
	if errors.Is(actErr, api.ErrDryRun) || api.KindOf(actErr) == api.Usage {
		return actErr
	}
	ctx = context.WithoutCancel(ctx)
	r, err := j.Store.Journey(ctx, cuid)
	if err == nil {
		before := fmt.Sprint(r)
		change(&r)
		if fmt.Sprint(r) == before {
			return actErr
		}
		r.CUID, r.By, r.Updated = cuid, api.ActorOf(ctx).Name, j.Now().UTC()
		err = j.Store.SaveJourney(ctx, r)
	}
	if err != nil && actErr == nil {
		return &api.Error{Kind: api.Internal, Public: "It was done, but opdeck could not record the progress in the store.",
			Err: err}
	}
	return actErr
}

// After is the next action right after an act of ours, by what the store keeps of it; no call.
func (j *Service) After(ctx context.Context, cuid string) (Next, error) {
	r, err := j.Store.Journey(ctx, cuid)
	if err != nil {
		return Next{}, err
	}
	_, next := Steps(api.Customer{}, api.Application{}, r, j.Now())
	return next, nil
}

// LinkTimed reports whether the service said how long the link works.
func (r Record) LinkTimed() bool { return r.LinkUntil.After(r.LinkAt) }

// Open lists the outstanding document sets for which no link was created, safe to draw; nil: none or not known.
func (r Record) Open() []string {
	if !r.LinkAt.IsZero() {
		return nil
	}
	return r.Outstanding
}

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

	none bool   // nobody has to act
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

// Head is what stands before the sentence.
func (n Next) Head() string {
	if n.none {
		return ""
	}
	return "Next: "
}

// noStep is a Next that is no step; acts are those named in form.
func noStep(form string, acts ...api.ActKind) Next {
	n := wait(form, acts...)
	n.none = true
	return n
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
	open := finalized && !verified && len(r.Open()) > 0
	if (finalized || verified) && !open && link.State == Todo {
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
		return steps, noStep("Nothing to do: the customer is " + final(c) + ".")
	case open:
		return steps, do("Create a link%s: the application is submitted, but document sets are outstanding.", api.ActLink)
	case finalized && final(c) != "":
		return steps, wait("Wait for the review's result. The customer is " + final(c) +
			", which may be older than what was submitted.")
	case finalized:
		return steps, wait("Wait for the review's result.")
	case verified && final(c) == "banned":
		return steps, noStep("Nothing to do: the customer is banned.")
	case verified:
		none := "Nothing to do: the customer is " + final(c) + "."
		if r.Applied {
			return steps, noStep(none)
		}
		return steps, noStep(none+" A share token%s starts a new verification.", api.ActShare)
	}
	return steps, next(share.State, link.State, finalize.State, r, now)
}

// submitted reports whether the application's own status shows that it was submitted, after the last share if there
// was one.
func submitted(app api.Application, r Record) bool {
	shows := api.Submitted(app.Status) || result(string(app.Status)) != ""
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
	case !r.LinkAt.IsZero() && !r.LinkTimed():
		return do("It is not known how long the link works. If the customer has uploaded everything, finalize%s; else "+
			"create another link%s.", api.ActFinalize, api.ActLink)
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
	case !r.LinkAt.IsZero() && !r.LinkTimed():
		s.State, s.Note = Done, "Created at "+r.LinkAt.UTC().Format("2006-01-02 15:04")+" UTC, lifetime not known."
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
