package operations

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"slices"
	"strconv"
	"strings"

	tea "github.com/charmbracelet/bubbletea"

	"opdeck/api"
	"opdeck/api/endpoint"
	"opdeck/api/untrusted"
	"opdeck/internal/domain/index"
	"opdeck/internal/domain/index/filter"
	"opdeck/internal/field"
	"opdeck/internal/format"
	"opdeck/ui"
	"opdeck/ui/draw"
	"opdeck/ui/keymap"
	"opdeck/ui/list"
	"opdeck/ui/theme"
	"opdeck/ui/widget"
)

// chooser is the choice of columns while it is made: each change shows at once in
// the list above it.
type chooser struct {
	list   []entry // those that are shown in their order; the others keep the place they had
	at     int
	before []field.Choice
	note   string // why a key did nothing
}

type entry struct {
	field.Choice
	on bool
}

func newChooser(shown []field.Choice) *chooser {
	c := &chooser{before: shown}
	c.fill(shown)
	return c
}

func (c *chooser) fill(shown []field.Choice) {
	c.list = c.list[:0]
	for _, s := range shown {
		c.list = append(c.list, entry{s, true})
	}
	for _, name := range field.ColumnNames() {
		if !slices.ContainsFunc(shown, func(s field.Choice) bool { return s.Name == name }) {
			c.list = append(c.list, entry{field.Choice{Name: name}, false})
		}
	}
}

// shown is the choice as it is now.
func (c *chooser) shown() []field.Choice {
	var out []field.Choice
	for _, e := range c.list {
		if e.on {
			out = append(out, e.Choice)
		}
	}
	return out
}

// columnChoice is which columns are shown, and the dialog that chooses them.
type columnChoice struct {
	shared
	views *savedViews

	chooser *chooser                  // columns being chosen; nil: none
	shown   []field.Choice            // columns of the list
	chosen  map[string][]field.Choice // by view: what the person chose
}

// width is how many cells a column takes in the table now; 0: none.
func (s *columnChoice) width(name string) int {
	i := slices.IndexFunc(s.shown, func(o field.Choice) bool { return o.Name == name })
	if i < 0 {
		return 0
	}
	return s.list.Table.Cursor.Columns.Width(i)
}

// choosing takes a key while columns are chosen.
func (s *columnChoice) choosing(msg keymap.Press) (ui.Action, tea.Cmd) {
	k, nav, c := s.env.Keys.Columns, s.env.Keys.Nav, s.chooser
	e := &c.list[c.at]
	c.note = ""
	switch {
	case k.Keep.Match(msg):
		s.chooser = nil
		return nil, s.keepColumns()
	case k.Cancel.Match(msg):
		s.chooser = nil
		s.show(c.before)
		return ui.Handled{}, nil
	case nav.Up.Match(msg):
		c.at = max(c.at-1, 0)
		return nil, nil
	case nav.Down.Match(msg):
		c.at = min(c.at+1, len(c.list)-1)
		return nil, nil
	case nav.Top.Match(msg), nav.PageUp.Match(msg):
		c.at = 0
		return nil, nil
	case nav.Bottom.Match(msg), nav.PageDown.Match(msg):
		c.at = len(c.list) - 1
		return nil, nil
	case k.Show.Match(msg):
		c.toggle(e, s.width(e.Name))
	case k.Narrower.Match(msg):
		c.resize(e, s.width(e.Name), -1)
	case k.Wider.Match(msg):
		c.resize(e, s.width(e.Name), 1)
	case k.Earlier.Match(msg):
		c.move(-1)
	case k.Later.Match(msg):
		c.move(1)
	case k.Reset.Match(msg):
		c.fill(s.usualFor(s.views.view))
	default:
		return nil, nil
	}
	s.show(c.shown())
	return nil, nil
}

