package widget

import (
	"slices"
	"strings"
	"unicode/utf8"

	"opdeck/ui/draw"
	"opdeck/ui/keymap"
	"opdeck/ui/theme"
)

// Offer is one way to continue in a filter: the bytes From..To of what was typed
// become Text.
type Offer struct {
	Text     string
	From, To int
}

// FilterBar is the input line of a filter, with its mistake and the position of that, the filter
// that is shown meanwhile, and completions. It knows no language: the screen provides mistakes and
// completions. Make one with NewFilterBar.
type FilterBar struct {
	edit   Edit
	hint   string
	column int    // of the first wrong character, from 1, in characters; 0: nothing is wrong
	what   string // is wrong
	still  string // what is shown while it is wrong
	read   string // how it was understood; empty: as typed
	old    bool   // the filter is selected: the next text replaces it
	offers []Offer
	chosen int // into offers; -1: none yet
	end    int // where the chosen one ends
}

// NewFilterBar begins with a filter of at most limit characters. hint is in
// the empty line: an example of the language.
func NewFilterBar(value, hint string, limit int) *FilterBar {
	b := &FilterBar{edit: Edit{Max: limit}, hint: hint, chosen: -1}
	b.edit.Set(value)
	return b
}

// Value is the filter as typed.
func (b *FilterBar) Value() string { return b.edit.Value() }

// At returns the position of the cursor in bytes of Value.
func (b *FilterBar) At() int { return b.edit.At() }

// Type takes a key and reports whether the filter changed. A key that only moves
// the cursor ends a choice among offers.
func (b *FilterBar) Type(msg keymap.Press) (changed bool) {
	at, was := b.At(), b.Value()
	if changed = b.edit.Type(msg); changed && b.old {
		typed, added := strings.CutPrefix(b.Value(), was)
		switch {
		case !added:
			b.edit.Set("")
		case !strings.HasPrefix(typed, " "):
			b.edit.Set(typed)
		}
	}
	b.old = false
	if changed || b.At() != at {
		b.chosen = -1
	}
	return changed
}

// Wrong points at the first wrong character (from 1, in characters) and says what
// is wrong. still names what the list shows meanwhile; empty: it is not said.
func (b *FilterBar) Wrong(column int, what, still string) {
	// both may hold what was pasted
	b.column, b.what, b.still = max(column, 1), safeLine(what, maxSaid), safeLine(still, maxSaid)
}

// Right takes back what Wrong said. read are sentences about how the filter was understood.
func (b *FilterBar) Right(read ...string) {
	b.column, b.what, b.still, b.read = 0, "", "", safeLine(strings.Join(read, "; "), maxSaid)
}

// Select selects the filter: text replaces it; a space or a key that moves the cursor continues it.
func (b *FilterBar) Select() { b.old = b.Value() != "" }

// IsWrong reports whether something is wrong.
func (b *FilterBar) IsWrong() bool { return b.column > 0 }

// Offer sets how to continue at the cursor. While someone goes through the offers
// they stay as they are.
func (b *FilterBar) Offer(list []Offer) {
	if b.chosen < 0 {
		b.offers = list
	}
}

// Offers reports whether there are completions.
func (b *FilterBar) Offers() bool { return len(b.offers) > 0 }

// Next returns the completion that Complete takes next; there are Offers.
func (b *FilterBar) Next() string { return b.offers[(b.chosen+1)%len(b.offers)].Text }

// Choosing reports whether someone goes through the offers: they hold then.
func (b *FilterBar) Choosing() bool { return b.chosen >= 0 }

// Complete puts the next offer in its place and reports whether there was one.
// An only offer is done with at once: the next ones belong behind it.
func (b *FilterBar) Complete() bool {
	if len(b.offers) == 0 {
		return false
	}
	to := b.end
	b.old = false
	if b.chosen < 0 {
		to = b.offers[0].To
	}
	b.chosen = (b.chosen + 1) % len(b.offers)
	o := b.offers[b.chosen]
	b.edit.Replace(o.From, to, o.Text)
	b.end = o.From + len(o.Text)
	if len(b.offers) == 1 {
		b.offers, b.chosen = nil, -1
	}
	return true
}

