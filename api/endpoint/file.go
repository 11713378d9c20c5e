package endpoint

import (
	"bytes"
	"context"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"mime"
	"mime/multipart"
	"net/http"
	"net/textproto"
	"slices"
	"strings"
	"time"

	"opdeck/api"
	"opdeck/api/evidence"
	"opdeck/api/limit"
	"opdeck/api/session"
	"opdeck/api/untrusted"
)

var fileCalls = []*Route{ListFiles.Route, DownloadDocument.Route, DeleteFile.Route}

// FileQuery selects a page, from 0, of a customer's documents; Next is After.Next of the previous one, "": by number.
type FileQuery struct {
	CUID string
	Page int
	Next string
}

// ListFiles reads one page of a customer's documents (one customer call).
var ListFiles = read(Route{Kind: "customer.files", Op: "list documents", Path: customerPath + "/file",
	Class: limit.Customer, Need: api.MayRead,
	Query: paged(), Lent: Lending{Reads: true}}, reading[FileQuery, api.Page[api.CustomerFile]]{
	ids:   func(q FileQuery) []string { return one(q.CUID) },
	query: func(s api.Service, q FileQuery) queryValues { return page(s, q.Page, 0) },
	next:  func(q FileQuery) string { return q.Next },
	read:  list[FileQuery, api.CustomerFile](api.FileRecord)})

// Download names a customer's file and where to write it.
type Download struct {
	CUID, GUID string
	To         io.Writer
}

// The content of a file.
const (
	downloadOp = "download document"
	filePath   = customerPath + "/file/{guid}"
)

// DownloadDocument streams a customer's file of any size to a writer (one customer call) and returns the number of
// bytes written. After an error, what was written is incomplete.
var DownloadDocument = Endpoint[Download, int64]{&Route{Kind: "document.download", Op: downloadOp,
	Method: http.MethodGet,
	Path:   filePath, Class: limit.Customer, Need: api.MayExport, Lent: Lending{Reads: true},
	Masked: Masking{Only: []api.Permission{api.MayExport}, Note: noteDownload}}, download}

func noteDownload(in any) api.Event {
	d, _ := in.(Download)
	if raw, is := in.(Raw); is {
		d.CUID, d.GUID = raw.IDs[0], raw.IDs[1]
	}
	return api.Event{Name: "document.download", Object: "document", ID: d.GUID, Detail: "of customer " + d.CUID}
}

func download(ctx context.Context, w *Wire, d Download) (int64, error) {
	const op = downloadOp
	in, err := w.openDocument(ctx, d)
	if err != nil {
		return 0, err
	}
	defer in.Body.Close()
	out := &keptError{w: d.To}
	n, err := io.Copy(out, in.Body)
	switch {
	case out.err != nil:
		return n, &api.Error{Op: op, Kind: api.Internal, Public: "The file could not be written.", Err: out.err}
	case err != nil:
		return n, api.BrokeOff(ctx, op, in.RequestID, &api.CutError{Read: n, Of: in.Size, Err: err})
	}
	return n, nil
}

// keptError keeps the writer's error, to distinguish it from one of reading.
type keptError struct {
	w   io.Writer
	err error
}

func (k *keptError) Write(b []byte) (int, error) {
	n, err := k.w.Write(b)
	k.err = err
	return n, err
}

// firstRead is how much of a refusal is read, in bytes.
const firstRead = 64 << 10

// openDocument requests a customer's file; its content is the answer's Body. It retries once if the request fails in
// transit.
func (w *Wire) openDocument(ctx context.Context, d Download) (*api.Relayed, error) {
	const op = downloadOp
	r, err := (&Route{Op: op, Method: http.MethodGet, Path: filePath, Class: limit.Customer}).request(d.CUID, d.GUID)
	if err != nil {
		return nil, err
	}
	r.Whole = true
	in, err := w.client.Stream(ctx, r)
	if w.client.Again(ctx, err) {
		in, err = w.client.Stream(ctx, r)
	}
	if cut := (*api.CutError)(nil); errors.As(err, &cut) && ctx.Err() == nil {
		return nil, api.BrokeOff(ctx, op, api.AsError(err).RequestID, cut)
	}
	if err != nil {
		return nil, err
	}
	if in.Status == http.StatusOK {
		no := notTheFile(op, in)
		if no == nil {
			return in, nil
		}
		in.Body.Close()
		return nil, no
	}
	defer in.Body.Close()
	if in.Status >= 200 && in.Status < 300 { // partial or empty: not the file
		return nil, &api.Error{Op: op, Kind: api.Internal, RequestID: in.RequestID,
			Public: fmt.Sprintf("The service answered %d %s instead of the whole file. Nothing was saved.",
				in.Status, http.StatusText(in.Status))}
	}
	said, _ := io.ReadAll(io.LimitReader(in.Body, firstRead))
	e := api.Classify(op, in.Status, said)
	e.RequestID, e.RetryAfter = in.RequestID, session.RetryAfter(in.Header)
	return nil, e
}

