package api

// OperationQuery holds the service's own filters; the zero value lists all.
type OperationQuery struct {
	Account    string // account id or number
	ClientCUID string
	ClientName string // part of the name
	Page       int    // from 0
	Size       int    // 0: the configured page size
	Next       string // After.Next of the previous page; "": page by number
}
