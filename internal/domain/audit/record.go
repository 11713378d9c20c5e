// Package audit keeps the audit trail: who did what to which object, from where, with which result, in one hash chain
// for all processes and hosts that share a store.
//
// A record is one line of JSON whose exact bytes are stored and hashed; it holds the hash of the previous record. The
// intent of a write is durable before the write is sent; its outcome is appended afterwards. Intents.OpenIntents
// lists those without an outcome, for a person or package followup to settle.
//
// The chain alone cannot show that its tail was cut or that all of it was rewritten. Signed checkpoints can: keep
// their files where people who can write to the store cannot write.
//
// The trail holds no secrets, no contents of documents and no full account numbers; every text from outside is
// bounded and, unless plain, quoted.
package audit

import (
	"crypto/sha256"
	"encoding/binary"
	"encoding/hex"
	"encoding/json"
	"fmt"
	"regexp"
	"strconv"
	"strings"
	"time"
	"unicode/utf8"

	"opdeck/api"
	"opdeck/api/endpoint"
	"opdeck/api/redact"
	"opdeck/api/untrusted"
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
	Actor   Author    `json:"actor"`
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
	return r.rowOf(b), nil
}

// rowOf is the row of r, whose bytes are b.
func (r Record) rowOf(b []byte) Row {
	return Row{Seq: r.Seq, UID: r.UID, At: r.At, Event: r.Event, Phase: r.Phase, Ref: r.Ref, Boot: r.Boot,
		Actor: r.Actor.Name, Object: r.Object, ID: r.ID, Item: r.Item, Bytes: b, Hash: Hash(b),
		Epoch: r.Event == EventRestored || r.Event == EventEpoch}
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
	r.Method, r.Path, r.Body, r.Secret, r.Summary, r.Reason, r.Before = "", "", "", "", "", "", ""
	r.Code = code(r.Event, r.Phase, r.Outcome)
}

var results = map[api.Verdict]Result{api.Done: ResultOK, api.Denied: ResultDenied, api.Failed: ResultFailed,
	api.Seen: ResultSeen, api.Unclear: ResultUnknown, api.NotSeen: ResultNotSeen}

// Names of this package's own events; acts have the names of their kinds. Frequent events whose name ends in .denied,
// .failed, .refused or .quarantined, and "denied" itself, are only counted.
const (
	EventStart    = "audit.start"    // a process started writing the trail
	EventStop     = "audit.stop"     // it stopped in order
	EventRead     = "audit.read"     // a person read the trail
	EventExport   = "audit.export"   // a person exported it
	EventClock    = "clock.step"     // the clock went back
	EventTamper   = "audit.tampered" // the trail contradicts a checkpoint
	EventKey      = "audit.key"      // a person made a key, though the trail had begun
	EventRestored = "audit.restored" // an epoch begins: a person said that a backup was restored
	EventEpoch    = "audit.epoch"    // an epoch begins: the trail of an older program was verified
	EventBackup   = "backup"         // a person took a snapshot of the store
	EventDenied   = "denied"
)

// Names of events of other packages, so that they have stable codes.
const (
	EventConsoleOpen  = "console.open" // a person opened a console, locally or over SSH
	EventConsoleClose = "console.close"
	EventLoginRefused = "ssh.refused"       // a refused connection
	EventReload       = "config.reload"     // config or keys were reloaded
	EventQuarantine   = "hook.quarantined"  // a webhook that failed its check
	EventReveal       = "reveal"            // masked values were revealed
	EventTakeAway     = "export"            // operations or documents were exported or copied
	EventDownload     = "document.download" // a document's content was saved or passed to a program
	EventLendBegan    = "lend.began"        // a script began to use the session
	EventLent         = "lend.calls"        // its calls since the last such record
	EventLendDenied   = "lend.denied"       // a request without permission

	EventNotifyTested = "notify.tested" // a person sent a test notice
)

// numbers are the stable numbers of events that are not acts. A number is never reused.
var numbers = map[string]string{
	"approval.requested": "501", "approval.approved": "502", "approval.denied": "503", "approval.spent": "504",
	"approval.void": "505", "approval.lapsed": "506", "approval.refused": "507",
	EventStart: "801", EventStop: "802", EventRead: "803", EventExport: "804", EventClock: "806",
	EventTamper: "807", EventKey: "809", EventRestored: "810", EventBackup: "811", EventEpoch: "812",
	EventDenied: "901", EventLoginRefused: "902", EventQuarantine: "903", EventLendDenied: "904",
	EventConsoleOpen: "601", EventConsoleClose: "602", EventReload: "603", EventLendBegan: "611", EventLent: "612",
	EventNotifyTested: "621", string(api.ActAddNote): "631",
	EventReveal: "701", EventTakeAway: "702", EventDownload: "705",
	// retired; older trails have them
	"audit.extract": "805", "audit.uncovered": "808",
	"capsule": "706", "notify.silenced": "622", "event.replay": "703", "event.forward": "704",
}

