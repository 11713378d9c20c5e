package api

import (
	"cmp"
	"slices"
	"strings"
	"time"
)

// Probe is what a later read needs to find the proof of a write. It is stored, so that any process can look; it holds
// no secret and no personal data: contents are digests.
type Probe struct {
	Kind ActKind `json:"kind"`
	OPID string  `json:"opid,omitempty"`
	CUID string  `json:"cuid,omitempty"`
	GUID string  `json:"guid,omitempty"` // document that is removed or attached
	Ref  string  `json:"ref,omitempty"`  // of the intent in the audit trail

	// Before lists what was there when the write was sent: ids of files with that name and size, ids of the
	// operation's documents. Whole: it is complete. Was: the wanted state already showed, so that a read of it proves
	// nothing.
	Before []string `json:"before,omitempty"`
	Whole  bool     `json:"whole,omitempty"`
	Was    bool     `json:"was,omitempty"`

	// For uploads; the name also for attachments.
	FileName string    `json:"file_name,omitempty"`
	Size     int64     `json:"size,omitempty"`
	Digest   string    `json:"digest,omitempty"` // SHA-256 of the content
	Since    time.Time `json:"since,omitzero"`   // when it was prepared, by the service's clock; zero: not known
	IDField  string    `json:"-"`                // [service] upload_id_field

	// Leaves are salted digests of the values that an application was set to; Hooks of the webhook settings.
	Salt   string   `json:"salt,omitempty"`
	Leaves []string `json:"leaves,omitempty"`
}

// Shown reports whether a body shows the state that the write of p wanted. answer: the body is the write's own
// answer, else that of a read.
type Shown func(p Probe, body Object, answer bool) bool

// WriteRule is what one kind of write needs beside its request: its permission, its proof, and the meaning of its
// answers. Package endpoint declares it with the call.
type WriteRule struct {
	Kind  ActKind
	Need  Permission
	Shown Shown
	// Found returns the id of the object that the write created, as a body shows it; nil: the write creates nothing
	// that has an id.
	Found func(p Probe, body Object, answer bool) string
	// Past is the participle for people, "removed"; Shows is what the write's answer then shows, "no longer lists
	// it".
	Past, Shows string
	// Flag is a member beside "success" that reports success; "" for none.
	Flag string
	// Opposite is the write that undoes this one on the same object and item; "" for none. A write that replaces all
	// of an object is its own opposite, whatever it contains.
	Opposite ActKind
	// Again: the write may be repeated at any time.
	Again bool
	// OwnToken: the request carries a second token, which the service's words may be about.
	OwnToken bool
	// Statuses are the documented refusals of this act: without words, with an object or no body. An HTML page comes
	// from a proxy.
	Statuses []int
	// Refused words a refusal that only this act has; false leaves it to the general words.
	Refused func(e *Error, words string, body Object, a Answer) bool
	// Advice says what to do while the outcome is unknown; "": FollowOutcome.
	Advice RemedyKind
}

// Remedy says what to do while the outcome of the write is unknown.
func (r WriteRule) Remedy() Remedy { return Remedy{Kind: cmp.Or(r.Advice, FollowOutcome)} }

// Proves reports whether a body shows the state that the write of p wanted.
func (r WriteRule) Proves(p Probe, body Object, answer bool) bool {
	return body.Exists() && r.Shown != nil && r.Shown(p, body, answer)
}

// Claim identifies what no other write may do while act may still arrive: the same request or, if the act has an
// opposite, both on the same object and item; "" for writes whose repetition is harmless.
func (r WriteRule) Claim(act Act) string {
	if r.Again {
		return ""
	}
	on := []string{act.Object, strings.ToLower(act.ID)}
	if r.Opposite != "" {
		kinds := []string{string(act.Kind), string(r.Opposite)}
		slices.Sort(kinds)
		on = append(append(on, kinds...), strings.ToLower(act.Item))
	} else {
		on = append(on, string(act.Kind), act.Method, act.Path, string(act.Body), act.SecretDigest)
	}
	return HashHex([]byte(strings.Join(on, "\x00")))
}

// isNote reports whether the act only writes down a note in opdeck's own store: nobody approves it, and a read-only
// context, which protects the service's records, allows it.
func (r WriteRule) isNote() bool { return r.Kind == ActAddNote }

// touchesSession reports whether the act only concerns our own session and so needs no approval.
func (r WriteRule) touchesSession() bool { return r.Need == MaySession }

func (r WriteRule) documented(status int) bool { return slices.Contains(r.Statuses, status) }

// says reports whether one of the answer's flags is want.
func (r WriteRule) says(body Object, want bool) bool {
	return body.Says("success", want) || r.Flag != "" && body.Says(r.Flag, want)
}
