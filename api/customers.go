package api

import (
	"context"
	"encoding/json"
	"net/http"
	"slices"
	"strings"

	"github.com/google/uuid"

	"opdeck/api/untrusted"
)

// CustomerQuery are the service's own filters of the customer list.
type CustomerQuery struct {
	CUID string
	Name string // part of the name
	Page int    // from 0
	Size int    // 0: the configured page size
}

// Customers reads one page of customers (GET /v2/customer; one customer call).
func (c *Client) Customers(ctx context.Context, q CustomerQuery) (Page[Customer], error) {
	v := c.paging(q.Page, q.Size, "customerId", q.CUID, "customerName", q.Name)
	return list[Customer](ctx, c, customerThing, []string{"/v2/customer"}, v)
}

// Application reads a customer's application
// (GET /v2/customer/{customerId}/application; one customer call).
func (c *Client) Application(ctx context.Context, cuid string) (Application, error) {
	const op = "read application"
	if err := CheckID("customer id", cuid); err != nil {
		return Application{}, err
	}
	return c.readApplication(ctx, op, cuid)
}

func (c *Client) readApplication(ctx context.Context, op, cuid string) (Application, error) {
	r := request{op: op, parts: applicationPath(cuid)}
	a, err := c.get(ctx, r)
	if err != nil {
		return Application{}, err
	}
	return applicationOf(r, a)
}

func applicationPath(cuid string) []string {
	return []string{"/v2/customer", ":" + cuid, "/application"}
}

// The writes of this file.
const (
	ActFinalize       ActKind = "compliance.finalize"
	ActSetApplication ActKind = "customer.set-application"
)

var (
	_ = declare(ActSetApplication, rule{need: MayCompliance, again: true, number: "204", doing: "Setting the application",
		look: lookAtApplication, readable: func(p Probe) bool { return len(p.Leaves) > 0 },
		shown: func(p Probe, body fields, answer bool) bool {
			return answer && body.says("success", true) || p.holds(body)
		}})
	_ = declare(ActFinalize, rule{need: MayCompliance, number: "203", doing: "Finalizing",
		look: lookAtApplication, shown: func(_ Probe, body fields, answer bool) bool {
			return answer && body.says("success", true) || submitted(body)
		}})

	lookAtApplication = lookAt("check application", func(p Probe) []string { return applicationPath(p.CUID) })
)

// submittedWords are states of an application that was handed in.
var submittedWords = []string{"SUBMITTED", "MODERATION", "UNDER_REVIEW"}

func submitted(body fields) bool {
	for _, o := range body.inside() {
		if slices.Contains(submittedWords, strings.ToUpper(o.text("status"))) {
			return true
		}
	}
	return false
}

// SetApplication replaces a customer's application
// (POST /v2/customer/{customerId}/application). The service announces this call
// as soon to be deprecated (spec, Versioning rule 3); the compliance link takes
// its place. body holds either individual or corporate.
func (c *Client) SetApplication(ctx context.Context, cuid string, body json.RawMessage) (Result, error) {
	const op = "set application"
	if err := CheckID("customer id", cuid); err != nil {
		return Result{}, err
	}
	var app Application
	if err := json.Unmarshal(body, &app); err != nil || (app.Individual == nil) == (app.Corporate == nil) {
		return Result{}, &Error{Op: op, Kind: Usage, Public: "The application must be a JSON object with either individual or corporate.", Err: err}
	}
	req := request{op: op, method: http.MethodPost, parts: applicationPath(cuid), body: body, content: "application/json"}
	act := newAct(ActSetApplication, req, "customer", cuid, body)
	act.Summary = "Set the application of customer " + cuid
	salt := uuid.NewString()
	a, err := c.send(ctx, write{act: act, req: req, probe: Probe{CUID: cuid, Salt: salt, Leaves: leavesOf(parsed(body), "", salt)}})
	return resultOf(a, err)
}

// Finalize submits the application for review
// (PATCH /v2/customer/{customerId}/application, no body; spec, Share rule 7).
// What the application holds is read before, so that the trail and an approval
// bind to it; a read that fails does not stop it.
func (c *Client) Finalize(ctx context.Context, cuid string) (Result, error) {
	const op = "finalize application"
	if err := CheckID("customer id", cuid); err != nil {
		return Result{}, err
	}
	var before Application
	if !dry(ctx) {
		before, _ = c.readApplication(ctx, "read application", cuid)
	}
	req := request{op: op, method: http.MethodPatch, parts: applicationPath(cuid)}
	act := newAct(ActFinalize, req, "customer", cuid, nil)
	act.Seen = HashHex(before.Raw)
	act.Summary = "Finalize the application of customer " + cuid
	a, err := c.send(ctx, write{act: act, req: req, probe: Probe{CUID: cuid}})
	return resultOf(a, err)
}

// resultOf reads {"success", "message"} of an act that is proven done.
func resultOf(a answer, err error) (Result, error) {
	if err != nil {
		return Result{}, err
	}
	if a.settled {
		return Result{Success: true, Message: "The answer did not tell; a read shows that it was done."}, nil
	}
	return Result{Success: true, Message: untrusted.Text(object(a.body).find("message")), Raw: a.body}, nil
}
