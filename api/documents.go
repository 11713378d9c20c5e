package api

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"io"
	"mime"
	"mime/multipart"
	"net/http"
	"net/textproto"
	"path/filepath"
	"strconv"
	"strings"
	"time"

	"opdeck/api/untrusted"
)

// RemoveDocument asks to take a document off an operation. Only the link goes;
// the document stays and can be put back (spec, Remove a document, rule 1).
type RemoveDocument struct {
	OPID, GUID string
	// Seen is the operation as the person saw it when they decided. nil: whatever
	// is there now. A document or status that changed since is a refusal.
	Seen *Operation
	// Force lifts the console's own guard for end states, never a lock.
	Force  bool
	Reason string
}

// SeenDigest is what a question about a document binds to: the document and the
// operation's status.
func SeenDigest(o Operation, guid string) string {
	d, _ := o.Document(guid)
	return HashHex(jsonBody(struct {
		OPID, Status untrusted.Text
		Document     Document
	}{o.OPID, o.Status, d}))
}

// RemoveDocument takes a document off an operation
// (DELETE /v2/billing/operation/{id}/document/{documentId}). It reads the
// operation first, so that it decides on what is there now: two billing calls.
// The operation comes back without the document; it comes back empty when the
// removal is proven and the operation cannot be shown.
func (c *Client) RemoveDocument(ctx context.Context, r RemoveDocument) (Operation, error) {
	const op = "remove document"
	if err := checkPair(r.OPID, r.GUID); err != nil {
		return Operation{}, err
	}
	var now Operation
	if !dry(ctx) {
		var err error
		if now, err = c.readOperation(ctx, "read operation", r.OPID); err != nil {
			return Operation{}, err
		}
	}
	doc, _ := now.Document(r.GUID)
	req := request{op: op, method: http.MethodDelete, parts: []string{"/v2/billing/operation", ":" + r.OPID, "/document", ":" + r.GUID}}
	act := newAct(ActRemoveDocument, req, "operation", r.OPID, nil)
	act.Item, act.Name, act.Reason = r.GUID, doc.FileName.Line(80), r.Reason
	act.Seen = SeenDigest(now, r.GUID)
	act.Summary = strings.TrimSpace(fmt.Sprintf("Remove document %s from operation %s: %s", r.GUID, r.OPID, act.Name))
	a, err := c.send(ctx, write{act: act, req: req, probe: Probe{OPID: r.OPID, GUID: r.GUID},
		guard: func() error { return c.mayRemove(op, now, r) }})
	return c.afterWrite(ctx, op, r.OPID, a, err)
}

// mayRemove is the console's own guard (spec, Remove a document, rules 4 and 5).
func (c *Client) mayRemove(op string, now Operation, r RemoveDocument) error {
	doc, ok := now.Document(r.GUID)
	switch {
	case !ok:
		return &Error{Op: op, Kind: Refused, Rule: RuleNotAttached, Public: "The document is not attached to this operation.",
			Hint: "The operation was just read and lists no document with this id: somebody may have removed it, or the id is wrong. Nothing was sent."}
	case doc.IsLock:
		return &Error{Op: op, Kind: Refused, Rule: RuleLocked, Public: "The document is locked and cannot be removed.",
			Hint: "Locks are set by a compliance team; ask it to lift this one. Nothing was sent."}
	case r.Seen != nil && SeenDigest(*r.Seen, r.GUID) != SeenDigest(now, r.GUID):
		return &Error{Op: op, Kind: Refused, Rule: RuleChanged, Public: "The document or the operation's status changed since it was shown.",
			Hint: "Look at it again and decide anew. Nothing was sent."}
	case c.Phase(now).Ended() && !r.Force:
		return &Error{Op: op, Kind: Refused, Rule: RuleEndState,
			Public: fmt.Sprintf("The operation is %s; its documents are normally not changed any more.", c.Phase(now).Word()),
			Hint:   "--force lets the service itself decide. Nothing was sent."}
	}
	return nil
}

// AttachDocument links an uploaded document to an operation
// (POST /v2/billing/operation/{id}/document; one billing call). name is what it
// is called there; "" leaves it to the service.
func (c *Client) AttachDocument(ctx context.Context, opid, guid, name string) (Operation, error) {
	const op = "attach document"
	if err := checkPair(opid, guid); err != nil {
		return Operation{}, err
	}
	body := map[string]string{"documentId": guid}
	if name != "" {
		body["name"] = name
	}
	req := request{op: op, method: http.MethodPost, parts: []string{"/v2/billing/operation", ":" + opid, "/document"},
		body: jsonBody(body), content: "application/json"}
	act := newAct(ActAttachDocument, req, "operation", opid, body)
	act.Item, act.Name = guid, safeLine(name, 80)
	act.Summary = fmt.Sprintf("Attach document %s to operation %s", guid, opid)
	a, err := c.send(ctx, write{act: act, req: req, probe: Probe{OPID: opid, GUID: guid}})
	return c.afterWrite(ctx, op, opid, a, err)
}

