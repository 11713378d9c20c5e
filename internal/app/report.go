package app

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"os"

	"opdeck/api"
	"opdeck/api/endpoint"
	"opdeck/internal/system/wholefile"
)

// ReportTo writes the service's report of operations to w. It records the read first; without the record nothing is
// read.
func (a *App) ReportTo(ctx context.Context, q api.ReportQuery, w io.Writer) (api.Report, error) {
	if err := api.Need(ctx, "read report", api.MayExport); err != nil {
		return api.Report{}, err
	}
	size := q.Size
	if size == 0 {
		size = a.Config.Service.ListPageSize
	}
	e := api.Event{Name: "export", Object: "report", Detail: fmt.Sprintf(
		"the service's report of operations, page %d, %d a page", q.Page, size)}
	if err := a.Audit.Note(ctx, api.ActorOf(ctx), e); err != nil {
		return api.Report{}, &api.Error{Op: "read report", Kind: api.Refused, Rule: api.RuleAudit,
			Public: "The audit trail cannot be written, so nothing was exported.", Err: err}
	}
	return endpoint.Do(ctx, a.Client, endpoint.GetReport, endpoint.ReportTo{ReportQuery: q, To: w})
}

// SaveReport writes the service's report of operations to a new file of mode 0600, completely or not at all. If the
// file exists, nothing is requested.
func (a *App) SaveReport(ctx context.Context, q api.ReportQuery, path string) (api.Report, error) {
	taken := func(err error) error {
		return &api.Error{Op: "read report", Kind: api.Usage, Public: "A file of that name already exists.", Err: err}
	}
	if _, err := os.Lstat(path); err == nil {
		return api.Report{}, taken(os.ErrExist)
	}
	var file bytes.Buffer
	r, err := a.ReportTo(ctx, q, &file)
	if err != nil {
		return r, err
	}
	switch err := wholefile.Create(path, file.Bytes()); {
	case errors.Is(err, os.ErrExist):
		return r, taken(err)
	case err != nil:
		return r, &api.Error{Op: "read report", Kind: api.Usage, Public: "The file cannot be created or written.",
			Hint: "Choose a folder that you may write to.", Err: err}
	}
	return r, nil
}