// toggle shows a hidden column and hides a shown one; one that has no room yet is
// kept before others first.
func (c *chooser) toggle(e *entry, drawn int) {
	switch {
	case !e.on:
		e.on, e.Kept = true, true
	case drawn == 0 && !e.Kept:
		e.Kept = true
	case len(c.shown()) == 1:
		c.note = "The last column cannot be hidden."
	default:
		*e = entry{field.Choice{Name: e.Name}, false}
	}
}

func (c *chooser) resize(e *entry, drawn, by int) {
	if !e.on {
		c.note = "space shows it first."
		return
	}
	spec := field.Operations.Get(e.Name).Column
	if drawn == 0 {
		drawn = max(e.Width, spec.Min)
	}
	w := drawn + by
	switch {
	case w < spec.Least:
		c.note = "The column cannot be narrower."
	case w > field.MaxWidth:
		c.note = "The column cannot be wider."
	default:
		e.Width = w
	}
}

// move moves the column under the cursor past its neighbour among those shown.
func (c *chooser) move(by int) {
	to := c.at + by
	if to < 0 || to >= len(c.list) {
		return
	}
	c.list[c.at], c.list[to] = c.list[to], c.list[c.at]
	c.at = to
}

// keepColumns remembers the choice for this person.
func (s *columnChoice) keepColumns() tea.Cmd {
	name := s.choiceOf(s.views.view)
	list := s.shown
	if slices.Equal(list, s.usualFor(name)) {
		list = nil
	}
	if s.chosen == nil {
		s.chosen = map[string][]field.Choice{}
	}
	s.chosen[name] = list
	if s.cfg.Keep == nil {
		return nil
	}
	keep, words := s.cfg.Keep, field.ColumnStrings(list)
	return s.env.Read(nil, func(ctx context.Context) ui.Then {
		err := keep(context.WithoutCancel(ctx), name, words)
		return func() (ui.Action, tea.Cmd) {
			if err == nil {
				return nil, nil
			}
			return ui.Notify{Level: ui.Warning, Text: "The columns apply only until you leave. They could not be saved: " +
				api.AsError(err).Public}, nil
		}
	})
}

// recall reads what the person chose before, and returns what takes it. What cannot be read any more counts as no
// choice.
func (s *columnChoice) recall(ctx context.Context) func() {
	if s.cfg.Recall == nil {
		return func() {}
	}
	all, err := s.cfg.Recall(ctx)
	return func() {
		if err != nil || all == nil {
			return
		}
		s.chosen = map[string][]field.Choice{}
		for view, words := range all {
			if list, err := field.ParseColumns(words); err == nil && len(list) > 0 {
				s.chosen[view] = list
			}
		}
		s.show(s.columnsOf(s.views.view))
	}
}

// choiceOf is under which name a choice made in a view is kept: a view that names
// its own columns has its own choice, all others share one.
func (s *columnChoice) choiceOf(view string) string {
	if v, _ := s.views.viewOf(view); len(v.Columns) > 0 || len(s.chosen[view]) > 0 {
		return view
	}
	return ""
}

// columnsOf is what a view shows: what the person chose there, else what the
// config says of it, else what the person chose for all, else the config's.
func (s *columnChoice) columnsOf(view string) []field.Choice {
	if list := s.chosen[s.choiceOf(view)]; len(list) > 0 {
		return list
	}
	return s.usualFor(view)
}

// usualFor is what a view shows to somebody who has chosen nothing.
func (s *columnChoice) usualFor(view string) []field.Choice {
	v, _ := s.views.viewOf(view)
	for _, list := range [][]field.Choice{v.Columns, s.cfg.Columns} {
		if len(list) > 0 {
			return list
		}
	}
	return field.UsualColumns()
}

// chooserHeight is how many lines the choice takes: half of the window at most.
func (s *columnChoice) chooserHeight() int {
	if s.chooser == nil {
		return 0
	}
	h := s.list.H
	return min(max(h/2, 3), 2+len(s.chooser.list))
}