// notTheFile is the error in an answer with the status of a file: an error message or a web page. The service gives
// each file a name (service-facts: Content-Disposition); anything with a name is passed on.
func notTheFile(op string, in *api.Relayed) *api.Error {
	if in.Header.Get("Content-Disposition") != "" {
		return nil
	}
	kind, _, _ := mime.ParseMediaType(in.Header.Get("Content-Type"))
	e := &api.Error{Op: op, Kind: api.Internal, Status: in.Status, RequestID: in.RequestID,
		Remedy: api.Remedy{Kind: api.Doctor}}
	switch {
	case api.ObjectOf(in.All).Fails(), api.ObjectOf(in.All).Says("success", false):
		e.Kind, e.Public, e.Said = api.Refused, "The service sent no file.", text(api.Said(in.All))
		e.Quote(string(e.Said))
	case kind == "text/html":
		e.Public = "The service answered with a web page (text/html) instead of the file. Nothing was saved."
	default:
		return nil
	}
	return e
}

// DeleteFile deletes a file with its content, which cannot be undone. It reads the customer's files first, to decide
// on the current state: one customer call a page. The service decides what happens to operations that link to it.
var DeleteFile = write(Route{Kind: api.ActDeleteFile, Op: "delete file", Method: http.MethodDelete,
	Path: customerPath + "/file/{file}", Class: limit.Customer,
	Need: api.MayDocuments}, Write{Number: "104", Doing: "Deleting the file",
	WriteRule: api.WriteRule{Past: "deleted", Shows: saysSo, Shown: saysDone}, Look: lookForDeleted},
	writing[api.DeleteFile, api.Result]{
		ids:    func(r api.DeleteFile) []string { return []string{r.CUID, r.ID} },
		plan:   planDeletion,
		result: result[api.DeleteFile],
		lend: func(ids []string, body Content) (api.DeleteFile, error) {
			return api.DeleteFile{CUID: ids[0], ID: ids[1]}, body.nothing()
		},
		answer: func(r api.Result) (json.RawMessage, error) { return sentOr(r.Raw, r) },
	})

func planDeletion(ctx context.Context, w *Wire, r api.DeleteFile) (plan, error) {
	var now []api.CustomerFile
	whole := false
	if !api.IsDryRun(ctx) {
		var err error
		now, whole, _, err = w.filesOf(ctx, r.CUID, 1, func(f api.CustomerFile) bool {
			return strings.EqualFold(string(f.ID),
				r.ID)
		})
		if err != nil {
			return plan{}, err
		}
	}
	p := plan{Object: "customer", ID: r.CUID, Item: r.ID, Probe: api.Probe{CUID: r.CUID, GUID: r.ID},
		Guard: func() error { return mayDelete(now, whole, r) }}
	if r.Force && lockOf(now) == api.LockUnknown {
		p.Lifted = []api.Rule{api.RuleLockUnknown}
	}
	if len(now) > 0 {
		p.Name, p.Seen = now[0].Title().Line(80), api.HashHex(now[0].Raw)
		p.Subject.Document = now[0].Title().Line(200)
	}
	p.Summary = strings.TrimSpace(fmt.Sprintf("Permanently delete file %s of customer %s: %s", r.ID, r.CUID, p.Name))
	return p, nil
}

// lockOf is the lock of the file that was found, if any.
func lockOf(now []api.CustomerFile) api.Lock {
	if len(now) == 0 {
		return api.LockUnknown
	}
	return now[0].Lock()
}

