package history

import (
	"strings"
	"time"

	"opdeck/internal/domain/mask"

	"github.com/cockroachdb/apd/v3"

	"opdeck/api"
	"opdeck/api/untrusted"
	"opdeck/internal/domain/index"
	"opdeck/internal/domain/index/filter"
	"opdeck/internal/field"
	"opdeck/ui"
	"opdeck/ui/draw"
	"opdeck/ui/theme"
	"opdeck/ui/widget"
)

var columns = []widget.Column{
	{Title: "when", Min: 16, HidePriority: 1}, {Title: "ago", Min: 7, Align: widget.Right, HidePriority: 4}, {Title: "from", Min: 7, HidePriority: 3},
	{Title: "status", Min: 10, Max: 16, HidePriority: 2}, {Title: "what changed", Min: 14, Flex: 1},
}

// moment is a state with what changed from the one before.
type moment struct {
	id      string
	at      int // its place, oldest first
	state   index.State
	before  *moment // nil for the first known state
	changes []index.Change
	who     map[string]string // by entry of a list: " by ana"
}

// language is the filter language over the states of one operation.
var language = filter.NewTable(
	filter.Field[moment]{Name: "status", Kind: filter.Code, Help: "the service's status word", Example: "status:PENDING",
		Strings: func(m moment) []string { return []string{string(m.state.Op.Status)} }},
	filter.Field[moment]{Name: "from", Kind: filter.Flag, Help: "where the state came from", Example: "from:webhook",
		Values: []string{index.List.String(), index.Read.String(), index.Hook.String()},
		Flag:   func(m moment, v string) bool { return m.state.Origin.String() == v }},
	filter.Field[moment]{Name: "when", Aliases: []string{"at"}, Kind: filter.Time, Help: "when it was first seen here", Example: "when<2d",
		Time: func(m moment) time.Time { return m.state.At }},
	filter.Field[moment]{Name: "changed", Kind: filter.Text, Help: "a field that changed, by its name", Example: "changed:amount", Strings: changed},
	filter.Field[moment]{Kind: filter.Free, Help: "contained in the status or in the name of a field that changed", Example: "document",
		Strings: func(m moment) []string { return append(changed(m), string(m.state.Op.Status), m.state.Origin.String()) }})

func changed(m moment) []string {
	var out []string
	for _, c := range m.changes {
		out = append(out, path(c))
	}
	return out
}

// row draws one state.
func (s *Screen) row(m moment) widget.Row {
	th := s.env.Theme
	st := th.Status(string(m.state.Op.Status))
	ago, _ := draw.Ago(m.state.At, s.env.Now())
	out := widget.Row{ID: m.id,
		Cells: []string{draw.Minute(m.state.At, s.env.Zone()), strings.TrimSuffix(ago, " ago"), m.state.Origin.String(),
			st.Sign + " " + m.state.Op.Status.Line(30), summary(m, s.env.Masked())},
		Tones: []theme.Tone{theme.Dim, theme.Dim, theme.Dim, st.Tone, theme.Plain}}
	if s.isFresh(m) {
		out.Sign, out.Tone = th.Signs.Warn, theme.Warn
	}
	return out
}

// summary is what changed, on one line: few changes with their values, many with
// their names. A document is called by its file's name, and who changed it is told as
// far as it is known.
func summary(m moment, masked bool) string {
	switch {
	case m.state.Gone:
		return "gone: the service does not have it any more"
	case m.at == 0:
		return "first known state"
	case len(m.changes) == 0:
		return "nothing that differs"
	}
	var parts []string
	seen := map[string]bool{}
	for _, c := range important(m.changes) {
		if len(parts) == 12 {
			parts = append(parts, "…")
			break
		}
		if item, word := entry(m.changes, c); item != "" {
			if !seen[item] {
				parts = append(parts, m.itemName(item)+" "+word+m.who[item])
			}
			seen[item] = true
			continue
		}
		part := m.fieldName(c)
		if len(m.changes) <= 4 {
			part += " " + shown(c, c.Before, masked, 60) + " → " + shown(c, c.After, masked, 60)
		}
		parts = append(parts, part)
	}
	return strings.Join(parts, ", ")
}

