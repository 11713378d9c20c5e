package api

import (
	"encoding/json"
	"fmt"

	"opdeck/api/untrusted"
)

// RemoveDocument is a request to unlink a document from an operation. The document itself remains and can be attached
// again (spec, Remove a document, rule 1).
type RemoveDocument struct {
	OPID, GUID string
	// Seen is the operation that the person decided on; nil: whatever is there now. The write is refused if the
	// document or the status has changed since.
	Seen *Operation
	// Force lifts the console's own guard for end states, never a lock.
	Force bool
}

// SeenDigest identifies what a question about a document is bound to: the document and the operation's status.
func SeenDigest(o Operation, guid string) string {
	d, _ := o.Document(guid)
	b, err := json.Marshal(struct {
		OPID, Status untrusted.Text
		Document     Document
	}{o.OPID, o.Status, d})
	if err != nil { // they are texts, numbers and flags: this cannot fail
		panic(fmt.Sprintf("api: document: %v", err))
	}
	return HashHex(b)
}
