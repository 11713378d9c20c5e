// Package journey follows a customer's verification from share token to
// finalised application. The service tells what is outstanding only in the
// answer to the share call, so what was seen is kept in the store: a journey
// that one shift began is still unfinished for the next.
package journey

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"time"

	"opdeck/api"
	"opdeck/api/secret"
	"opdeck/api/untrusted"
	"opdeck/ui/keymap"
)

// State is where one step stands.
type State string

// The states of a step.
const (
	Todo     State = "to do"
	Done     State = "done"
	NotYet   State = "not yet"
	Blocked  State = "blocked"
	Optional State = "not needed"
	Unclear  State = "not known" // an answer was not seen
)

// Step is one line of the checklist.
type Step struct {
	Key   string `json:"key"` // share, outstanding, link, application, finalize
	Name  string `json:"name"`
	State State  `json:"state"`
	Note  string `json:"note,omitempty"` // safe to draw
}

// Record is what is kept of a customer's journey.
type Record struct {
	CUID      string    `json:"cuid"`
	Applied   bool      `json:"applied"`
	AppliedAt time.Time `json:"applied_at,omitzero"`
	// Outstanding are the sets that the answer to the share named, safe to draw:
	// none when empty, not known when nil (the answer was not seen).
	Outstanding []string `json:"outstanding"`
	Rejected    string   `json:"rejected,omitempty"`  // the last rejection's reason
	BaaS        bool     `json:"baas,omitempty"`      // the last share was answered 403
	BaaSSaid    string   `json:"baas_said,omitempty"` // and what the service said; safe to draw
	Unclear     bool     `json:"unclear,omitempty"`   // a share was sent whose outcome is not known
	// FinalizeUnclear: finalize was sent, and its outcome is not known. FinalizeLate:
	// it did not show in time.
	FinalizeLate    bool      `json:"finalize_late,omitempty"`
	FinalizeUnclear bool      `json:"finalize_unclear,omitempty"`
	LinkAt          time.Time `json:"link_at,omitzero"`
	LinkUntil       time.Time `json:"link_until,omitzero"`
	FinalizedAt     time.Time `json:"finalized_at,omitzero"`
	By              string    `json:"by,omitempty"` // person of the last act
	Updated         time.Time `json:"updated,omitzero"`
}

// Unfinished reports whether something was begun and not finalised.
func (r Record) Unfinished() bool {
	return r.FinalizedAt.IsZero() && (r.Applied || r.Unclear || r.FinalizeUnclear || !r.LinkAt.IsZero())
}

// Journey is the whole as it stands now.
type Journey struct {
	CUID        string          `json:"cuid"`
	Customer    api.Customer    `json:"customer"`
	Application api.Application `json:"-"`
	Record      Record          `json:"record"`
	Steps       []Step          `json:"steps"`
	Next        string          `json:"next"`                       // a sentence
	Problem     string          `json:"problem,omitempty"`          // why the application could not be read
	NoRecord    string          `json:"customer_problem,omitempty"` // why the customer's record could not be; Customer then holds little but the cuid
}

// Store keeps records of one account.
type Store interface {
	Journey(ctx context.Context, cuid string) (Record, error) // a zero Record with the cuid when there is none
	SaveJourney(ctx context.Context, r Record) error
	UnfinishedJourneys(ctx context.Context) ([]Record, error)
}

// Client is what a journey needs of the service.
type Client interface {
	Customer(ctx context.Context, cuid string) (api.Customer, error)
	Application(ctx context.Context, cuid string) (api.Application, error)
	Share(ctx context.Context, cuid string, token secret.Value) (api.ShareResult, error)
	Link(ctx context.Context, cuid string) (api.Link, error)
	Finalize(ctx context.Context, cuid string) (api.Result, error)
}

// Journeys does the acts and keeps what came of them.
type Journeys struct {
	Store  Store
	Client Client
	Now    func() time.Time
}

