package api

import (
	"bytes"
	"context"
	"fmt"
	"mime"
	"mime/multipart"
	"net/http"
	"net/textproto"
	"path/filepath"
	"slices"
	"strings"

	"github.com/dustin/go-humanize"

	"opdeck/api/untrusted"
)

// The write of this file.
const ActUploadDocument ActKind = "document.upload"

var _ = declare(ActUploadDocument, rule{need: MayDocuments, number: "103", doing: "Uploading",
	look: lookForFile, shown: func(p Probe, body fields, answer bool) bool {
		return answer && uploadID(body, p.IDField) != ""
	}})

// Upload is a file for a customer's store.
type Upload struct {
	CUID     string
	FileName string // base name
	Content  []byte
	Type     string // for example INVOICE; optional
	Info     string // free description; optional

	// Probe is what ProbeUpload returned, for a caller that stored it before; nil: the
	// upload asks for itself.
	Probe *Probe
}

// Size limits by kind in bytes (service's upload page; its table is cut, so an
// unlisted kind is left to the service, up to the largest known limit).
const (
	maxPDF, maxImage, maxWord, maxText = 10 << 20, 5 << 20, 5 << 20, 1 << 20
	MaxUpload                          = maxPDF
)

// MediaType guesses the media type from the file's name and first bytes.
func MediaType(name string, content []byte) string {
	switch strings.ToLower(filepath.Ext(name)) {
	case ".doc":
		return "application/msword"
	case ".docx":
		return "application/vnd.openxmlformats-officedocument.wordprocessingml.document"
	case ".txt", ".csv", ".md":
		return "text/plain; charset=utf-8"
	}
	return http.DetectContentType(content)
}

// SizeLimit returns the largest size of that media type in bytes.
func SizeLimit(mediaType string) int {
	kind, _, _ := mime.ParseMediaType(mediaType)
	switch {
	case kind == "application/pdf":
		return maxPDF
	case kind == "image/jpeg" || kind == "image/png":
		return maxImage
	case strings.Contains(kind, "word"):
		return maxWord
	case strings.HasPrefix(kind, "text/"):
		return maxText
	}
	return MaxUpload
}

// CheckUpload is the guard for files: not empty, and within the limit of its kind.
func CheckUpload(u Upload) error {
	return CheckFile(u.FileName, int64(len(u.Content)), u.Content)
}

// CheckFile is CheckUpload for a file of which only the size in bytes and how it begins
// are known.
func CheckFile(name string, size int64, begins []byte) error {
	const op = "upload document"
	kind := MediaType(name, begins)
	switch limit := int64(SizeLimit(kind)); {
	case size == 0:
		e := Refusal(op, RuleFile, "The file is empty.")
		e.Field = FieldFile
		return e
	case size > limit:
		e := Refusal(op, RuleFile, "The file is too large: it has %s bytes, and the service takes %s files of up to %s bytes (%d MB).",
			humanize.Comma(size), kindWord(kind), humanize.Comma(limit), limit>>20)
		e.Field, e.Unsent = FieldFile, true
		return e
	}
	return nil
}

// UploadDocument puts a file into a customer's store
// (POST /v2/customer/file, multipart; one customer call, and before it one a page
// of the customer's files, see ProbeUpload).
func (c *Client) UploadDocument(ctx context.Context, u Upload) (CustomerFile, error) {
	const op = "upload document"
	if err := CheckID("customer id", u.CUID); err != nil {
		return CustomerFile{}, err
	}
	body, content, err := multipartOf(u)
	if err != nil {
		return CustomerFile{}, &Error{Op: op, Kind: Internal, Public: "The upload cannot be built.", Err: err}
	}
	req := request{op: op, method: http.MethodPost, parts: []string{"/v2/customer/file"}, body: body, content: content}
	act := newAct(ActUploadDocument, req, "customer", u.CUID, map[string]any{"customerId": u.CUID, "attach": u.FileName,
		"size": len(u.Content), "type": u.Type, "info": u.Info})
	act.Name, act.SecretDigest = safeLine(u.FileName, 80), HashHex(u.Content)
	act.Summary = fmt.Sprintf("Upload %s for customer %s", act.Name, u.CUID)
	if err := CheckUpload(u); err == nil && u.Probe == nil {
		p := c.ProbeUpload(ctx, u)
		u.Probe = &p
	} else if u.Probe == nil {
		u.Probe = &Probe{}
	}
	u.Probe.IDField = c.opt.Service.UploadIDField
	a, err := c.send(ctx, write{act: act, req: req, probe: *u.Probe, guard: func() error { return CheckUpload(u) }})
	if err != nil {
		return CustomerFile{}, err
	}
	f := CustomerFile{ID: untrusted.Text(a.file), CustomerID: untrusted.Text(u.CUID), FileName: untrusted.Text(u.FileName), Size: int64(len(u.Content))}
	if !a.settled {
		f.ID = untrusted.Text(uploadID(object(a.body), u.Probe.IDField))
		f.Raw = a.body
	}
	return f, nil
}

