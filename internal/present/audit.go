package present

import (
	"cmp"
	"slices"
	"strconv"
	"strings"
	"time"

	"opdeck/api"
	"opdeck/api/session"
	"opdeck/internal/act/remedy"
	"opdeck/internal/domain/audit"
	"opdeck/internal/domain/followup"
	"opdeck/internal/field"
	"opdeck/internal/format"
)

// Mark is a state as a word with a look.
type Mark struct {
	Look
	Word string
}

// Cell is the mark as a cell.
func (m Mark) Cell(o Options) Cell { return Cell{Text: o.sign(m.Sign) + m.Word, Tone: m.Tone} }

// NoOutcome is the mark of a write whose outcome no record states.
var NoOutcome = Mark{Look{SignUnknown, Bad}, "unknown"}

// outcomes are the marks of the outcomes that a record can have.
var outcomes = map[audit.Result]Mark{audit.ResultOK: {Look{SignGood, Good}, "done"},
	audit.ResultDenied: {Look{SignBad, Bad}, "refused"}, audit.ResultFailed: {Look{SignBad, Bad}, "failed"},
	audit.ResultSeen:    {Look{SignUnknown, Warn}, "seen"},
	audit.ResultUnknown: {Look{SignUnknown, Warn}, "unknown"}, audit.ResultNotSeen: {Look{SignUnknown, Warn}, "unknown"}}

// phases are the phases of a record in words.
var phases = map[audit.Phase]string{audit.PhaseIntent: "before sending", audit.PhaseOutcome: "outcome",
	audit.PhaseNote: "other"}

// auditPhase is the phase of a record for people.
func auditPhase(e audit.Entry) string {
	if e.Event == audit.EventRead {
		return "read"
	}
	return cmp.Or(phases[e.Phase], string(e.Phase))
}

// AuditOutcome is the outcome of what a record is about; one without a write has none.
func AuditOutcome(e audit.Entry) Mark {
	mark, known := outcomes[e.Outcome]
	switch {
	case e.Damaged:
		return Mark{Look{SignBad, Bad}, "damaged"}
	case known:
		return mark
	case e.Phase == audit.PhaseIntent:
		return Mark{Look{SignWait, Info}, "to be sent"}
	case e.Event == audit.EventDenied:
		return Mark{Look{SignBad, Warn}, "denied"}
	}
	return Mark{Look{NoSign, Dim}, "–"}
}

// AuditText is a text of a record without its quoting, as a safe line.
func AuditText(s string, max int) string { return audit.Unquote(s).Line(max) }

// AuditEvent is the event of a record, with the number of times if the record counts several.
func AuditEvent(e audit.Entry) string {
	out := AuditText(e.Event, 60)
	if e.Count > 1 {
		out += " ×" + format.Count(int(e.Count))
	}
	return out
}

// AuditObject is the id of an operation, or the kind and id of another object.
func AuditObject(e audit.Entry) string {
	kind, id := AuditText(e.Object, 30), AuditText(e.ID, 100)
	switch {
	case id == "":
		return kind
	case e.Object == "operation":
		return id
	}
	return kind + " " + id
}

// AuditOdd reports whether a name in a record is deceptive.
func AuditOdd(e audit.Entry) bool {
	for _, s := range []string{e.Actor.Name, e.Event, e.ID, e.Item, e.Name} {
		if audit.Unquote(s).Flags().Suspicious() {
			return true
		}
	}
	return false
}

// The columns of a list of records, with times to the minute and to the second.
var auditColumns, auditColumnsSeconds, auditColumnsNarrow = auditColumnsTo(false), auditColumnsTo(true), auditNarrow()

// The widths of a window, in cells, from which on a list of records has whole times, and times to the second.
const (
	auditWhole   = 58
	auditSeconds = 100
)

// AuditColumns are the columns of a list of records in w cells: those that tell records apart are in each window.
func AuditColumns(w int) []Column[audit.Entry] {
	switch {
	case w >= auditSeconds:
		return auditColumnsSeconds
	case w >= auditWhole:
		return auditColumns
	}
	return auditColumnsNarrow
}

