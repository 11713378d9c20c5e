package api

import "opdeck/api/untrusted"

// ReportQuery selects the operations of a report. The service requires both numbers, and its page names no other
// filter.
type ReportQuery struct {
	Page int // page number, from 0
	Size int // operations a page; 0: the configured page size
}

// Report describes what was read of the service's report of operations.
type Report struct {
	Bytes int64          // written
	Name  untrusted.Text // the service's name for the file; often ""
}
