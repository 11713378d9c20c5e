package list

import (
	"context"
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	tea "github.com/charmbracelet/bubbletea"

	"opdeck/api/untrusted"
	"opdeck/internal/domain/index/filter"
	"opdeck/internal/field"
	"opdeck/ui"
	"opdeck/ui/keymap"
	"opdeck/ui/uitest"
	"opdeck/ui/uitest/shelltest"
	"opdeck/ui/widget"
)

type fruit struct {
	id, name string
	weight   int64
}

var fruits = []fruit{{"1", "apple", 100}, {"2", "pear", 150}, {"3", "plum", 20}, {"4", "apricot", 40}}

var language = filter.NewTable(
	filter.Field[fruit]{Name: "name", Kind: filter.Text, Help: "its name", Example: "name:pl", Strings: func(f fruit) []string { return []string{f.name} }},
	filter.Field[fruit]{Name: "weight", Kind: filter.Count, Help: "grams", Example: "weight>50", Count: func(f fruit) int64 { return f.weight }},
	filter.Field[fruit]{Kind: filter.Free, Help: "contained in the name", Example: "apple", Strings: func(f fruit) []string { return []string{f.name} }})

type loadedMsg struct {
	ui.Ticket
	list []fruit
	err  error
}

// screen is a list of fruits.
type screen struct {
	*List[fruit]
	rows    *Rows[fruit]
	store   []fruit
	err     error
	reads   int
	filters []string
	refresh int
	next    time.Time
}

func newScreen(env *ui.Env, start string) *screen {
	s := &screen{store: fruits}
	s.rows = NewRows(func(f fruit) string { return f.id }, func(f fruit) widget.Row {
		return widget.Row{ID: f.id, Cells: []string{untrusted.Text(f.name).Line(20), fmt.Sprint(f.weight)}}
	})
	s.List = New(env, s, s.rows, Spec[fruit]{Title: "Fruits", Place: ui.Place{Kind: "fruits"}, Origin: "basket", Reading: "Reading …", None: "No fruit matches the filter.",
		Columns: func(int) []field.Layout {
			return []field.Layout{{Title: "name", Min: 10}, {Title: "weight", Min: 6, Align: field.Right}}
		},
		Marks: true, Language: language, Example: "name:pl", Start: start, Records: s.rows.Each})
	return s
}

func (s *screen) Init() tea.Cmd { return s.Reload() }
func (s *screen) Reload() tea.Cmd {
	t, _ := s.Loads.Start(s.Env.Ctx)
	return func() tea.Msg { s.reads++; return loadedMsg{t, s.store, s.err} }
}
func (s *screen) Answer(msg tea.Msg) (ui.Action, tea.Cmd) {
	if m, ok := msg.(loadedMsg); ok && s.Loads.Accept(m.Ticket) && !s.Failed(m.err) {
		s.rows.Set(m.list)
		s.Changed()
	}
	return nil, nil
}
func (s *screen) OwnKey(msg keymap.Press) (ui.Action, tea.Cmd, bool) {
	f, on := s.rows.Find(s.ItemID())
	if on && s.Page == nil && s.Env.Keys.List.Open.Match(msg) {
		s.Open(f.id, "Item "+f.id, func(int) []string { return []string{"about the " + f.name, "second line"} })
		return nil, nil, true
	}
	return nil, nil, false
}
func (s *screen) Filtered(live bool) tea.Cmd {
	s.filters = append(s.filters, fmt.Sprint(s.Filter.Shown, live))
	s.rows.Narrow(func(f fruit) bool { return s.Filter.Shown.Match(f, s.Env.Now()) })
	s.Changed()
	return nil
}
func (s *screen) ReadOn() tea.Cmd { return nil }
func (s *screen) HeadLines() []string {
	return s.Head(fmt.Sprint(s.rows.Len(), " fruits"), "")
}
func (s *screen) Empty() widget.Notice {
	return s.NoRows(widget.Notice{Text: "There is no fruit."}, "")
}
func (s *screen) HelpKeys() []keymap.Key { return keymap.All(s.Env.Keys.List) }
func (s *screen) Refresh()               { s.refresh++ }
func (s *screen) NextChange(now time.Time) time.Time {
	if now.Before(s.next) {
		return s.next
	}
	return time.Time{}
}

func open(t *testing.T, start string) (*uitest.Run, *screen, *uitest.Clock) {
	t.Helper()
	var s *screen
	clock := uitest.NewClock()
	r := shelltest.Open(t, clock, func(env *ui.Env, _ ui.Place) ui.Screen { s = newScreen(env, start); return s }, ui.Place{Kind: "fruits"})
	return r, s, clock
}