// Read looks at customer and application (two customer calls, more until it is
// known how the service tells of one customer) and at what is kept. Neither record
// is needed: what could not be read is told. It fails when the service knows no
// such customer, or when nothing could be asked.
func (j *Journeys) Read(ctx context.Context, cuid string) (Journey, error) {
	rec, err := j.Store.Journey(ctx, cuid)
	if err != nil {
		return Journey{}, err
	}
	out := Journey{CUID: cuid, Record: rec}
	c, noRecord := j.Client.Customer(ctx, cuid)
	if out.Customer = c; noRecord != nil {
		if unasked(ctx, noRecord) {
			return Journey{}, noRecord
		}
		out.Customer = api.Customer{CUID: untrusted.Text(cuid)}
		out.NoRecord = "The customer record could not be read: " + api.AsError(noRecord).Public
	}
	app, err := j.Client.Application(ctx, cuid)
	switch e := api.AsError(err); {
	case err == nil:
		out.Application = app
	case noRecord != nil && (unasked(ctx, err) || nobody(noRecord, e) || e.Status == 0 && api.AsError(noRecord).Status == 0):
		return Journey{}, noRecord
	case e.Kind != api.NotFound:
		out.Problem, out.Application.Unread = "The application could not be read: "+e.Public, true
	}
	if out.Customer.Type == "" {
		out.Customer.Type = untrusted.Text(out.Application.Kind())
	}
	out.Steps, out.Next = Steps(out.Customer, out.Application, rec, j.Now())
	return out, nil
}

// unasked reports that the failure lies before the service's answer, and another
// call would meet it as well.
func unasked(ctx context.Context, err error) bool {
	switch api.KindOf(err) {
	case api.AuthFailed, api.RateLimited, api.Interrupted, api.BadConfig, api.Usage:
		return true
	}
	return ctx.Err() != nil
}

// nobody reports that the service says in its own words that there is no such
// customer, and shows no application either.
func nobody(noRecord error, noApplication *api.Error) bool {
	return api.AsError(noRecord).Rule == api.RuleCustomerUnknown && noApplication.Kind == api.NotFound
}

// Share presents a token once and keeps what the service said. A lost answer
// that no read could clear up is kept as unclear.
func (j *Journeys) Share(ctx context.Context, cuid string, token secret.Value) (api.ShareResult, error) {
	res, err := j.Client.Share(ctx, cuid, token)
	return res, j.note(ctx, cuid, err, func(r *Record) {
		e := api.AsError(err)
		switch {
		case err == nil && res.Applied:
			r.Applied, r.AppliedAt, r.Rejected, r.Unclear = true, j.Now().UTC(), "", false
			r.BaaS, r.BaaSSaid = false, ""
			r.Outstanding = nil
			if res.Outstanding != nil {
				r.Outstanding = []string{}
			}
			for _, o := range res.Outstanding {
				r.Outstanding = append(r.Outstanding, o.Name.Line(80))
			}
		case err == nil: // what a share before it did stays open: this one was judged by its token
			r.Rejected, r.BaaS, r.BaaSSaid = res.Message.Line(300), false, ""
		case e.Rule == api.RuleShared:
			r.Applied, r.Unclear, r.BaaS, r.BaaSSaid = true, false, false, ""
		case e.Rule == api.RuleBaaS:
			r.BaaS, r.BaaSSaid = true, untrusted.Text(e.Public).Line(300)
		case e.Kind == api.UnknownOutcome:
			r.Unclear = true
		}
	})
}

// Link makes a link for the customer and keeps when it ends.
func (j *Journeys) Link(ctx context.Context, cuid string) (api.Link, error) {
	l, err := j.Client.Link(ctx, cuid)
	return l, j.note(ctx, cuid, err, func(r *Record) {
		if err == nil {
			r.LinkAt = j.Now().UTC()
			r.LinkUntil = r.LinkAt.Add(time.Duration(l.TTL) * time.Second)
		}
	})
}

// Finalize submits the application and keeps that it was done.
func (j *Journeys) Finalize(ctx context.Context, cuid string) (api.Result, error) {
	res, err := j.Client.Finalize(ctx, cuid)
	return res, j.note(ctx, cuid, err, func(r *Record) {
		switch api.KindOf(err) {
		case "":
			r.FinalizedAt, r.FinalizeUnclear, r.FinalizeLate = j.Now().UTC(), false, false
		case api.UnknownOutcome:
			r.FinalizeUnclear, r.FinalizeLate = true, false
		}
	})
}

