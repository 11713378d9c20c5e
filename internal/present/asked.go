package present

import (
	"cmp"

	"opdeck/api"
	"opdeck/api/untrusted"
	"opdeck/internal/format"
)

// AskedDocument lists the facts in a question about a document of an operation, below the document's id.
func AskedDocument(o Options, d api.Document) []Fact {
	out := append([]Fact{{Label: "document", Value: d.FileName.Line(200), Long: true}},
		Texts("type", d.DocType.Line(64))...)
	out = append(out, Fact{Label: "size", Value: format.Size(d.Size)},
		Fact{Label: "created", Value: format.Time(d.CreateAt.Time, o.Zone)})
	return append(out, askedLock(d)...)
}

// askedLock says in a question that a lock is not known.
func askedLock(d api.Document) []Fact {
	if d.Lock != api.LockUnknown {
		return nil
	}
	return []Fact{lockFact(d.Lock, "")}
}

// AskedOperation lists the facts in a question about an operation whose documents change, apart from those above: first
// whose money it is, and how much.
func AskedOperation(opid string, op api.Operation) []Fact {
	out := Texts("customer", cmp.Or(op.Customer.Name.Line(200), op.Customer.CUID.Line(64)))
	out = append(out, Fact{Label: "amount", Value: format.Money(op.SourceAmount.Sum), Amount: true},
		Fact{Label: "operation id", Value: safe(opid, 64)})
	return append(out, Texts("operation type", op.Type.Line(40), "operation status", op.Status.Line(40))...)
}

// AskedFile is a local file to upload.
type AskedFile struct {
	Path  string
	Name  string // its name at the service
	Holds string // size and media type, if known
	Type  string
	Info  string // the description
}

// Facts lists the facts in a question about the file.
func (f AskedFile) Facts() []Fact {
	out := []Fact{{Label: "file", Value: safe(f.Path, 300), Long: true}}
	for _, p := range []struct{ label, value string }{{"size, media type", f.Holds}, {"type", f.Type},
		{"description", f.Info}} {
		if p.value != "" {
			out = append(out, Fact{Label: p.label, Value: safe(p.value, 300), Long: true})
		}
	}
	return out
}

// shown is the file's name with size and type.
func (f AskedFile) shown() string {
	if f.Holds == "" {
		return safe(f.Name, 200)
	}
	return safe(f.Name, 200) + " (" + safe(f.Holds, 200) + ")"
}

// AskedReplace lists the facts in a question about a replacement: the old values and the new ones.
func AskedReplace(o Options, d api.Document, f AskedFile) []Fact {
	out := []Fact{{Label: "document", Value: d.FileName.Line(200) + " (" + format.Size(d.Size) + ") → " + f.shown(),
		Long: true}, become("type", d.DocType, f.Type)}
	if d.Info != "" || f.Info != "" {
		out = append(out, become("description", d.Info, f.Info))
	}
	out = append(out, Fact{Label: "file", Value: safe(f.Path, 300), Long: true},
		Fact{Label: "created", Value: format.Time(d.CreateAt.Time, o.Zone)})
	return append(out, askedLock(d)...)
}

// become is a fact whose value is replaced by another.
func become(label string, from untrusted.Text, to string) Fact {
	was, is := from.Line(300), safe(to, 300)
	if was != "" && is == was {
		return Fact{Label: label, Value: was + ", unchanged", Long: true}
	}
	return Fact{Label: label, Value: cmp.Or(was, "none") + " → " + cmp.Or(is, "none given"), Long: true, Tone: Warn}
}

// AskedReplay lists the facts in a question about processing an event again.
func AskedReplay(o Options, e Event) []Fact {
	return []Fact{{Label: "type", Value: EventType(e.Type)}, {Label: "object", Value: e.ObjectID.Line(128)},
		{Label: "received", Value: format.Time(e.ReceivedAt, o.Zone)}, {Label: "status", Value: safe(string(e.Status), 40)},
		{Label: "size", Value: format.Size(int64(len(e.Raw)))}}
}