// auditNarrow are the columns of a narrow window: the time of day, or the day of an earlier record, and the sign of
// the outcome.
func auditNarrow() []Column[audit.Entry] {
	out := Named(auditColumnsTo(false), "at", "person", "event", "outcome")
	out[0] = column("at", field.Layout{Title: "time", Min: 5}, func(o Options, e audit.Entry) Cell {
		return Cell{Text: format.ClockOrDay(e.At, o.Now, o.Zone), Tone: Dim}
	})
	out[1].Layout = field.Layout{Title: "person", Min: 5, Max: 8}
	out[2].Layout = field.Layout{Title: "event", Min: 15, Max: 28, Flex: 1, CutMiddle: true}
	out[3].Layout = field.Layout{Title: "outcome", Min: 1, Max: 12, Flex: 1, Signed: true}
	return out
}

// AuditListed are the columns of a list of records in commands.
var AuditListed = Named(slices.Concat([]Column[audit.Entry]{
	recordColumn("who", func(e audit.Entry) string { return e.Actor.Who() }),
	recordColumn("via", func(e audit.Entry) string { return e.Via }),
	recordColumn("phase", func(e audit.Entry) string { return string(e.Phase) }),
	NumberColumn("seq", field.Layout{}, func(e audit.Entry) int64 { return e.Seq }),
	recordColumn("id", func(e audit.Entry) string { return e.ID }),
	recordColumn("item", func(e audit.Entry) string { return e.Item }),
	textColumn("what", field.Layout{}, auditWhat),
	recordColumn("object", func(e audit.Entry) string { return e.Object }),
}, auditColumnsTo(true)), "seq", "at", "context", "who", "via", "event", "phase", "outcome", "object", "id",
	"item", "what")

// recordColumn is a column with a text of a record without its quoting.
func recordColumn(name string, text func(audit.Entry) string) Column[audit.Entry] {
	return textColumn(name, field.Layout{HidePriority: 2}, func(e audit.Entry) string { return AuditText(text(e), 300) })
}

// auditWhat is the part of a record that has no column.
func auditWhat(e audit.Entry) string {
	var what []string
	if e.Damaged {
		what = []string{"DAMAGED: " + safe(e.Why, 300)}
	}
	for _, s := range []string{e.Summary, e.Reason, e.Error, e.Detail} {
		if s = AuditText(s, 300); s != "" {
			what = append(what, s)
		}
	}
	return strings.Join(what, "; ")
}

func auditColumnsTo(seconds bool) []Column[audit.Entry] {
	width, shows := 16, format.Minute
	if seconds {
		width, shows = 19, format.Second
	}
	at := column("at", field.Layout{Title: "time", Min: width, HidePriority: 2, Whole: true},
		func(o Options, e audit.Entry) Cell {
			return Cell{Text: shows(e.At, o.Zone), Tone: Dim}
		})
	at.Time = true
	at = exactly(at, func(e audit.Entry) string { return e.At.UTC().Format(exactMillis) })
	event := exactly(textColumn("event", field.Layout{Min: 15, Max: 28, Flex: 1}, AuditEvent),
		func(e audit.Entry) string { return AuditText(e.Event, 300) })
	outcome := exactly(column("outcome", field.Layout{Min: 12, Signed: true}, func(o Options, e audit.Entry) Cell {
		return AuditOutcome(e).Cell(o)
	}), func(e audit.Entry) string { return AuditText(string(e.Outcome), 300) })
	return []Column[audit.Entry]{at,
		textColumn("person", field.Layout{Min: 8, Max: 20, Flex: 1, HidePriority: 3}, func(e audit.Entry) string {
			return AuditText(e.Actor.Name, 60)
		}), event,
		textColumn("context", field.Layout{Min: 7, Max: 16, HidePriority: 4}, func(e audit.Entry) string {
			return AuditText(e.Context.Name, 60)
		}),
		column("object", field.Layout{Min: 12, Max: 60, Flex: 3, CutMiddle: true, HidePriority: 1},
			func(_ Options, e audit.Entry) Cell { return Cell{Text: AuditObject(e), Tone: Dim} }), outcome}
}