// Settled follows an outcome that was found after it had been told as unknown, or
// that nobody was told because the process ended.
func (j *Journeys) Settled(ctx context.Context, kind api.ActKind, cuid, who string, out api.Outcome) error {
	if kind != api.ActShare && kind != api.ActFinalize {
		return nil
	}
	return j.note(api.WithActor(ctx, api.Actor{Name: who}), cuid, nil, func(r *Record) {
		switch {
		case kind == api.ActFinalize && out.Verdict == api.Done:
			r.FinalizedAt, r.FinalizeUnclear, r.FinalizeLate = j.Now().UTC(), false, false
		case kind == api.ActFinalize && r.FinalizedAt.IsZero():
			r.FinalizeUnclear, r.FinalizeLate = false, true
		case !r.Applied:
			r.Unclear = true
		}
	})
}

// note changes the record. A record that cannot be kept is told beside the
// act's own result, never instead of it.
func (j *Journeys) note(ctx context.Context, cuid string, actErr error, change func(*Record)) error {
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
		return &api.Error{Kind: api.Internal, Public: "It was done, but the journey could not be noted in the store.", Err: err}
	}
	return actErr
}

// finalStates are customer and application states after which nothing is left
// for us to do (service's webhook page: results ACCEPT, REJECT, BANNED).
var finalStates = map[string]string{"ACCEPT": "accepted", "ACCEPTED": "accepted", "REJECT": "rejected", "BANNED": "banned"}

var submittedStates = map[string]bool{"SUBMITTED": true, "MODERATION": true, "MODERATED": true, "VERIFY": true, "PROCESSING": true, "UNDER_REVIEW": true}

// Steps builds the checklist. It is a pure function of what was read and kept.
func Steps(c api.Customer, app api.Application, r Record, now time.Time) ([]Step, string) {
	finalized := !r.FinalizedAt.IsZero() || submittedStates[strings.ToUpper(string(app.Status))] || finalStates[strings.ToUpper(string(app.Status))] != ""
	share := shareStep(c, r)
	if settled(c, r) && share.State == Todo {
		share.State = Optional
	}
	outstanding, link := outstandingStep(r), linkStep(r, now)
	if finalized && link.State == Todo {
		link.State = Optional
	}
	if settled(c, r) && !r.Applied {
		outstanding.State, outstanding.Note = Optional, "Nothing is asked for."
	}
	application := Step{Key: "application", Name: "Application", State: Todo, Note: "No application is there yet."}
	if app.Unread {
		application.State, application.Note = Unclear, "It could not be read."
	} else if app.Kind() != "" {
		application.State, application.Note = Done, strings.ToLower(app.Kind())+", "+orDash(app.Status.Line(30))
	}
	finalize := Step{Key: "finalize", Name: "Finalize", State: NotYet, Note: "Submits the application for review."}
	switch {
	case r.FinalizeUnclear && !finalized:
		finalize.State, finalize.Note = Unclear, "Sent; nothing shows yet whether it was done. opdeck looks again by itself."
	case finalized:
		finalize.State, finalize.Note = Done, "Submitted."
		if !r.FinalizedAt.IsZero() {
			finalize.Note = "Submitted by " + orDash(r.By) + "."
		}
	case r.Applied || app.Kind() != "" || app.Unread || !r.LinkAt.IsZero():
		finalize.State = Todo
	}
	if r.FinalizeLate && !finalized {
		finalize.Note = "Sent before, and not seen in time. Look at the application, then finalize again."
	}
	if settled(c, r) && finalize.State == Todo {
		finalize.State = Optional
	}
	steps := []Step{share, outstanding, link, application, finalize}
	return steps, next(steps, c, r, finalized, now)
}

func shareStep(c api.Customer, r Record) Step {
	s := Step{Key: "share", Name: "Share", State: Todo, Note: tokenKind(string(c.Type))}
	switch {
	case r.Applied:
		s.State, s.Note = Done, "Applied; a customer is shared once."
	case r.Unclear:
		s.State, s.Note = Unclear, "Sent, and its outcome is not known. A new token tells: the service answers 409 if the first was applied."
	case r.BaaS:
		s.State, s.Note = Blocked, "The service forbade it (403), as for accounts on the BaaS verification program. Use the link, or try again."
		if r.BaaSSaid != "" {
			s.Note = strings.TrimRight(r.BaaSSaid, ".") + ". Use the link, or try again."
		}
	case r.Rejected != "":
		s.Note = "Last token rejected: " + r.Rejected
	}
	return s
}

