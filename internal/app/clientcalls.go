package app

import (
	"context"
	"encoding/json"
	"io"

	"opdeck/api"
	"opdeck/api/endpoint"
	"opdeck/api/secret"
)

// The methods below are calls of Do that go when their callers call it themselves.

func (c *Client) Operation(ctx context.Context, opid string) (api.Operation, error) {
	return endpoint.Do(ctx, c, endpoint.GetOperation, opid)
}

func (c *Client) Operations(ctx context.Context, q api.OperationQuery) (api.Page[api.Operation], error) {
	return endpoint.Do(ctx, c, endpoint.ListOperations, q)
}

func (c *Client) OperationTree(ctx context.Context, opid string) (api.OperationTree, error) {
	return endpoint.Do(ctx, c, endpoint.GetOperationTree, opid)
}

func (c *Client) RemoveDocument(ctx context.Context, r api.RemoveDocument) (api.Operation, error) {
	return endpoint.Do(ctx, c, endpoint.RemoveDocument, r)
}

func (c *Client) AttachDocument(ctx context.Context, opid, guid, name string) (api.Operation, error) {
	return endpoint.Do(ctx, c, endpoint.AttachDocument, endpoint.Attachment{OPID: opid, GUID: guid, Name: name})
}

func (c *Client) UploadDocument(ctx context.Context, u api.Upload) (api.CustomerFile, error) {
	return endpoint.Do(ctx, c, endpoint.UploadDocument, u)
}

func (c *Client) DownloadDocument(ctx context.Context, cuid, guid string, w io.Writer) (int64, error) {
	return endpoint.Do(ctx, c, endpoint.DownloadDocument, endpoint.Download{CUID: cuid, GUID: guid, To: w})
}

func (c *Client) DeleteFile(ctx context.Context, r api.DeleteFile) (api.Result, error) {
	return endpoint.Do(ctx, c, endpoint.DeleteFile, r)
}

func (c *Client) Customer(ctx context.Context, cuid string) (api.Customer, error) {
	return endpoint.Do(ctx, c, endpoint.GetCustomer, cuid)
}

func (c *Client) Customers(ctx context.Context, q api.CustomerQuery) (api.Page[api.Customer], error) {
	return endpoint.Do(ctx, c, endpoint.ListCustomers, q)
}

func (c *Client) CustomerFiles(ctx context.Context, cuid string, page int) (api.Page[api.CustomerFile], error) {
	return endpoint.Do(ctx, c, endpoint.ListFiles, endpoint.FileQuery{CUID: cuid, Page: page})
}

func (c *Client) Account(ctx context.Context, id string) (api.Account, error) {
	return endpoint.Do(ctx, c, endpoint.GetAccount, id)
}

func (c *Client) Accounts(ctx context.Context, q api.AccountQuery) (api.Page[api.Account], error) {
	return endpoint.Do(ctx, c, endpoint.ListAccounts, q)
}

func (c *Client) Counterparty(ctx context.Context, id string) (api.Counterparty, error) {
	return endpoint.Do(ctx, c, endpoint.GetCounterparty, id)
}

func (c *Client) Counterparties(ctx context.Context, q api.CounterpartyQuery) (api.Page[api.Counterparty], error) {
	return endpoint.Do(ctx, c, endpoint.ListCounterparties, q)
}

func (c *Client) PaymentLimits(ctx context.Context, q api.TariffQuery) (api.Page[api.Tariff], error) {
	return endpoint.Do(ctx, c, endpoint.ListPaymentLimits, q)
}

func (c *Client) Commissions(ctx context.Context, q api.TariffQuery) (api.Page[api.Tariff], error) {
	return endpoint.Do(ctx, c, endpoint.ListCommissions, q)
}

func (c *Client) Application(ctx context.Context, cuid string) (api.Application, error) {
	return endpoint.Do(ctx, c, endpoint.GetApplication, cuid)
}

func (c *Client) SetApplication(ctx context.Context, cuid string, body json.RawMessage) (api.Result, error) {
	return endpoint.Do(ctx, c, endpoint.SetApplication, endpoint.NewApplication{CUID: cuid, Body: body})
}

func (c *Client) Share(ctx context.Context, cuid string, token secret.Value) (api.ShareResult, error) {
	return endpoint.Do(ctx, c, endpoint.Share, endpoint.ShareToken{CUID: cuid, Token: token})
}

func (c *Client) Link(ctx context.Context, cuid string) (api.Link, error) {
	return endpoint.Do(ctx, c, endpoint.MakeLink, cuid)
}

func (c *Client) Finalize(ctx context.Context, cuid string) (api.Result, error) {
	return endpoint.Do(ctx, c, endpoint.Finalize, cuid)
}

func (c *Client) Hooks(ctx context.Context) (api.HookSettings, error) {
	return endpoint.Do(ctx, c, endpoint.GetHooks, struct{}{})
}

func (c *Client) OperationReport(ctx context.Context, q api.ReportQuery, w io.Writer) (api.Report, error) {
	return endpoint.Do(ctx, c, endpoint.GetReport, endpoint.ReportTo{ReportQuery: q, To: w})
}

func (c *Client) SetHooks(ctx context.Context, h api.HookSettings) error {
	_, err := endpoint.Do(ctx, c, endpoint.SetHooks, h)
	return err
}

func (c *Client) Relay(ctx context.Context, r endpoint.Raw) (*api.Relayed, error) {
	return endpoint.Do(ctx, c, endpoint.GetRaw, r)
}
