package present

import (
	"cmp"
	"strings"
	"unicode"
	"unicode/utf8"

	"opdeck/api"
	"opdeck/api/untrusted"
	"opdeck/internal/act"
	"opdeck/internal/domain/approval"
	"opdeck/internal/field"
	"opdeck/internal/format"
)

// Request is what a second person decides by, and what is behind it: exactly what is sent, the people, the digests.
func Request(o Options, r approval.Request) []Section {
	state, means := RequestState(o, r)
	judged := append(Texts("request", r.ID, "state", strings.TrimSuffix(state.Word+", "+means, ", ")), Judged(o, r)...)
	judged = append(append(judged, Fact{Label: "consequence", Value: act.Consequence(r.Act.Kind), Long: true}),
		append(Texts("ended", r.Ended), Fact{Label: "binds", Value: binds(r), Long: true})...)
	return append([]Section{{Title: "Request", Facts: judged}}, RequestDetails(o, r)...)
}

// RequestState is the state of a request at o.Now, which alone can end it, and what that means for the two people.
func RequestState(o Options, r approval.Request) (state Mark, means string) {
	is := r.AsOf(o.Now).State
	state = Mark{Look{SignOff, Dim}, safe(string(is), 20)}
	switch is {
	case approval.Open:
		state.Look, means = Look{SignWait, Warn}, "waits for a second person"
	case approval.Approved:
		state.Look, means = Look{SignGood, Good}, "the requester can send exactly this write, once"
	case approval.Denied:
		state.Look, means = Look{SignBad, Bad}, "denied by the second person"
	case approval.Lapsed:
		means = "not used in time"
	case approval.Spent:
		state.Look, means = Look{SignInfo, Info}, "the approved write was sent"
	case approval.Void:
		means = "the content changed after the request"
	}
	return state, means
}

// RequestColumns are the columns of a list of requests. "until" is when one lapses, "time left" how long that is.
var RequestColumns = []Column[approval.Request]{
	textColumn("id", field.Layout{}, func(r approval.Request) string { return safe(r.ID, 40) }),
	column("state", field.Layout{Min: 10}, func(o Options, r approval.Request) Cell {
		state, _ := RequestState(o, r)
		return state.Cell(o)
	}),
	textColumn("asked by", field.Layout{Min: 8, Max: 24, Flex: 2}, func(r approval.Request) string {
		return safe(r.Requester.Name, 40)
	}),
	textColumn("act", field.Layout{Title: "write"}, func(r approval.Request) string {
		return safe(string(r.Act.Kind), 40)
	}),
	textColumn("asks to", field.Layout{Min: 24, Max: 48, Flex: 3, CutMiddle: true}, func(r approval.Request) string {
		return requestWhat(r.Act)
	}),
	column("about", field.Layout{Min: 13, Max: 13, HidePriority: 5}, func(_ Options, r approval.Request) Cell {
		return Cell{Text: format.ShortID(untrusted.Text(r.Act.ID)), Tone: Dim}
	}),
	textColumn("customer", field.Layout{Min: 12, Max: 30, Flex: 1, CutMiddle: true, HidePriority: 4},
		func(r approval.Request) string { return safe(r.Act.Subject.Customer, 100) }),
	rightColumn("amount", field.Layout{Min: 14, HidePriority: 1}, func(_ Options, r approval.Request) Cell {
		if r.Act.Subject.Amount == nil {
			return Cell{}
		}
		return Cell{Text: format.Money(*r.Act.Subject.Amount)}
	}),
	column("reason", field.Layout{Min: 12, Flex: 2, HidePriority: 6}, func(_ Options, r approval.Request) Cell {
		if r.Act.Reason == "" {
			return Cell{Text: "none given", Tone: Warn}
		}
		return Cell{Text: safe(r.Act.Reason, 200)}
	}),
	column("object", field.Layout{Min: 10, Max: 50, Flex: 3, CutMiddle: true, HidePriority: 3},
		func(_ Options, r approval.Request) Cell { return Cell{Text: safe(r.Act.ID, 100), Tone: Dim} }),
	textColumn("item", field.Layout{}, func(r approval.Request) string { return safe(r.Act.Item, 500) }),
	rightColumn("asked", field.Layout{Min: 8, HidePriority: 7}, func(o Options, r approval.Request) Cell {
		ago, next := format.Ago(r.Created, o.Now)
		return Cell{Text: ago, Tone: Dim, Until: next}
	}),
	rightColumn("time left", field.Layout{Min: 9, HidePriority: 2}, func(o Options, r approval.Request) Cell {
		if !r.Waits() || !o.Now.Before(r.Expires) {
			return Cell{Tone: Warn}
		}
		left, next := format.Until(r.Expires, o.Now)
		return Cell{Text: left, Tone: Warn, Until: next}
	}),
	column("until", field.Layout{}, func(o Options, r approval.Request) Cell {
		return Cell{Text: format.Time(r.Expires, o.Zone)}
	}),
	textColumn("decided by", field.Layout{}, func(r approval.Request) string {
		if r.Decider == nil {
			return ""
		}
		return safe(r.Decider.Name, 40)
	}),
	textColumn("what", field.Layout{}, func(r approval.Request) string { return safe(r.Act.Summary, 2000) }),
}

