package history

import (
	"strconv"
	"strings"
	"time"

	"opdeck/internal/domain/mask"

	"github.com/cockroachdb/apd/v3"

	"opdeck/api/untrusted"
	"opdeck/internal/domain/index"
	"opdeck/ui"
	"opdeck/ui/draw"
	"opdeck/ui/theme"
	"opdeck/ui/widget"
)

var columns = []widget.Column{
	{Title: "when", Min: 16, Drop: 1}, {Title: "ago", Min: 7, Align: widget.Right, Drop: 4}, {Title: "from", Min: 7, Drop: 3},
	{Title: "status", Min: 10, Max: 16, Drop: 2}, {Title: "what changed", Min: 14, Flex: 1},
}

// moment is a state with what changed from the one before.
type moment struct {
	id      string
	at      int // its place, oldest first
	state   index.State
	changes []index.Change
}

// moments pairs each state with the one before. Two that came in the same
// instant are told apart by their place.
func moments(states []index.State) []moment {
	out := make([]moment, len(states))
	seen := map[string]int{}
	for i, st := range states {
		out[i] = moment{id: rowID(st), at: i, state: st}
		if n := seen[out[i].id]; n > 0 {
			out[i].id += " " + strconv.Itoa(n)
		}
		seen[rowID(st)]++
		if i > 0 {
			out[i].changes = index.Diff(states[i-1].Op, st.Op)
		}
	}
	return out
}

// rows are the moments; the table shows the newest first.
type rows struct {
	env  *ui.Env
	list []moment // oldest first
	look time.Time
}

func (r *rows) moment(id string) (moment, bool) {
	for _, m := range r.list {
		if m.id == id {
			return m, true
		}
	}
	return moment{}, false
}

// fresh counts the states that came after the person looked last.
func (r *rows) fresh() int {
	n := 0
	for _, m := range r.list {
		if r.isFresh(m) {
			n++
		}
	}
	return n
}

func (r *rows) isFresh(m moment) bool { return !r.look.IsZero() && m.state.At.After(r.look) }

// Len implements widget.Source.
func (r *rows) Len() int { return len(r.list) }

// IndexOf implements widget.Source.
func (r *rows) IndexOf(id string) int {
	if m, ok := r.moment(id); ok {
		return len(r.list) - 1 - m.at
	}
	return -1
}

// Row implements widget.Source.
func (r *rows) Row(i int) widget.Row {
	m, th := r.list[len(r.list)-1-i], r.env.Theme
	st := th.Status(string(m.state.Op.Status))
	ago, _ := draw.Ago(m.state.At, r.env.Now())
	ago = strings.TrimSuffix(ago, " ago")
	out := widget.Row{ID: m.id,
		Cells: []string{draw.Minute(m.state.At, r.env.Zone()), ago, m.state.Origin.String(), st.Sign + " " + m.state.Op.Status.Line(30), said(m, r.env.Masked())},
		Tones: []theme.Tone{theme.Dim, theme.Dim, theme.Dim, st.Tone, theme.Plain}}
	if r.isFresh(m) {
		out.Sign, out.Tone = th.Signs.Warn, theme.Warn
	}
	return out
}

// said is what changed, on one line: few changes with their values, many with
// their names.
func said(m moment, masked bool) string {
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
				parts = append(parts, untrusted.Text(item).Line(60)+" "+word)
			}
			seen[item] = true
			continue
		}
		part := path(c)
		if len(m.changes) <= 4 {
			part += " " + shown(c, c.Before, masked, 60) + " → " + shown(c, c.After, masked, 60)
		}
		parts = append(parts, part)
	}
	return strings.Join(parts, ", ")
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

// path is the field's name; names come from outside.
func path(c index.Change) string { return untrusted.Text(c.Path).Line(120) }

// shown is a value, exact for money; account numbers are masked while masking is
// on. A missing one is a dash.
func shown(c index.Change, v untrusted.Text, masked bool, max int) string {
	switch {
	case v == "":
		return "–"
	case c.Money:
		return amount(string(v))
	case masked && sensitive(c.Path):
		return mask.Number(v).Line(max)
	}
	return v.Line(max)
}

// sensitive reports whether a field holds an account number.
func sensitive(path string) bool { return path == "number" || strings.HasSuffix(path, ".number") }

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
