package api

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"io"
	"mime"
	"net/http"
	"slices"
	"strconv"
	"time"

	"opdeck/api/session"
	"opdeck/api/untrusted"
)

// is reports whether the file has that name and size.
func (f CustomerFile) is(name string, size int64) bool {
	r := object(f.Raw)
	return r.text("size") == strconv.FormatInt(size, 10) &&
		slices.ContainsFunc([]string{"fileName", "name", "originalName"}, func(k string) bool { return r.text(k) == name })
}

// Made is when the file says that it was made; zero when it does not.
func (f CustomerFile) Made() time.Time {
	r := object(f.Raw)
	for _, k := range []string{"createdAt", "createAt", "uploadedAt"} {
		if at := timeOf(Number(r.text(k))); !at.IsZero() {
			return at.Time
		}
	}
	return time.Time{}
}

// Locked reports whether the file is locked; told is false where the record does not say.
func (f CustomerFile) Locked() (locked, told bool) {
	word := object(f.Raw).text("isLock")
	return word == "true", word == "true" || word == "false"
}

// Title is the file's name under whichever member it came.
func (f CustomerFile) Title() untrusted.Text { return cmp.Or(f.FileName, f.Name) }

// UnmarshalJSON keeps the record as it came beside the named fields. Its id may
// have any of the names that an upload's may have.
func (f *CustomerFile) UnmarshalJSON(b []byte) error {
	return keepRecord(b, f, &f.Raw)
}

// CustomerFiles reads one page of a customer's documents
// (GET /v2/customer/{customerId}/file; one customer call).
func (c *Client) CustomerFiles(ctx context.Context, cuid string, page int) (Page[CustomerFile], error) {
	if err := CheckID("customer id", cuid); err != nil {
		return Page[CustomerFile]{}, err
	}
	return list[CustomerFile](ctx, c, fileThing, []string{"/v2/customer", ":" + cuid, "/file"}, c.paging(page, 0))
}

// DownloadDocument writes a customer's file to w as it comes, whatever its size
// (GET /v2/customer/{customerId}/file/{id}; one customer call). What was written is not
// the whole file when it ends in an error.
func (c *Client) DownloadDocument(ctx context.Context, cuid, guid string, w io.Writer) (int64, error) {
	const op = "download document"
	in, err := c.openDocument(ctx, op, cuid, guid)
	if err != nil {
		return 0, err
	}
	defer in.Body.Close()
	out := &keptError{w: w}
	n, err := io.Copy(out, in.Body)
	switch {
	case out.err != nil:
		return n, &Error{Op: op, Kind: Internal, Public: "The file could not be written.", Err: out.err}
	case err != nil:
		return n, brokeOff(ctx, op, in.RequestID, &cutError{n, in.Size, err})
	}
	return n, nil
}

// keptError keeps the error of writing, to tell it from that of reading.
type keptError struct {
	w   io.Writer
	err error
}

// Write implements io.Writer.
func (k *keptError) Write(b []byte) (int, error) {
	n, err := k.w.Write(b)
	k.err = err
	return n, err
}

// openDocument asks for a customer's file; its content is in the answer's Body. What
// failed on its way is asked for once more.
func (c *Client) openDocument(ctx context.Context, op, cuid, guid string) (*Relayed, error) {
	if err := CheckID("customer id", cuid); err != nil {
		return nil, err
	}
	if err := CheckID("document id", guid); err != nil {
		return nil, err
	}
	r := Relay{Op: op, Parts: []string{"/v2/customer", ":" + cuid, "/file", ":" + guid}, whole: true}
	in, err := c.Relay(ctx, r)
	if again(err) && c.opt.Sleep(ctx, retryPause) == nil {
		in, err = c.Relay(ctx, r)
	}
	if cut := (*cutError)(nil); errors.As(err, &cut) && ctx.Err() == nil {
		return nil, brokeOff(ctx, op, AsError(err).RequestID, cut)
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
	if in.Status >= 200 && in.Status < 300 { // a part, or nothing: not the file
		return nil, &Error{Op: op, Kind: Internal, RequestID: in.RequestID,
			Public: fmt.Sprintf("The service answered %d %s where the whole file was asked for; nothing was kept of it.", in.Status, http.StatusText(in.Status))}
	}
	said, _ := io.ReadAll(io.LimitReader(in.Body, relayHead))
	e := Classify(op, in.Status, said)
	e.RequestID, e.RetryAfter = in.RequestID, session.RetryAfter(in.Header)
	return nil, e
}

// notTheFile is what an answer says instead of the file, although its status is that of a
// file: that something failed, or a web page. The service gives a file that it sends a name
// (service-facts: Content-Disposition); what has one is passed on whatever it holds.
func notTheFile(op string, in *Relayed) *Error {
	if in.Header.Get("Content-Disposition") != "" {
		return nil
	}
	kind, _, _ := mime.ParseMediaType(in.Header.Get("Content-Type"))
	e := &Error{Op: op, Kind: Internal, Status: in.Status, RequestID: in.RequestID, Remedy: Remedy{Kind: Doctor}}
	switch {
	case object(in.all).fails(), object(in.all).says("success", false):
		e.Kind, e.Public = Refused, "The service sent no file."
		e.quote(Said(in.all))
	case kind == "text/html":
		e.Public = "The service answered with a web page (text/html) instead of the file; nothing was kept of it."
	default:
		return nil
	}
	return e
}

// brokeOff is a document whose bytes ended before its end.
func brokeOff(ctx context.Context, op, request string, cut *cutError) error {
	if ctx.Err() != nil {
		return stopped(ctx, op, cut)
	}
	return &Error{Op: op, Kind: Unavailable, RequestID: request, Err: cut, Public: "The document broke off before its end, " + cut.after() + ".", Remedy: Remedy{Kind: CheckNetwork}}
}