func tokenKind(kind string) string {
	switch kind {
	case api.Individual:
		return "One token carries the customer's own profile."
	case api.Corporate:
		return "One token carries the company with its beneficiaries."
	}
	return "The customer's kind is not known; the service will check the token."
}

func outstandingStep(r Record) Step {
	s := Step{Key: "outstanding", Name: "Outstanding sets", State: NotYet, Note: "Told by the service when the token is applied."}
	switch {
	case r.Applied && len(r.Outstanding) > 0:
		s.State, s.Note = Todo, strings.Join(r.Outstanding, ", ")
	case r.Applied && r.Outstanding == nil:
		s.State, s.Note = Unclear, "The answer was not seen; make a link to find out what is missing."
	case r.Applied:
		s.State, s.Note = Optional, "Nothing was reported outstanding."
	}
	return s
}

func linkStep(r Record, now time.Time) Step {
	s := Step{Key: "link", Name: "Link", State: Optional, Note: "For document sets that the token did not cover."}
	switch {
	case !r.LinkAt.IsZero() && now.Before(r.LinkUntil):
		s.State, s.Note = Done, "Made; valid until "+r.LinkUntil.UTC().Format("15:04:05")+" UTC, once."
	case !r.LinkAt.IsZero():
		s.State, s.Note = Done, "Made at "+r.LinkAt.UTC().Format("2006-01-02 15:04")+" UTC; it has lapsed."
	case len(r.Outstanding) > 0 || r.BaaS || r.Applied && r.Outstanding == nil:
		s.State = Todo
	}
	return s
}

func orDash(s string) string {
	if s == "" {
		return "–"
	}
	return s
}

// final is the word for a customer after whose state nothing is left to do, ""
// for other states.
func final(c api.Customer) string { return finalStates[strings.ToUpper(string(c.Status))] }

// settled reports that the customer needs no verification and none was begun.
func settled(c api.Customer, r Record) bool { return final(c) != "" && !r.Unfinished() }

// Press is how Next names the key of an act, for surfaces that have other words.
func Press(k keymap.Key) string { return " (" + k.Help().Key + ")" }

// next says in a sentence what to do now, and who does it.
func next(steps []Step, c api.Customer, r Record, finalized bool, now time.Time) string {
	keys := keymap.New().Compliance
	state := func(key string) State {
		for _, s := range steps {
			if s.Key == key {
				return s.State
			}
		}
		return ""
	}
	switch {
	case finalized && final(c) != "":
		return "Nothing: the customer is " + final(c) + "."
	case finalized:
		return "Wait for the review's result."
	case settled(c, r) && strings.EqualFold(string(c.Status), "BANNED"):
		return "Nothing: the customer is banned."
	case settled(c, r):
		return "Nothing: the customer is " + final(c) + ". To verify them anew, present a share token" + Press(keys.Share) + "."
	case r.FinalizeUnclear:
		return "Wait, or reload: finalize was sent, and the application tells when it was submitted."
	case r.Unclear:
		return "Present a new token" + Press(keys.Share) + ": the service answers 409 if the first one was applied. Never the same token again."
	case state("link") == Todo && r.Applied && r.Outstanding == nil:
		return "Make a link" + Press(keys.Link) + ": what is outstanding is not known, and the link shows the customer what is missing."
	case state("link") == Todo && len(r.Outstanding) > 0:
		return "Make a link" + Press(keys.Link) + " for the outstanding document sets."
	case state("link") == Todo:
		return "Make a link" + Press(keys.Link) + " for the customer."
	case !r.LinkAt.IsZero() && now.Before(r.LinkUntil):
		return "Wait for the customer: they open the link and hand in what is missing. Then finalize" + Press(keys.Finalize) + "."
	case !r.LinkAt.IsZero():
		return "The link has lapsed. Is the customer through with it? Then finalize" + Press(keys.Finalize) + ", else make another" + Press(keys.Link) + "."
	case r.Applied || state("finalize") == Todo && state("share") != Todo:
		return "Finalize the application" + Press(keys.Finalize) + "."
	case state("share") == Todo:
		return "Present a share token" + Press(keys.Share) + "."
	}
	return "Make a link" + Press(keys.Link) + "."
}
