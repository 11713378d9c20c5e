package present

import (
	"cmp"
	"encoding/json"
	"maps"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"time"
	"unicode/utf8"

	"opdeck/api"
	"opdeck/api/untrusted"
	"opdeck/internal/domain/journey"
	"opdeck/internal/domain/mask"
	"opdeck/internal/domain/replace"
	"opdeck/internal/field"
	"opdeck/internal/format"
	"opdeck/internal/format/csvcell"
)

// Begun is the cell of an unfinished verification in the list of customers: since when, and what it waits for.
func Begun(o Options, r journey.Record) Cell {
	state := standing(r, o.Now)
	out := Cell{Text: state, Tone: Warn}
	if at := r.Begun(); !at.IsZero() {
		var ago string
		ago, out.Until = format.Ago(at, o.Now)
		out.Text = ago + ", " + state
	}
	return out
}

// standing is the state of an unfinished journey in a word or two.
func standing(r journey.Record, now time.Time) string {
	switch {
	case r.Unclear:
		return "share: unknown outcome"
	case r.FinalizeUnclear:
		return "finalize: unknown outcome"
	case !r.LinkAt.IsZero() && now.Before(r.LinkUntil):
		return "link open"
	case !r.LinkAt.IsZero() && !r.LinkTimed():
		return "link created"
	case !r.LinkAt.IsZero():
		return "link expired"
	case r.Applied && (len(r.Outstanding) > 0 || r.Outstanding == nil):
		return "needs a link"
	}
	return "to finalize"
}

// JourneyStep is a step of a customer's verification.
type JourneyStep struct {
	Mark
	Number int // from 1
	Name   string
	Note   string // safe to draw
}

// JourneyColumns are the columns of a verification's checklist.
var JourneyColumns = []Column[JourneyStep]{
	textColumn("step", field.Layout{}, func(s JourneyStep) string { return strconv.Itoa(s.Number) + " " + s.Name }),
	column("state", field.Layout{}, func(o Options, s JourneyStep) Cell { return s.Cell(o) }),
	column("what", field.Layout{}, func(_ Options, s JourneyStep) Cell { return Cell{Text: s.Note, Tone: Dim} }),
}

// stepActs are the acts that do a step.
var stepActs = map[string]api.ActKind{"share": api.ActShare, "link": api.ActLink, "finalize": api.ActFinalize}

// JourneySteps lists the steps of a verification. The one that the next act does is next.
func JourneySteps(j journey.Journey) []JourneyStep {
	last := len(j.Steps) - 1
	out := make([]JourneyStep, len(j.Steps))
	for i, st := range j.Steps {
		out[i] = JourneyStep{Mark: stepMark(st), Number: i + 1, Name: safe(st.Name, 60), Note: safe(st.Note, 300)}
		if j.Next.Act != "" && stepActs[st.Key] == j.Next.Act && st.State == journey.Todo {
			out[i].Look = Look{SignNext, Accent}
		}
		if st.Key == "application" && st.State == journey.Done {
			kind := j.Application.Kind()
			out[i].Note = kind[:1] + strings.ToLower(kind[1:]) + " application, status " +
				cmp.Or(j.Application.Status.Line(30), "–")
			if s := j.Steps[last].State; s != journey.Done && s != journey.Unclear {
				out[i].Note += ", not submitted here"
			}
		}
	}
	return out
}

// stepMark is the state of a step in the word that JSON has for it.
func stepMark(st journey.Step) Mark {
	look := Look{SignWait, Dim}
	switch st.State {
	case journey.Done:
		if look = (Look{SignGood, Good}); st.Key == "link" { // a beginning
			look = Look{SignInfo, Info}
		}
	case journey.Optional:
		look = Look{SignOff, Dim}
	case journey.Blocked:
		look = Look{SignBad, Bad}
	case journey.Unclear:
		look = Look{SignUnknown, Warn}
	}
	return Mark{look, safe(string(st.State), 20)}
}

// AskedCustomer lists the facts in a question about a customer, below the customer's id.
func AskedCustomer(id string, c api.Customer) []Fact {
	return []Fact{{Label: "customer", Value: CustomerName(id, c.DisplayName()), Long: true},
		{Label: "kind", Value: known(c.Type)}, {Label: "status", Value: known(c.Status)}}
}

