package directory

import (
	"strings"

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

// cell is a field as its column shows it.
func cell[T any](env *ui.Env, f field.Field[T], r T) (string, theme.Tone) {
	switch f.Kind {
	case field.Money:
		if m := f.Money(r); !m.Empty() {
			return draw.Money(m), theme.Plain
		}
		return "–", theme.Dim
	case field.Time:
		return draw.Minute(f.Time(r).Time, env.Zone()), theme.Dim
	case field.Count:
		if !f.IsTold(r) {
			return "–", theme.Dim
		}
		if f.Name == "size" {
			return draw.Size(int64(f.Count(r))), theme.Plain
		}
		return draw.Count(f.Count(r)), theme.Dim
	case field.Flag:
		return f.YesNo(r), theme.Dim
	case field.ID:
		return f.Text(r).Line(64), theme.Dim
	}
	text := f.Text(r)
	switch {
	case f.Name == "status":
		return statuses(env.Theme, text)
	case f.Name == "lock" && text == "locked":
		return env.Theme.Signs.Locked + " locked", theme.Warn
	case f.Name == "lock":
		return text.Line(20), theme.Dim
	case f.Sensitive:
		return mask.NumberIf(text, env.Masked()).Line(64), theme.Dim
	case env.Masked():
		text = untrusted.Text(mask.Text(string(text)))
	}
	return text.Line(200), theme.Plain
}

// statuses are status words with the sign and tone of the one that most needs a look.
func statuses(th *theme.Theme, words untrusted.Text) (string, theme.Tone) {
	var worst theme.Status
	weight := map[api.Standing]int{api.StandingAccepted: 1, api.StandingUnknown: 2, api.StandingNew: 3, api.StandingUnderWay: 4, api.StandingRejected: 5, api.StandingBanned: 6}
	most := 0
	for word := range strings.FieldsSeq(string(words)) {
		if w := weight[api.StandingOf(untrusted.Text(word))]; w > most {
			most, worst = w, Standing(th, untrusted.Text(word))
		}
	}
	if most == 0 {
		return "–", theme.Dim
	}
	return worst.Sign + " " + words.Line(60), worst.Tone
}

// Standing is sign and tone of the status of a customer, an account or a
// counterparty's account.
func Standing(th *theme.Theme, status untrusted.Text) theme.Status {
	switch api.StandingOf(status) {
	case api.StandingAccepted:
		return theme.Status{Sign: th.Signs.Good, Tone: theme.Good}
	case api.StandingRejected, api.StandingBanned:
		return theme.Status{Sign: th.Signs.Bad, Tone: theme.Bad}
	case api.StandingNew:
		return theme.Status{Sign: th.Signs.Wait, Tone: theme.Warn}
	case api.StandingUnderWay:
		return theme.Status{Sign: th.Signs.Info, Tone: theme.Info}
	}
	return th.Status(string(status))
}

// standingSigns are the signs of Standing.
func standingSigns() []list.Sign {
	var out []list.Sign
	for _, s := range []struct {
		word untrusted.Text
		says string
	}{{"NEW", "not looked at yet"}, {"VERIFY", "the service has no result yet"}, {"ACCEPT", "accepted"}, {"REJECT", "rejected or banned"}} {
		out = append(out, list.Sign{Sign: func(th *theme.Theme) string { return Standing(th, s.word).Sign }, Says: "status: " + s.says})
	}
	return append(out, list.Sign{Sign: func(th *theme.Theme) string { return Standing(th, "").Sign }, Says: "a status word that is not known here"})
}

// Status is a status word with what it means, as a fact of a record.
func Status(th *theme.Theme, label string, status untrusted.Text) widget.Pair {
	if status == "" {
		return widget.Pair{Label: label, Value: "–", Tone: theme.Dim}
	}
	st, text := Standing(th, status), status.Line(60)
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
