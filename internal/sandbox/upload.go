package sandbox

import (
	"database/sql"
	"errors"
	"fmt"
	"io"
	"mime/multipart"
	"net/http"
	"path"
	"slices"
	"strings"

	"github.com/google/uuid"

	"opdeck/api"
)

// upload is what came in a multipart body.
type upload struct {
	fields  map[string]string
	name    string
	mime    string
	content []byte
	found   bool
}

// readUpload reads the parts customerId, attach, info and type.
func readUpload(c *call) (upload, error) {
	u := upload{fields: map[string]string{}}
	reader, err := c.r.MultipartReader()
	if err != nil {
		return u, refuse(http.StatusUnsupportedMediaType, "Content-Type must be multipart/form-data")
	}
	for {
		part, err := reader.NextPart()
		if errors.Is(err, io.EOF) {
			return u, nil
		}
		if err != nil {
			return u, refuse(http.StatusBadRequest, "The multipart body is broken")
		}
		if err := u.part(part); err != nil {
			return u, err
		}
	}
}

func (u *upload) part(p *multipart.Part) error {
	if p.FormName() != "attach" {
		value, err := io.ReadAll(io.LimitReader(p, 64<<10))
		if err != nil {
			return refuse(http.StatusBadRequest, "The multipart body is broken")
		}
		u.fields[p.FormName()] = string(value)
		return nil
	}
	u.found, u.name = true, path.Base(strings.ReplaceAll(p.FileName(), `\`, "/"))
	u.mime = mediaType(p.Header.Get("Content-Type"), u.name)
	kind, known := fileKinds[u.mime]
	if !known {
		return refuse(http.StatusUnsupportedMediaType, "Files of this kind are not accepted: PDF, JPEG, PNG, Word and "+
			"text are")
	}
	content, err := io.ReadAll(io.LimitReader(p, kind.limit+1))
	if err != nil {
		return refuse(http.StatusBadRequest, "The multipart body is broken")
	}
	if int64(len(content)) > kind.limit {
		return refuse(http.StatusRequestEntityTooLarge, fmt.Sprintf("The file is too large: the limit for %s is %s",
			kind.name, sizeText(kind.limit)))
	}
	u.content = content
	return nil
}

func (u *upload) check() error {
	switch {
	case u.fields["customerId"] == "":
		return refuse(http.StatusBadRequest, "customerId is required")
	case !u.found:
		return refuse(http.StatusBadRequest, "attach is required")
	case len(u.content) == 0:
		return refuse(http.StatusBadRequest, "The file is empty")
	}
	if t := u.fields["type"]; t != "" && !slices.Contains(api.DocumentTypes(), t) {
		return refuse(http.StatusBadRequest, "Unknown document type: "+t)
	}
	return nil
}

// uploadFile: POST /v2/customer/file.
func uploadFile(c *call) (any, error) {
	u, err := readUpload(c)
	if err == nil {
		err = u.check()
	}
	if err != nil {
		return nil, err
	}
	kind := u.fields["type"]
	if kind == "" {
		kind = "OPERATION_DOCUMENT"
	}
	f := fileRow{guid: uuid.New(), name: u.name, mime: u.mime, size: int64(len(u.content)), kind: kind,
		info: u.fields["info"], created: c.at.UnixNano()}
	err = c.write(c.ctx, func(tx *sql.Tx) error {
		owner, err := findCustomer(c.ctx, tx, u.fields["customerId"])
		if err != nil {
			return err
		}
		f.customer, f.cuid = owner.n, owner.cuid
		return execute(c.ctx, tx, `INSERT INTO file(guid, store, customer, name, mime, size, kind, info, locked,
			created, content) VALUES(?, 0, ?, ?, ?, ?, ?, ?, 0, ?, ?)`,
			f.guid[:], f.customer, f.name, f.mime, f.size, f.kind, f.info, f.created, u.content)
	})
	return f.render(), err
}