// ShareRisk is what a share token may undo; "" for a customer whose verification has no result.
func ShareRisk(c api.Customer) string {
	if api.StandingOf(c.Status) != api.StandingAccepted {
		return ""
	}
	return "This customer is " + c.Status.Line(20) + " already. A token that is applied begins the verification again: " +
		"the customer may lose that status until the application is finalized and accepted."
}

// ShareRiskUnread is said instead of ShareRisk of a customer who could not be read.
const ShareRiskUnread = "The customer could not be read, so it is not known whether they are accepted already. A " +
	"token that is applied begins the verification again."

// AskedFinalize lists the facts in a question about finalizing.
func AskedFinalize(id string, j journey.Journey) []Fact {
	out, app := AskedCustomer(id, j.Customer), "none seen"
	switch k := j.Application.Kind(); {
	case k != "":
		app = strings.ToLower(k) + ", " + cmp.Or(j.Application.Status.Line(30), "–")
	case j.Application.Unread:
		app = "could not be read"
	}
	return append(append(out, Fact{Label: "application", Value: app}), Outstanding(j.Record)...)
}

// Outstanding is the fact that document sets are outstanding; none if none are.
func Outstanding(r journey.Record) []Fact {
	switch {
	case len(r.Outstanding) > 0:
		return []Fact{{Label: "outstanding", Value: safe(strings.Join(r.Outstanding, ", "), 600), Long: true}}
	case r.Applied && r.Outstanding == nil:
		return []Fact{{Label: "outstanding", Value: "not known: the answer to the share was lost", Long: true}}
	}
	return nil
}

// FinalizeRisk warns of outstanding document sets for which no link was created; "" for none.
func FinalizeRisk(r journey.Record) string {
	if len(r.Open()) == 0 {
		return ""
	}
	return "Document sets are outstanding, and no link was created for them: " +
		safe(strings.Join(r.Open(), ", "), 300) + "."
}

// CustomerName is what a customer is called: name, of its record (api.Customer.DisplayName) or, where that was not
// read, of its operations; without a name the id.
func CustomerName(id string, name untrusted.Text) string {
	if n := name.Line(200); n != "" {
		return n
	}
	return "Customer " + safe(id, 64)
}

func known(u untrusted.Text) string { return cmp.Or(u.Line(30), "not known") }

// Application is every member of an application by its path; none where there is no application.
func Application(o Options, a api.Application) []Fact {
	body := a.Individual
	switch a.Kind() {
	case "":
		return nil
	case api.Corporate:
		body = a.Corporate
	}
	return flat(o, "", body)
}

// flat are nested members as facts, in the order of their paths; "application." begins each and is left out.
func flat(o Options, path string, raw json.RawMessage) []Fact {
	var obj map[string]json.RawMessage
	var arr []json.RawMessage
	var out []Fact
	switch {
	case json.Unmarshal(raw, &obj) == nil && obj != nil:
		for _, name := range slices.Sorted(maps.Keys(obj)) {
			out = append(out, flat(o, strings.TrimPrefix(path+"."+name, "."), obj[name])...)
		}
	case json.Unmarshal(raw, &arr) == nil && arr != nil:
		for i, v := range arr {
			out = append(out, flat(o, strings.TrimPrefix(path+"."+format.Count(i+1), "."), v)...)
		}
	default:
		out = []Fact{leaf(o, strings.TrimPrefix(untrusted.Text(path).Line(60), "application."), raw)}
	}
	return out[:min(len(out), maxMore)]
}

func leaf(o Options, label string, raw json.RawMessage) Fact {
	var text string
	if json.Unmarshal(raw, &text) != nil {
		text = string(raw)
	}
	u := untrusted.Text(text)
	shown := mask.Detail(api.Detail{Label: label, Value: untrusted.Text(u.Line(300))}, o.Masked)
	switch {
	case u == "":
		return Fact{Name: label, Label: memberLabel(label), Value: "–", Tone: Dim, Long: true}
	case u.Flags().Suspicious():
		odd := mask.Detail(api.Detail{Label: label, Value: untrusted.Text(format.Suspicious(u))}, o.Masked)
		return Fact{Name: label, Label: memberLabel(label), Value: odd.Line(1200), Tone: Warn, Long: true}
	}
	return Fact{Name: label, Label: memberLabel(label), Value: shown.Line(300), Long: true}
}

