package list

import (
	"context"
	"errors"
	"iter"
	"slices"
	"strings"
	"time"

	tea "github.com/charmbracelet/bubbletea"

	"opdeck/api/untrusted"
	"opdeck/internal/domain/index/filter"
	"opdeck/internal/format"
	"opdeck/ui"
	"opdeck/ui/draw"
	"opdeck/ui/keymap"
	"opdeck/ui/widget"
)

const (
	maxFilter   = 16000 // characters: a pasted list of some hundred ids
	seenRecords = 1000  // newest records whose values are offered
)

// FilterLine is the filter of a list and its input line.
type FilterLine[T any] struct {
	Shown   filter.Expr[T] // the filter of the shown rows, also during typing
	Applied filter.Expr[T] // the filter that enter confirmed
	Text    string         // Applied as typed

	env      *ui.Env
	zone     *time.Location // in which Shown reads days
	kind     string         // of the list, for the stored filters
	language *filter.Table[T]
	example  string
	records  iter.Seq[T]
	rows     func() int // how many are shown
	ask      func(ctx context.Context, field, typed string) []string
	filtered func(live bool) tea.Cmd // Screen.Filtered
	bar      *widget.FilterBar       // nil: the input line is closed
	past     past
	seek     *ui.Requests // reads of values to offer
}

// parse reads a filter as this person may use it.
func (l *FilterLine[T]) parse(text string) (filter.Expr[T], error) {
	e, err := l.language.Parse(text)
	e = e.For(l.env.Ctx) // a person with masked values cannot search the hidden characters
	l.zone = l.env.Zone()
	return e.In(l.zone), err
}

// follow reads the days of the filter in the time zone that lists show now.
func (l *FilterLine[T]) follow() tea.Cmd {
	if l.zone == l.env.Zone() || l.Shown.Empty() {
		return nil
	}
	l.zone = l.env.Zone()
	l.Shown, l.Applied = l.Shown.In(l.zone), l.Applied.In(l.zone)
	return l.filtered(true)
}

// Typing reports whether a filter is being typed.
func (l *FilterLine[T]) Typing() bool { return l.bar != nil }

// unsaved reports whether leaving would lose typed text.
func (l *FilterLine[T]) unsaved() bool { return l.bar != nil && l.bar.Value() != l.Text }

// Show sets the filter, as if the person had typed and confirmed it.
func (l *FilterLine[T]) Show(e filter.Expr[T], text string) {
	l.zone = l.env.Zone()
	e = e.In(l.zone)
	l.Shown, l.Applied, l.Text = e, e, text
}

// open opens the input line. Each key applies a valid filter; for an invalid one the line shows
// the mistake, and the list keeps the last valid filter.
func (l *FilterLine[T]) open() tea.Cmd {
	l.bar = widget.NewFilterBar(l.Text, l.example, maxFilter)
	l.bar.Select()
	return tea.Batch(l.readPast(), l.offer())
}

// take handles a key in the input line.
func (l *FilterLine[T]) take(msg keymap.Press) (ui.Action, tea.Cmd) {
	if cmd, ok := l.recall(msg); ok {
		return nil, cmd
	}
	k, at := l.env.Keys.Form, l.bar.At()
	switch {
	case k.Cancel.Match(msg):
		l.close()
		if l.Shown.String() == l.Applied.String() {
			return ui.Handled{}, nil
		}
		l.Shown = l.Applied
		return ui.Handled{}, l.filtered(true)
	case k.Submit.Match(msg):
		return nil, l.submit()
	case k.Next.Match(msg):
		if !l.bar.Complete() {
			return nil, nil
		}
		if l.bar.Choosing() {
			return nil, l.try()
		}
		return nil, tea.Batch(l.try(), l.offer())
	case l.bar.Type(msg):
		return nil, tea.Batch(l.try(), l.offer())
	case at != l.bar.At():
		return nil, l.offer()
	}
	return nil, nil
}

// Offers reports whether the input line offers completions.
func (l *FilterLine[T]) Offers() bool { return l.bar != nil && l.bar.Offers() }

// Offer returns the completion that the next key takes; "" if there is none.
func (l *FilterLine[T]) Offer() string {
	if !l.Offers() {
		return ""
	}
	return l.bar.Next()
}

func (l *FilterLine[T]) close() {
	l.bar = nil
	l.seek.Stop()
}

// try applies the typed filter if it is valid.
func (l *FilterLine[T]) try() tea.Cmd {
	e, err := l.parse(l.bar.Value())
	if wrong := (*filter.Error)(nil); errors.As(err, &wrong) {
		still := "Not filtered: all " + format.Plural(l.rows(), "row", "rows") + " shown"
		if !l.Shown.Empty() {
			still = "showing the last valid filter: " + l.Shown.String()
		}
		l.bar.Wrong(wrong.Column, strings.TrimSpace(wrong.What+" "+wrong.Hint), still)
		return nil
	}
	l.bar.Right(e.Understood(l.env.Now())...)
	if e.String() == l.Shown.String() {
		return nil
	}
	l.Shown = e
	return l.filtered(true)
}

