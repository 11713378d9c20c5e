package directory

import (
	"opdeck/api"
	"opdeck/api/untrusted"
	"opdeck/internal/domain/mask"
	"opdeck/internal/field"
	"opdeck/ui"
	"opdeck/ui/draw"
	"opdeck/ui/list"
	"opdeck/ui/theme"
	"opdeck/ui/widget"
)

// standingSigns are the signs of Standing.
func standingSigns() []list.Sign {
	var out []list.Sign
	for _, s := range []struct{ word, says string }{{"NEW", "not looked at yet"}, {"VERIFY", "the service has no result yet"}, {"ACCEPT", "accepted"}, {"REJECT", "rejected or banned"}} {
		out = append(out, list.Sign{Sign: func(th *theme.Theme) string { return th.Status(s.word).Sign }, Says: "status: " + s.says})
	}
	return append(out, list.Sign{Sign: func(th *theme.Theme) string { return th.Signs.Unknown }, Says: "a status word that is not known here"})
}

// Status is a status word with what it means, as a fact of a record.
func Status(th *theme.Theme, label string, status untrusted.Text) widget.Pair {
	if status == "" {
		return widget.Pair{Label: label, Value: "–", Tone: theme.Dim}
	}
	st, text := th.Status(string(status)), status.Line(60)
	if means := api.StandingOf(status).Says(); means != "" {
		text += ", " + means
	}
	return widget.Pair{Label: label, Value: st.Sign + " " + text, Tone: st.Tone, Long: true}
}

// Money is an amount as a fact of a record; one that is not a number is told as it came.
func Money(label string, m api.Money) []widget.Pair {
	if m.Empty() {
		return []widget.Pair{{Label: label, Value: "–", Tone: theme.Dim}}
	}
	out := []widget.Pair{{Label: label, Value: draw.Money(m)}}
	if _, err := m.Decimal(); err != nil {
		out = append(out, widget.Pair{Label: "! odd", Value: err.Error() + ": " + draw.Cut(m.Raw(), 300), Tone: theme.Warn, Long: true})
	}
	return out
}

// Moment is a time as a fact of a record; one that cannot be read is shown as it came.
func Moment(env *ui.Env, label string, t api.Time) widget.Pair {
	switch {
	case !t.IsZero():
		ago, _ := draw.Ago(t.Time, env.Now())
		return widget.Pair{Label: label, Value: draw.Time(t.Time, env.Zone()) + ", " + ago}
	case t.Raw != "":
		return widget.Pair{Label: label, Value: "unreadable: " + t.Raw.Quoted(), Tone: theme.Warn}
	}
	return widget.Pair{Label: label, Value: "–", Tone: theme.Dim}
}

// Facts are fields of a record, under the names that the catalogue gives them.
func Facts[T any](env *ui.Env, c *field.Catalogue[T], r T, names ...string) []widget.Pair {
	var out []widget.Pair
	for _, name := range names {
		switch f := c.Get(name); {
		case f.Kind == field.Money:
			out = append(out, Money(f.Name, f.Money(r))...)
		case f.Kind == field.Time:
			out = append(out, Moment(env, f.Name, f.Time(r)))
		case f.Kind == field.Flag:
			out = append(out, widget.Pair{Label: f.Name, Value: f.YesNo(r)})
		case f.Name == "status":
			out = append(out, Status(env.Theme, f.Name, f.Text(r)))
		default:
			out = append(out, widget.SaidAll(f.Name, string(f.Text(r)))...)
		}
	}
	return out
}

// Details are facts that may lead to a person, under a heading; none: nothing.
func Details(env *ui.Env, heading string, list []api.Detail) []widget.Pair {
	var out []widget.Pair
	if heading != "" && len(list) > 0 {
		out = append(out, widget.Pair{Value: heading})
	}
	for _, d := range list {
		p := widget.Pair{Label: d.Label, Value: mask.Detail(d, env.Masked()).Line(2000), Long: true}
		if d.Odd {
			p.Value, p.Tone = p.Value+"  "+env.Theme.Signs.Warn+" cannot be read", theme.Warn
		}
		out = append(out, p)
	}
	return out
}

// More are the fields that this program has no name for.
func More(env *ui.Env, unknown []api.Field) []widget.Pair {
	out := Details(env, "More that the service sent", api.Details(unknown[:min(len(unknown), maxMore)]))
	if more := len(unknown) - maxMore; more > 0 {
		out = append(out, widget.Pair{Label: "…", Value: draw.Count(more) + " more; " + env.Keys.Item.Raw.Help().Key + " shows them", Tone: theme.Warn, Long: true})
	}
	return out
}

// maxMore is how many fields without a name here a record lists.
const maxMore = 200
