package api

// OperationQuery are the service's own filters; an empty one lists everything.
type OperationQuery struct {
	Account    string // account id or number
	ClientCUID string
	ClientName string // part of the name
	Page       int    // from 0
	Size       int    // 0: the configured page size
	Next       string // After.Next of the page before; "": by the page's number
}
