package sandbox

import (
	"bytes"
	"cmp"
	"context"
	"database/sql"
	"errors"
	"fmt"
	"image"
	"image/color"
	"image/draw"
	"image/jpeg"
	"image/png"
	"io"
	"mime"
	"net/http"
	"path"
	"slices"
	"strings"

	"github.com/google/uuid"

	"opdeck/api"
)

// Texts of refused removals, exactly as documented.
const (
	textEnded  = "Cannot modify documents for completed operations"
	textLocked = "Document is locked and cannot be removed"
)

// removeDocument: DELETE /v2/billing/operation/{id}/document/{documentId}. It removes the link only; the customer
// keeps the document.
func removeDocument(c *call) (any, error) {
	opid, document := c.param("opid"), c.param("guid")
	var out any
	var refused *refusal
	err := c.write(c.ctx, func(tx *sql.Tx) error {
		o, file, err := removable(c, tx, opid, document)
		if errors.As(err, &refused) {
			return logRemoval(c, tx, opid, document, "refused: "+refused.message)
		}
		if err != nil {
			return err
		}
		if err := execute(c.ctx, tx, `DELETE FROM link WHERE op = ? AND file = ?`, o.n, file); err != nil {
			return err
		}
		if err := logRemoval(c, tx, opid, document, "removed"); err != nil {
			return err
		}
		out, err = changedOperation(c, tx, o)
		return err
	})
	if err == nil && refused != nil {
		return nil, refused
	}
	return out, err
}

// removable checks in this order: operation, document, link, state, lock.
func removable(c *call, tx *sql.Tx, opid, document string) (o operationRow, file int64, err error) {
	o, f, links, err := findBoth(c, tx, opid, document)
	switch {
	case err != nil:
		return o, 0, err
	case links == 0:
		return o, 0, refuse(http.StatusConflict, fmt.Sprintf("Document %s is not attached to operation %s", document, opid))
	case ended(o.status):
		return o, 0, refuse(http.StatusConflict, textEnded)
	case f.locked:
		return o, 0, refuse(http.StatusLocked, textLocked)
	}
	return o, f.n, nil
}

// findBoth finds an operation, then a document, and counts the links between them.
func findBoth(c *call, tx *sql.Tx, opid, document string) (o operationRow, f fileRow, links int64, err error) {
	if o, err = findOperation(c, tx, opid); err != nil {
		return o, f, 0, err
	}
	if f, err = findFile(c.ctx, tx, "", document); err != nil {
		return o, f, 0, err
	}
	links, err = count(c.ctx, tx, `SELECT count(*) FROM link WHERE op = ? AND file = ?`, o.n, f.n)
	return o, f, links, err
}

// changedOperation marks o as changed, raises its event and returns it as the answer.
func changedOperation(c *call, tx *sql.Tx, o operationRow) (any, error) {
	if err := moveOperation(c, tx, &o, o.status); err != nil {
		return nil, err
	}
	return showOperation(c, tx, o)
}

func logRemoval(c *call, tx *sql.Tx, opid, document, outcome string) error {
	return execute(c.ctx, tx, `INSERT INTO removal(at, login, token, opid, document, outcome) VALUES(?, ?, ?, ?, ?, ?)`,
		c.at.UnixNano(), c.st.Login, c.token, opid, document, outcome)
}

type attachIn struct{ DocumentID, Name string }

// attachDocument: POST /v2/billing/operation/{id}/document.
func attachDocument(c *call, in attachIn) (any, error) {
	if in.DocumentID == "" {
		return nil, refuse(http.StatusBadRequest, "documentId is required")
	}
	var out any
	err := c.write(c.ctx, func(tx *sql.Tx) error {
		o, file, err := attachable(c, tx, c.param("opid"), in.DocumentID)
		if err != nil {
			return err
		}
		if err := execute(c.ctx, tx, `INSERT INTO link(op, file, name) VALUES(?, ?, ?)`, o.n, file, in.Name); err != nil {
			return err
		}
		out, err = changedOperation(c, tx, o)
		return err
	})
	return out, err
}

func attachable(c *call, tx *sql.Tx, opid, document string) (o operationRow, file int64, err error) {
	o, f, links, err := findBoth(c, tx, opid, document)
	switch {
	case err != nil:
		return o, 0, err
	case f.customer != o.owner:
		return o, 0, refuse(http.StatusConflict, fmt.Sprintf("Document %s belongs to another customer", document))
	case links > 0:
		return o, 0, refuse(http.StatusConflict, fmt.Sprintf("Document %s is already attached to operation %s", document,
			opid))
	case ended(o.status):
		return o, 0, refuse(http.StatusConflict, textEnded)
	}
	return o, f.n, nil
}

// parseGUID parses the canonical form only.
func parseGUID(text string) (uuid.UUID, bool) {
	id, err := uuid.Parse(text)
	return id, err == nil && id.String() == strings.ToLower(text)
}

