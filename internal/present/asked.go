package present

import (
	"cmp"
	"strings"

	"opdeck/api"
	"opdeck/api/untrusted"
	"opdeck/internal/format"
)

// AskedDocument is what a question about a document of an operation shows below the document's id.
func AskedDocument(o Options, d api.Document) []Fact {
	return []Fact{{Label: "document", Value: d.FileName.Line(200), Long: true},
		{Label: "type", Value: strings.TrimPrefix(d.DocType.Line(64)+", "+format.Size(d.Size), ", ")},
		{Label: "created", Value: format.Time(d.CreateAt.Time, o.Zone)}}
}

// AskedOperation is what a question shows of the operation whose documents change.
func AskedOperation(opid string, op api.Operation) []Fact {
	return []Fact{{Label: "operation", Value: safe(opid, 64)}, {Label: "status", Value: op.Status.Line(40)},
		{Label: "amount", Value: format.Money(op.SourceAmount.Sum)}}
}

// AskedFile is a file of this host that is to be uploaded.
type AskedFile struct {
	Path  string
	Name  string // what it is called there
	Holds string // size and media type, as far as they are known
	Type  string
	Info  string
}

// Facts are what a question about the file shows.
func (f AskedFile) Facts() []Fact {
	out := []Fact{{Label: "file", Value: safe(f.Path, 300), Long: true}}
	for _, p := range []struct{ label, value string }{{"holds", f.Holds}, {"type", f.Type}, {"info", f.Info}} {
		if p.value != "" {
			out = append(out, Fact{Label: p.label, Value: safe(p.value, 300), Long: true})
		}
	}
	return out
}

// shown is the file's name with what it holds.
func (f AskedFile) shown() string {
	if f.Holds == "" {
		return safe(f.Name, 200)
	}
	return safe(f.Name, 200) + " (" + safe(f.Holds, 200) + ")"
}

// AskedReplace is what a question about a replacement shows of the document: what was, and what will be.
func AskedReplace(o Options, d api.Document, f AskedFile) []Fact {
	out := []Fact{{Label: "document", Value: d.FileName.Line(200) + " (" + format.Size(d.Size) + ") → " + f.shown(),
		Long: true}, become("type", d.DocType, f.Type)}
	if d.Info != "" || f.Info != "" {
		out = append(out, become("info", d.Info, f.Info))
	}
	return append(out, Fact{Label: "file", Value: safe(f.Path, 300), Long: true},
		Fact{Label: "created", Value: format.Time(d.CreateAt.Time, o.Zone)})
}

// become is a value that is replaced by another.
func become(label string, from untrusted.Text, to string) Fact {
	was, is := from.Line(300), safe(to, 300)
	if was != "" && is == was {
		return Fact{Label: label, Value: was + ", unchanged", Long: true}
	}
	return Fact{Label: label, Value: cmp.Or(was, "none") + " → " + cmp.Or(is, "none given"), Long: true, Tone: Warn}
}

// AskedReplay is what a question about sending an event once more shows; to is where it goes, "" our own receiver.
func AskedReplay(o Options, e Event, to string) []Fact {
	return []Fact{{Label: "type", Value: EventType(e.Type)}, {Label: "object", Value: e.ObjectID.Line(128)},
		{Label: "received", Value: format.Time(e.ReceivedAt, o.Zone)}, {Label: "status", Value: safe(string(e.Status), 40)},
		{Label: "size", Value: format.Size(int64(len(e.Raw)))},
		{Label: "to", Value: safe(cmp.Or(to, "the receiver here"), 500), Long: true}}
}