// chooserLines draws the choice in h lines.
func (s *columnChoice) chooserLines(w, h int) []string {
	c, th := s.chooser, s.env.Theme
	title := th.Title.Render("Columns")
	if c.note != "" {
		title += "  " + th.Warn.Render(draw.Cut(c.note, max(w-9, 0)))
	} else if keys := s.chooserKeys(w); keys != "" {
		title += th.Dim.Render(draw.Cut("  "+keys, max(w-7, 0)))
	}
	out := []string{th.Rule.Render(strings.Repeat(th.Signs.Light, max(w, 0))), title}
	rows := min(h-len(out), len(c.list))
	from := s.chooserFrom(h)
	for i := from; i < from+rows; i++ {
		out = append(out, s.chooserLine(th, c.list[i], i == c.at, w))
	}
	return draw.Lay(out, w, h)
}

// chooserFrom is the first column in view, in h lines.
func (s *columnChoice) chooserFrom(h int) int {
	rows := min(h-2, len(s.chooser.list))
	return max(min(s.chooser.at-rows/2, len(s.chooser.list)-rows), 0)
}

// chooserKeys are the keys that change a column, if the hint line has no room for all keys.
func (s *columnChoice) chooserKeys(w int) string {
	k := s.env.Keys.Columns
	line := func(keys ...keymap.Key) string {
		var out []string
		for _, one := range keys {
			out = append(out, one.Help().Key+" "+one.Help().Desc)
		}
		return strings.Join(out, "  ")
	}
	if draw.Width(line(keymap.All(k)...)) <= w-2 {
		return ""
	}
	return line(k.Earlier, k.Later, k.Narrower, k.Wider, k.Reset)
}

func (s *columnChoice) chooserLine(th *theme.Theme, e entry, marked bool, w int) string {
	sign, state, tone := th.Signs.Off, "hidden", theme.Dim
	if e.on {
		drawn := s.width(e.Name)
		sign, state, tone = th.Signs.Good, strconv.Itoa(drawn), theme.Plain
		switch {
		case drawn == 0:
			sign, state, tone = th.Signs.Warn, "no room", theme.Warn
		case e.Width > 0:
			state += " set"
		}
	}
	style, cursor := th.Tone, " "
	if marked {
		style, cursor = th.Selected, th.Signs.Cursor
	}
	f := field.Operations.Get(e.Name)
	line := draw.Fit(" "+sign+" "+draw.Pad(e.Name, 12)+" "+draw.Pad(state, 8)+" "+cmp.Or(f.Column.Shows, f.About),
		max(w-1, 0))
	return style(theme.Accent).Render(cursor) + style(tone).Render(line)
}

// orders are those of the index.
func (s *Screen) orders() *list.Orders {
	return &list.Orders{Fields: index.SortFields,
		Kind: func(name string) field.Kind { return field.Operations.Get(name).Kind },
		Usual: func(name string) list.Order {
			o := index.UsualSort(name)
			return list.Order{By: o.Field, Down: o.Desc}
		},
		Take: func(list.Order) tea.Cmd {
			s.loader.restart = true
			return s.loader.load("")
		},
		Mixed: s.loader.mixed}
}

// order is the present one.
func (s *loader) order() index.Sort { return index.Sort{Field: s.list.Sort.By, Desc: s.list.Sort.Down} }

// meant is the filter of what a key is about: the marked operations, else all that are
// shown. marked is how many those are.
func (s *loader) meant() (f filter.OperationExpr, marked int) {
	if ids := s.list.Table.Marked(); len(ids) > 0 {
		return filter.OfIDs(ids), len(ids)
	}
	return s.list.Filter.Shown, 0
}

// failed words a failure; what was stopped on purpose is none.
func failed(what string, err error) ui.Action {
	if e := api.AsError(err); e.Kind == api.Interrupted {
		return ui.Notify{Level: ui.Success, Text: e.Public}
	}
	return ui.Failure(what, err)
}

