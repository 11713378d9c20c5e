package operations

import (
	"cmp"
	"context"
	"errors"
	"slices"
	"strings"

	tea "github.com/charmbracelet/bubbletea"

	"opdeck/api"
	"opdeck/api/untrusted"
	"opdeck/internal/domain/index"
	"opdeck/internal/domain/index/filter"
	"opdeck/internal/format"
	"opdeck/ui"
	"opdeck/ui/widget"
)

const maxViewName = 40 // characters

// shown is the name as it may be drawn.
func (v View) shown() string { return untrusted.Text(v.Name).Line(maxViewName) }

// views are those of the config, then the person's own.
func (s savedViews) views() []View {
	out := slices.Clone(s.cfg.Views)
	for _, v := range s.own {
		if !slices.ContainsFunc(s.cfg.Views, func(c View) bool { return c.Name == v.Name }) {
			out = append(out, v)
		}
	}
	return out
}

// viewOf finds a view by its name.
func (s savedViews) viewOf(name string) (View, bool) {
	for _, v := range s.views() {
		if v.Name == name && name != "" {
			return v, true
		}
	}
	return View{}, false
}

// readViews reads the person's own views, and says done when they are there.
func (s savedViews) readViews(done string) tea.Cmd {
	if s.cfg.Own == nil {
		return nil
	}
	own := s.cfg.Own
	return s.env.Read(nil, func(ctx context.Context) ui.Then {
		list, err := own(ctx)
		return func() (ui.Action, tea.Cmd) {
			if err != nil {
				return ui.Notify{Level: ui.Warning, Text: "Views: " + api.AsError(err).Public}, nil
			}
			s.own = list
			if done != "" {
				return ui.Notify{Level: ui.Success, Text: done}, nil
			}
			return nil, nil
		}
	})
}

// countViews counts how many operations each saved view shows, then the menu opens.
func (s savedViews) countViews() tea.Cmd {
	ix, views := s.index, s.views()
	return s.env.Read(s.saved, func(ctx context.Context) ui.Then {
		var counts []counted
		for _, v := range views {
			counts = append(counts, countOf(ctx, ix, v))
		}
		return func() (ui.Action, tea.Cmd) { return s.chooseView(views, counts), nil }
	})
}

// counted is how many operations a view lists, or why that is not known.
type counted struct{ n, why string }

func countOf(ctx context.Context, ix Index, v View) counted {
	q, err := filter.Parse(v.Filter)
	if err != nil {
		return counted{"–", untrusted.Text(err.Error()).Line(200)}
	}
	n, err := ix.Count(ctx, q)
	if err != nil {
		return counted{"–", "cannot be counted"}
	}
	return counted{n: format.Count(int(n))}
}

// chooseView offers the views, and what can be done with the person's own.
func (s savedViews) chooseView(views []View, counts []counted) ui.Action {
	items := []ui.Choice{{Text: "everything", Cells: []ui.Cell{{}, {}, {Text: "all operations, newest first"}}}}
	picks := []func() (ui.Action, tea.Cmd){func() (ui.Action, tea.Cmd) { return s.useView(View{Sort: "-created"}) }}
	add := func(c ui.Choice, pick func() (ui.Action, tea.Cmd)) {
		items, picks = append(items, c), append(picks, pick)
	}
	for i, v := range views {
		from := "config"
		switch {
		case v.Own:
			from = "yours"
		case v.Stock:
			from = "built-in"
		}
		says, filter := cmp.Or(counts[i].why, v.About), untrusted.Text(v.Filter).Line(200)
		if says == "" {
			says, filter = filter, ""
		}
		add(ui.Choice{Text: v.shown(), Cells: []ui.Cell{{Text: counts[i].n, Number: true}, {Text: from}, {Text: says},
			{Text: filter}}},
			func() (ui.Action, tea.Cmd) { return s.useView(v) })
	}
	if s.cfg.KeepView == nil {
		return ui.Choose{Title: "Views", Foot: viewsFoot, Items: items,
			Pick: func(i int) (ui.Action, tea.Cmd) { return picks[i]() }}
	}
	if v, ok := s.viewOf(s.view); ok && v.Own && s.viewChanged(v) {
		add(ui.Choice{Text: "save “" + v.shown() + "” with the current settings", Note: "filter and order"},
			func() (ui.Action, tea.Cmd) { return nil, s.keepView(v.Name, s.viewNow(v.Name)) })
	}
	add(ui.Choice{Text: "save this as …", Note: "filter, order and columns under a name"},
		func() (ui.Action, tea.Cmd) { return s.askViewName("Save this as", "", s.viewNow("")), nil })
	if len(s.own) > 0 {
		add(ui.Choice{Text: "rename a view …"}, func() (ui.Action, tea.Cmd) {
			return s.pickOwn("Rename which view?", func(v View) ui.Action {
				return s.askViewName("Rename "+v.shown(), v.Name,
					v)
			}), nil
		})
		add(ui.Choice{Text: "delete a view …"}, func() (ui.Action, tea.Cmd) {
			return s.pickOwn("Delete which view?",
				s.askDelete), nil
		})
	}
	return ui.Choose{Title: "Views", Foot: viewsFoot, Items: items,
		Pick: func(i int) (ui.Action, tea.Cmd) { return picks[i]() }}
}