// mayDelete is opdeck's own guard. If the file is not among those read, its lock is not known.
func mayDelete(now []api.CustomerFile, whole bool, r api.DeleteFile) error {
	no := func(rule api.Rule, do api.RemedyKind, public string) error {
		return &api.Error{Op: "delete file", Kind: api.Refused, Rule: rule, Unsent: true, Public: public,
			Remedy: api.Remedy{Kind: do}}
	}
	if len(now) == 0 && whole {
		return no(api.RuleDocumentUnknown, api.ReloadFiles, "This file is not among the customer's files.")
	}
	if err := api.LockGuard(lockOf(now), r.Force, "delete file", "file", "deleted"); err != nil || len(now) == 0 {
		return err
	}
	if r.Seen != nil && api.HashHex(r.Seen.Raw) != api.HashHex(now[0].Raw) {
		return no(api.RuleChanged, api.LookAgain, "The file changed since it was shown.")
	}
	return nil
}

// lookForDeleted requests the file; its content, or a message that there is no such document, is proof. Otherwise it
// reads all the customer's files twice: the file is deleted if both reads are equal and lack it. A single read can
// miss a file when another one vanishes between two pages.
func lookForDeleted(ctx context.Context, w *Wire, p api.Probe) (api.Observation, error) {
	s := api.Observation{Calls: 1}
	at := w.client.Now()
	in, err := w.openDocument(ctx, Download{CUID: p.CUID, GUID: p.GUID})
	s.Evidence = evidence.Evidence{Read: "the file read", Route: http.MethodGet + " " + DownloadDocument.Template(),
		Object: p.CUID, Seen: evidence.Moment{At: at}, Date: w.client.ServiceNow(), Covers: evidence.Whole,
		Shows: "does not show it"}
	if err == nil {
		named := in.Header.Get("Content-Disposition") != ""
		in.Body.Close()
		if named {
			s.Evidence.Shows = "is still there"
			return s, nil
		}
	}
	if e := api.AsError(err); e != nil && e.Rule == api.RuleDocumentUnknown {
		s.Shown, s.Evidence.Shows = true, "is unknown to the service"
		return s, nil
	}
	var before []string
	for reading := range 2 {
		ids, whole, calls, err := w.fileIDs(ctx, p.CUID, p.GUID)
		s.Calls += calls
		s.Evidence.Read, s.Evidence.Route = "the customer's files read", http.MethodGet+" "+ListFiles.Template()
		s.Evidence.Shows, s.Evidence.Covers = "do not show it", evidence.Part
		switch {
		case err != nil:
			return s, err
		case !whole || slices.ContainsFunc(ids, func(id string) bool { return id == "" || strings.EqualFold(id, p.GUID) }):
			return s, nil
		case reading == 1 && slices.Equal(before, ids):
			s.Shown, s.Evidence.Covers, s.Evidence.Shows = true, evidence.Twice, "do not list it, in two identical reads"
		}
		before = ids
	}
	return s, nil
}

// fileIDs returns the ids of all files of a customer in order, or up to the id until; whole is false if there may be
// more.
func (w *Wire) fileIDs(ctx context.Context, cuid, until string) (ids []string, whole bool, calls int, err error) {
	_, whole, calls, err = w.filesOf(ctx, cuid, 1, func(f api.CustomerFile) bool {
		ids = append(ids, string(f.ID))
		return strings.EqualFold(string(f.ID), until)
	})
	slices.Sort(ids)
	return ids, whole, calls, err
}

// digestOf reads a customer's file and returns the SHA-256 of its content in hex (one customer call). A file larger
// than the upload limit is an error.
func (w *Wire) digestOf(ctx context.Context, cuid, id string) (string, error) {
	in, err := w.openDocument(ctx, Download{CUID: cuid, GUID: id})
	if err != nil {
		return "", err
	}
	defer in.Body.Close()
	sum := sha256.New()
	switch n, err := io.Copy(sum, io.LimitReader(in.Body, api.MaxUpload+1)); {
	case err != nil:
		return "", api.BrokeOff(ctx, downloadOp, in.RequestID, &api.CutError{Read: n, Of: in.Size, Err: err})
	case n > api.MaxUpload:
		return "", &api.Error{Op: downloadOp, Kind: api.Internal, RequestID: in.RequestID,
			Public: "The file is too large to upload."}
	}
	return hex.EncodeToString(sum.Sum(nil)), nil
}