// AuditEntry is a record of the audit trail, all but AuditHashes. Texts are shown without quoting.
func AuditEntry(o Options, e audit.Entry) []Section {
	item, name := "item id", "name"
	if strings.HasPrefix(e.Event, "document.") {
		item, name = "document id", "file name"
	}
	act := Section{Title: "Record", Facts: append([]Fact{{Label: "when", Value: format.Time(e.At, o.Zone)}},
		recorded("summary", e.Summary, "reason", e.Reason, "phase", auditPhase(e), "object", e.Object, "id", e.ID,
			item, e.Item, name, e.Name)...)}
	out := []Section{act}
	for _, s := range []Section{auditResult(e), auditPerson(o, e), auditRequest(e)} {
		if len(s.Facts) > 0 {
			out = append(out, s)
		}
	}
	return out
}

// AuditHashes are the hashes of a record and its place in the trail.
func AuditHashes(e audit.Entry) []Section {
	chain := append([]Fact{{Label: "record", Value: format.Count(int(e.Seq))}}, recorded("record id", e.UID,
		"record before sending", e.Ref, "trail id", e.Chain, "event code", e.Code)...)
	chain = append(append(chain, digest("hash", e.Hash, "none"), digest("previous hash", e.Prev, "none")),
		recorded("process", e.Boot, "build", e.Build)...)
	return []Section{{Title: "Hashes", Facts: []Fact{digest("content before", e.Before, "not recorded"),
		digest("content after", e.After, "not recorded"), digest("request", e.Act, "no request")}},
		{Title: "Chain", Facts: chain}}
}

func auditResult(e audit.Entry) Section {
	facts := recorded("outcome", string(e.Outcome))
	if mark, known := outcomes[e.Outcome]; known {
		facts[0].Value = mark.Word
	}
	switch e.Outcome {
	case audit.ResultNotSeen:
		facts[0].Value += ": no read showed it in time"
	case audit.ResultSeen:
		facts[0].Value += ": no answer says whether the request was done, and a read shows the wanted state"
	}
	if e.Status > 0 {
		facts = append(facts, Fact{Label: "HTTP status", Value: strconv.Itoa(e.Status)})
	}
	detail := "detail"
	switch e.Outcome {
	case audit.ResultOK:
		detail = "proved by"
	case audit.ResultSeen:
		detail = "shown by"
	}
	facts = append(facts, recorded("rule", e.Rule, "service's answer", e.Error, detail, e.Detail)...)
	if e.Took > 0 {
		facts = append(facts, Fact{Label: "took", Value: format.Duration(time.Duration(e.Took) * time.Microsecond)})
	}
	if e.Count > 1 {
		facts = append(facts, Fact{Label: "combines", Value: format.Count(int(e.Count)) + " attempts since " +
			AuditText(e.Since, 40)})
	}
	return Section{Title: "Outcome", Facts: facts}
}

// account is the login of a context, masked unless the person revealed values.
func account(o Options, name string) string {
	if name == "" || !o.Masked {
		return name
	}
	return session.MaskAccount(string(audit.Unquote(name)))
}

func auditPerson(o Options, e audit.Entry) Section {
	login := e.Actor.Login
	if login == e.Actor.Name {
		login = ""
	}
	return Section{Title: "Person", Facts: under("person", recorded("name", e.Actor.Name, "role", e.Actor.Role, "login",
		login, "key",
		e.Actor.Key, "certificate", e.Actor.Serial, "identified by", e.Actor.Claim, "surface", e.Via, "host", e.From,
		"session", e.Sid, "context", e.Context.Name, "service", e.Context.BaseURL, "account", account(o, e.Context.Account)))}
}

func auditRequest(e audit.Entry) Section {
	facts := recorded("request id", e.Req, "method", e.Method, "path", e.Path)
	for _, d := range []struct{ label, hash string }{{"body", e.Body}, {"secret", e.Secret}} {
		if d.hash != "" {
			facts = append(facts, digest(d.label, d.hash, ""))
		}
	}
	return Section{Title: "Request", Facts: facts}
}

// recorded are Texts of a record without their quoting.
func recorded(labelsAndTexts ...string) []Fact {
	for i := 1; i < len(labelsAndTexts); i += 2 {
		labelsAndTexts[i] = string(audit.Unquote(labelsAndTexts[i]))
	}
	return Texts(labelsAndTexts...)
}

