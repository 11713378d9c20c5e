package api

import (
	"encoding/json"
	"fmt"
	"slices"

	"opdeck/api/untrusted"
)

// RemoveDocument is a request to unlink a document from an operation. The document itself remains and can be attached
// again (spec, Remove a document, rule 1).
type RemoveDocument struct {
	OPID, GUID string
	// Seen is the operation that the person decided on; nil: whatever is there now. The write is refused if the
	// document or the status has changed since.
	Seen *Operation
	// Force lifts opdeck's own guards: for end states, and for a lock that the service did not tell. One that it told
	// is never lifted.
	Force bool
}

// LockGuard refuses to remove a document or delete a file (what) whose lock forbids it (done: "removed"). force lifts
// the guard for a lock that is not known.
func LockGuard(l Lock, force bool, op, what, done string) error {
	e := &Error{Op: op, Kind: Refused, Rule: RuleLocked, Unsent: true, Remedy: Remedy{Kind: LiftLock},
		Public: "The " + what + " is locked and cannot be " + done + "."}
	switch {
	case l == LockRefused:
		e.Public = "The service refused to remove the " + what + " because it is locked, and does not say that this changed."
	case l == LockUnknown && !force:
		e.Rule, e.Remedy.Kind = RuleLockUnknown, Force
		e.Public = "The service does not say whether the " + what + " is locked, so nothing was sent."
	case !l.Is():
		return nil
	}
	return e
}

// RefusedLocks are the guids of documents, by operation, whose removal the service refused because they are locked, and
// of which no read has told the lock since.
type RefusedLocks map[string][]string

// In returns the operation's documents, with LockRefused where it does not tell the lock of a refused one. It does not
// change o.
func (r RefusedLocks) In(o Operation) []Document {
	out := o.Documents
	for i, d := range o.Documents {
		if d.Lock == LockUnknown && slices.Contains(r[string(o.OPID)], string(d.GUID)) {
			if out[i].Lock == LockUnknown {
				out = slices.Clone(out)
			}
			out[i].Lock = LockRefused
		}
	}
	return out
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
