package api

import (
	"cmp"
	"context"
	"slices"
	"strconv"
	"strings"
	"time"

	"opdeck/api/jsontree"
)

// Probe is what a later look needs to know of a write to find its proof. It
// holds no secret and no personal data: contents are digests. It is stored, so
// that any process can look.
type Probe struct {
	Kind ActKind `json:"kind"`
	OPID string  `json:"opid,omitempty"`
	CUID string  `json:"cuid,omitempty"`
	GUID string  `json:"guid,omitempty"` // document that is removed or attached

	// Of an upload. Before holds the ids of the files of that name and size that
	// were there when it was sent; Whole says that all files were looked at.
	FileName string    `json:"file_name,omitempty"`
	Size     int64     `json:"size,omitempty"`
	Before   []string  `json:"before,omitempty"`
	Whole    bool      `json:"whole,omitempty"`
	Since    time.Time `json:"since,omitzero"` // when the upload was readied
	IDField  string    `json:"-"`              // [service] upload_id_field

	// Leaves are salted digests of each value that an application was set to;
	// Hooks of each webhook setting.
	Salt   string   `json:"salt,omitempty"`
	Leaves []string `json:"leaves,omitempty"`
}

// rule is what one kind of write needs beside its request: who may do it, its
// number in the trail, what proves it, and what its answers mean. It is declared beside the call.
type rule struct {
	need   Permission
	number string // of its event in the audit trail; never used again for another
	doing  string // names it for people while its outcome is not known: "Removing"
	// shown reports whether a body shows what the write wanted. answer: it is the
	// write's own answer, else that of a read.
	shown func(p Probe, body fields, answer bool) bool
	// look reads the object once. nil: nothing can be read that would tell.
	look func(ctx context.Context, c *Client, p Probe) (Observation, error)
	// readable reports whether look can find the proof of p; nil: always.
	readable func(p Probe) bool
	// flag is a member beside "success" that says yes or no; "" for none.
	flag string
	// again: sending it twice does what sending it once does.
	again bool
	// ownToken: the request carries a token beside the session's, which the service's
	// words may be about.
	ownToken bool
	// statuses are those that the service's documents give as a no to this act: a no
	// without words, with an object as a body or none. A page is somebody else's answer.
	statuses []int
	// refused words a no of this act alone; false leaves it to the general words.
	refused func(e *Error, words string, body fields, a answer) bool
	// advice says what to do while the outcome is not known; zero: FollowOutcome.
	advice RemedyKind
}

// rules holds the rule of each kind of write. It is complete when the package is
// initialised.
var rules = map[ActKind]rule{}

func declare(kind ActKind, r rule) ActKind { rules[kind] = r; return kind }

func (r rule) documented(status int) bool { return slices.Contains(r.statuses, status) }

// says reports whether the answer says yes (want) or no in its flags.
func (r rule) says(body fields, want bool) bool {
	return body.says("success", want) || r.flag != "" && body.says(r.flag, want)
}

// Readable reports whether anything can be read that would prove the write.
func (p Probe) Readable() bool {
	r := rules[p.Kind]
	return r.look != nil && (r.readable == nil || r.readable(p))
}

// shown reports whether a body shows what the write wanted.
func (p Probe) shown(body fields, answer bool) bool {
	r := rules[p.Kind]
	return body.exists() && r.shown != nil && r.shown(p, body, answer)
}

// ProvenBy reports whether an operation that was read shows the wanted state.
func (p Probe) ProvenBy(op Operation) bool { return p.OPID != "" && p.shown(object(op.Raw), false) }

// Advice says what to do while the outcome of a write is not known.
func Advice(kind ActKind) Remedy {
	return Remedy{Kind: cmp.Or(rules[kind].advice, FollowOutcome)}
}

// leavesOf lists digests of the values of a JSON document with their paths. Names
// of objects that only wrap ("application", "item") are left out of the paths,
// since the service's documents show them in one direction only.
func leavesOf(v jsontree.Value, path, salt string) []string {
	var out []string
	if strings.Count(path, ".") > 64 {
		return nil // no application is that deep
	}
	for _, m := range v.Sorted() {
		at := path + "." + m.Name
		if m.Name == "application" || m.Name == "item" || m.Name == "data" {
			at = path
		}
		out = append(out, leavesOf(m.Value, at, salt)...)
	}
	if v.Kind() == jsontree.Array {
		for i, it := range elementsOf(v) {
			out = append(out, leavesOf(it, path+"."+strconv.Itoa(i), salt)...)
		}
	}
	if s, ok := v.Scalar(); ok && s != "" {
		out = append(out, leaf(salt, path, s))
	}
	slices.Sort(out)
	return out
}

// holds reports whether everything that was sent is in the application in body.
func (p Probe) holds(body fields) bool {
	v, _, ok := applyThing.find(body.Value)
	if !ok {
		v = body.Value
	}
	return within(p.Leaves, leavesOf(v, "", p.Salt))
}

// within reports whether all digests that were sent are there; none prove nothing.
func within(sent, there []string) bool {
	for _, l := range sent {
		if !slices.Contains(there, l) {
			return false
		}
	}
	return len(sent) > 0
}

// leaf is the digest of one value at its path.
func leaf(salt, path, value string) string {
	return HashHex([]byte(salt + "\x00" + path + "\x00" + value))[:32]
}