// A click reaches the row that is drawn at its line, whatever is above the table; a
// second one opens it, and over the opened page it does nothing.
func TestClicksReachTheDrawnRow(t *testing.T) {
	r, s, _ := open(t, "")
	for _, name := range []string{"apricot", "apple"} {
		y := slices.IndexFunc(strings.Split(r.View(), "\n"), func(l string) bool { return strings.Contains(l, name) })
		click := tea.MouseMsg{X: 10, Y: y, Button: tea.MouseButtonLeft, Action: tea.MouseActionPress}
		r.Send(click)
		if f, _ := s.rows.Find(s.Table.Cursor.SelectedID()); f.name != name {
			t.Errorf("a click on %s selects %s\n%s", name, f.name, r.View())
		}
		r.Send(click, click, click)
		r.Has("about the " + name)
		r.Send(uitest.Key("esc"))
	}
}

func TestTheFilterActsWhileItIsTyped(t *testing.T) {
	r, s, _ := open(t, "")
	r.Has("4 fruits", "1 of 4")
	r.Send(uitest.Key("/"), uitest.Type("name:ap"))
	r.Has("/ name:ap", "1 of 2", "apple", "apricot", "enter apply  esc cancel  tab complete")
	r.Send(uitest.Type(" size:1"))
	r.Has(`There is no field "size"`, "showing the last valid filter: name:ap size") // "size" alone was a word
	r.Send(uitest.Key("enter"))                                                      // what is wrong is not applied, and stays to be corrected
	r.Has(`There is no field "size"`)
	r.Send(uitest.Key("esc"))
	r.Has("4 fruits", "1 of 4")
	r.Send(uitest.Key("/"), uitest.Type("name:p weight>=100"), uitest.Key("enter"))
	r.Has("2 fruits  / name:p weight>=100")
	if last := s.filters[len(s.filters)-1]; last != "name:p weight>=100 false" {
		t.Errorf("confirmed as %q", last)
	}
	r.Send(uitest.Key("/"), uitest.Type(" x"))
	r.Has("No fruit matches the filter.")
	r.Send(uitest.Key("enter"))
	r.Has("No fruit matches the filter.", "/ changes it, esc clears it")
	r.Send(uitest.Key("esc"))
	r.Has("4 fruits")
}

// TestHintsNameNoKeyForRowsThatAreNotThere: what is about a row is hinted when there is one.
func TestHintsNameNoKeyForRowsThatAreNotThere(t *testing.T) {
	r, s, _ := open(t, "")
	r.Send(uitest.Size(160, 40))
	hints := func() string {
		lines := strings.Split(strings.TrimRight(r.View(), "\n"), "\n")
		return lines[len(lines)-1]
	}
	for _, about := range []string{"enter open", "space mark", "s sort"} {
		if !strings.Contains(hints(), about) {
			t.Errorf("%q is not hinted: %s", about, hints())
		}
	}
	s.store = nil
	r.Send(uitest.Key("r"))
	r.Has("There is no fruit.")
	for _, about := range []string{"enter", "mark", "sort"} {
		if strings.Contains(hints(), about) {
			t.Errorf("%q is hinted without rows: %s", about, hints())
		}
	}
	if !strings.Contains(hints(), "/ filter") {
		t.Errorf("the filter is not hinted: %s", hints())
	}
	for _, key := range []string{"enter", " ", "s"} { // and says why it does nothing
		r.Send(uitest.Key(key))
		if lines := strings.Split(strings.TrimRight(r.View(), "\n"), "\n"); !strings.Contains(lines[len(lines)-2], "has no rows") {
			t.Errorf("%s: %q", key, lines[len(lines)-2])
		}
		r.Send(uitest.Key("/"), uitest.Key("esc"))
	}
}

func TestATypedFilterIsNotLostUnasked(t *testing.T) {
	r, _, _ := open(t, "")
	r.Send(uitest.Key("/"), uitest.Type("p"), uitest.Key("ctrl+c"))
	r.Has("Discard the filter you typed?")
}

func TestABeginning(t *testing.T) {
	_, s, _ := open(t, "name:plum")
	if s.Filter.Text != "name:plum" || s.Filter.Shown.Empty() || s.Filter.Applied.Empty() {
		t.Errorf("begins with %q", s.Filter.Text)
	}
	if _, s, _ = open(t, "size:1"); s.Filter.Text != "" || !s.Filter.Shown.Empty() {
		t.Errorf("a wrong filter is taken: %q", s.Filter.Text)
	}
}

// TestValuesOfWhatWasReadAreOffered, each once, what is odd never.
func TestValuesOfWhatWasReadAreOffered(t *testing.T) {
	r, s, _ := open(t, "")
	s.store = append(fruits[:len(fruits):len(fruits)], fruit{"5", "pear", 1}, fruit{"6", "x\x1b[2J", 1})
	r.Send(uitest.Key("r"), uitest.Key("/"), uitest.Type("name:"))
	r.Has("tab pear  apple  plum  apricot")
	r.Send(uitest.Key("tab"), uitest.Key("tab"))
	r.Has("/ name:apple", "1 of 1")
}

