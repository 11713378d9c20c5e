package app

import (
	"context"
	"fmt"
	"io"

	"opdeck/api"
)

// OperationReport writes the service's report of operations to w. Nothing in it can be
// masked: who may not see account numbers is refused.
func (c *Client) OperationReport(ctx context.Context, q api.ReportQuery, w io.Writer, progress func(done, total int64)) (api.Report, error) {
	for _, p := range []api.Permission{api.MayExport, api.MayReveal} {
		if err := api.Need(ctx, "read report", p); err != nil {
			return api.Report{}, err
		}
	}
	r, err := c.api.OperationReport(ctx, q, w, progress)
	return masked(ctx, r, err)
}

// ReportTo is Client.OperationReport with a record in the trail, without which nothing is
// read.
func (a *App) ReportTo(ctx context.Context, q api.ReportQuery, w io.Writer, progress func(done, total int64)) (api.Report, error) {
	if err := api.Need(ctx, "read report", api.MayExport); err != nil {
		return api.Report{}, err
	}
	size := q.Size
	if size == 0 {
		size = a.Config.Service.ListPageSize
	}
	e := api.Event{Name: "export", Object: "report", Detail: fmt.Sprintf("the service's report of operations, page %d of %d each", q.Page, size)}
	if err := a.Audit.Note(ctx, api.ActorOf(ctx), e); err != nil {
		return api.Report{}, &api.Error{Op: "read report", Kind: api.Refused, Rule: api.RuleAudit, Public: "The audit trail cannot be written, so nothing was exported.", Err: err}
	}
	return a.Client.OperationReport(ctx, q, w, progress)
}

// SaveReport writes the service's report of operations to a new file of mode 0600, whole
// or not at all.
func (a *App) SaveReport(ctx context.Context, q api.ReportQuery, path string, progress func(done, total int64)) (r api.Report, err error) {
	err = newFile("read report", path, func(w io.Writer) (err error) {
		r, err = a.ReportTo(ctx, q, w, progress)
		return err
	})
	return r, err
}