// afterWrite returns the operation that a write, or the read that proved it,
// answered with. Where the answer holds none that can be shown it is read once
// more; if that fails too, the operation is empty: the write was done all the
// same.
func (c *Client) afterWrite(ctx context.Context, op, opid string, a answer, err error) (Operation, error) {
	if err != nil {
		return Operation{}, err
	}
	if o, err := c.operationOf(ctx, op, a); err == nil {
		return o, nil
	}
	o, err := c.readOperation(context.WithValue(context.WithoutCancel(ctx), onceKey{}, true), op, opid)
	if err != nil {
		c.opt.Log.Warn("done, but the operation cannot be shown", "op", op, "err", err)
		return Operation{}, nil
	}
	return o, nil
}

func checkPair(opid, guid string) error {
	if err := CheckID("operation id", opid); err != nil {
		return err
	}
	return CheckID("document id", guid)
}

// Upload is a file for a customer's store.
type Upload struct {
	CUID     string
	FileName string // base name
	Content  []byte
	Type     string // for example INVOICE; optional
	Info     string // free description; optional

	// Probe is what ProbeUpload told before, for who had to write it down; nil: the
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
	const op = "upload document"
	kind := MediaType(u.FileName, u.Content)
	switch limit := SizeLimit(kind); {
	case len(u.Content) == 0:
		return Refusal(op, RuleFile, "The file is empty.")
	case len(u.Content) > limit:
		e := Refusal(op, RuleFile, "The file is too large: it has %s bytes, and the service takes %s files of up to %s bytes (%d MB).",
			grouped(len(u.Content)), kindWord(kind), grouped(limit), limit>>20)
		e.Hint = "Nothing was sent."
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
		f.ID = untrusted.Text(uploadID(replyOf(a.body), u.Probe.IDField))
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

// grouped writes a count with a comma before every third digit from the end.
func grouped(n int) string {
	s := strconv.Itoa(n)
	for i := len(s) - 3; i > 0; i -= 3 {
		s = s[:i] + "," + s[i:]
	}
	return s
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

// is reports whether the file has that name and size.
func (f CustomerFile) is(name string, size int64) bool {
	r := replyOf(f.Raw)
	if wordOf(r["size"]) != strconv.FormatInt(size, 10) {
		return false
	}
	for _, k := range []string{"filename", "name", "originalname"} {
		if wordOf(r[k]) == name {
			return true
		}
	}
	return false
}

// made is when the file says that it was made; zero when it does not.
func (f CustomerFile) made() time.Time {
	r := replyOf(f.Raw)
	for _, k := range []string{"createdat", "createat", "uploadedat"} {
		var at Time
		if json.Unmarshal(r[k], &at) == nil && !at.IsZero() {
			return at.Time
		}
	}
	return time.Time{}
}

// UnmarshalJSON keeps the record as it came beside the named fields. Its id may
// have any of the names that an upload's may have.
func (f *CustomerFile) UnmarshalJSON(b []byte) error {
	type plain CustomerFile
	var p plain
	if err := readRecord(b, &p); err != nil {
		return err
	}
	*f = CustomerFile(p)
	f.Raw = append(json.RawMessage(nil), b...)
	if f.ID == "" {
		f.ID = untrusted.Text(textOf(object(b), fileThing.ids...))
	}
	return nil
}

// CustomerFiles reads one page of a customer's documents
// (GET /v2/customer/{customerId}/file; one customer call).
func (c *Client) CustomerFiles(ctx context.Context, cuid string, page int) (Page[CustomerFile], error) {
	if err := CheckID("customer id", cuid); err != nil {
		return Page[CustomerFile]{}, err
	}
	return list[CustomerFile](ctx, c, fileThing, []string{"/v2/customer", ":" + cuid, "/file"}, c.paging(page, 0))
}

// DownloadDocument writes a customer's file to w
// (GET /v2/customer/{customerId}/file/{id}; one customer call; up to 16 MB).
func (c *Client) DownloadDocument(ctx context.Context, cuid, guid string, w io.Writer) (int64, error) {
	const op = "download document"
	if err := CheckID("customer id", cuid); err != nil {
		return 0, err
	}
	if err := CheckID("document id", guid); err != nil {
		return 0, err
	}
	a, err := c.get(ctx, request{op: op, parts: []string{"/v2/customer", ":" + cuid, "/file", ":" + guid}, raw: true}, nil)
	if err != nil {
		return 0, err
	}
	n, err := w.Write(a.body)
	if err != nil {
		return int64(n), &Error{Op: op, Kind: Internal, Public: "The file could not be written.", Err: err}
	}
	return int64(n), nil
}
