package app

import (
	"bytes"
	"context"
	"errors"
	"io"
	"io/fs"
	"os"
	"path/filepath"

	"opdeck/api"
	"opdeck/api/endpoint"
	"opdeck/api/untrusted"
	"opdeck/internal/system/folder"
	"opdeck/internal/system/wholefile"
)

// SaveDocument writes a customer's document to a file of mode 0600, completely or not at all, and returns its
// absolute path. If the file exists and over is false, the error is fs.ErrExist.
func SaveDocument(ctx context.Context, c endpoint.Caller, cuid, id, path string, over bool) (full string, err error) {
	bad := func(what string, err error) (string, error) {
		return full, &api.Error{Op: "save document", Kind: api.Usage, Rule: api.RuleFile, Field: api.FieldFile,
			Public: what + ": " + untrusted.Text(path).Line(200) + ".", Err: err}
	}
	if full, err = filepath.Abs(path); err != nil {
		return bad("Not a valid path", err)
	}
	switch st, err := os.Lstat(full); {
	case err == nil && !st.Mode().IsRegular():
		return bad("This already exists and is not a regular file", nil)
	case err == nil && !over:
		return bad("The file already exists", fs.ErrExist)
	}
	begin := wholefile.New
	if over {
		begin = wholefile.Over
	}
	f, err := begin(full)
	if err != nil {
		return bad("The file cannot be created", err)
	}
	if _, err := endpoint.Do(ctx, c, endpoint.DownloadDocument,
		endpoint.Download{CUID: cuid, GUID: id, To: f}); err != nil {
		return full, f.Finish(err)
	}
	if err := f.Finish(nil); err != nil {
		return bad("The file cannot be written", err)
	}
	return full, nil
}

// ReadUpload reads a file to upload, at most as much as the service accepts; folder.Expand says how its path may be
// written.
func ReadUpload(path string) (api.Upload, error) {
	path = folder.Expand(path)
	name := untrusted.Text(filepath.Base(path)).Line(80)
	st, err := os.Stat(path) // before opening: a named pipe would block
	if err != nil {
		return badUpload(name+" "+folder.Reason(err), err)
	}
	if !st.Mode().IsRegular() {
		return badUpload(name+" is not a regular file.", nil)
	}
	f, err := os.Open(path)
	if err != nil {
		return badUpload(name+" "+folder.Reason(err), err)
	}
	defer f.Close()
	return ReadUploadFrom(f, path)
}

// ReadUploadFrom reads an upload from r, at most as much as the service accepts; its name is the last element of
// name.
func ReadUploadFrom(r io.Reader, name string) (api.Upload, error) {
	base := filepath.Base(name)
	if base == "." || base == ".." || base == string(filepath.Separator) {
		return badUpload("The file needs a name.", nil)
	}
	b, err := io.ReadAll(io.LimitReader(r, api.MaxUpload+1))
	if err != nil {
		return badUpload(untrusted.Text(base).Line(80)+" "+folder.Reason(err), err)
	}
	return api.Upload{FileName: base, Content: b}, nil
}

func badUpload(what string, err error) (api.Upload, error) {
	return api.Upload{}, &api.Error{Op: "upload document", Kind: api.Usage, Field: api.FieldFile, Public: what, Err: err}
}

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
