package app

import (
	"context"
	"encoding/json"
	"io"
	"time"

	"opdeck/api"
	"opdeck/api/secret"
	"opdeck/internal/domain/audit"
	"opdeck/internal/domain/mask"
	"opdeck/internal/domain/replace"
)

// Client is the service as people reach it: what it returns is masked for a role
// that may not reveal account numbers. It does not embed the client behind it, so
// that a call is out of reach until it is written here, with its mask; a test
// calls every method. A document's content is the one thing that passes as it is.
type Client struct {
	api     *api.Client
	missing func(ctx context.Context, opid string, err error) error
	note    func(ctx context.Context, who api.Actor, e api.Event) error // of the audit trail
}

// masked is the end of every method.
func masked[T any](ctx context.Context, v T, err error) (T, error) {
	if e, ok := err.(*api.Error); ok && mask.Needed(ctx) {
		told := *e
		told.Public, told.Hint = mask.Text(e.Public), mask.Text(e.Hint)
		err = &told
	}
	return mask.For(ctx, v), err
}

// Phase is what an operation's status word means.
func (c *Client) Phase(op api.Operation) api.Phase { return c.api.Phase(op) }

// Operation reads one operation. Where the service does not have it, the error
// says what the index knows of it.
func (c *Client) Operation(ctx context.Context, opid string) (api.Operation, error) {
	op, err := c.api.Operation(ctx, opid)
	return masked(ctx, op, c.missing(ctx, opid, err))
}

// Operations reads a page of the list.
func (c *Client) Operations(ctx context.Context, q api.OperationQuery) (api.Page[api.Operation], error) {
	p, err := c.api.Operations(ctx, q)
	return masked(ctx, p, err)
}

// OperationTree reads an operation with its children.
func (c *Client) OperationTree(ctx context.Context, opid string) (api.OperationTree, error) {
	t, err := c.api.OperationTree(ctx, opid)
	return masked(ctx, t, err)
}

// RemoveDocument takes a document off an operation.
func (c *Client) RemoveDocument(ctx context.Context, r api.RemoveDocument) (api.Operation, error) {
	op, err := c.api.RemoveDocument(ctx, r)
	return masked(ctx, op, err)
}

// AttachDocument links an uploaded document to an operation.
func (c *Client) AttachDocument(ctx context.Context, opid, guid, name string) (api.Operation, error) {
	op, err := c.api.AttachDocument(ctx, opid, guid, name)
	return masked(ctx, op, err)
}

// UploadDocument puts a file into the customer's store.
func (c *Client) UploadDocument(ctx context.Context, u api.Upload) (api.CustomerFile, error) {
	f, err := c.api.UploadDocument(ctx, u)
	return masked(ctx, f, err)
}

// DownloadDocument writes a customer's document to w, as it is: its content cannot be
// masked, so only a role that may export gets it, and the trail tells of it before.
func (c *Client) DownloadDocument(ctx context.Context, cuid, guid string, w io.Writer) (int64, error) {
	if err := c.mayTake(ctx, audit.EventDownload, api.MayExport, cuid, guid); err != nil {
		return 0, err
	}
	n, err := c.api.DownloadDocument(ctx, cuid, guid, w)
	return masked(ctx, n, err)
}

// mayTake lets the content of a document through, or says why not; without a record it
// stays where it is.
func (c *Client) mayTake(ctx context.Context, event string, need api.Permission, cuid, guid string) error {
	if err := api.Need(ctx, event, need); err != nil {
		return err
	}
	if err := c.note(ctx, api.ActorOf(ctx), api.Event{Name: event, Object: "document", ID: guid, Detail: "of customer " + cuid}); err != nil {
		return &api.Error{Op: event, Kind: api.Refused, Rule: api.RuleAudit, Public: "The audit trail cannot be written, so the document is not read.", Err: err}
	}
	return nil
}

// DeleteFile deletes a file of a customer for good.
func (c *Client) DeleteFile(ctx context.Context, r api.DeleteFile) (api.Result, error) {
	res, err := c.api.DeleteFile(ctx, r)
	return masked(ctx, res, err)
}

// Customer reads one customer.
func (c *Client) Customer(ctx context.Context, cuid string) (api.Customer, error) {
	r, err := c.api.Customer(ctx, cuid)
	return masked(ctx, r, err)
}

// Customers reads a page of the customers.
func (c *Client) Customers(ctx context.Context, q api.CustomerQuery) (api.Page[api.Customer], error) {
	p, err := c.api.Customers(ctx, q)
	return masked(ctx, p, err)
}

