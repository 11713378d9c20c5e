package app

import (
	"io"
	"os"
	"path/filepath"

	"opdeck/api"
	"opdeck/api/text"
)

// ReadUpload reads a file that is to be uploaded, no more of it than the service
// can take.
func ReadUpload(path string) (api.Upload, error) {
	name := text.Untrusted(filepath.Base(path)).Line(80)
	bad := func(what string, err error) (api.Upload, error) {
		return api.Upload{}, &api.Error{Op: "upload document", Kind: api.Usage, Public: what, Err: err}
	}
	f, err := os.Open(path)
	if err != nil {
		return bad("The file cannot be opened: "+name+".", err)
	}
	defer f.Close()
	if st, err := f.Stat(); err != nil || !st.Mode().IsRegular() {
		return bad(name+" is no regular file.", err)
	}
	b, err := io.ReadAll(io.LimitReader(f, api.MaxUpload+1))
	if err != nil {
		return bad("The file cannot be read: "+name+".", err)
	}
	return api.Upload{FileName: filepath.Base(path), Content: b}, nil
}