// kindWord is a media type without its parameters.
func kindWord(mediaType string) string {
	if kind, _, err := mime.ParseMediaType(mediaType); err == nil {
		return kind
	}
	return mediaType
}

func multipartOf(u Upload) ([]byte, string, error) {
	var b bytes.Buffer
	w := multipart.NewWriter(&b)
	for _, f := range [][2]string{{"customerId", u.CUID}, {"type", u.Type}, {"info", u.Info}} {
		if f[1] == "" {
			continue
		}
		if err := w.WriteField(f[0], f[1]); err != nil {
			return nil, "", err
		}
	}
	h := textproto.MIMEHeader{}
	h.Set("Content-Disposition", mime.FormatMediaType("form-data", map[string]string{"name": "attach", "filename": u.FileName}))
	h.Set("Content-Type", MediaType(u.FileName, u.Content))
	part, err := w.CreatePart(h)
	if err != nil {
		return nil, "", err
	}
	if _, err := part.Write(u.Content); err != nil {
		return nil, "", err
	}
	if err := w.Close(); err != nil {
		return nil, "", err
	}
	return b.Bytes(), w.FormDataContentType(), nil
}

// uploadID finds the id that an upload was answered with, "" for none.
func uploadID(body fields, field string) string {
	names := fileThing.ids
	if field != "" {
		if id := pathIn(body, strings.Split(field, ".")); CheckID("file id", id) == nil {
			return id
		}
		names = append([]string{field}, names...)
	}
	for _, o := range body.inside() {
		for _, n := range names {
			if id := o.text(n); CheckID("file id", id) == nil {
				return id
			}
		}
	}
	return ""
}

func pathIn(body fields, path []string) string {
	for len(path) > 1 {
		body, path = objectIn(body.Member(path[0])), path[1:]
	}
	return body.text(path[0])
}

// lookForFile looks for the uploaded file among the customer's: by name and size,
// and new since the upload.
func lookForFile(ctx context.Context, c *Client, p Probe) (Observation, error) {
	var s Observation
	files, whole, calls, err := c.filesOf(ctx, p.CUID, 0, p.names)
	if s.calls = calls; err != nil {
		return s, err
	}
	var fresh []string
	for _, f := range files {
		id := string(f.ID)
		if CheckID("file id", id) != nil || slices.Contains(p.Before, id) {
			continue
		}
		s.Candidates = append(s.Candidates, id)
		if p.Whole || !f.Made().Before(p.Since) {
			fresh = append(fresh, id)
		}
	}
	if s.Shown = len(fresh) == 1 && whole; s.Shown {
		s.File = fresh[0]
	}
	return s, nil
}

// names reports whether a file has the probe's name and size.
func (p Probe) names(f CustomerFile) bool { return f.is(p.FileName, p.Size) }

// ProbeUpload notes what is there before a file is uploaded, so that it can be
// told apart afterwards (one customer call a page of files). A list that cannot
// be read does not matter: then the file's own time must tell.
func (c *Client) ProbeUpload(ctx context.Context, u Upload) Probe {
	p := Probe{Kind: ActUploadDocument, CUID: u.CUID, FileName: u.FileName, Size: int64(len(u.Content)), Since: c.opt.Now().UTC(),
		IDField: c.opt.Service.UploadIDField}
	if dry(ctx) {
		return p
	}
	files, whole, _, err := c.filesOf(ctx, p.CUID, 0, p.names)
	if err == nil {
		for _, f := range files {
			p.Before = append(p.Before, string(f.ID))
		}
		p.Whole = whole
	}
	return p
}
