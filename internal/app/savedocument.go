package app

import (
	"context"
	"io/fs"
	"os"
	"path/filepath"

	"opdeck/api"
	"opdeck/api/endpoint"
	"opdeck/api/untrusted"
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