// JourneyProblems say which records of a verification could not be read.
func JourneyProblems(j journey.Journey) []Sentence {
	var out []Sentence
	for _, missing := range []string{j.NoRecord, j.Problem} {
		if missing != "" {
			out = append(out, Sentence{Look{SignWarn, Warn}, safe(missing, 2000)})
		}
	}
	return out
}

// LinkFor says for whom a link is and how often it works.
const LinkFor = "for the customer's browser; works once"

// LinkLeft says how long a link works that ends at until; zero: the service did not say.
func LinkLeft(o Options, until time.Time) Sentence {
	if until.IsZero() {
		return Sentence{Look{SignUnknown, Warn}, "its lifetime is not known"}
	}
	if !o.Now.Before(until) {
		return Sentence{Look{SignBad, Bad}, "has expired"}
	}
	left, _ := format.Until(until, o.Now)
	return Sentence{Look{SignGood, Good}, "expires in " + left}
}

// steps are how far a replacement came, in words.
var steps = map[replace.Step]string{
	replace.Planned:    "nothing was sent yet",
	replace.Removing:   "the removal was sent, its outcome is unknown",
	replace.Removed:    "the old document is removed, the new one is not uploaded",
	replace.Uploading:  "the old document is removed, the outcome of the upload is unknown",
	replace.Uploaded:   "the old document is removed, the new one is uploaded but not attached",
	replace.Attaching:  "the attachment was sent, its outcome is unknown",
	replace.Abandoning: "it is being abandoned: the old document is restored",
}

// JobStep says how far a replacement came.
func JobStep(j replace.Job) string {
	if words, known := steps[j.Step]; known {
		switch {
		case j.Step != replace.Planned:
		case slices.Contains(j.Sent, replace.Removing):
			words = "the removal was sent, and its effect was not seen"
		case j.Refused:
			words = "the removal was refused, nothing was changed"
		}
		if !j.Restored.IsZero() {
			words += "; as of the backup of " + j.Restored.UTC().Format("2006-01-02 15:04:05 UTC")
		}
		return words
	}
	return safe(string(j.Step), 60)
}

// JobColumns are the columns of replacements that did not end.
var JobColumns = []Column[replace.Job]{
	textColumn("job", field.Layout{}, func(j replace.Job) string { return safe(j.ID, 120) }),
	textColumn("operation", field.Layout{}, func(j replace.Job) string { return safe(j.OPID, 120) }),
	textColumn("old document", field.Layout{}, func(j replace.Job) string { return safe(j.OldGUID, 120) }),
	textColumn("new file", field.Layout{}, func(j replace.Job) string { return safe(j.FileName, 300) }),
	exactly(textColumn("step", field.Layout{}, JobStep), func(j replace.Job) string { return safe(string(j.Step), 60) }),
	textColumn("problem", field.Layout{}, func(j replace.Job) string { return safe(j.Problem, 2000) }),
}

// AskedResume is what a question about going on with a replacement shows.
func AskedResume(j replace.Job) []Fact {
	return []Fact{{Label: "job", Value: safe(j.ID, 120)}, {Label: "step", Value: JobStep(j), Long: true},
		{Label: "new file", Value: safe(j.FileName, 300), Long: true}}
}

// memberWidth bounds the column of a member without a Go field, in cells.
const memberWidth = 24

// numeric matches a number, or an amount with its currency.
var numeric = regexp.MustCompile(`^([A-Z0-9]{2,10} )?-?[0-9][0-9.eE+-]*$`)