// askReread freezes the marked operations and says what reading them costs.
func (s *jobs) askReread() ui.Action {
	ids := s.list.Table.Marked()
	return ui.Confirm{ID: fmt.Sprintf("%d operations", len(ids)), Title: "Reload", Verb: "Reload",
		SkipTypedConfirmation: true,
		Ask: fmt.Sprintf("Reload %s, one by one?", format.Plural(len(ids), "marked operation",
			"marked operations")),
		Facts: []widget.Pair{{Label: "cost", Value: format.Plural(len(ids), "billing call", "billing calls") +
			", as fast as the budget allows"}, {Label: "first", Value: ids[0]}},
		Yes: func(ui.Seen) tea.Cmd {
			caller := s.loader.caller
			return s.work("reloading "+format.Plural(len(ids), "operation", "operations"),
				func(ctx context.Context, report func(string)) ended {
					return ended{notice: ui.Notify{Level: ui.Success, Text: reread(ctx, caller, ids, report)}, reload: true}
				})
		}}
}

func reread(ctx context.Context, c endpoint.Caller, ids []string, report func(string)) string {
	good, tried := 0, 0
	for _, id := range ids {
		if ctx.Err() != nil {
			break
		}
		report(fmt.Sprintf("reloading %s of %s", format.Count(tried+1), format.Count(len(ids))))
		if _, err := endpoint.Do(ctx, c, endpoint.GetOperation, id); err == nil {
			good++
		} else if ctx.Err() != nil {
			break
		}
		tried++
	}
	said := format.Plural(good, "operation", "operations") + " reloaded."
	if bad := tried - good; bad > 0 {
		said += " " + format.Count(bad) + " could not be read."
	}
	if left := len(ids) - tried; left > 0 {
		were := " were"
		if left == 1 {
			were = " was"
		}
		said = "Stopped: " + said + " " + format.Count(left) + were + " not requested."
	}
	return said
}

// savedViews are the views of the config and the person's own.
type savedViews struct {
	shared
	columns *columnChoice

	saved *ui.Requests // counts of views
	view  string       // the view that was taken last
	own   []View       // that the person saved
}

const maxViewName = 40 // characters

// shown is the name as it may be drawn.
func (v View) shown() string { return untrusted.Text(v.Name).Line(maxViewName) }

// all are the views of the config, then the person's own.
func (s *savedViews) all() []View {
	out := slices.Clone(s.cfg.Views)
	for _, v := range s.own {
		if !slices.ContainsFunc(s.cfg.Views, func(c View) bool { return c.Name == v.Name }) {
			out = append(out, v)
		}
	}
	return out
}

// viewOf finds a view by its name.
func (s *savedViews) viewOf(name string) (View, bool) {
	for _, v := range s.all() {
		if v.Name == name && name != "" {
			return v, true
		}
	}
	return View{}, false
}

