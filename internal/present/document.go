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
	if d.IsLock {
		out = append(out, Fact{Label: "locked", Value: "yes, it cannot be removed or replaced", Tone: Warn})
	} else {
		out = append(out, Fact{Label: "locked", Value: "no"})
	}
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
