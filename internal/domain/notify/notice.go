// Package notify sends notices about what is wrong, what waits and what saved views show: each once over all
// instances of opdeck serve and all restarts.
//
// A Rule decides in Step, which is pure, from its stored State and an Observation. The Store runs Step in a
// transaction and keeps the notices that it returns. A Notifier claims one at a time, sends it and records the
// outcome. A process that ends between sending and recording leaves a claim that lapses; then the notice is sent
// again with the same ID, by which a receiver drops the second one.
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

// The kinds. On of a Rule has all but Test.
const (
	Cause    Kind = "cause"    // a new first cause
	End      Kind = "end"      // the end of a cause
	Approval Kind = "approval" // a request that waits for a second person
	Decision Kind = "decision" // what became of a request, for its requester
	Doubt    Kind = "doubt"    // a write in doubt
	View     Kind = "view"     // a saved view
	Test     Kind = "test"     // opdeck notify test
)

// Kinds returns those that a rule can name.
func Kinds() []Kind { return []Kind{Cause, End, Approval, Decision, Doubt, View} }

// Notice is what is sent. Its texts are safe to draw, masked as for the lowest role, and on one line.
type Notice struct {
	ID       string        `json:"id"` // the same in every attempt
	Name     string        `json:"notify"`
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
	For      string        `json:"for,omitempty"`     // the person whom a decision concerns
	View     string        `json:"view,omitempty"`
	Count    int64         `json:"count,omitempty"` // rows of the view
	Ends     string        `json:"ends,omitempty"`  // the ID of the notice whose cause ended

	Silenced bool `json:"-"` // it is counted and not sent
}

// idOf is the ID of a notice: the same on every host.
func idOf(scope, rule, key string) string {
	sum := sha256.Sum256([]byte(scope + "\n" + rule + "\n" + key))
	return "ntc_" + hex.EncodeToString(sum[:12])
}

// clean makes a text of a notice safe: one line, no token, no account number.
func clean(s string) string { return untrusted.Text(redact.Scrub(mask.Value(s))).Line(maxText) }

const maxText = 500 // characters of one text