type fileRow struct {
	n, customer, size, created int64
	guid                       uuid.UUID
	cuid                       string
	name, mime, kind, info     string
	locked                     bool
}

const fileColumnsRead = `f.n, f.guid, f.customer, c.id, f.name, f.mime, f.size, f.kind, f.info, f.locked, f.created`

func queryFiles(ctx context.Context, q querier, tail string, args ...any) ([]fileRow, error) {
	return query(ctx, q, (*fileRow).columns, `SELECT `+fileColumnsRead+`
		FROM file f JOIN record c ON c.kind = 'customer' AND c.n = f.customer `+tail, args...)
}

func (f *fileRow) columns() []any {
	return []any{&f.n, &f.guid, &f.customer, &f.cuid, &f.name, &f.mime, &f.size, &f.kind, &f.info, &f.locked, &f.created}
}

// findFile finds a document, of the customer if cuid is given.
func findFile(ctx context.Context, q querier, cuid, id string) (fileRow, error) {
	guid, valid := parseGUID(id)
	if !valid {
		return fileRow{}, notFound("Document", id)
	}
	rows, err := queryFiles(ctx, q, `WHERE f.guid = ? AND ? IN ('', c.id)`, guid[:], cuid)
	return only(rows, err, "Document", id)
}

func (f *fileRow) render() any {
	return patch{"id": f.guid.String(), "customerId": f.cuid, "name": f.name, "size": f.size, "mime": f.mime,
		"type": f.kind, "info": f.info, "status": "NEW", "isLock": f.locked, "createAt": stamp(f.created)}
}

// listFiles: GET /v2/customer/{cuid}/file.
func listFiles(c *call) (any, error) {
	const of = `WHERE f.customer = (SELECT n FROM record WHERE kind = 'customer' AND id = ?)`
	p, cuid := c.page(), c.param("cuid")
	if _, err := findCustomer(c.ctx, c.db, cuid); err != nil || c.bad != nil {
		return nil, cmp.Or(err, c.bad)
	}
	total, err := count(c.ctx, c.db, `SELECT count(*) FROM file f `+of, cuid)
	if err != nil {
		return nil, err
	}
	rows, err := queryFiles(c.ctx, c.db, of+` ORDER BY f.created DESC, f.n DESC LIMIT ? OFFSET ?`, cuid, p.size,
		p.number*p.size)
	items := []any{}
	for _, f := range rows {
		items = append(items, f.render())
	}
	return p.body(total, items), err
}

// downloadFile: GET /v2/customer/{customerId}/file/{id}.
func downloadFile(c *call) (any, error) {
	f, err := findFile(c.ctx, c.db, c.param("cuid"), c.param("guid"))
	if err != nil {
		return nil, err
	}
	var content []byte
	if err := c.db.QueryRowContext(c.ctx, `SELECT content FROM file WHERE n = ?`, f.n).Scan(&content); err != nil {
		return nil, err
	}
	if content == nil {
		content = sampleContent(f)
	}
	disposition := mime.FormatMediaType("attachment", map[string]string{"filename": headerSafe(f.name)})
	if disposition == "" {
		disposition = "attachment"
	}
	return answer{status: http.StatusOK, body: content, header: http.Header{
		"Content-Type": {f.mime}, "Content-Disposition": {disposition}, "Cache-Control": {"private, max-age=3600"}}}, nil
}

// headerSafe removes what a header must not contain.
func headerSafe(name string) string {
	return strings.Map(func(r rune) rune {
		if r < 0x20 || r == 0x7f {
			return -1
		}
		return r
	}, name)
}

// sampleContent is the body of a sample file: a picture, or the start of its format and then lines of text, padded to
// its size.
func sampleContent(f fileRow) []byte {
	b := samplePicture(f.mime, f.guid)
	if f.mime == "application/pdf" {
		b = []byte("%PDF-1.4\n% sample document\n")
	}
	line := "Sample document " + f.guid.String() + ".\n"
	b = append(b, strings.Repeat(line, max(int(f.size)-len(b), 0)/len(line)+1)...)
	return b[:f.size]
}

// deleteFile: DELETE /v2/customer/{customerId}/file/{id}. It deletes content and metadata permanently. A locked
// document, or one attached to an operation, is refused.
func deleteFile(c *call) (any, error) {
	return action(true, "Document deleted successfully"), c.write(c.ctx, func(tx *sql.Tx) error {
		f, err := findFile(c.ctx, tx, c.param("cuid"), c.param("file"))
		if err != nil {
			return err
		}
		if f.locked {
			return refuse(http.StatusLocked, textLocked)
		}
		links, err := count(c.ctx, tx, `SELECT count(*) FROM link WHERE file = ?`, f.n)
		if err != nil {
			return err
		}
		if links > 0 {
			return refuse(http.StatusConflict, fmt.Sprintf("Document %s is attached to an operation", c.param("file")))
		}
		return execute(c.ctx, tx, `DELETE FROM file WHERE n = ?`, f.n)
	})
}

