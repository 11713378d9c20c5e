package present

import (
	"cmp"

	"opdeck/api"
	"opdeck/internal/format"
)

// Document lists all facts of an operation's document.
func Document(o Options, d api.Document) []Fact {
	out := []Fact{{Label: "name", Value: d.FileName.Line(400), Copy: string(d.FileName)},
		{Label: "document id", Value: d.GUID.Line(64), Copy: string(d.GUID)},
		{Label: "type", Value: d.DocType.Line(64), Copy: string(d.DocType)},
		{Label: "media type", Value: cmp.Or(d.MIME.Line(128), "–"), Copy: string(d.MIME)},
		{Label: "size", Value: format.Size(d.Size) + " (" + format.Count(int(d.Size)) + " bytes)"},
		{Label: "created", Value: o.moment(d.CreateAt.Time)}}
	out = append(out, lockFact(d.Lock, "it cannot be removed or replaced"))
	if d.Info != "" {
		out = append(out, Fact{Label: "description", Value: d.Info.Line(400), Copy: string(d.Info)})
	}
	if odd := format.Suspicious(d.FileName); odd != "" {
		out = append(out, Fact{Label: "! unsafe name", Value: odd, Tone: Warn, Note: true})
	}
	if odd := format.Suspicious(d.Info); odd != "" {
		out = append(out, Fact{Label: "! unsafe description", Value: odd, Tone: Warn, Note: true})
	}
	return out
}

// lockFact says whether a document or a file is locked; means is what a lock means for it.
func lockFact(l api.Lock, means string) Fact {
	switch l {
	case api.Locked:
		return Fact{Label: "locked", Value: "yes, " + means, Tone: Warn}
	case api.LockRefused:
		return Fact{Label: "locked", Value: "yes: the service refused to remove it because it is locked", Tone: Warn}
	case api.Unlocked:
		return Fact{Label: "locked", Value: "no"}
	}
	return Fact{Label: "locked", Value: "? (the service does not say)", Tone: Warn}
}

// LockWord is the word for a document's lock in a line, "" if it is not locked.
func LockWord(l api.Lock) string {
	switch {
	case l.Is():
		return "locked"
	case l == api.LockUnknown:
		return "lock not known"
	}
	return ""
}
