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

// The two stores of files.
const (
	storeCustomer = iota // documents of customers: /v2/customer/file
	storeGeneral         // /v2/storage
)

type fileRow struct {
	n, customer, size, created int64
	guid                       uuid.UUID
	cuid, puid                 string
	name, mime, kind, info     string
	locked                     bool
}

const fileSelect = `SELECT f.n, f.guid, f.customer, c.cuid, c.puid, f.name, f.mime, f.size, f.kind, f.info, f.locked, f.created
 FROM file f JOIN customer c ON c.n = f.customer `

func queryFiles(ctx context.Context, q querier, tail string, args ...any) ([]fileRow, error) {
	rows, err := q.QueryContext(ctx, fileSelect+tail, args...)
	if err != nil {
		return nil, err
	}
	defer rows.Close()
	var list []fileRow
	for rows.Next() {
		var f fileRow
		var id []byte
		if err := rows.Scan(&f.n, &id, &f.customer, &f.cuid, &f.puid, &f.name, &f.mime, &f.size, &f.kind, &f.info, &f.locked, &f.created); err != nil {
			return nil, err
		}
		copy(f.guid[:], id)
		list = append(list, f)
	}
	return list, rows.Err()
}

func findFile(ctx context.Context, q querier, id string, store int) (f fileRow, found bool, err error) {
	guid, valid := parseGUID(id)
	if !valid {
		return f, false, nil
	}
	list, err := queryFiles(ctx, q, `WHERE f.guid = ? AND f.store = ?`, guid[:], store)
	if err != nil || len(list) == 0 {
		return f, false, err
	}
	return list[0], true, nil
}

// render gives the file as the store's endpoints show it.
func (f *fileRow) render(store int) any {
	if store == storeGeneral {
		return struct {
			PartnerID  string `json:"partnerId"`
			CustomerID string `json:"customerId"`
			ID         string `json:"id"`
			Name       string `json:"name"`
			Size       int64  `json:"size"`
			Mime       string `json:"mime"`
			CreateAt   string `json:"createAt"`
		}{f.puid, f.cuid, f.guid.String(), f.name, f.size, f.mime, stamp(f.created)}
	}
	return struct {
		ID         string `json:"id"`
		CustomerID string `json:"customerId"`
		Name       string `json:"name"`
		Size       int64  `json:"size"`
		Mime       string `json:"mime"`
		Type       string `json:"type"`
		Info       string `json:"info"`
		Status     string `json:"status"`
		IsLock     bool   `json:"isLock"`
		CreateAt   string `json:"createAt"`
	}{f.guid.String(), f.cuid, f.name, f.size, f.mime, f.kind, f.info, "NEW", f.locked, stamp(f.created)}
}

// listFiles: GET /v2/customer/{customerId}/file.
func (s *Service) listFiles(c *call) (answer, error) {
	if _, err := s.customer(c, s.ro, c.params[0]); err != nil {
		return answer{}, err
	}
	return s.listStore(c, storeCustomer, c.params[0])
}

// listStored: GET /v2/storage/file.
func (s *Service) listStored(c *call) (answer, error) {
	return s.listStore(c, storeGeneral, c.r.URL.Query().Get("customerId"))
}

func (s *Service) listStore(c *call, store int, cuid string) (answer, error) {
	p, err := c.page()
	if err != nil {
		return answer{}, err
	}
	w := &where{}
	w.add("f.store = ?", store)
	w.equal("c.cuid", cuid)
	total, err := count(c.ctx, s.ro, `SELECT count(*) FROM file f JOIN customer c ON c.n = f.customer`+w.String(), w.args...)
	if err != nil {
		return answer{}, err
	}
	files, err := queryFiles(c.ctx, s.ro, w.String()+` ORDER BY f.created DESC, f.n DESC LIMIT ? OFFSET ?`, append(w.args, p.size, p.offset())...)
	if err != nil {
		return answer{}, err
	}
	items := make([]any, len(files))
	for i := range files {
		items[i] = files[i].render(store)
	}
	return p.list(total, items)
}

