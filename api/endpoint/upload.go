package endpoint

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
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
	"opdeck/api/untrusted"
)

// UploadDocument uploads a file to a customer's store (one customer call, and one before it for each page of the
// customer's files).
var UploadDocument = write(Route{Kind: api.ActUploadDocument, Op: "upload document", Method: http.MethodPost,
	Path: "/v2/customer/file", Class: limit.Customer,
	Need: api.MayDocuments}, Write{Number: "103", Doing: "Uploading"},
	Proof{Past: "uploaded", Shows: "names the new file",
		Shown: func(p api.Probe, body api.Object, answer bool) bool { return answer && uploadID(p, body, answer) != "" },
		Found: uploadID, Look: lookForFile},
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
	names, field := api.FileRecord.IDs(), p.IDField
	if field != "" {
		if id := pathIn(body, strings.Split(field, ".")); api.CheckID("file id", id) == nil {
			return id
		}
		names = append([]string{field}, names...)
	}
	for _, o := range body.Inside() {
		for _, n := range names {
			if id := o.First(n); api.CheckID("file id", id) == nil {
				return id
			}
		}
	}
	return ""
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