// RequestListed are the columns of a list of requests as commands print it.
var RequestListed = Named(RequestColumns, "id", "state", "act", "object", "item", "asked by", "until", "decided by",
	"what")

// Judged returns what a second person decides by: the reason, the requester, when the request lapses, the record as the
// requester saw it, and the guards that the write lifts.
func Judged(o Options, r approval.Request) []Fact {
	a, s := r.Act, r.Act.Subject
	out := Texts("reason", a.Reason)
	if len(out) == 0 {
		out = []Fact{{Label: "reason", Value: o.sign(SignWarn) + "no reason given", Tone: Warn}}
	}
	for _, g := range a.Lifted {
		out = append(out, Fact{Label: "lifts", Value: guard(g), Tone: Warn, Long: true})
	}
	out = append(out, Texts("customer", s.Customer)...)
	if s.Amount != nil {
		out = append(out, Fact{Label: "amount", Value: format.Money(*s.Amount), Amount: true})
	}
	if item := itemLabel(a); item != "" {
		out = append(out, Texts(item, cmp.Or(s.Document, a.Name), item+" id", a.Item)...)
	}
	object := safe(a.Object, 20)
	out = append(out, Text(object+" id", untrusted.Text(a.ID), "–")...)
	if s.Status != "" {
		out = append(out, o.Status(object+" status", untrusted.Text(s.Status)))
	}
	until := "lapses at"
	if r.AsOf(o.Now).State == approval.Open {
		until = "decide by"
	}
	return append(out, Fact{Label: "asked by", Value: safe(r.Requester.Name, 120) + ", " +
		safe(string(r.Requester.Role), 40)}, Fact{Label: until, Value: format.Time(r.Expires, o.Zone)})
}

// itemLabel is what an act changes of its record: "document"; "" for the record itself.
func itemLabel(a api.Act) string {
	switch {
	case a.Kind == api.ActRemoveDocument:
		return "document"
	case a.Kind == api.ActAttachDocument, a.Kind == api.ActUploadDocument, a.Kind == api.ActDeleteFile:
		return "file"
	case cmp.Or(a.Item, a.Name, a.Subject.Document) != "": // of another version of opdeck
		return "item"
	}
	return ""
}

// guard names a guard of the console that an act lifts.
func guard(g api.Rule) string {
	switch g {
	case api.RuleEndState:
		return "the guard for operations that have ended (--force)"
	case api.RuleLockUnknown:
		return "the guard for a lock that the service does not tell (--force)"
	}
	return "the guard " + safe(string(g), 40) + " (--force)"
}

// RequestDetails are exactly what is sent, who asked, who decided, and the digests that the approval binds to.
func RequestDetails(o Options, r approval.Request) []Section {
	a := r.Act
	sent := Texts("write", string(a.Kind), "request", strings.TrimSpace(a.Method+" "+a.Path), "body", string(a.Body),
		"item", a.Item, "name", a.Name, "customer id", a.Subject.CUID)
	asked := append(person(r.Requester), Fact{Label: "asked", Value: o.moment(r.Created)})
	out := []Section{{Title: "Sent", Facts: sent}, {Title: "Asked by", Facts: under("asked by", asked)}}
	if r.Decider != nil {
		decided := append(person(*r.Decider), Fact{Label: "decided", Value: format.Time(r.Decided, o.Zone)})
		decided = append(decided, Text("comment", untrusted.Text(r.Comment), "none")...)
		if !r.Spent.IsZero() {
			decided = append(decided, Fact{Label: "used", Value: format.Time(r.Spent, o.Zone)}, Fact{Label: "outcome",
				Value: outcome(r.Verdict)})
		}
		out = append(out, Section{Title: "Decided by", Facts: under("decided by", decided)})
	}
	if digests := Texts("content shown", a.Seen, "secret or file", a.SecretDigest, "digest", r.Digest); len(digests) > 0 {
		out = append(out, Section{Title: "Digests", Facts: digests})
	}
	return out
}

// RequestTitle is what a request would do, in one safe line: "remove invoice.pdf from operation 62387c…50c0b8".
func RequestTitle(a api.Act) string {
	of := act.Of(a.Kind)
	if of == nil || of.Words.Ask == "" {
		return strings.TrimSpace(safe(string(a.Kind), 40)+" "+requestItem(a)) + " on " + requestObject(a)
	}
	asks := of.Words.Fill(act.Object{Item: cmp.Or(requestItem(a), safe(a.Subject.Customer, 60), requestObject(a)),
		ID: format.ShortID(untrusted.Text(a.ID)), Kind: safe(a.Object, 20)}).Ask
	return lowered(strings.TrimSuffix(asks, "?"))
}