// downloadFile: GET /v2/customer/{customerId}/file/{id}.
func (s *Service) downloadFile(c *call) (answer, error) {
	return s.download(c, storeCustomer, c.params[0], c.params[1])
}

// downloadStored: GET /v2/storage/file/{id}.
func (s *Service) downloadStored(c *call) (answer, error) {
	return s.download(c, storeGeneral, c.r.URL.Query().Get("customerId"), c.params[0])
}

func (s *Service) download(c *call, store int, cuid, id string) (answer, error) {
	f, err := ownFile(c.ctx, s.ro, store, cuid, id)
	if err != nil {
		return answer{}, err
	}
	var content []byte
	if err := s.ro.QueryRowContext(c.ctx, `SELECT content FROM file WHERE n = ?`, f.n).Scan(&content); err != nil {
		return answer{}, err
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

func ownFile(ctx context.Context, q querier, store int, cuid, id string) (fileRow, error) {
	f, found, err := findFile(ctx, q, id, store)
	if err == nil && (!found || cuid != "" && f.cuid != cuid) {
		err = documentNotFound(id)
	}
	return f, err
}

// headerSafe drops what may not stand in a header.
func headerSafe(name string) string {
	return strings.Map(func(r rune) rune {
		if r < 0x20 || r == 0x7f {
			return -1
		}
		return r
	}, name)
}

// sampleContent is the body of a sample file: the start of its kind, then
// text up to its size.
func sampleContent(f fileRow) []byte {
	head := map[string]string{"application/pdf": "%PDF-1.4\n% sample document\n", "image/png": "\x89PNG\r\n\x1a\n", "image/jpeg": "\xff\xd8\xff\xe0"}[f.mime]
	line := "Sample document " + f.guid.String() + ". "
	var b strings.Builder
	b.WriteString(head)
	for int64(b.Len()) < f.size {
		b.WriteString(line)
	}
	return []byte(b.String()[:f.size])
}

// deleteFile: DELETE /v2/customer/{customerId}/file/{id}.
func (s *Service) deleteFile(c *call) (answer, error) {
	return s.deleteFrom(c, storeCustomer, c.params[0], c.params[1], "Document deleted successfully")
}

// deleteStored: DELETE /v2/storage/file/{id}.
func (s *Service) deleteStored(c *call) (answer, error) {
	return s.deleteFrom(c, storeGeneral, c.r.URL.Query().Get("customerId"), c.params[0], "File deleted successfully")
}

// deleteFrom removes content and metadata for good. A locked document, or one
// that an operation holds, is refused.
func (s *Service) deleteFrom(c *call, store int, cuid, id, done string) (answer, error) {
	err := s.write(c.ctx, func(tx *sql.Tx) error {
		f, err := ownFile(c.ctx, tx, store, cuid, id)
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
			return refuse(http.StatusConflict, fmt.Sprintf("Document %s is attached to an operation", id))
		}
		_, err = tx.ExecContext(c.ctx, `DELETE FROM file WHERE n = ?`, f.n)
		return err
	})
	if err != nil {
		return answer{}, err
	}
	return ok(actionJSON{true, done})
}

// fileKind is a kind of file with its greatest size.
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
	".pdf": "application/pdf", ".jpg": "image/jpeg", ".jpeg": "image/jpeg", ".png": "image/png", ".doc": "application/msword",
	".docx": "application/vnd.openxmlformats-officedocument.wordprocessingml.document", ".txt": "text/plain",
}

// mediaType takes the part's own type, and the name's ending when that says nothing.
func mediaType(header, name string) string {
	kind, _, err := mime.ParseMediaType(header)
	if err != nil || kind == "application/octet-stream" {
		kind = kindByExtension[strings.ToLower(path.Ext(name))]
	}
	return kind
}

func sizeText(n int64) string { return strconv.FormatInt(n/megabyte, 10) + " MB" }
