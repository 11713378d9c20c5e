package audit

import (
	"crypto/sha256"
	"encoding/binary"
	"encoding/hex"
	"encoding/json"
	"fmt"
	"strings"
	"time"

	"opdeck/api"
)

// Version is the version of the record format.
const Version = 1

// Phase is the phase of an act that a record is about.
type Phase string

// The phases.
const (
	PhaseIntent  Phase = "intent"  // durable before the write is sent
	PhaseOutcome Phase = "outcome" // the outcome; Ref names the intent
	PhaseNote    Phase = "note"    // anything else worth recording
)

// Result is the outcome of an act.
type Result string

// The results.
const (
	ResultOK      Result = "ok"
	ResultDenied  Result = "denied"
	ResultFailed  Result = "failed"   // nothing was sent
	ResultSeen    Result = "seen"     // a read showed the wanted state; the request had no answer
	ResultUnknown Result = "unknown"  // sent or perhaps sent, with an unproven outcome
	ResultNotSeen Result = "not_seen" // it did not show in time, but may have been done
)

// Context names the service and the account of a record.
type Context struct {
	Name    string `json:"name,omitempty"`
	BaseURL string `json:"base_url,omitempty"`
	Account string `json:"account,omitempty"`
}

// Record is one record of the trail. bounded made its texts: plain, or in double quotes with everything unusual
// escaped; Unquote undoes that.
type Record struct {
	V       int       `json:"v"`
	Chain   string    `json:"chain"` // the log it belongs to
	Seq     int64     `json:"seq"`   // from 1, without gaps
	UID     string    `json:"uid"`   // UUID version 7
	At      time.Time `json:"at"`    // UTC, µs
	Mono    int64     `json:"mono_us"`
	Boot    string    `json:"boot"` // id of the process: a UUID made at its start
	Event   string    `json:"event"`
	Code    string    `json:"code"`
	Phase   Phase     `json:"phase"`
	Marked  bool      `json:"marked,omitempty"` // intent: the end of its process can be detected
	Ref     string    `json:"ref,omitempty"`    // outcome: the UID of the intent
	Context Context   `json:"context"`
	Actor   Person    `json:"actor"`
	Via     string    `json:"via,omitempty"`
	From    string    `json:"from,omitempty"`
	Sid     string    `json:"sid,omitempty"`
	Req     string    `json:"req,omitempty"` // X-Request-Id
	Object  string    `json:"object,omitempty"`
	ID      string    `json:"id,omitempty"`
	Item    string    `json:"item,omitempty"`
	Name    string    `json:"name,omitempty"`
	Method  string    `json:"method,omitempty"`
	Path    string    `json:"path,omitempty"`
	Body    string    `json:"body_sha256,omitempty"`   // of the body with dots for its secrets
	Secret  string    `json:"secret_sha256,omitempty"` // of secrets and file contents
	Act     string    `json:"act,omitempty"`           // digest of the whole act
	Before  string    `json:"before,omitempty"`        // digest of what the person saw
	After   string    `json:"after,omitempty"`         // digest of the service's answer
	Summary string    `json:"summary,omitempty"`
	Reason  string    `json:"reason,omitempty"`
	Outcome Result    `json:"outcome,omitempty"`
	Status  int       `json:"status,omitempty"` // HTTP
	Rule    string    `json:"rule,omitempty"`
	Error   string    `json:"error,omitempty"` // the service's words
	Detail  string    `json:"detail,omitempty"`
	Took    int64     `json:"took_us,omitempty"`
	Count   int64     `json:"count,omitempty"` // if more than one: the record counts so many
	Since   string    `json:"since,omitempty"` // the first of them
	Build   string    `json:"build,omitempty"`
	Signer  string    `json:"signer,omitempty"` // fingerprint of the process's signing key
	Signed  int64     `json:"signed,omitempty"` // records of that key's newest checkpoint at the time
	// Restored says what a restored backup lost, in the record of EventRestored.
	Restored *Restore `json:"restored,omitempty"`
	Prev     string   `json:"prev"` // hash of the previous record; zeros for the first

	back time.Duration // how far the clock of this process had gone back when it was made
}

// zeroHash is the hash before the first record.
var zeroHash = strings.Repeat("0", 2*sha256.Size)

// Hash is the SHA-256 in hex over "audit/v1", a zero byte, the length of b as
// eight bytes (big endian) and b, the exact bytes of a stored record.
func Hash(b []byte) string {
	h := sha256.New()
	h.Write([]byte("audit/v1\x00"))
	var n [8]byte
	binary.BigEndian.PutUint64(n[:], uint64(len(b)))
	h.Write(n[:])
	h.Write(b)
	return hex.EncodeToString(h.Sum(nil))
}

// encode returns the stored bytes: one line of ASCII. encoding/json embeds it in other JSON unchanged.
func (r Record) encode() ([]byte, error) {
	b, err := json.Marshal(r)
	if err != nil {
		return nil, fmt.Errorf("audit: record cannot be encoded: %w", err)
	}
	return b, nil
}

// row makes the record the next one after h.
func (r *Record) row(h Head) (Row, error) {
	r.V, r.Chain, r.Seq, r.Prev = Version, h.Chain, h.N+1, h.Hash
	b, err := r.encode()
	if err != nil {
		return Row{}, err
	}
	return Row{Seq: r.Seq, UID: r.UID, At: r.At, Event: r.Event, Phase: r.Phase, Ref: r.Ref, Boot: r.Boot,
		Actor: r.Actor.Name, Object: r.Object, ID: r.ID, Item: r.Item, Bytes: b, Hash: Hash(b)}, nil
}

// act copies the parts of an act that a record may hold: digests instead of contents.
func (r *Record) act(a api.Act) {
	r.Object, r.ID, r.Item = bounded(a.Object, maxWord), bounded(a.ID, maxWord), bounded(a.Item, maxWord)
	r.Name, r.Summary, r.Reason = prose(a.Name), prose(a.Summary), prose(a.Reason)
	r.Method, r.Path = bounded(a.Method, maxWord), bounded(a.Path, maxText)
	if len(a.Body) > 0 {
		r.Body = api.HashHex(a.Body)
	}
	r.Secret, r.Before, r.Act = bounded(a.SecretDigest, maxWord), bounded(a.Seen, maxWord), a.Digest()
}

// outcome turns r, a copy of the intent, into its outcome.
func (r *Record) outcome(out api.Outcome) {
	r.Phase, r.Marked, r.Outcome = PhaseOutcome, false, results[out.Verdict]
	if r.Outcome == "" {
		r.Outcome = ResultUnknown
	}
	r.Status, r.Rule = out.Status, bounded(string(out.Rule), maxWord)
	if r.Item == "" {
		r.Item = bounded(out.Found, maxWord) // the created object is the item
	}
	if (out.Verdict == api.Done || out.Verdict == api.Seen) && len(out.Why.Rests) > 0 {
		r.Detail = prose(out.Why.Grounds(time.UTC))
	}
	r.Error, r.Req = prose(out.Detail), bounded(out.RequestID, maxWord)
	r.Took, r.After = out.Took.Microseconds(), bounded(out.After, maxWord)
	r.Method, r.Path, r.Body, r.Secret, r.Name, r.Summary, r.Reason, r.Before = "", "", "", "", "", "", "", ""
	r.Code = code(r.Event, r.Phase, r.Outcome)
}

var results = map[api.Verdict]Result{api.Done: ResultOK, api.Denied: ResultDenied, api.Failed: ResultFailed,
	api.Seen: ResultSeen, api.Unclear: ResultUnknown, api.NotSeen: ResultNotSeen}
