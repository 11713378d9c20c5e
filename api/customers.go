package api

import (
	"bytes"
	"context"
	"encoding/json"
	"net/http"
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
	v := c.paging(q.Page, q.Size)
	setIf(v, "customerId", q.CUID)
	setIf(v, "customerName", q.Name)
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
	a, err := c.get(ctx, r, nil)
	if err != nil {
		return Application{}, err
	}
	return applicationOf(r, a)
}

func applicationPath(cuid string) []string {
	return []string{"/v2/customer", ":" + cuid, "/application"}
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
	act := newAct(ActSetApplication, req, "customer", cuid, map[string]string{"application": "sha256:" + HashHex(body)})
	if dry(ctx) {
		act.Body = body // the person gave it; the trail and approvals hold its digest
	}
	act.Summary = "Set the application of customer " + cuid
	before := ""
	if !dry(ctx) {
		if app, err := c.readApplication(ctx, "read application", cuid); err == nil {
			before = HashHex(app.Raw)
		}
	}
	a, err := c.send(ctx, write{act: act, req: req, settle: func(ctx context.Context) (Verdict, error) {
		return c.applicationChanged(ctx, cuid, before)
	}})
	return c.resultOf(a, err)
}

// applicationChanged compares the application with the digest from before.
func (c *Client) applicationChanged(ctx context.Context, cuid, before string) (Verdict, error) {
	app, err := c.readApplication(ctx, "check application", cuid)
	switch {
	case err != nil || before == "":
		return Unclear, err
	case HashHex(app.Raw) != before:
		return Done, nil
	}
	return Failed, nil
}

// Finalize submits the application for review
// (PATCH /v2/customer/{customerId}/application, no body; spec, Share rule 7).
func (c *Client) Finalize(ctx context.Context, cuid string) (Result, error) {
	const op = "finalize application"
	if err := CheckID("customer id", cuid); err != nil {
		return Result{}, err
	}
	var before Application
	if !dry(ctx) {
		var err error
		if before, err = c.readApplication(ctx, "read application", cuid); err != nil {
			return Result{}, err
		}
	}
	req := request{op: op, method: http.MethodPatch, parts: applicationPath(cuid)}
	act := newAct(ActFinalize, req, "customer", cuid, nil)
	act.Seen = HashHex(before.Raw)
	act.Summary = "Finalize the application of customer " + cuid
	a, err := c.send(ctx, write{act: act, req: req, settle: func(ctx context.Context) (Verdict, error) {
		now, err := c.readApplication(ctx, "check application", cuid)
		switch {
		case err != nil:
			return Unclear, err
		case now.Status != before.Status:
			return Done, nil
		case now.Status == "":
			return Unclear, nil
		}
		return Failed, nil
	}})
	return c.resultOf(a, err)
}

// resultOf reads {"success", "message"}. success false is a refusal.
func (c *Client) resultOf(a answer, err error) (Result, error) {
	if err != nil {
		return Result{}, err
	}
	res := Result{Success: true}
	if a.status == 0 {
		res.Message = "The answer was lost; a read shows that it was done."
		return res, nil
	}
	if len(bytes.TrimSpace(a.body)) > 0 {
		if err := json.Unmarshal(a.body, &res); err != nil {
			return Result{}, &Error{Kind: Internal, Status: a.status, RequestID: a.id, Public: "It was done, but the answer could not be understood.", Err: err}
		}
	}
	res.Raw = a.body
	if !res.Success {
		e := Classify("", a.status, a.body)
		e.Kind, e.RequestID = Refused, a.id
		e.Public = "The service refused: " + res.Message.Line(300)
		return res, e
	}
	return res, nil
}