// submit confirms the typed filter; an invalid one has no effect.
func (l *FilterLine[T]) submit() tea.Cmd {
	cmd := l.try()
	if l.bar.IsWrong() {
		return nil
	}
	l.Applied, l.Text = l.Shown, strings.TrimSpace(l.bar.Value())
	l.close()
	return tea.Batch(cmd, l.filtered(false), l.remember(l.Text))
}

// lines is a filter in at most two lines of w cells.
func (l *FilterLine[T]) lines(text string, w int) []string {
	th, w := l.env.Theme, max(w-2, 1)
	out := draw.Wrap(text, w)
	if len(out) > 2 {
		out = []string{out[0], draw.Cut(strings.Join(out[1:], " "), w)}
	}
	for i, line := range out {
		sign := "  "
		if i == 0 {
			sign = th.Dim.Render("/ ")
		}
		out[i] = sign + th.Accent.Render(line)
	}
	return out
}

// offersMsg has completions of a filter, with values from Spec.Ask.
type offersMsg struct {
	ui.Ticket
	offers []widget.Offer
}

// offer lists the completions at the cursor: at once those of the language and of the
// records, and later those of Spec.Ask, in a read that the next key cancels.
func (l *FilterLine[T]) offer() tea.Cmd {
	v, at, language, ask := l.bar.Value(), l.bar.At(), l.language, l.ask
	asked := false
	l.seek.Stop()
	l.bar.Offer(complete(language, v, at, func(field, _ string) []string {
		asked = ask != nil
		return l.seen(field)
	}))
	if !asked {
		return nil
	}
	t, ctx := l.seek.Start(l.env.Ctx)
	return func() tea.Msg {
		return offersMsg{t, complete(language, v, at, func(field, typed string) []string { return ask(ctx, field, typed) })}
	}
}

func complete[T any](language *filter.Table[T], v string, at int, known filter.Seen) []widget.Offer {
	var out []widget.Offer
	for _, o := range language.Complete(v, at, known) {
		out = append(out, widget.Offer{Text: o.Text, From: o.From, To: o.To})
	}
	return out
}

func (l *FilterLine[T]) offered(msg offersMsg) {
	if l.seek.Accept(msg.Ticket) && l.bar != nil {
		l.bar.Offer(msg.offers)
	}
}

// seen returns the values of a field in the records that were read.
func (l *FilterLine[T]) seen(name string) []string {
	fields := l.language.Fields()
	i := slices.IndexFunc(fields, func(f filter.Field[T]) bool { return f.Name == name })
	if i < 0 || fields[i].Strings == nil || l.records == nil {
		return nil
	}
	values := fields[i].Strings
	if fields[i].Masked != nil && l.env.Masked() {
		values = fields[i].Masked
	}
	var all []string
	n := 0
	for record := range l.records {
		for _, v := range values(record) {
			if u := untrusted.Text(v); v != "" && !u.Flags().Suspicious() { // an offered value must be typable
				all = append(all, u.Line(128))
			}
		}
		if n++; n == seenRecords {
			break
		}
	}
	return widget.MostSeen(all)
}

const maxPast = 50 // filters

// past holds the person's earlier filters while the filter line is open.
type past struct {
	list  []string // newest first
	at    int      // from 1 into list; 0: the typed text
	draft string   // the typed text while at is not 0
}

// readPast reads the filters of this kind of list.
func (l *FilterLine[T]) readPast() tea.Cmd {
	l.past.at, l.past.draft = 0, ""
	memory, kind := l.env.Filters(), l.kind
	if memory.Last == nil {
		return nil
	}
	read := func(ctx context.Context) ([]string, error) { return memory.Last(ctx, kind) }
	return ui.Reading(l.env, nil, read, func(list []string, _ time.Time, err error) {
		if err == nil && l.past.at == 0 { // missing earlier filters are not an error of the filter
			l.past.list = list
		}
	})
}

// recall replaces the typed filter by an earlier one; false if the key is not for
// this.
func (l *FilterLine[T]) recall(msg keymap.Press) (tea.Cmd, bool) {
	k, p := l.env.Keys.Menu, &l.past
	step := 1
	switch {
	case k.Up.Match(msg):
	case k.Down.Match(msg):
		step = -1
	default:
		return nil, false
	}
	to := p.at + step
	if to < 0 || to > len(p.list) {
		return nil, true
	}
	if p.at == 0 {
		p.draft = l.bar.Value()
	}
	text := p.draft
	if p.at = to; to > 0 {
		text = p.list[to-1]
	}
	l.bar = widget.NewFilterBar(text, l.example, maxFilter)
	return tea.Batch(l.try(), l.offer()), true
}

// remember stores a confirmed filter.
func (l *FilterLine[T]) remember(text string) tea.Cmd {
	if text = strings.TrimSpace(text); text == "" {
		return nil
	}
	rest := slices.DeleteFunc(slices.Clone(l.past.list), func(o string) bool { return o == text })
	l.past.list = append([]string{text}, rest[:min(len(rest), maxPast-1)]...)
	memory, kind := l.env.Filters(), l.kind
	if memory.Keep == nil {
		return nil
	}
	return l.env.Read(nil, func(ctx context.Context) ui.Then {
		_ = memory.Keep(context.WithoutCancel(ctx), kind, text) // it holds until the list is closed
		return func() (ui.Action, tea.Cmd) { return nil, nil }
	})
}
