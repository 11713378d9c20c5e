package api

import (
	"encoding/json"
	"fmt"

	"opdeck/api/untrusted"
)

// RemoveDocument asks to take a document off an operation. Only the link goes;
// the document stays and can be put back (spec, Remove a document, rule 1).
type RemoveDocument struct {
	OPID, GUID string
	// Seen is the operation as the person saw it when they decided. nil: whatever
	// is there now. A document or status that changed since is a refusal.
	Seen *Operation
	// Force lifts the console's own guard for end states, never a lock.
	Force  bool
	Reason string
}

// SeenDigest is what a question about a document binds to: the document and the
// operation's status.
func SeenDigest(o Operation, guid string) string {
	d, _ := o.Document(guid)
	b, err := json.Marshal(struct {
		OPID, Status untrusted.Text
		Document     Document
	}{o.OPID, o.Status, d})
	if err != nil { // they are texts, numbers and flags
		panic(fmt.Sprintf("api: document: %v", err))
	}
	return HashHex(b)
}