// CustomerFiles reads a page of a customer's documents.
func (c *Client) CustomerFiles(ctx context.Context, cuid string, page int) (api.Page[api.CustomerFile], error) {
	p, err := c.api.CustomerFiles(ctx, cuid, page)
	return masked(ctx, p, err)
}

// Account reads one account.
func (c *Client) Account(ctx context.Context, id string) (api.Account, error) {
	a, err := c.api.Account(ctx, id)
	return masked(ctx, a, err)
}

// Accounts reads a page of the accounts.
func (c *Client) Accounts(ctx context.Context, q api.AccountQuery) (api.Page[api.Account], error) {
	p, err := c.api.Accounts(ctx, q)
	return masked(ctx, p, err)
}

// Counterparty reads one counterparty with its accounts.
func (c *Client) Counterparty(ctx context.Context, id string) (api.Counterparty, error) {
	p, err := c.api.Counterparty(ctx, id)
	return masked(ctx, p, err)
}

// Counterparties reads a page of the counterparties.
func (c *Client) Counterparties(ctx context.Context, q api.CounterpartyQuery) (api.Page[api.Counterparty], error) {
	p, err := c.api.Counterparties(ctx, q)
	return masked(ctx, p, err)
}

// PaymentLimits reads a page of the limits of payments.
func (c *Client) PaymentLimits(ctx context.Context, q api.TariffQuery) (api.Page[api.Tariff], error) {
	p, err := c.api.PaymentLimits(ctx, q)
	return masked(ctx, p, err)
}

// Commissions reads a page of the commissions.
func (c *Client) Commissions(ctx context.Context, q api.TariffQuery) (api.Page[api.Tariff], error) {
	p, err := c.api.Commissions(ctx, q)
	return masked(ctx, p, err)
}

// Application reads a customer's application.
func (c *Client) Application(ctx context.Context, cuid string) (api.Application, error) {
	app, err := c.api.Application(ctx, cuid)
	return masked(ctx, app, err)
}

// SetApplication replaces a customer's application.
func (c *Client) SetApplication(ctx context.Context, cuid string, body json.RawMessage) (api.Result, error) {
	r, err := c.api.SetApplication(ctx, cuid, body)
	return masked(ctx, r, err)
}

// Share presents a share token.
func (c *Client) Share(ctx context.Context, cuid string, token secret.Value) (api.ShareResult, error) {
	r, err := c.api.Share(ctx, cuid, token)
	return masked(ctx, r, err)
}

// Link makes a verification link.
func (c *Client) Link(ctx context.Context, cuid string) (api.Link, error) {
	l, err := c.api.Link(ctx, cuid)
	return masked(ctx, l, err)
}

// Finalize submits a customer's application.
func (c *Client) Finalize(ctx context.Context, cuid string) (api.Result, error) {
	r, err := c.api.Finalize(ctx, cuid)
	return masked(ctx, r, err)
}

// Hooks reads the service's webhook settings.
func (c *Client) Hooks(ctx context.Context) (api.HookSettings, error) {
	h, err := c.api.Hooks(ctx)
	return masked(ctx, h, err)
}

// SetHooks replaces the service's webhook settings.
func (c *Client) SetHooks(ctx context.Context, h api.HookSettings) error {
	_, err := masked(ctx, h, c.api.SetHooks(ctx, h))
	return err
}

// Known returns the newest state that is known without a call.
func (a *App) Known(ctx context.Context, opid string) (api.Operation, time.Time, bool) {
	rec, err := a.Index.Get(ctx, opid)
	if err != nil || rec.Owed || len(rec.Op.Raw) == 0 {
		return api.Operation{}, time.Time{}, false
	}
	return rec.Op, rec.Seen, true
}

// OnOperation registers fn for every operation that is read or changed, as the
// person in ctx may see it; the returned function ends that.
func (a *App) OnOperation(ctx context.Context, fn func(api.Operation)) (stop func()) {
	return a.changes.add(func(op api.Operation) { fn(mask.For(ctx, op)) })
}

// UnfinishedJobs lists the replacements on an operation ("": on any) that are not
// finished.
func (a *App) UnfinishedJobs(ctx context.Context, opid string) ([]replace.Job, error) {
	all, err := a.Jobs.Store.Unfinished(ctx)
	var out []replace.Job
	for _, j := range all {
		if opid == "" || j.OPID == opid {
			out = append(out, j)
		}
	}
	return masked(ctx, out, err)
}