// Members returns the columns of these rules' members without a Go field, each as wide as its content; times come
// last and are hidden first in a narrow window.
func Members(o Options, all []api.Tariff) []Column[api.Tariff] {
	labels, moments := api.Members(all)
	out := make([]Column[api.Tariff], len(labels))
	for i, label := range labels {
		moment := i >= len(labels)-moments
		c := Column[api.Tariff]{Name: label, Layout: field.Layout{Align: field.Right, HidePriority: min(i, 3),
			Title: untrusted.Text(memberLabel(label)).Line(memberWidth)}}
		c.Min = utf8.RuneCountInString(c.Title)
		c.Cell = func(o Options, t api.Tariff) Cell { return member(o, t, label, moment) }
		for _, t := range all {
			text := c.Cell(o, t).Text
			c.Min = max(c.Min, utf8.RuneCountInString(text))
			if d := t.Member(label); !d.Money.Empty() {
				c.Align, c.Shorten, c.CSV = field.Decimal, true, amountSheet(label)
			} else if text != "" && !numeric.MatchString(text) {
				c.Align, c.Shorten = field.Left, false
			}
		}
		if c.Min > memberWidth {
			c.Min, c.Flex = memberWidth, 1
		}
		if c.Time = moment; moment {
			c.HidePriority, c.Whole = 5, true
			c.CSV = []field.SheetColumn[api.Tariff]{{Head: csvcell.Zoned(label), Cell: func(t api.Tariff) csvcell.Cell {
				if d := t.Member(label); !d.At.IsZero() {
					return csvcell.Time(d.At.Time)
				}
				return csvcell.Text(member(Options{Masked: true}, t, label, true).Text)
			}}}
		}
		out[i] = c
	}
	return out
}

// amountSheet has the columns of a rule's member that is an amount: number and currency.
func amountSheet(label string) []field.SheetColumn[api.Tariff] {
	return []field.SheetColumn[api.Tariff]{{Head: label, Cell: func(t api.Tariff) csvcell.Cell {
		if d := t.Member(label); !d.Money.Empty() {
			return field.AmountCell(d.Money)
		}
		return csvcell.Text(member(Options{Masked: true}, t, label, false).Text)
	}}, {Head: label + "_currency", Cell: func(t api.Tariff) csvcell.Cell {
		return csvcell.Text(string(t.Member(label).Money.CurrencyCode))
	}}}
}

// member is the cell of a rule's member.
func member(o Options, t api.Tariff, label string, moment bool) Cell {
	d := t.Member(label)
	value := mask.Detail(d, o.Masked)
	out := Cell{Text: value.Line(200)}
	switch {
	case !d.Money.Empty() && value == d.Value:
		if out.Text = format.Money(d.Money); d.Money.Unclear {
			out.Tone = Warn
		}
	case moment && !d.At.IsZero():
		out.Text = o.minute(d.At.Time)
	case d.Odd && o.Sign != nil:
		out.Text, out.Tone = out.Text+" "+o.Sign(SignWarn), Warn
	case d.Odd:
		out.Text += " (cannot be read)"
	}
	return out
}

// words describe what the acts do to a document's entry.
var words = map[api.ActKind]string{api.ActRemoveDocument: "removed", api.ActAttachDocument: "added"}

// overlap is how long before the previous state a write may have been sent: news of other fields can arrive before
// its answer.
const overlap = 2 * time.Minute

// attribute records in moments, oldest first, who changed documents. A write explains one change: the first of its
// kind to its document that was seen after it.
func attribute(all []Moment, writes []Write) {
	left := slices.Clone(writes)
	slices.SortFunc(left, func(a, b Write) int { return a.At.Compare(b.At) })
	for i := range all {
		m := &all[i]
		for _, c := range m.Changes {
			item, word := entry(m.Changes, c)
			guid, ok := documentOf(item)
			if !ok || m.Before == nil || m.Who[item] != "" {
				continue
			}
			from, to := m.Before.At.Add(-overlap), m.At
			at := slices.IndexFunc(left, func(w Write) bool {
				return w.Item == guid && words[w.Act] == word && !w.At.After(to) && w.At.After(from)
			})
			if at < 0 || left[at].Who == "" {
				continue
			}
			if m.Who == nil {
				m.Who = map[string]string{}
			}
			m.Who[item] = untrusted.Text(left[at].Who).Line(40)
			left = slices.Delete(left, at, at+1)
		}
	}
}
