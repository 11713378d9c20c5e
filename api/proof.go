package api

import (
	"cmp"
	"slices"
	"strings"
	"time"
)

// Probe is what a later look needs to know of a write to find its proof. It
// holds no secret and no personal data: contents are digests. It is stored, so
// that any process can look.
type Probe struct {
	Kind ActKind `json:"kind"`
	OPID string  `json:"opid,omitempty"`
	CUID string  `json:"cuid,omitempty"`
	GUID string  `json:"guid,omitempty"` // document that is removed or attached
	Ref  string  `json:"ref,omitempty"`  // of the intent in the audit trail: whose probe it is

	// Before holds what was there when the write was sent: ids of files of that name and
	// size, ids of the operation's documents. Whole says that all were looked at; Was, that
	// the wanted state showed already, so that a read of it proves nothing.
	Before []string `json:"before,omitempty"`
	Whole  bool     `json:"whole,omitempty"`
	Was    bool     `json:"was,omitempty"`

	// Of an upload; the name also of an attachment.
	FileName string    `json:"file_name,omitempty"`
	Size     int64     `json:"size,omitempty"`
	Digest   string    `json:"digest,omitempty"` // SHA-256 of the content
	Since    time.Time `json:"since,omitzero"`   // when it was readied, by the service's clock; zero: not known
	IDField  string    `json:"-"`                // [service] upload_id_field

	// Leaves are salted digests of each value that an application was set to;
	// Hooks of each webhook setting.
	Salt   string   `json:"salt,omitempty"`
	Leaves []string `json:"leaves,omitempty"`
}

// Shown reports whether a body shows what the write of p wanted. answer: the body is the
// write's own answer, else that of a read.
type Shown func(p Probe, body Object, answer bool) bool

// WriteRule is what one kind of write needs beside its request: who may do it, what
// proves it, and what its answers mean. Package endpoint declares it with the call.
type WriteRule struct {
	Kind  ActKind
	Need  Permission
	Shown Shown
	// Found is the id that the service gave to what the write made, as a body shows it; nil:
	// it makes nothing that has one.
	Found func(p Probe, body Object, answer bool) string
	// Past is what people call the act once it is done, "removed"; Tells what its own answer
	// then shows, "no longer lists it".
	Past, Tells string
	// Flag is a member beside "success" that says yes or no; "" for none.
	Flag string
	// Opposite is the write that undoes this one on the same object and item; "" for none.
	Opposite ActKind
	// Again: sending it twice does what sending it once does.
	Again bool
	// OwnToken: the request carries a token beside the session's, which the service's
	// words may be about.
	OwnToken bool
	// Statuses are those that the service's documents give as a no to this act: a no
	// without words, with an object as a body or none. A page is somebody else's answer.
	Statuses []int
	// Refused words a no of this act alone; false leaves it to the general words.
	Refused func(e *Error, words string, body Object, a Answer) bool
	// Advice says what to do while the outcome is not known; "": FollowOutcome.
	Advice RemedyKind
}

// Remedy says what to do while the outcome of the write is not known.
func (r WriteRule) Remedy() Remedy { return Remedy{Kind: cmp.Or(r.Advice, FollowOutcome)} }

// Proves reports whether a body shows what the write of p wanted.
func (r WriteRule) Proves(p Probe, body Object, answer bool) bool {
	return body.Exists() && r.Shown != nil && r.Shown(p, body, answer)
}

// Claim names what no other write may do while act is in doubt: the same request, and where
// the act has an opposite both on the same object and item. "" where sending it twice does
// what sending it once does.
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

// touchesSession reports whether the act concerns only our own session: it needs no
// second person.
func (r WriteRule) touchesSession() bool { return r.Need == MaySession }

func (r WriteRule) documented(status int) bool { return slices.Contains(r.Statuses, status) }

// says reports whether the answer says yes (want) or no in its flags.
func (r WriteRule) says(body Object, want bool) bool {
	return body.Says("success", want) || r.Flag != "" && body.Says(r.Flag, want)
}