// readViews reads the person's own views, and says done when they are there.
func (s *savedViews) readViews(done string) tea.Cmd {
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
func (s *savedViews) countViews() tea.Cmd {
	ix, views := s.loader.index, s.all()
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
func (s *savedViews) chooseView(views []View, counts []counted) ui.Action {
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
	if v, ok := s.viewOf(s.view); ok && v.Own && s.viewChanged(v) && s.cfg.KeepView != nil {
		add(ui.Choice{Text: "save “" + v.shown() + "” with the current settings", Note: "filter and order"},
			func() (ui.Action, tea.Cmd) { return nil, s.keepView(v.Name, s.viewNow(v.Name), false) })
	}
	if s.cfg.KeepView != nil {
		add(ui.Choice{Text: "save this as …", Note: "filter, order and columns under a name"},
			func() (ui.Action, tea.Cmd) { return s.askViewName("Save this as", "", s.viewNow("")), nil })
	}
	if s.cfg.KeepView != nil && len(s.own) > 0 {
		add(ui.Choice{Text: "rename a view …"}, func() (ui.Action, tea.Cmd) {
			return s.pickOwn("Rename which view?", func(v View) ui.Action {
				return s.askViewName("Rename "+v.shown(), v.Name, v)
			}), nil
		})
		add(ui.Choice{Text: "delete a view …"},
			func() (ui.Action, tea.Cmd) { return s.pickOwn("Delete which view?", s.askDelete), nil })
	}
	return ui.Choose{Title: "Views", Foot: "The number is how many operations a view lists now.", Items: items,
		Pick: func(i int) (ui.Action, tea.Cmd) { return picks[i]() }}
}

// pickOwn offers the person's own views.
func (s *savedViews) pickOwn(title string, then func(View) ui.Action) ui.Action {
	list := slices.Clone(s.own)
	var items []ui.Choice
	for _, v := range list {
		items = append(items, ui.Choice{Text: v.shown(), Note: untrusted.Text(v.Filter).Line(200)})
	}
	return ui.Choose{Title: title, Items: items, Pick: func(i int) (ui.Action, tea.Cmd) { return then(list[i]), nil }}
}

// viewNow is what the list shows, as a view.
func (s *savedViews) viewNow(name string) View {
	return View{Name: name, Filter: s.list.Filter.Shown.String(), Sort: s.loader.order().String(),
		Columns: slices.Clone(s.columns.shown), Own: true}
}

// askViewName asks for the name under which v is kept in the place of the view called
// before; "" adds it.
func (s *savedViews) askViewName(title, before string, v View) ui.Action {
	taken := s.all()
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
			return nil, s.keepView(before, v, false)
		}}
}

// keepView keeps v in the place of the view called name, or deletes v.
func (s *savedViews) keepView(name string, v View, deletes bool) tea.Cmd {
	keep, kept, what := s.cfg.KeepView, &v, "saved"
	if deletes {
		kept, what = nil, "deleted"
	}
	return s.env.Read(nil, func(ctx context.Context) ui.Then {
		err := keep(context.WithoutCancel(ctx), name, kept)
		return func() (ui.Action, tea.Cmd) {
			if err != nil {
				return ui.Notify{Level: ui.Warning, Text: "The view is not " + what + ": " + api.AsError(err).Public}, nil
			}
			if name == "" || s.view == name {
				s.view = v.Name
			}
			return nil, s.readViews("The view “" + v.shown() + "” is " + what + ".")
		}
	})
}

// askDelete asks before a view is deleted.
func (s *savedViews) askDelete(v View) ui.Action {
	return ui.Confirm{ID: v.shown(), Title: "Delete view", Verb: "Delete", SkipTypedConfirmation: true,
		Ask: "Delete your view “" + v.shown() + "”? No operation changes.",
		Facts: []widget.Pair{{Label: "filter", Value: untrusted.Text(v.Filter).Line(200)},
			{Label: "order", Value: untrusted.Text(v.Sort).Line(40)}},
		Yes: func(ui.Seen) tea.Cmd { return s.keepView(v.Name, v, true) }}
}

// useView shows a view.
func (s *savedViews) useView(v View) (ui.Action, tea.Cmd) {
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
	s.list.Filter.Show(q.For(s.env.Ctx), v.Filter)
	s.list.Sort.Set(list.Order{By: order.Field, Down: order.Desc})
	s.view, s.loader.restart = v.Name, true
	s.columns.show(s.columns.columnsOf(v.Name))
	return nil, s.loader.load("")
}

// viewChanged reports whether the list shows something else than the view by now.
func (s *savedViews) viewChanged(v View) bool {
	q, err := filter.Parse(v.Filter)
	order, err2 := index.ParseSort(v.Sort)
	return err != nil || err2 != nil || q.String() != s.list.Filter.Shown.String() || order != s.loader.order()
}

// viewName is the view that is shown, for the line above the table; "" for none.
func (s *savedViews) viewName() string {
	v, ok := s.viewOf(s.view)
	switch {
	case !ok, s.list.Filter.Shown.Empty() && v.Filter != "":
		return ""
	case s.viewChanged(v):
		return v.shown() + ", changed"
	}
	return v.shown()
}
