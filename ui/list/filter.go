package list

import (
	"context"
	"errors"
	"iter"
	"slices"
	"strings"

	tea "github.com/charmbracelet/bubbletea"

	"opdeck/api/untrusted"
	"opdeck/internal/domain/index/filter"
	"opdeck/ui"
	"opdeck/ui/keymap"
	"opdeck/ui/widget"
)

const (
	maxFilter   = 1000 // characters
	seenRecords = 1000 // of the newest, whose values are offered
)

// FilterLine is the filter of a list, and the line in which a person types it.
type FilterLine[T any] struct {
	Shown   filter.Expr[T] // what is shown, also while it is typed
	Applied filter.Expr[T] // what was confirmed by enter
	Text    string         // Applied as it was typed

	env      *ui.Env
	kind     string // of the list, under which confirmed filters are kept
	language *filter.Table[T]
	example  string
	records  iter.Seq[T]
	ask      func(ctx context.Context, field, typed string) []string
	filtered func(live bool) tea.Cmd // Screen.Filtered
	bar      *widget.FilterBar       // nil: no filter is being typed
	past     past
	seek     *ui.Requests // values to offer
}

// parse reads a filter as this person may use it.
func (l *FilterLine[T]) parse(text string) (filter.Expr[T], error) {
	e, err := l.language.Parse(text)
	e = e.For(l.env.Ctx) // who gets masked values finds nothing by what the mask hides
	return e, err
}

// Typing reports whether a filter is being typed.
func (l *FilterLine[T]) Typing() bool { return l.bar != nil }

// unsaved reports whether leaving would lose what was typed.
func (l *FilterLine[T]) unsaved() bool { return l.bar != nil && l.bar.Value() != l.Text }

// Show makes a filter the one that is shown, as if it had been typed.
func (l *FilterLine[T]) Show(e filter.Expr[T], text string) { l.Shown, l.Applied, l.Text = e, e, text }

// open begins to type: what is right is applied with each key, what is wrong
// is pointed at while the list shows what was right last.
func (l *FilterLine[T]) open() tea.Cmd {
	l.bar = widget.NewFilterBar(l.Text, l.example, maxFilter)
	return tea.Batch(l.readPast(), l.offer())
}

// take takes a key while the filter is typed.
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

func (l *FilterLine[T]) close() {
	l.bar = nil
	l.seek.Stop()
}

// try applies what was typed when it is right.
func (l *FilterLine[T]) try() tea.Cmd {
	e, err := l.parse(l.bar.Value())
	if wrong := (*filter.Error)(nil); errors.As(err, &wrong) {
		still := "showing everything"
		if !l.Shown.Empty() {
			still = "showing the last valid filter: " + l.Shown.String()
		}
		l.bar.Wrong(wrong.Column, strings.TrimSpace(wrong.What+" "+wrong.Hint), still)
		return nil
	}
	l.bar.Right()
	if e.String() == l.Shown.String() {
		return nil
	}
	l.Shown = e
	return l.filtered(true)
}

// submit confirms what was typed; while it is wrong nothing happens.
func (l *FilterLine[T]) submit() tea.Cmd {
	cmd := l.try()
	if l.bar.IsWrong() {
		return nil
	}
	l.Applied, l.Text = l.Shown, strings.TrimSpace(l.bar.Value())
	l.close()
	return tea.Batch(cmd, l.filtered(false), l.remember(l.Text))
}

// offersMsg is how a filter may go on, with values that were asked for elsewhere.
type offersMsg struct {
	ui.Ticket
	offers []widget.Offer
}

// offer lists how to go on at the cursor: at once what the language knows and
// records hold, and by a question, which the next key cancels, what ask finds.
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

// seen are the values of a field in the records that were read.
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
			if u := untrusted.Text(v); v != "" && !u.Flags().Suspicious() { // what is offered must be what is typed
				all = append(all, u.Line(128))
			}
		}
		if n++; n == seenRecords {
			break
		}
	}
	return widget.MostSeen(all)
}