// RequestQuestion asks whether to approve a request, or to deny it, with whose money it is about, and how much.
func RequestQuestion(r approval.Request, approve bool) string {
	a, of, let := r.Act, []string{}, "Let"
	if !approve {
		let = "Do not let"
	}
	if a.Subject.Amount != nil {
		of = append(of, format.Money(*a.Subject.Amount))
	}
	if a.Subject.Customer != "" {
		of = append(of, safe(a.Subject.Customer, 60))
	}
	out := let + " " + safe(r.Requester.Name, 40) + " " + RequestTitle(a) + "?"
	if len(of) > 0 {
		out += " (" + strings.Join(of, ", ") + ")"
	}
	return out
}

// requestWhat is the short form of RequestTitle without the record: "remove invoice.pdf".
func requestWhat(a api.Act) string {
	of, item := act.Of(a.Kind), requestItem(a)
	switch {
	case of == nil || of.Words.Verb == "":
		return strings.TrimSpace(safe(string(a.Kind), 40) + " " + item)
	case item == "":
		return lowered(of.Words.Title)
	}
	return lowered(of.Words.Verb) + " " + item
}

func requestItem(a api.Act) string {
	if itemLabel(a) == "" {
		return ""
	}
	return format.File(untrusted.Text(cmp.Or(a.Name, a.Subject.Document, a.Item)), 60)
}

func requestObject(a api.Act) string {
	return safe(a.Object, 20) + " " + format.ShortID(untrusted.Text(a.ID))
}

// lowered is a sentence in the middle of another.
func lowered(s string) string {
	r, n := utf8.DecodeRuneInString(s)
	return string(unicode.ToLower(r)) + s[n:]
}

func outcome(v api.Verdict) string {
	switch v {
	case "", api.Unclear:
		return "unknown"
	case api.Seen:
		return "seen: no answer says whether the request was done, and a read shows the wanted state"
	case api.NotSeen:
		return "unknown: no read showed it in time"
	}
	return safe(string(v), 20)
}

// person is who someone is, as far as it is proven.
func person(who approval.Person) []Fact {
	out := append(Text("name", untrusted.Text(who.Name), "–"), Text("role", untrusted.Text(who.Role), "–")...)
	login := who.Login
	if login == who.Name {
		login = ""
	}
	return append(out, Texts("login", login, "key", who.Key, "certificate", who.Serial, "identified by", who.Claim(),
		"surface", who.Via, "host", who.From)...)
}

// binds lists who may approve a request, and whom the rule cannot exclude.
func binds(q approval.Request) string {
	if q.Requester.Local() {
		return "another user id of this host; this does not stop root, or people with the password of the account or of " +
			"the store"
	}
	return "another key, login name and certificate over SSH; this does not stop people with the password of the " +
		"account or of the store"
}

// safe is a text from outside as one line of at most max runes.
func safe(s string, max int) string { return untrusted.Text(s).Line(max) }

// AskedDocument lists the facts in a question about a document of an operation, below the document's id.
func AskedDocument(o Options, d api.Document) []Fact {
	out := append([]Fact{{Label: "document", Value: d.FileName.Line(200), Long: true}},
		Texts("type", d.DocType.Line(64))...)
	out = append(out, Fact{Label: "size", Value: format.Size(d.Size)},
		o.created(d.CreateAt, format.Time(d.CreateAt.Time, o.Zone)))
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
		o.created(d.CreateAt, format.Time(d.CreateAt.Time, o.Zone)))
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

const (
	maxBody = 30  // lines of a body in a question
	oneLine = 200 // a body of at most so many bytes is on one line
)

// Decision is what a person reads who decides about a request. reason is that of a denial; "" for an approval.
func Decision(o Options, r approval.Request, reason string) []Fact {
	out := Judged(o, r)
	if reason != "" {
		out = append(out, Fact{Label: "your reason", Value: safe(reason, 2000), Long: true})
	}
	out = append(out, Fact{Label: "sends", Value: safe(r.Act.Method+" "+r.Act.Path, 2000), Long: true})
	return append(out, bodyFacts(r.Act.Body)...)
}

func bodyFacts(body []byte) []Fact {
	if len(body) == 0 {
		return []Fact{{Label: "body", Value: "none"}}
	}
	if len(body) <= oneLine {
		return []Fact{{Label: "body", Value: safe(string(body), oneLine), Long: true}}
	}
	var p []Fact
	lines, whole := format.JSON(body, maxBody)
	for i, l := range lines {
		label := "body"
		if i > 0 {
			label = "·"
		}
		p = append(p, Fact{Label: label, Value: safe(l, 2000), Long: true})
	}
	if !whole {
		p = append(p, Fact{Label: "·", Value: "… more; the request's page shows all of it"})
	}
	return p
}