const megabyte = 1 << 20

// fileKinds are the kinds of files by media type, with the limit of their size.
var fileKinds = map[string]struct {
	name, ends string
	limit      int64
}{
	"application/pdf":    {"PDF", ".pdf", 10 * megabyte},
	"image/jpeg":         {"JPEG", ".jpg .jpeg", 5 * megabyte},
	"image/png":          {"PNG", ".png", 5 * megabyte},
	"application/msword": {"Word", ".doc", 5 * megabyte},
	"application/vnd.openxmlformats-officedocument.wordprocessingml.document": {"Word", ".docx", 5 * megabyte},
	"text/plain": {"text", ".txt", megabyte},
}

// mediaType is the part's own type, else by the extension.
func mediaType(header, name string) string {
	kind, _, err := mime.ParseMediaType(header)
	if err != nil || kind == "application/octet-stream" {
		for mime, kind := range fileKinds {
			if slices.Contains(strings.Fields(kind.ends), strings.ToLower(path.Ext(name))) {
				return mime
			}
		}
	}
	return kind
}

// largestUpload is above the limit of every kind.
const largestUpload = 12 * megabyte

// uploadFile: POST /v2/customer/file, a form with the parts customerId, attach, info and type.
func uploadFile(c *call) (any, error) {
	if err := c.r.ParseMultipartForm(largestUpload); err != nil {
		return nil, refuse(http.StatusUnsupportedMediaType, "The body is no multipart/form-data")
	}
	f, content, err := uploaded(c.r)
	if err != nil {
		return nil, err
	}
	f.guid, f.created = uuid.New(), c.at.UnixNano()
	err = c.write(c.ctx, func(tx *sql.Tx) error {
		owner, err := findCustomer(c.ctx, tx, c.r.FormValue("customerId"))
		if err != nil {
			return err
		}
		f.cuid = owner.Cuid
		return execute(c.ctx, tx, `INSERT INTO file(guid, customer, name, mime, size, kind, info, locked, created, content)
			SELECT ?, n, ?, ?, ?, ?, ?, 0, ?, ? FROM record WHERE kind = 'customer' AND id = ?`, f.guid[:],
			f.name, f.mime, f.size, f.kind, f.info, f.created, content, f.cuid)
	})
	return f.render(), err
}

// uploaded is the file of a form with its content.
func uploaded(r *http.Request) (f fileRow, content []byte, err error) {
	if r.FormValue("customerId") == "" {
		return f, nil, refuse(http.StatusBadRequest, "customerId is required")
	}
	part, header, err := r.FormFile("attach")
	if err != nil {
		return f, nil, refuse(http.StatusBadRequest, "attach is required")
	}
	if content, err = io.ReadAll(part); err != nil {
		return f, nil, err
	}
	f = fileRow{name: path.Base(strings.ReplaceAll(header.Filename, `\`, "/")), size: header.Size,
		kind: cmp.Or(r.FormValue("type"), "OPERATION_DOCUMENT"), info: r.FormValue("info")}
	f.mime = mediaType(header.Header.Get("Content-Type"), f.name)
	switch kind, known := fileKinds[f.mime]; {
	case !known:
		err = refuse(http.StatusUnsupportedMediaType,
			"Files of this kind are not accepted: PDF, JPEG, PNG, Word and text are")
	case f.size > kind.limit:
		err = refuse(http.StatusRequestEntityTooLarge, fmt.Sprintf("The file is too large: the limit for %s is %d MB",
			kind.name, kind.limit/megabyte))
	case f.size == 0:
		err = refuse(http.StatusBadRequest, "The file is empty")
	case !slices.Contains(api.DocumentTypes(), f.kind):
		err = refuse(http.StatusBadRequest, "Unknown document type: "+f.kind)
	}
	return f, content, err
}

// leastPicture is how large a sample picture is at least, in bytes: what is encoded has
// room in it.
const leastPicture = 24 << 10

// samplePicture is a picture of that media type, a sheet of paper in a colour of its id; nil for other types.
func samplePicture(mime string, id [16]byte) []byte {
	img := image.NewRGBA(image.Rect(0, 0, 360, 480))
	tint := color.RGBA{60 + id[0]/2, 60 + id[1]/2, 60 + id[2]/2, 255}
	draw.Draw(img, img.Rect, image.NewUniform(tint), image.Point{}, draw.Src)
	draw.Draw(img, img.Rect.Inset(30), image.White, image.Point{}, draw.Src)
	var b bytes.Buffer
	switch mime {
	case "image/png":
		_ = png.Encode(&b, img) // a buffer takes everything
	case "image/jpeg":
		_ = jpeg.Encode(&b, img, nil)
	}
	return b.Bytes()
}