// maxFilePages bounds the pages, and so the calls, of a search through a customer's files.
const maxFilePages = 6

// filesOf reads a customer's files page by page, one customer call each, and returns those that keep accepts; it
// stops after most of them (0: never). whole is false if there may be more files.
func (w *Wire) filesOf(ctx context.Context, cuid string, most int,
	keep func(api.CustomerFile) bool) (files []api.CustomerFile, whole bool, calls int, err error) {
	seen, at := map[string]bool{}, api.PageAt{}
	for calls < maxFilePages {
		page, err := Do(ctx, w, ListFiles, FileQuery{cuid, at.Page, at.Next})
		if calls++; err != nil {
			return files, false, calls, err
		}
		fresh := false
		for _, f := range page.Items {
			if key := string(f.ID) + "\x00" + string(f.Raw); !seen[key] {
				fresh, seen[key] = true, true
				if keep(f) {
					files = append(files, f)
				}
			}
		}
		if most > 0 && len(files) >= most {
			return files, false, calls, nil
		}
		next, more := page.Then(at, fresh)
		if whole = page.Whole(len(seen)); whole || !more {
			return files, whole, calls, nil
		}
		at = next
	}
	return files, false, calls, nil
}

// UploadDocument uploads a file to a customer's store (one customer call, and one before it for each page of the
// customer's files).
var UploadDocument = write(Route{Kind: api.ActUploadDocument, Op: "upload document", Method: http.MethodPost,
	Path: "/v2/customer/file", Class: limit.Customer,
	Need: api.MayDocuments}, Write{Number: "103", Doing: "Uploading",
	WriteRule: api.WriteRule{Past: "uploaded", Shows: "names the new file",
		Shown: func(p api.Probe, body api.Object, answer bool) bool { return answer && uploadID(p, body, answer) != "" },
		Found: uploadID},
	Look: lookForFile},
	writing[api.Upload, api.CustomerFile]{
		ids:  func(api.Upload) []string { return nil },
		plan: planUpload,
		result: func(_ context.Context, _ *Wire, u api.Upload, _ api.Request, a api.Answer) (api.CustomerFile, error) {
			f := api.CustomerFile{ID: text(a.Made), CustomerID: text(u.CUID), FileName: text(u.FileName),
				Size: int64(len(u.Content))}
			if !a.Settled {
				f.Raw = a.Body
			}
			return f, nil
		},
		lend: func(_ []string, body Content) (api.Upload, error) { return body.upload() },
		answer: func(f api.CustomerFile) (json.RawMessage, error) {
			return sentOr(f.Raw, map[string]untrusted.Text{"id": f.ID})
		},
		most: maxUploadForm,
	})

func planUpload(ctx context.Context, w *Wire, u api.Upload) (plan, error) {
	if err := api.CheckID(params["cuid"], u.CUID); err != nil {
		return plan{}, err
	}
	body, content, err := multipartOf(u)
	if err != nil {
		return plan{}, &api.Error{Op: "upload document", Kind: api.Internal, Public: "The upload request cannot be built.",
			Err: err}
	}
	p := plan{Object: "customer", ID: u.CUID, Name: safe(u.FileName), Body: body, Content: content,
		Secret: api.HashHex(u.Content), Subject: api.Subject{Document: safe(u.FileName)},
		Shows: map[string]any{"customerId": u.CUID, "attach": u.FileName, "size": len(u.Content), "type": u.Type,
			"info": u.Info},
		Guard: func() error { return api.CheckUpload(u) }}
	p.Summary = fmt.Sprintf("Upload %s for customer %s", p.Name, u.CUID)
	if p.Probe = (api.Probe{CUID: u.CUID}); api.CheckUpload(u) == nil {
		p.Probe = w.beforeUpload(ctx, u)
	}
	return p, nil
}

