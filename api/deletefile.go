package api

// DeleteFile is a request to delete a customer's file.
type DeleteFile struct {
	CUID, ID string
	// Seen is the file that the person decided on; nil: whatever is there now. The write is refused if it has changed
	// since.
	Seen   *CustomerFile
	Reason string
}
