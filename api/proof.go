package api

import (
	"bytes"
	"encoding/json"
	"slices"
	"strconv"
	"strings"
	"time"

	"opdeck/api/untrusted"
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

// Readable reports whether anything can be read that would prove the write.
func (p Probe) Readable() bool {
	switch p.Kind {
	case ActRemoveDocument, ActAttachDocument, ActUploadDocument, ActFinalize, ActSetHooks:
		return true
	case ActSetApplication:
		return len(p.Leaves) > 0
	}
	return false // a link is not listed anywhere; what a share changes is not documented
}

// shown reports whether a body shows what the write wanted. answer: it is the
// write's own answer, else that of a read.
func (p Probe) shown(body reply, answer bool) bool {
	if body == nil {
		return false
	}
	success := answer && body.says("success", true)
	switch p.Kind {
	case ActRemoveDocument:
		is, told := p.linked(body)
		return told && !is
	case ActAttachDocument:
		is, told := p.linked(body)
		return told && is
	case ActUploadDocument:
		return answer && uploadID(body, p.IDField) != ""
	case ActShare:
		return answer && body.says("applied", true)
	case ActLink:
		_, ok := linkIn(body)
		return answer && ok
	case ActFinalize:
		return success || submitted(body)
	case ActSetApplication:
		return success || p.holds(body)
	case ActSetHooks:
		return success || p.hooked(body, answer)
	}
	return false
}

// ProvenBy reports whether an operation that was read shows the wanted state.
func (p Probe) ProvenBy(op Operation) bool {
	return (p.Kind == ActRemoveDocument || p.Kind == ActAttachDocument) && p.shown(replyOf(op.Raw), false)
}

// linked tells whether the body's operation holds the document. told is false
// when it is not that operation, or does not list its documents so that each can
// be recognised.
func (p Probe) linked(body reply) (is, told bool) {
	op := replyOf(body["item"])
	if op == nil {
		op = body
	}
	var docs []json.RawMessage
	if !strings.EqualFold(wordOf(op["opid"]), p.OPID) || json.Unmarshal(op["documents"], &docs) != nil || docs == nil {
		return false, false
	}
	for _, d := range docs {
		guid := wordOf(replyOf(d)["guid"])
		if guid == "" {
			return false, false
		}
		is = is || strings.EqualFold(guid, p.GUID)
	}
	return is, true
}

// wordOf is a text, number or boolean as text; "" for anything else.
func wordOf(raw json.RawMessage) string {
	s, _ := textual(bytes.TrimSpace(raw))
	return s
}

// uploadID finds the id that an upload was answered with, "" for none.
func uploadID(body reply, field string) string {
	names := []string{"id", "guid", "documentid", "fileid", "uuid"}
	if field != "" {
		if id := pathIn(body, strings.Split(strings.ToLower(field), ".")); CheckID("file id", id) == nil {
			return id
		}
		names = append([]string{strings.ToLower(field)}, names...)
	}
	for _, o := range body.inside() {
		for _, n := range names {
			if id := wordOf(o[n]); CheckID("file id", id) == nil {
				return id
			}
		}
	}
	return ""
}

func pathIn(body reply, path []string) string {
	for len(path) > 1 {
		body, path = replyOf(body[path[0]]), path[1:]
	}
	return wordOf(body[path[0]])
}

// linkIn finds a usable address.
func linkIn(body reply) (untrusted.Text, bool) {
	for _, o := range body.inside() {
		u := untrusted.Text(wordOf(o["url"]))
		if (strings.HasPrefix(string(u), "https://") || strings.HasPrefix(string(u), "http://")) && !u.Flags().Suspicious() {
			return u, true
		}
	}
	return "", false
}

// submittedWords are states of an application that was handed in.
var submittedWords = []string{"SUBMITTED", "MODERATION", "UNDER_REVIEW"}

func submitted(body reply) bool {
	for _, o := range body.inside() {
		if slices.Contains(submittedWords, strings.ToUpper(wordOf(o["status"]))) {
			return true
		}
	}
	return false
}

// leavesOf lists digests of the values of a JSON document with their paths. Names
// of objects that only wrap ("application", "item") are left out of the paths,
// since the service's documents show them in one direction only.
func leavesOf(raw json.RawMessage, path, salt string) []string {
	var out []string
	var list []json.RawMessage
	if strings.Count(path, ".") > 64 {
		return nil // no application is that deep
	}
	if in := replyOf(raw); in != nil {
		for k, v := range in {
			at := path + "." + k
			if k == "application" || k == "item" || k == "data" {
				at = path
			}
			out = append(out, leavesOf(v, at, salt)...)
		}
	} else if json.Unmarshal(raw, &list) == nil {
		for i, v := range list {
			out = append(out, leavesOf(v, path+"."+strconv.Itoa(i), salt)...)
		}
	} else if v := wordOf(raw); v != "" {
		out = append(out, HashHex([]byte(salt + "\x00" + path + "\x00" + v))[:32])
	}
	slices.Sort(out)
	return out
}

// holds reports whether everything that was sent stands in body.
func (p Probe) holds(body reply) bool {
	if len(p.Leaves) == 0 {
		return false
	}
	raw, err := json.Marshal(body)
	if err != nil {
		return false
	}
	there := map[string]bool{}
	for _, l := range leavesOf(raw, "", p.Salt) {
		there[l] = true
	}
	for _, l := range p.Leaves {
		if !there[l] {
			return false
		}
	}
	return true
}

// hooked reports whether webhook settings are as they were sent. In a read the
// secret must be there too: it may be all that was changed.
func (p Probe) hooked(body reply, answer bool) bool {
	for _, o := range body.inside() {
		if _, told := o["hookurl"]; !told {
			continue
		}
		q := p
		if _, told := o["jwtsecret"]; !told && answer {
			q.Leaves = slices.DeleteFunc(slices.Clone(p.Leaves), func(l string) bool { return strings.HasPrefix(l, secretLeaf) })
		}
		if q.holdsHooks(o) {
			return true
		}
	}
	return false
}

// secretLeaf marks the digest of the webhook secret among the leaves.
const secretLeaf = "secret:"

func hookLeaves(salt, jwtSecret string, h reply) []string {
	var out []string
	for _, k := range []string{"enabled", "hookurl", "hookcustomer", "hookoperation", "hookdepositaccount", "hookcounterparty"} {
		out = append(out, HashHex([]byte(salt + "\x00" + k + "\x00" + wordOf(h[k])))[:32])
	}
	return append(out, secretLeaf+HashHex([]byte(salt + "\x00secret\x00" + jwtSecret))[:32])
}

func (p Probe) holdsHooks(o reply) bool {
	there := hookLeaves(p.Salt, wordOf(o["jwtsecret"]), o)
	for _, l := range p.Leaves {
		if !slices.Contains(there, l) {
			return false
		}
	}
	return len(p.Leaves) > 0
}