// digest is a full hash; none replaces an empty one.
func digest(label, hash, none string) Fact {
	if hash == "" {
		return Fact{Label: label, Value: none, Tone: Dim}
	}
	return Fact{Label: label, Value: AuditText(hash, 128), Tone: Dim, Long: true}
}

// Sentence is a line for people with a look.
type Sentence struct {
	Look
	Text string
}

// Line is the sentence after its sign.
func (s Sentence) Line(o Options) string { return o.sign(s.Sign) + s.Text }

// Finding is one part of a report.
type Finding struct {
	Title string
	None  string // shown if there are no lines
	// Unsure says that None is all that this part can say, not that nothing is wrong.
	Unsure bool
	Lines  []Sentence
	Note   string // shown below the lines on a screen
}

// Verified is the result of a verification of the trail: the verdict, what was checked, and what is wrong.
func Verified(o Options, r audit.Report) (verdict Sentence, checked Section, found []Finding) {
	verdict = Sentence{Look{SignGood, Good}, safe(r.Summary(), 600)}
	unproven := r.Covered == 0 && r.Records > 0 // no checkpoint proves any record
	switch {
	case len(r.Problems) == 0 && len(r.Unknown) > 0:
		verdict.Look = Look{SignWarn, Warn}
	case !r.Intact():
		verdict.Look = Look{SignBad, Bad}
	case r.Covered < r.Last:
		verdict.Look = Look{SignWarn, Warn}
	}
	points := "none"
	if r.Checkpoints > 0 {
		points = format.Count(r.Checkpoints) + ", valid up to record " + format.Count(int(r.Covered))
	}
	checked = Section{Title: "What was checked", Facts: []Fact{{Label: "records", Value: format.Count(int(r.Records))},
		{Label: "first record", Value: format.Count(int(r.First)) + ", " + format.Time(r.From, o.Zone)},
		{Label: "last record", Value: format.Count(int(r.Last)) + ", " + format.Time(r.Until, o.Zone)},
		{Label: "checkpoints", Value: points}, {Label: "trail id", Value: safe(r.Chain, 600), Tone: Dim, Long: true},
		{Label: "last hash", Value: safe(r.Head, 600), Tone: Dim, Long: true}}}
	none := "none"
	if unproven {
		none = "none found in the records that are stored"
	}
	found = []Finding{{Title: "Problems", None: none, Unsure: unproven, Lines: problems(r)},
		{Title: "Writes with an unknown outcome", None: "none", Lines: openActs(o, r),
			Note: "Writes in progress are counted too. Those that stay open are listed at the top of the trail, with what to " +
				"do."},
		{Title: "Clock changes", None: "none: the clock never went back", Lines: clockSteps(r)}}
	if warnings := say(r.Warnings, Look{SignWarn, Warn}); len(warnings) > 0 {
		found = append(found, Finding{Title: "Warnings", Lines: warnings})
	}
	return verdict, checked, found
}

func say(list []string, look Look) []Sentence {
	out := make([]Sentence, len(list))
	for i, s := range list {
		out[i] = Sentence{look, safe(s, 600)}
	}
	return out
}

func problems(r audit.Report) []Sentence {
	var out []string
	for i, p := range r.Problems {
		var head []string
		switch {
		case p.Seq > 0 && i == 0:
			head = append(head, "first bad record "+format.Count(int(p.Seq)))
		case p.Seq > 0:
			head = append(head, "record "+format.Count(int(p.Seq)))
		}
		kind := string(p.Kind)
		if p.Kind == audit.Cut {
			kind += " (the end is missing)"
		}
		out = append(out, strings.Join(append(head, kind), ", ")+": "+p.Text)
	}
	lines := say(out, Look{SignBad, Bad})
	if r.More > 0 {
		lines = append(lines, say([]string{"and " + format.Count(r.More) + " more; do not rely on records after a bad one"},
			Look{NoSign, Bad})...)
	}
	return lines
}

