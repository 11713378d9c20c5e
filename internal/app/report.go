package app

import (
	"bytes"
	"context"
	"errors"
	"io"
	"os"

	"opdeck/api"
	"opdeck/api/endpoint"
	"opdeck/internal/system/wholefile"
)

// ReportTo writes the service's report of operations to w. Its record in the trail precedes the read.
func (a *App) ReportTo(ctx context.Context, q api.ReportQuery, w io.Writer) (api.Report, error) {
	if q.Size == 0 {
		q.Size = a.Config.Service.ListPageSize
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
