package app

import (
	"io"
	"os"
	"path/filepath"

	"opdeck/api"
	"opdeck/api/untrusted"
	"opdeck/internal/system/folder"
)

// ReadUpload reads a file to upload, at most as much as the service accepts.
func ReadUpload(path string) (api.Upload, error) {
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