func openActs(o Options, r audit.Report) []Sentence {
	var out []string
	for _, d := range r.Unsettled {
		was := func(s string) string { return string(audit.Unquote(s)) }
		out = append(out, format.Time(d.At, o.Zone)+"  "+was(d.Event)+" by "+was(d.Actor)+" on "+was(d.Object)+" "+
			was(d.ID)+" (record "+format.Count(int(d.Seq))+")")
	}
	return say(out, Look{SignUnknown, Warn})
}

func clockSteps(r audit.Report) []Sentence {
	var out []string
	for _, c := range r.ClockSteps {
		out = append(out, "before record "+format.Count(int(c.Seq))+" the clock went back by "+format.Duration(c.Back))
	}
	return say(out, Look{SignWarn, Warn})
}

// UnsettledState is what is known of a write without an answer: sending (nothing reports whether its process still
// runs), unknown, seen or not_seen.
func UnsettledState(r followup.Row) followup.State {
	switch {
	case r.Unsure:
		return followup.Sending
	case r.State == followup.Seen, r.State == followup.NotSeen:
		return r.State
	}
	return followup.Unknown
}

// UnsettledListed are the columns of the writes whose outcome is unknown.
var UnsettledListed = []Column[followup.Row]{
	textColumn("what", field.Layout{}, func(r followup.Row) string { return safe(string(r.Kind), 60) }),
	textColumn("object", field.Layout{}, func(r followup.Row) string { return safe(r.Object, 60) }),
	textColumn("id", field.Layout{}, func(r followup.Row) string { return safe(r.ID, 200) }),
	textColumn("item", field.Layout{}, func(r followup.Row) string { return safe(r.Item, 200) }),
	textColumn("who", field.Layout{}, func(r followup.Row) string { return safe(r.Who, 120) }),
	unsettledTime("sent", func(r followup.Row) time.Time { return r.Sent }),
	unsettledTime("until", func(r followup.Row) time.Time { return unlessNotSeen(r, r.Until) }),
	unsettledTime("last check", func(r followup.Row) time.Time { return r.Looked }),
	unsettledTime("next check", func(r followup.Row) time.Time { return unlessNotSeen(r, r.Next) }),
	NumberColumn("checks", field.Layout{}, func(r followup.Row) int64 { return int64(r.Reads) }),
	textColumn("state", field.Layout{}, func(r followup.Row) string { return string(UnsettledState(r)) }),
	textColumn("ref", field.Layout{}, func(r followup.Row) string { return safe(r.Ref, 120) }),
}

// unsettledTime is a column of times: of the day on screens; commands print the day too. "–" is none.
func unsettledTime(name string, at func(followup.Row) time.Time) Column[followup.Row] {
	return column(name, field.Layout{}, func(o Options, r followup.Row) Cell {
		if o.Zone == nil {
			return Cell{Text: format.Second(at(r), nil)}
		}
		return Cell{Text: format.Clock(at(r), o.Zone)}
	})
}

// unlessNotSeen is a time that a write without a further check does not have.
func unlessNotSeen(r followup.Row, at time.Time) time.Time {
	if r.State == followup.NotSeen {
		return time.Time{}
	}
	return at
}

// Unsettled says what is not known of a write, until when it may arrive, and what is done about it.
func Unsettled(o Options, r followup.Row) string {
	what, sent := safe(r.What(), 90), o.clock(r.Sent)
	if from := r.FromBackup(); from != "" && r.State != followup.NotSeen {
		return what + ": sent at " + sent + "; " + from +
			", and its outcome is unknown here. opdeck checks again by itself."
	}
	if r.State == followup.NotSeen {
		return what + ": sent at " + sent + ", unknown outcome: no read showed it in time. " +
			remedy.Screen(&api.Error{Remedy: r.Advice()})
	}
	until := o.clock(r.Until)
	if r.State == followup.Seen {
		return what + ": a read shows the wanted state, but no answer says whether the request of " + sent +
			" was done, and it may still arrive until " + until + ". Until then it is neither repeated nor undone."
	}
	return what + ": sent at " + sent + "; unknown outcome. It may still arrive until " + until +
		"; opdeck checks again by itself."
}

// Removed says that a listed document was removed by a write of ours.
func Removed(o Options, name string, at time.Time) string {
	return name + " was removed with opdeck at " + o.clock(at) +
		": this read may be older, or someone attached it again since."
}
