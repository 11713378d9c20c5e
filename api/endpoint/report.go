package endpoint

import (
	"cmp"
	"context"
	"encoding/base64"
	"io"
	"strconv"

	"opdeck/api"
	"opdeck/api/limit"
)

// ReportTo selects a report and says where to write it.
type ReportTo struct {
	api.ReportQuery
	To io.Writer
}

// GetReport writes the service's own report of operations, a workbook (.xlsx), without parsing it (one billing call;
// at most 16 MB). It writes nothing before it has the whole answer.
var GetReport = read(Route{Kind: "operation.report", Op: "read report", Path: "/v2/report/operations",
	Class: limit.Billing, Need: api.MayExport,
	Query:  asked("page", "pageSize"),
	Masked: Masking{Only: []api.Permission{api.MayExport, api.MayReveal}, Note: noteReport}, Lent: Lending{Reads: true}},
	reading[ReportTo, api.Report]{
		check: func(q ReportTo) error {
			if q.Page < 0 || q.Size < 0 {
				return &api.Error{Op: "read report", Kind: api.Usage, Public: "The page and size of a report must be 0 or more."}
			}
			return nil
		},
		query: func(s api.Service, q ReportTo) queryValues {
			return queryValues{"page", strconv.Itoa(q.Page), "pageSize", strconv.Itoa(cmp.Or(q.Size, s.PageSize))}
		},
		read: writeReport,
	})

func noteReport(in any) api.Event {
	var page, size string
	switch in := in.(type) {
	case ReportTo:
		page, size = strconv.Itoa(in.Page), strconv.Itoa(in.Size)
	case Raw:
		page, size = cmp.Or(in.Query.Get("page"), "0"), cmp.Or(in.Query.Get("pageSize"), "0")
	}
	return api.Event{Name: "export", Object: "report",
		Detail: "the service's report of operations, page " + page + ", " + size + " a page"}
}

func writeReport(_ context.Context, _ *Wire, r api.Request, a api.Answer, q ReportTo) (api.Report, error) {
	body, err := a.JSON(r)
	if err != nil {
		return api.Report{}, err
	}
	m := api.ObjectIn(body)
	data := m.Find("data")
	if data == "" {
		if err := api.SaidNo(r, a, body, "report"); err != nil {
			return api.Report{}, err
		}
		return api.Report{}, &api.Error{Op: r.Op, Kind: api.Internal, Status: a.Status, RequestID: a.RequestID,
			Public: "The service's answer contains no report. It contains " + body.Keys() + ".",
			Remedy: api.Remedy{Kind: api.CompareAnswers}}
	}
	file, err := base64.StdEncoding.DecodeString(data)
	if err != nil {
		return api.Report{}, api.NotUnderstood(r, a, err)
	}
	n, err := q.To.Write(file)
	if err != nil {
		return api.Report{}, &api.Error{Op: r.Op, Kind: api.Internal, Public: "The report could not be written.", Err: err}
	}
	return api.Report{Bytes: int64(n), Name: text(m.Find("name"))}, nil
}