// Code is the stable number of an event; "" for none.
func Code(event string) string {
	if n := numbers[event]; n != "" {
		return n
	}
	return endpoint.Number(api.ActKind(event))
}

// code is the stable code of a record: OP, the number of the event (000 for none), and a letter: I intent, S success,
// D denied, F failed, V wanted state seen, U unknown, L not seen, N note.
func code(event string, phase Phase, res Result) string {
	n := Code(event)
	if n == "" {
		n = "000"
	}
	return "OP" + n + letter(phase, res)
}

func letter(phase Phase, res Result) string {
	switch {
	case phase == PhaseIntent:
		return "I"
	case phase == PhaseNote:
		return "N"
	case res == ResultOK:
		return "S"
	case res == ResultDenied:
		return "D"
	case res == ResultFailed:
		return "F"
	case res == ResultSeen:
		return "V"
	case res == ResultNotSeen:
		return "L"
	}
	return "U"
}

// Limits of a text in a record, in bytes before quoting.
const (
	maxWord = 200  // names, identifiers
	maxText = 1000 // sentences
	maxRead = 256 << 10
)

// secrets matches secrets that must never be stored.
var secrets = []struct {
	shape *regexp.Regexp
	with  string
}{
	{regexp.MustCompile(`eyJ[A-Za-z0-9_-]{5,}(\.[A-Za-z0-9_-]*){1,2}`), "***"},
	{regexp.MustCompile(`(?i)(/auth/refresh/)[^\s/?#"']+`), "${1}***"},
	{regexp.MustCompile(`(?i)(bearer|basic)(\s+)[^\s"',;]+`), "${1}${2}***"},
	{regexp.MustCompile(`(?i)((?:token|secret|password|passwd|api[_-]?key|authorization)["']?\s*[:=]\s*["']?)[^\s"'&,;]+`),
		"${1}***"},
}

// scrub removes known forms of secrets from s.
func scrub(s string) string {
	for _, x := range secrets {
		s = x.shape.ReplaceAllString(s, x.with)
	}
	return s
}

// hidden replaces what is masked: a record is ASCII.
const hidden = "***"

// bounded returns s without secrets, at most max bytes, on one line: printable ASCII without quote and backslash
// unchanged, anything else quoted.
func bounded(s string, max int) string { return keep(s, max, scrub) }

// prose is bounded for sentences of at most maxText bytes; it also masks
// what redact.Said does.
func prose(s string) string {
	return keep(s, maxText, func(s string) string { return redact.SaidWith(scrub(s), hidden) })
}

func keep(s string, max int, clean func(string) string) string {
	whole := len(s)
	if whole > maxRead { // a word cut in two is dropped: it may be half a secret
		s = s[:maxRead]
		s = s[:strings.LastIndexAny(s, " \n\t\"'")+1]
	}
	s = clean(s)
	if len(s) > max || whole > maxRead {
		end := min(max, len(s))
		for end > 0 && end < len(s) && !utf8.RuneStart(s[end]) {
			end--
		}
		s = s[:end] + fmt.Sprintf(" [cut, %d bytes]", whole)
	}
	if plain(s) {
		return s
	}
	return strconv.QuoteToASCII(s)
}

func plain(s string) bool {
	for i := range len(s) {
		if c := s[i]; c < ' ' || c > '~' || c == '"' || c == '\\' {
			return false
		}
	}
	return true
}

// Unquote returns a record's text before quoting, to be drawn like any text from outside.
func Unquote(s string) untrusted.Text {
	if strings.HasPrefix(s, `"`) {
		if u, err := strconv.Unquote(s); err == nil {
			return untrusted.Text(u)
		}
	}
	return untrusted.Text(s)
}

// Author is the person behind a record.
type Author struct {
	Name string `json:"name,omitempty"`
	Role string `json:"role,omitempty"`
	// SSH: fingerprint of the key; with a certificate, of the certified key
	Key    string `json:"key,omitempty"`
	Login  string `json:"login,omitempty"`  // SSH: the proven login name
	Cert   string `json:"cert,omitempty"`   // SSH: the certificate's key id
	Serial string `json:"serial,omitempty"` // SSH: its serial number and the fingerprint of its signer
	UID    string `json:"uid,omitempty"`    // local: the user id from the kernel
	// the kernel's boot id, or the host key of the SSH server
	Host string `json:"host,omitempty"`
	// Claim says what a local name is based on; "" for a proven name.
	Claim string `json:"claim,omitempty"`
}

func personOf(a api.Actor) Author {
	return Author{Name: bounded(a.Name, maxWord), Role: bounded(string(a.Role), maxWord), Key: bounded(a.Key, maxWord),
		Login: bounded(a.Login, maxWord), Cert: bounded(a.Cert, maxWord), Serial: bounded(a.Serial, maxWord),
		UID: bounded(a.UID, maxWord), Host: bounded(a.Host, maxWord), Claim: prose(a.Claim())}
}

// Who is the name and, for a local one, what it is based on, in the form of records.
func (p Author) Who() string {
	if p.Claim == "" {
		return p.Name
	}
	return p.Name + " (" + p.Claim + ")"
}
