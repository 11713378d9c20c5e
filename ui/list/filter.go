package list

import (
	"errors"
	"slices"
	"strings"

	tea "github.com/charmbracelet/bubbletea"

	"opdeck/api/untrusted"
	"opdeck/internal/domain/index/filter"
	"opdeck/internal/present"
	"opdeck/ui"
	"opdeck/ui/keymap"
	"opdeck/ui/theme"
	"opdeck/ui/widget"
)

const (
	maxFilter   = 1000 // characters
	seenRecords = 1000 // of the newest, whose values are offered
)

var (
	_ ui.HelpTopic = (*List[struct{}])(nil)
	_ ui.Ticker    = (*List[struct{}])(nil)
)

// Sign is what stands before a row, or in it, and what it means.
type Sign struct {
	Sign func(*theme.Theme) string
	Tone theme.Tone
	Says string
}

// Warning is the sign of a row that needs a look.
func Warning(says string) Sign {
	return Sign{Sign: func(th *theme.Theme) string { return th.Signs.Warn }, Tone: theme.Warn, Says: says}
}

// Locked is the sign of what is locked.
func Locked(says string) Sign {
	return Sign{Sign: func(th *theme.Theme) string { return th.Signs.Locked }, Tone: theme.Warn, Says: says}
}

// StatusSigns are the signs of the service's status words, as theme.Status draws them.
func StatusSigns() []Sign {
	var out []Sign
	for _, words := range present.StatusWords() {
		out = append(out, Sign{Sign: func(th *theme.Theme) string { return th.Status(words[0]).Sign },
			Says: "status " + strings.Join(words[:len(words)-1], ", ") + " or " + words[len(words)-1]})
	}
	return append(out, Sign{Sign: func(th *theme.Theme) string { return th.Status("").Sign },
		Says: "unknown status"})
}

// HelpTopic implements ui.HelpTopic: the language of the filter, and the signs of the rows.
func (l *List[T]) HelpTopic() (string, []string) {
	out := l.spec.Language.Guide()
	for i, s := range l.spec.Signs {
		if i == 0 {
			out = append(out, "", "Signs")
		}
		out = append(out, "  "+s.Sign(l.Env.Theme)+"  "+s.Says)
	}
	return "Filter ( / )", out
}

// parse reads a filter as this person may use it.
func (l *List[T]) parse(text string) (filter.Expr[T], error) {
	e, err := l.spec.Language.Parse(text)
	e = e.For(l.Env.Ctx) // who gets masked values finds nothing by what the mask hides
	return e, err
}

// Show makes a filter the one that is shown, as if it had been typed.
func (l *List[T]) Show(e filter.Expr[T], text string) { l.Filter, l.Applied, l.Text = e, e, text }

// openFilter begins to type: what is right is applied with each key, what is wrong
// is pointed at while the list shows what was right last.
func (l *List[T]) openFilter() tea.Cmd {
	l.bar = widget.NewFilterBar(l.Text, l.spec.Example, maxFilter)
	return tea.Batch(l.readPast(), l.offer())
}

// typing takes a key while the filter is typed.
func (l *List[T]) typing(msg keymap.Press) (ui.Action, tea.Cmd) {
	if cmd, ok := l.recall(msg); ok {
		return nil, cmd
	}
	k, at := l.Env.Keys.Form, l.bar.At()
	switch {
	case k.Cancel.Match(msg):
		l.closeFilter()
		if l.Filter.String() == l.Applied.String() {
			return ui.Handled{}, nil
		}
		l.Filter = l.Applied
		return ui.Handled{}, l.screen.Filtered(true)
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

func (l *List[T]) closeFilter() {
	l.bar = nil
	l.seek.Stop()
}

// try applies what was typed when it is right.
func (l *List[T]) try() tea.Cmd {
	e, err := l.parse(l.bar.Value())
	if wrong := (*filter.Error)(nil); errors.As(err, &wrong) {
		still := "showing everything"
		if !l.Filter.Empty() {
			still = "showing the last valid filter: " + l.Filter.String()
		}
		l.bar.Wrong(wrong.Column, strings.TrimSpace(wrong.What+" "+wrong.Hint), still)
		return nil
	}
	l.bar.Right()
	if e.String() == l.Filter.String() {
		return nil
	}
	l.Filter = e
	return l.screen.Filtered(true)
}

// submit confirms what was typed; while it is wrong nothing happens.
func (l *List[T]) submit() tea.Cmd {
	cmd := l.try()
	if l.bar.IsWrong() {
		return nil
	}
	l.Applied, l.Text = l.Filter, strings.TrimSpace(l.bar.Value())
	l.closeFilter()
	return tea.Batch(cmd, l.screen.Filtered(false), l.remember(l.Text))
}

// offersMsg is how a filter may go on, with values that were asked for elsewhere.
type offersMsg struct {
	ui.Ticket
	offers []widget.Offer
}

// offer lists how to go on at the cursor: at once what the language knows and
// records hold, and by a question, which the next key cancels, what Spec.Ask finds.
func (l *List[T]) offer() tea.Cmd {
	v, at, language, ask := l.bar.Value(), l.bar.At(), l.spec.Language, l.spec.Ask
	asked := false
	l.seek.Stop()
	l.bar.Offer(complete(language, v, at, func(field, _ string) []string {
		asked = ask != nil
		return l.seen(field)
	}))
	if !asked {
		return nil
	}
	t, ctx := l.seek.Start(l.Env.Ctx)
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

func (l *List[T]) offered(msg offersMsg) {
	if l.seek.Accept(msg.Ticket) && l.bar != nil {
		l.bar.Offer(msg.offers)
	}
}

// seen are the values of a field in the records that were read.
func (l *List[T]) seen(name string) []string {
	fields := l.spec.Language.Fields()
	i := slices.IndexFunc(fields, func(f filter.Field[T]) bool { return f.Name == name })
	if i < 0 || fields[i].Strings == nil || l.spec.Records == nil {
		return nil
	}
	values := fields[i].Strings
	if fields[i].Masked != nil && l.Env.Masked() {
		values = fields[i].Masked
	}
	var all []string
	n := 0
	for record := range l.spec.Records {
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