// Lines draws the bar in lines of at most w cells: one when all is well and there
// is nothing to offer, six at most.
func (b *FilterBar) Lines(th *theme.Theme, w int) []string {
	room := max(w-2, 1)
	line := b.edit.View(th, room, true, b.hint)
	if b.old {
		line = th.Selected(theme.Plain).Render(safeLine(draw.Cut(b.Value(), room), room))
	}
	out := []string{th.Accent.Render("/ ") + line}
	if b.column > 0 {
		var still []string // before the mistake, which a low window cuts
		if b.still != "" {
			still = []string{th.Warn.Render(draw.Cut(th.Signs.Warn+" "+b.still, w))}
		}
		if b.unfinished() { // someone is about to type it
			out = append(append(out, still...), th.Dim.Render(draw.Cut(b.what, w)))
		} else {
			out = append(out, draw.Space(2+b.edit.Cell(b.column-1, room))+th.Bad.Render("^"))
			out = append(append(out, still...), b.mistake(th, w)...)
		}
	}
	switch {
	case b.old:
		out = append(out, th.Dim.Render(draw.Cut("typing replaces it; a space or an arrow key continues it", w)))
	case b.read != "" && b.column == 0:
		out = append(out, th.Dim.Render(draw.Cut(b.read, w)))
	}
	if offers := b.offerLine(th, w); offers != "" {
		out = append(out, offers)
	}
	return out
}

// mistake says what is wrong in two lines at most.
func (b *FilterBar) mistake(th *theme.Theme, w int) []string {
	lines := draw.Wrap(th.Signs.Bad+" "+b.what, max(w, 1))
	if len(lines) > 2 {
		lines = []string{lines[0], draw.Cut(strings.Join(lines[1:], " "), w)}
	}
	for i, l := range lines {
		lines[i] = th.Bad.Render(l)
	}
	return lines
}

// unfinished reports whether nothing is wrong but that the end is missing.
func (b *FilterBar) unfinished() bool { return b.column > utf8.RuneCountInString(b.Value()) }

func (b *FilterBar) offerLine(th *theme.Theme, w int) string {
	first := 0
	if b.chosen > 3 { // the chosen one stays in view
		first = b.chosen - 3
	}
	var parts []string
	used := 4
	for i, o := range b.offers[first:] {
		said := safeLine(o.Text, 60) // values come from outside
		if used += draw.Width(said) + 2; used > w {
			break
		}
		style := th.Dim
		if first+i == b.chosen {
			style = th.Accent
		}
		parts = append(parts, style.Render(said))
	}
	if len(parts) == 0 {
		return ""
	}
	return th.Key.Render("tab") + " " + strings.Join(parts, "  ")
}

// MostSeen lists values, each once, the most frequent first; equals in their order.
func MostSeen(all []string) []string {
	count := map[string]int{}
	var out []string
	for _, v := range all {
		if count[v]++; count[v] == 1 && v != "" {
			out = append(out, v)
		}
	}
	slices.SortStableFunc(out, func(a, b string) int { return count[b] - count[a] })
	return out
}

const maxSaid = 400 // characters

// FilterKeys are the keys while a filter is typed, under the words that they have
// there.
func FilterKeys(k *keymap.Map) []keymap.Key {
	apply, cancel, next := k.Form.Submit, k.Form.Cancel, k.Form.Next
	apply.SetHelp(apply.Help().Key, "apply")
	cancel.SetHelp(cancel.Help().Key, "cancel")
	next.SetHelp(next.Help().Key, "complete")
	before := k.Menu.Up
	before.SetHelp(before.Help().Key, "history")
	before.Extra = false
	return []keymap.Key{apply, cancel, next, before}
}
