package sandbox

import (
	"context"
	"database/sql"
	"fmt"
	"mime"
	"net/http"
	"path"
	"strconv"
	"strings"

	"github.com/google/uuid"
)

type fileRow struct {
	n, customer, size, created int64
	guid                       uuid.UUID
	cuid                       string
	name, mime, kind, info     string
	locked                     bool
}

const fileFrom = ` FROM file f JOIN customer c ON c.n = f.customer`

func queryFiles(ctx context.Context, q querier, tail string, args ...any) ([]fileRow, error) {
	return query(ctx, q, (*fileRow).columns,
		`SELECT f.n, f.guid, f.customer, c.cuid, f.name, f.mime, f.size, f.kind, f.info, f.locked, f.created`+
			fileFrom+tail, args...)
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
	rows, err := queryFiles(ctx, q, ` WHERE f.guid = ? AND ? IN ('', c.cuid)`, guid[:], cuid)
	return only(rows, err, "Document", id)
}

func (f *fileRow) render() any {
	return object{"id", f.guid.String(), "customerId", f.cuid, "name", f.name, "size", f.size, "mime", f.mime, "type",
		f.kind, "info", f.info,
		"status", "NEW", "isLock", f.locked, "createAt", stamp(f.created)}
}

// listFiles: GET /v2/customer/{customerId}/file.
func listFiles(c *call) (any, error) {
	if _, err := findCustomer(c.ctx, c.ro, c.params[0]); err != nil {
		return nil, err
	}
	w := &where{}
	w.equal("c.cuid", c.params[0])
	return listPage(c, fileFrom, w, "f.created DESC, f.n DESC", queryFiles, (*fileRow).render)
}

// downloadFile: GET /v2/customer/{customerId}/file/{id}.
func downloadFile(c *call) (any, error) {
	f, err := findFile(c.ctx, c.ro, c.params[0], c.params[1])
	if err != nil {
		return nil, err
	}
	var content []byte
	if err := c.ro.QueryRowContext(c.ctx, `SELECT content FROM file WHERE n = ?`, f.n).Scan(&content); err != nil {
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
		f, err := findFile(c.ctx, tx, c.params[0], c.params[1])
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
			return refuse(http.StatusConflict, fmt.Sprintf("Document %s is attached to an operation", c.params[1]))
		}
		return execute(c.ctx, tx, `DELETE FROM file WHERE n = ?`, f.n)
	})
}

// fileKind is a kind of file with its size limit.
type fileKind struct {
	name  string
	limit int64
}

const megabyte = 1 << 20

var fileKinds = map[string]fileKind{
	"application/pdf":    {"PDF", 10 * megabyte},
	"image/jpeg":         {"JPEG", 5 * megabyte},
	"image/png":          {"PNG", 5 * megabyte},
	"application/msword": {"Word", 5 * megabyte},
	"application/vnd.openxmlformats-officedocument.wordprocessingml.document": {"Word", 5 * megabyte},
	"text/plain": {"text", megabyte},
}

var kindByExtension = map[string]string{
	".pdf": "application/pdf", ".jpg": "image/jpeg", ".jpeg": "image/jpeg", ".png": "image/png",
	".doc":  "application/msword",
	".docx": "application/vnd.openxmlformats-officedocument.wordprocessingml.document", ".txt": "text/plain",
}

// mediaType is the part's own type, else by the extension.
func mediaType(header, name string) string {
	kind, _, err := mime.ParseMediaType(header)
	if err != nil || kind == "application/octet-stream" {
		kind = kindByExtension[strings.ToLower(path.Ext(name))]
	}
	return kind
}

func sizeText(n int64) string { return strconv.FormatInt(n/megabyte, 10) + " MB" }
