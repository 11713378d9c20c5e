package api

// CustomerQuery holds the service's own filters of the customer list.
type CustomerQuery struct {
	CUID string
	Name string // part of the name
	Page int    // from 0
	Size int    // 0: the configured page size
	Next string // After.Next of the previous page; "": page by number
}
