// Package notify tells one receiver when the first cause of the verdict begins and ends and when a write waits for
// approval: each once over all instances of opdeck serve and all restarts.
//
// Step decides, purely, from the State that all instances share and an Observation, and queues the notices in it. A
// Notifier claims the oldest one, sends it and removes it. A process that ends between sending and removing leaves a
// claim that lapses; then the notice is sent again with the same ID, by which a receiver drops the second one.
package notify

import (
	"crypto/sha256"
	"encoding/hex"
	"time"

	"opdeck/api/redact"
	"opdeck/api/untrusted"
	"opdeck/internal/domain/mask"
	"opdeck/internal/domain/verdict"
)

// Kind is what a notice is about.
type Kind string

// The kinds.
const (
	Cause    Kind = "cause"    // a new first cause
	End      Kind = "end"      // the end of a cause
	Approval Kind = "approval" // a request that waits for a second person
	Test     Kind = "test"     // opdeck notify test
)

// Notice is what is sent. Its texts are safe to draw, masked as for the lowest role, and on one line.
type Notice struct {
	ID       string        `json:"id"` // the same in every attempt and from every instance
	Kind     Kind          `json:"kind"`
	Test     bool          `json:"test"`
	Context  string        `json:"context"`
	At       time.Time     `json:"at"` // the store's time
	Severity string        `json:"severity,omitempty"`
	Cause    verdict.Cause `json:"cause,omitempty"`
	Part     verdict.Part  `json:"part,omitempty"`
	Sentence string        `json:"sentence"`
	Since    time.Time     `json:"since,omitzero"`
	Next     string        `json:"next,omitempty"`
	Command  string        `json:"command,omitempty"` // of the next step
	Who      string        `json:"who,omitempty"`     // can carry it out
	Object   string        `json:"object,omitempty"`  // "operation"
	ObjectID string        `json:"object_id,omitempty"`
	Request  string        `json:"request,omitempty"` // for approval
	Ends     string        `json:"ends,omitempty"`    // the ID of the notice whose cause ended
}

// idOf is the ID of a notice: the same on every host.
func idOf(scope, key string) string {
	sum := sha256.Sum256([]byte(scope + "\n" + key))
	return "ntc_" + hex.EncodeToString(sum[:12])
}

// clean makes a text of a notice safe: one line, no token, no account number.
func clean(s string) string { return untrusted.Text(redact.Scrub(mask.Value(s))).Line(maxText) }

const maxText = 500 // characters of one text

// Example is a test notice.
func Example(context string, now time.Time) Notice {
	return Notice{ID: idOf("test", now.Format(time.RFC3339Nano)), Kind: Test, Test: true, Context: clean(context), At: now,
		Severity: verdict.Info.String(), Sentence: "This is a test of [notify]. Nothing is wrong.", Next: "Nothing."}
}
