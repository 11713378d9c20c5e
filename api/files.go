package api

import (
	"cmp"
	"context"
	"io"
	"slices"
	"strconv"
	"time"

	"opdeck/api/untrusted"
)

// is reports whether the file has that name and size.
func (f CustomerFile) is(name string, size int64) bool {
	r := object(f.Raw)
	return r.text("size") == strconv.FormatInt(size, 10) &&
		slices.ContainsFunc([]string{"fileName", "name", "originalName"}, func(k string) bool { return r.text(k) == name })
}

// made is when the file says that it was made; zero when it does not.
func (f CustomerFile) made() time.Time {
	r := object(f.Raw)
	for _, k := range []string{"createdAt", "createAt", "uploadedAt"} {
		if at := timeOf(Number(r.text(k))); !at.IsZero() {
			return at.Time
		}
	}
	return time.Time{}
}

// UnmarshalJSON keeps the record as it came beside the named fields. Its id may
// have any of the names that an upload's may have.
func (f *CustomerFile) UnmarshalJSON(b []byte) error {
	if err := keepRecord(b, f, &f.Raw); err != nil {
		return err
	}
	f.ID = cmp.Or(f.ID, untrusted.Text(object(b).text(fileThing.ids...)))
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
	a, err := c.get(ctx, request{op: op, parts: []string{"/v2/customer", ":" + cuid, "/file", ":" + guid}, raw: true})
	if err != nil {
		return 0, err
	}
	n, err := w.Write(a.body)
	if err != nil {
		return int64(n), &Error{Op: op, Kind: Internal, Public: "The file could not be written.", Err: err}
	}
	return int64(n), nil
}
