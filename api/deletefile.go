package api

// DeleteFile is a request to delete a customer's file.
type DeleteFile struct {
	CUID, ID string
	// Seen is the file as the person saw it when they decided; nil: whatever is there
	// now. One that changed since is a refusal.
	Seen *CustomerFile
	// Force lifts opdeck's own guard for a lock that the service did not tell, never one that it told.
	Force bool
}