// viewsFoot says what the number of a view is.
const viewsFoot = "The number is how many operations a view lists now."

// pickOwn offers the person's own views.
func (s savedViews) pickOwn(title string, then func(View) ui.Action) ui.Action {
	list := slices.Clone(s.own)
	var items []ui.Choice
	for _, v := range list {
		items = append(items, ui.Choice{Text: v.shown(), Note: untrusted.Text(v.Filter).Line(200)})
	}
	return ui.Choose{Title: title, Items: items, Pick: func(i int) (ui.Action, tea.Cmd) { return then(list[i]), nil }}
}

// viewNow is what the list shows, as a view.
func (s savedViews) viewNow(name string) View {
	order := s.sort.Field
	if s.sort.Desc {
		order = "-" + order
	}
	return View{Name: name, Filter: s.Filter.Shown.String(), Sort: order, Columns: slices.Clone(s.shown), Own: true}
}

// askViewName asks for the name under which v is kept in the place of the view called
// before; "" adds it.
func (s savedViews) askViewName(title, before string, v View) ui.Action {
	taken := s.views()
	check := func(name string) error {
		name = strings.TrimSpace(name)
		switch {
		case name == "":
			return errors.New("enter a name")
		case len([]rune(name)) > maxViewName || untrusted.Text(name).Line(maxViewName) != name:
			return errors.New("use one line of at most 40 visible characters")
		}
		for _, o := range taken {
			if o.Name == name && name != before {
				return errors.New("a view with that name exists")
			}
		}
		return nil
	}
	return ui.Ask{Title: title, Verb: "Save", Intro: []string{"Your own views are saved for you alone, in the console's " +
		"state folder."},
		Fields: []widget.Field{{Label: "Name", Value: before, Check: check}},
		Submit: func(a ui.Values) (ui.Action, tea.Cmd) {
			v.Name = strings.TrimSpace(a.Text(0))
			return nil, s.keepView(before, v)
		}}
}

// keepView keeps v in the place of the view called name.
func (s savedViews) keepView(name string, v View) tea.Cmd {
	keep := s.cfg.KeepView
	return s.env.Read(nil, func(ctx context.Context) ui.Then {
		err := keep(context.WithoutCancel(ctx), name, &v)
		return func() (ui.Action, tea.Cmd) {
			if err != nil {
				return notKept("saved", err), nil
			}
			if name == "" || s.view == name {
				s.view = v.Name
			}
			return nil, s.readViews("The view “" + v.shown() + "” is saved.")
		}
	})
}

func notKept(what string, err error) ui.Action {
	return ui.Notify{Level: ui.Warning, Text: "The view is not " + what + ": " + api.AsError(err).Public}
}

// askDelete asks before a view is deleted.
func (s savedViews) askDelete(v View) ui.Action {
	keep := s.cfg.KeepView
	return ui.Confirm{ID: v.shown(), Title: "Delete view", Verb: "Delete", SkipTypedConfirmation: true,
		Ask: "Delete your view “" + v.shown() + "”? No operation changes.",
		Facts: []widget.Pair{{Label: "filter", Value: untrusted.Text(v.Filter).Line(200)},
			{Label: "order", Value: untrusted.Text(v.Sort).Line(40)}},
		Yes: func(ui.Seen) tea.Cmd {
			return s.env.Read(nil, func(ctx context.Context) ui.Then {
				err := keep(context.WithoutCancel(ctx), v.Name, nil)
				return func() (ui.Action, tea.Cmd) {
					if err != nil {
						return notKept("deleted", err), nil
					}
					return nil, s.readViews("The view “" + v.shown() + "” is deleted.")
				}
			})
		}}
}

// useView shows a view.
func (s savedViews) useView(v View) (ui.Action, tea.Cmd) {
	remedy := "Correct it under [views] in the config file."
	if v.Own {
		remedy = "Save the view again, or delete it."
	}
	q, err := filter.Parse(v.Filter)
	if err != nil {
		return ui.Explain{Title: "View " + v.shown(), Lines: []string{untrusted.Text(err.Error()).Line(300), remedy}}, nil
	}
	order, err := index.ParseSort(v.Sort)
	if err != nil {
		return ui.Explain{Title: "View " + v.shown(), Lines: []string{"It sorts by an unknown field: " +
			untrusted.Text(v.Sort).Line(40) + ".",
			"There are " + strings.Join(index.SortFields, ", ") + ". " + remedy}}, nil
	}
	s.Filter.Show(q.For(s.env.Ctx), v.Filter)
	s.sort, s.view, s.restart = order, v.Name, true
	s.columns().show(s.columns().columnsOf(v.Name))
	return nil, s.loader().load("")
}

// viewChanged reports whether the list shows something else than the view by now.
func (s savedViews) viewChanged(v View) bool {
	q, err := filter.Parse(v.Filter)
	order, err2 := index.ParseSort(v.Sort)
	return err != nil || err2 != nil || q.String() != s.Filter.Shown.String() || order != s.sort
}

// viewName is the view that is shown, for the line above the table; "" for none.
func (s savedViews) viewName() string {
	v, ok := s.viewOf(s.view)
	switch {
	case !ok, s.Filter.Shown.Empty() && v.Filter != "":
		return ""
	case s.viewChanged(v):
		return v.shown() + ", changed"
	}
	return v.shown()
}
