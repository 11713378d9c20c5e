package lending

import (
	"errors"
	"net/http"

	"opdeck/api"
	"opdeck/api/session"
	"opdeck/internal/act/remedy"
)

// Refusal is our answer in place of the service's.
type Refusal struct {
	Status int // HTTP status
	Err    *api.Error
	Allow  string // methods of the path, for 405
}

func refuse(status int, kind api.Kind, public, hint string) *Refusal {
	return &Refusal{Status: status, Err: &api.Error{Kind: kind, Public: public, Hint: hint, Unsent: true}}
}

// Failure is the answer to a call that failed with err.
func Failure(err error) *Refusal {
	e := api.AsError(err)
	return &Refusal{Status: statusOf(e), Err: e}
}

// statusOf is the HTTP status for the kind of an error. It is never 401, because the borrower would log in.
func statusOf(e *api.Error) int {
	var ours *session.Error
	switch {
	case e.Rule == api.RuleApproval && e.Remedy.ID != "":
		return http.StatusAccepted // filed, waiting for a second person
	case e.Kind == api.UnknownOutcome:
		return http.StatusGatewayTimeout
	case e.Kind == api.RateLimited:
		return http.StatusTooManyRequests
	case e.Kind == api.AuthFailed, e.Kind == api.BadConfig, e.Kind == api.Interrupted:
		return http.StatusServiceUnavailable
	case e.Kind == api.Unavailable && errors.As(e.Err, &ours):
		return http.StatusServiceUnavailable
	case e.Kind == api.Unavailable:
		return http.StatusBadGateway
	case e.Status >= 400 && e.Status < 500 && e.Status != http.StatusUnauthorized:
		return e.Status
	case e.Kind == api.Usage:
		return http.StatusBadRequest
	case e.Kind == api.NotFound:
		return http.StatusNotFound
	case e.Kind == api.Refused:
		return refusedStatus(e.Rule)
	}
	return http.StatusInternalServerError
}

func refusedStatus(rule api.Rule) int {
	switch rule {
	case api.RuleLocked, api.RuleLockUnknown, api.RuleEndState, api.RuleNotAttached, api.RuleChanged, api.RuleShared,
		api.RuleApproval, api.RuleDenied, api.RuleApplication:
		return http.StatusConflict
	case api.RuleFile:
		return http.StatusRequestEntityTooLarge
	case api.RuleAudit:
		return http.StatusServiceUnavailable
	}
	return http.StatusForbidden
}

// Body is the refusal as JSON: the error as on the command line, and the id of the request for approval if one was
// filed.
type Body struct {
	Error    ErrorBody `json:"error"`
	Approval string    `json:"approval,omitempty"`
}

// ErrorBody is an error in the commands' format.
type ErrorBody struct {
	Kind      api.Kind `json:"kind"`
	Message   string   `json:"message"`
	Hint      string   `json:"hint"`
	RequestID string   `json:"request_id"`
}

// Body returns the refusal for the borrower.
func (r *Refusal) Body() Body {
	e := r.Err
	out := Body{Error: ErrorBody{e.Kind, e.Public, remedy.Command(e), e.RequestID}}
	if r.Status == http.StatusAccepted {
		out.Approval = e.Remedy.ID
	}
	return out
}
