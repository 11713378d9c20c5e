package api

import (
	"context"
	"encoding/base64"
	"io"
	"net/url"
	"strconv"

	"opdeck/api/untrusted"
)

// ReportQuery is the part of the operations that a report is about. The service asks for
// both numbers and its page names no other filter.
type ReportQuery struct {
	Page int // from 0
	Size int // operations a page; 0: the configured page size
}

// Report is what was read of the service's report of operations.
type Report struct {
	Bytes int64          // written
	Name  untrusted.Text // the service's name for the file; often ""
}

// OperationReport writes the service's own report of operations, a workbook (.xlsx), to w
// as it came: nobody here looks into it (GET /v2/report/operations; one billing call; an
// answer of up to 16 MB). Nothing is written before the whole answer is there.
func (c *Client) OperationReport(ctx context.Context, q ReportQuery, w io.Writer) (Report, error) {
	const op = "read report"
	if q.Size == 0 {
		q.Size = c.opt.Service.PageSize
	}
	if q.Page < 0 || q.Size < 0 {
		return Report{}, &Error{Op: op, Kind: Usage, Public: "Page and size of a report are numbers from 0."}
	}
	r := request{op: op, parts: []string{"/v2/report/operations"},
		query: url.Values{"page": {strconv.Itoa(q.Page)}, "pageSize": {strconv.Itoa(q.Size)}}}
	a, err := c.get(ctx, r)
	if err != nil {
		return Report{}, err
	}
	body, err := a.json(r)
	if err != nil {
		return Report{}, err
	}
	m := objectIn(body)
	data := m.find("data")
	if data == "" {
		if err := saidNo(r, a, body, "report"); err != nil {
			return Report{}, err
		}
		return Report{}, &Error{Op: op, Kind: Internal, Status: a.status, RequestID: a.id,
			Public: "The service's answer holds no report. It holds " + keysOf(body) + ".", Remedy: Remedy{Kind: CompareAnswers}}
	}
	file, err := base64.StdEncoding.DecodeString(data)
	if err != nil {
		return Report{}, notUnderstood(r, a, err)
	}
	n, err := w.Write(file)
	if err != nil {
		return Report{}, &Error{Op: op, Kind: Internal, Public: "The report could not be written.", Err: err}
	}
	return Report{Bytes: int64(n), Name: untrusted.Text(m.find("name"))}, nil
}