// TestValuesAreAskedInACommand that the next key cancels.
func TestValuesAreAskedInACommand(t *testing.T) {
	r, s, _ := open(t, "")
	asked := 0
	s.Filter.ask = func(ctx context.Context, field, typed string) []string {
		asked++
		if ctx.Err() != nil {
			return []string{"OLD"}
		}
		return []string{field + typed}
	}
	r.Send(uitest.Key("/"), uitest.Type("name"))
	_, late := s.Update(keymap.Parse(":"))
	if asked != 0 || late == nil {
		t.Fatal("asked in the update loop, or not at all")
	}
	r.Send(uitest.Key("q"), late())
	r.Has("tab nameq")
	if strings.Contains(r.View(), "OLD") {
		t.Errorf("an answer to an older question is shown\n%s", r.View())
	}
}

func TestAPageOverTheList(t *testing.T) {
	r, _, _ := open(t, "")
	r.Send(uitest.Keys("down", "enter"))
	r.Has("about the pear")
	r.Send(uitest.Key("/"), uitest.Type("second"))
	r.Has("enter find")
	r.Send(uitest.Key("enter"), uitest.Key("esc"))
	r.Has("about the pear")
	r.Send(uitest.Key("esc"))
	r.Has("4 fruits", "2 of 4")
}

func TestEscUndoesOneThingAtATime(t *testing.T) {
	r, s, _ := open(t, "")
	r.Send(uitest.Key("/"), uitest.Type("p"), uitest.Keys("enter", " ", " "))
	r.Has("2 marked")
	r.Send(uitest.Key("esc"))
	if len(s.Table.Marked()) != 0 || s.Filter.Text == "" {
		t.Error("esc unmarks first")
	}
	r.Send(uitest.Key("esc"))
	if s.Filter.Text != "" {
		t.Error("then it clears the filter")
	}
	r.Send(uitest.Key("esc"))
	r.Has("q leaves", "4 fruits")
	if strings.Contains(r.View(), "Leave the console?") {
		t.Error("esc asks to leave")
	}
}

func TestAFailedRead(t *testing.T) {
	r, s, _ := open(t, "")
	s.err = fmt.Errorf("broken")
	r.Send(uitest.Key("r"))
	r.Has("4 fruits", "Reload failed:")
	s.rows.Set(nil)
	s.Changed()
	r.Send(uitest.Key("r"))
	r.Has("r tries again.")
	s.store, s.err = nil, nil
	r.Send(uitest.Key("r"))
	r.Has("There is no fruit.")
	_, reading := s.Update(keymap.Parse("r"))
	r.Has("Reading …")
	s.Update(reading())
}

// state is all that the screen holds, but for what its table keeps as drawn.
func (s *screen) state() string {
	from, to := s.Table.Cursor.Visible()
	return fmt.Sprintf("%+v %d %d %d %s %v %d %d", *s.List, s.Table.Cursor.At(), from, to, s.Table.Cursor.SelectedID(), s.Table.Marked(), s.Table.Cursor.Columns.Width(0), s.refresh)
}

// TestViewChangesNothing: it draws what Update, SetSize and Counts laid out, the
// same each time.
func TestViewChangesNothing(t *testing.T) {
	r, s, clock := open(t, "")
	for _, keys := range [][]string{{"down"}, {"/", "p"}, {"enter"}, {"enter"}, {"esc"}} {
		r.Send(uitest.Keys(keys...))
		first := s.View()
		before := s.state()
		if s.View() != first {
			t.Error("the second view is another")
		}
		if after := s.state(); after != before {
			t.Errorf("after %v View changed the screen from\n%s to\n%s", keys, before, after)
		}
	}
	s.next = clock.Now().Add(time.Minute)
	r.Send(uitest.Key("down"))
	before := s.refresh
	r.Send(clock.Wait(2 * time.Minute))
	if s.refresh == before {
		t.Error("what time alone changes is not brought up to date")
	}
}

func TestEverySize(t *testing.T) {
	r, _, _ := open(t, "")
	shelltest.Sizes(r)
	r.Send(uitest.Key("/"), uitest.Type("size:1"))
	shelltest.Sizes(r)
	r.Send(uitest.Keys("esc", "enter"))
	shelltest.Sizes(r)
}

// TestTheCursorWaitsForItsRow: a row that is named before the list is read gets the
// cursor when it is there, unless a key was pressed meanwhile.
func TestTheCursorWaitsForItsRow(t *testing.T) {
	for keys, want := range map[string]string{"": "3", "g": "1"} {
		var s *screen
		shelltest.Open(t, uitest.NewClock(), func(env *ui.Env, _ ui.Place) ui.Screen { s = newScreen(env, ""); return s }, ui.Place{Kind: "fruits"})
		s.Loaded = false
		s.rows.Set(nil)
		s.Changed()
		if s.Select("3") {
			t.Fatal("a row that is not there has the cursor")
		}
		if keys != "" {
			s.Update(keymap.Parse(keys))
		}
		s.rows.Set(fruits)
		s.Changed()
		if s.Table.Cursor.SelectedID() != want {
			t.Errorf("after %q the cursor is on %q, not %q", keys, s.Table.Cursor.SelectedID(), want)
		}
	}
}
