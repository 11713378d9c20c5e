package ui

import (
	"slices"
	"strings"

	"opdeck/internal/present"
	"opdeck/ui/draw"
	"opdeck/ui/keymap"
	"opdeck/ui/theme"
	"opdeck/ui/widget"
)

// Present returns the current options for presenting records.
func (e *Env) Present() present.Options {
	o := present.Options{Now: e.Now(), Zone: e.Zone(), Masked: e.Masked(), Sign: e.Theme.SignOf}
	if !e.Theme.Linear {
		o.Press = pressing(e.Keys, e.screen)
	}
	return o
}

// Way names a key in a sentence: how it is pressed; in plain mode the word that is typed.
func (e *Env) Way(k keymap.Key) string { return wayOf(e.Theme, k) }

// With is for act.Object: it names an act's key in the middle of a sentence.
func (e *Env) With(act string) string {
	k, _ := e.Keys.Find(act)
	return "with " + e.Way(k)
}

func (s *window) way(k keymap.Key) string { return wayOf(s.th, k) }

func wayOf(th *theme.Theme, k keymap.Key) string {
	if th.Linear {
		return k.Word
	}
	return k.Help().Key
}

// pressing returns how keys are pressed, by name. The place of a screen that is open needs no key; open may be nil.
func pressing(keys *keymap.Map, open Screen) func(name string) string {
	return func(name string) string {
		kind, place := map[string]string{"session.status": KindSession, "limits": KindLimits, "event.list": KindEvents,
			"audit.list": KindAudit}[name]
		if place && open != nil && open.Place().Kind == kind {
			return ""
		}
		return keys.Press(name)
	}
}

// Sections converts sections of a record for drawing. link returns the link of a fact; nil: facts have no cursor.
func (e *Env) Sections(list []present.Section, link func(present.Fact) widget.Link) []Section {
	out := make([]Section, len(list))
	for i, s := range list {
		out[i] = Section{Title: s.Title, Apart: s.Aligned, Facts: e.Pairs(s.Facts, link)}
		if s.Aligned && !e.Theme.Linear {
			alignAmounts(out[i].Facts, s.Facts)
		}
	}
	return out
}

// Headed converts sections of a record, each below its heading.
func (e *Env) Headed(list []present.Section) []widget.Pair {
	var out []widget.Pair
	for _, s := range list {
		if s.Title != "" {
			out = append(out, widget.Pair{Value: s.Title})
		}
		out = append(out, e.Pairs(s.Facts, nil)...)
	}
	return out
}

// Pairs converts facts for drawing.
func (e *Env) Pairs(facts []present.Fact, link func(present.Fact) widget.Link) []widget.Pair {
	out := make([]widget.Pair, len(facts))
	for i, f := range facts {
		out[i] = widget.Pair{Label: f.Label, Value: f.Value, Tone: f.Tone, Long: f.Long}
		if link != nil {
			out[i].Link = link(f)
		}
	}
	return out
}

// Rows draws records in columns, w cells wide. Without enough room it first omits columns with a HidePriority, and
// then cuts the one with Flex. A column is as wide as its widest text, and with Min not wider than that.
func Rows[T any](e *Env, o present.Options, columns []present.Column[T], records []T, w int) []string {
	cells, wide := make([][]present.Cell, len(records)), make([]int, len(columns))
	for i, r := range records {
		for k, c := range columns {
			cells[i] = append(cells[i], c.Cell(o, r))
			if wide[k] = max(wide[k], draw.Width(cells[i][k].Text)); c.Min > 0 {
				wide[k] = min(wide[k], c.Min)
			}
		}
	}
	out := make([]string, len(records))
	for i := range cells {
		out[i] = row(e, columns, cells[i], slices.Clone(wide), w)
	}
	return out
}

const columnGap = 2 // cells between two columns

// row draws the cells of a record in columns that are wide.
func row[T any](e *Env, columns []present.Column[T], cells []present.Cell, wide []int, w int) string {
	need := -columnGap
	for _, n := range wide {
		if n > 0 {
			need += n + columnGap
		}
	}
	for need > w {
		worst := -1
		for i, c := range columns {
			if wide[i] > 0 && c.HidePriority > 0 && (worst < 0 || c.HidePriority > columns[worst].HidePriority) {
				worst = i
			}
		}
		if worst < 0 {
			break
		}
		need, wide[worst] = need-wide[worst]-columnGap, 0
	}
	var parts []string
	for i, c := range cells {
		if columns[i].Flex > 0 && need > w {
			wide[i] = max(wide[i]-(need-w), 1)
		}
		if wide[i] > 0 {
			parts = append(parts, e.Theme.Tone(c.Tone).Render(draw.Fit(c.Text, wide[i])))
		}
	}
	return strings.Join(parts, draw.Space(columnGap))
}

// alignAmounts aligns the decimal points of amounts.
func alignAmounts(pairs []widget.Pair, facts []present.Fact) {
	var at []int
	var col []string
	for i, f := range facts {
		if f.Amount {
			at, col = append(at, i), append(col, f.Value)
		}
	}
	for i, text := range draw.Align(col) {
		pairs[at[i]].Value = text
	}
}

// Sentence draws a sentence behind its sign, wrapped at w cells; plain mode says it without.
func (e *Env) Sentence(s present.Sentence, w int) []string {
	if e.Theme.Linear {
		return []string{s.Text}
	}
	sign := e.Theme.SignOf(s.Sign) + " "
	out := draw.Hang(sign+s.Text, draw.Width(sign), max(w, 1))
	for i, l := range out {
		out[i] = e.Theme.Tone(s.Tone).Render(l)
	}
	return out
}

// labelled is the width from which the advice about a finding says who can do it.
const labelled = 60

// VerdictLines draws the first line of the verdict, wrapped at w cells: the cause, and below it what to do and, where
// there is room, who can do it. Plain mode says them in one line.
func (e *Env) VerdictLines(w int) []string {
	f, wrong := e.Verdict().First()
	if !wrong || e.Theme.Linear {
		return e.Sentence(present.VerdictLine(e.Present(), e.Verdict()), w)
	}
	out := e.Sentence(present.FindingSays(f), w)
	for i, fact := range present.Advice(e.Present(), f) {
		if i > 0 && w < labelled {
			break
		}
		label := draw.Space(draw.Width(e.Theme.Sign(theme.Warn))+1) + draw.Fit(fact.Label, 4) + " "
		for n, l := range draw.Hang(label+fact.Value, draw.Width(label), max(w, 1)) {
			if n == 0 {
				l = e.Theme.Dim.Render(label) + strings.TrimPrefix(l, label)
			}
			out = append(out, l)
		}
	}
	return out
}

// Line draws the parts of a line.
func (e *Env) Line(parts []present.Span) string {
	var b strings.Builder
	for _, p := range parts {
		b.WriteString(e.Theme.Tone(p.Tone).Render(p.Text))
	}
	return b.String()
}