// documentOf is the id of the document that an entry of a list is: "documents[g-1]".
func documentOf(item string) (guid string, ok bool) {
	guid, ok = strings.CutPrefix(item, "documents[")
	return strings.TrimSuffix(guid, "]"), ok
}

// fieldName is the field of a change; one of a document begins with the name of its file.
func (m moment) fieldName(c index.Change) string {
	if item, rest, ok := strings.Cut(path(c), "]."); ok {
		return m.itemName(item+"]") + " " + rest
	}
	return path(c)
}

// itemName is what people call an entry of a list: a document by its file's name.
func (m moment) itemName(item string) string {
	guid, _ := documentOf(item)
	for _, op := range []*moment{&m, m.before} {
		if op == nil {
			continue
		}
		if d, ok := op.state.Op.Document(guid); ok && d.FileName != "" {
			return draw.File(d.FileName, 60)
		}
	}
	return untrusted.Text(item).Line(60)
}

// documentsChanged reports whether a document came, went or changed in what is known.
func documentsChanged(all []moment) bool {
	for _, m := range all {
		for _, c := range m.changes {
			if strings.HasPrefix(c.Path, "documents[") {
				return true
			}
		}
	}
	return false
}

// entry tells whether a change is part of a list's entry that came, went or
// changed in several fields, and says that once: "documents[g-1]", "removed".
func entry(all []index.Change, c index.Change) (item, word string) {
	i := strings.IndexByte(c.Path, ']')
	if i < 0 {
		return "", ""
	}
	item = c.Path[:i+1]
	n, came, went := 0, true, true
	for _, o := range all {
		if strings.HasPrefix(o.Path, item) {
			n++
			came, went = came && o.Before == "", went && o.After == ""
		}
	}
	switch {
	case came:
		return item, "added"
	case went:
		return item, "removed"
	case n > 1:
		return item, "changed"
	}
	return "", ""
}

// important puts what people look for first: status, then money, then the rest;
// the moment of the change itself last.
func important(list []index.Change) []index.Change {
	var first, money, rest, last []index.Change
	for _, c := range list {
		switch {
		case c.Path == "status":
			first = append(first, c)
		case c.Money:
			money = append(money, c)
		case c.Path == "updatedAt":
			last = append(last, c)
		default:
			rest = append(rest, c)
		}
	}
	return append(append(append(first, money...), rest...), last...)
}

// path is the field by its name of the catalogue; others come from outside.
func path(c index.Change) string { return untrusted.Text(field.PathLabel(c.Path)).Line(120) }

// shown is a value, exact for money; account numbers are masked while masking is
// on. A missing one is a dash.
func shown(c index.Change, v untrusted.Text, masked bool, max int) string {
	switch {
	case v == "":
		return "–"
	case c.Money:
		return amount(string(v))
	}
	return value(c, v, masked).Line(max)
}

// value is what a field held, masked while masking is on.
func value(c index.Change, v untrusted.Text, masked bool) untrusted.Text {
	return mask.Detail(api.Detail{Path: c.Path, Value: v}, masked)
}

// amount turns "EUR 12.5" into the console's way of writing money, digits of the
// currency and thousands grouped; anything else is shown as it is.
func amount(s string) string {
	code, number, ok := strings.Cut(s, " ")
	if !ok || number == "" || strings.Trim(number, "-.0123456789") != "" {
		return untrusted.Text(s).Line(200)
	}
	d, _, err := apd.NewFromString(number)
	if err != nil {
		return untrusted.Text(s).Line(200)
	}
	digits, _ := draw.Digits(code)
	return draw.Number(d, digits) + " " + untrusted.Text(code).Line(12)
}

// Unread says that the states could not be read.
const Unread = "The past cannot be read from the store."

// Last are the newest n of states, which are oldest first, in lines of w cells, and the
// ids of their rows on the screen of the history.
func Last(env *ui.Env, states []index.State, n, w int) (lines, rows []string) {
	th := env.Theme
	all := moments(states)
	for _, m := range all[:min(n, len(all))] {
		st := th.Status(string(m.state.Op.Status))
		line := th.Dim.Render(draw.Minute(m.state.At, env.Zone())+"  ") + th.Tone(st.Tone).Render(st.Sign) + " "
		lines = append(lines, line+draw.Cut(summary(m, env.Masked()), max(w-draw.Width(line), 1)))
		rows = append(rows, m.id)
	}
	return lines, rows
}
