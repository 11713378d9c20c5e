package api

import "opdeck/api/untrusted"

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