func multipartOf(u api.Upload) ([]byte, string, error) {
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
	h.Set("Content-Disposition", mime.FormatMediaType("form-data",
		map[string]string{"name": "attach", "filename": u.FileName}))
	h.Set("Content-Type", api.MediaType(u.FileName, u.Content))
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

// uploadID finds the id in the answer to an upload, "" for none.
func uploadID(p api.Probe, body api.Object, _ bool) string {
	if p.IDField != "" {
		if id := pathIn(body, strings.Split(p.IDField, ".")); api.CheckID("file id", id) == nil {
			return id
		}
		if id := oneID(body, p.IDField); id != "" {
			return id
		}
	}
	return oneID(body, api.FileRecord.IDs()...)
}

// oneID is the only id under these names, in the object or one that it wraps; "" if there is none, or several.
func oneID(body api.Object, names ...string) (only string) {
	for _, o := range body.Inside() {
		for _, n := range names {
			switch id := o.First(n); {
			case id == only || api.CheckID("file id", id) != nil:
			case only != "":
				return ""
			default:
				only = id
			}
		}
	}
	return only
}

func pathIn(body api.Object, path []string) string {
	for len(path) > 1 {
		body, path = api.ObjectIn(body.Member(path[0])), path[1:]
	}
	return body.First(path[0])
}

// mostRead bounds the files that one look downloads.
const mostRead = 3

// lookForFile looks for the uploaded file among the customer's files: new since the upload, with its name, size and
// content (which it downloads), and not from another upload of ours.
func lookForFile(ctx context.Context, w *Wire, p api.Probe) (api.Observation, error) {
	s := api.Observation{Evidence: evidence.Evidence{Read: "the customer's files read",
		Route: http.MethodGet + " " + ListFiles.Template(), Object: p.CUID, Seen: evidence.Moment{At: w.client.Now()}}}
	files, whole, calls, err := w.filesOf(ctx, p.CUID, 0,
		func(f api.CustomerFile) bool { return f.Is(p.FileName, p.Size) })
	if s.Calls = calls; err != nil {
		return s, err
	}
	s.Evidence.Shows, s.Evidence.Date = "do not show it", w.client.ServiceNow()
	if whole {
		s.Evidence.Covers = evidence.Whole
	}
	var fresh []string
	for _, f := range files {
		id := string(f.ID)
		if api.CheckID("file id", id) != nil || slices.Contains(p.Before, id) {
			continue
		}
		s.Candidates = append(s.Candidates, id)
		if p.Whole || !p.Since.IsZero() && !f.Made().Before(p.Since) {
			fresh = append(fresh, id)
		}
	}
	same, err := w.withContent(ctx, p, fresh, &s.Calls)
	if err != nil {
		return s, err
	}
	if s.Shown = len(same) == 1 && whole; s.Shown {
		s.File, s.Evidence.Shows = same[0], "list a new one with its content"
	}
	return s, nil
}

// withContent returns the ids of files with the content of p's upload that no other upload of ours made. It downloads
// each and counts the calls; if there are too many, or one cannot be read, it returns none.
func (w *Wire) withContent(ctx context.Context, p api.Probe, ids []string, calls *int) (same []string, err error) {
	if len(ids) > mostRead || p.Digest == "" {
		return nil, nil
	}
	for _, id := range ids {
		other, err := w.client.Claimed(ctx, p, id)
		if err != nil {
			return nil, err
		}
		if other {
			continue
		}
		*calls++
		digest, err := w.digestOf(ctx, p.CUID, id)
		if err != nil {
			return nil, nil // ambiguous; the look itself did not fail
		}
		if digest == p.Digest {
			same = append(same, id)
		}
	}
	return same, nil
}

// beforeUpload records the existing files, to recognise the new one (one customer call a page). If they cannot be
// read, the file's own time decides, by the service's clock.
func (w *Wire) beforeUpload(ctx context.Context, u api.Upload) api.Probe {
	p := api.Probe{CUID: u.CUID, FileName: u.FileName, Size: int64(len(u.Content)), Digest: api.HashHex(u.Content),
		IDField: w.client.Service().UploadIDField}
	if api.IsDryRun(ctx) {
		return p
	}
	files, whole, _, err := w.filesOf(ctx, p.CUID, 0, func(f api.CustomerFile) bool { return f.Is(p.FileName, p.Size) })
	p.Since = w.client.ServiceNow().Truncate(time.Second)
	if err == nil {
		for _, f := range files {
			p.Before = append(p.Before, string(f.ID))
		}
		p.Whole = whole
	}
	return p
}
