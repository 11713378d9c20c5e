package widget

import (
	"context"
	"errors"
	"strings"
	"testing"

	tea "github.com/charmbracelet/bubbletea"
	"github.com/charmbracelet/x/ansi"
	"github.com/muesli/termenv"
	"pgregory.net/rapid"

	"opdeck/internal/present"
	"opdeck/ui/draw"
	"opdeck/ui/keymap"
	"opdeck/ui/theme"
	"opdeck/ui/uitest"
)

var plainTheme = theme.New(uitest.Renderer(termenv.Ascii), theme.Mono())

func typing(e interface{ Type(keymap.Press) bool }, msgs ...tea.Msg) {
	for _, m := range msgs {
		e.Type(keymap.Read(m.(tea.KeyMsg)))
	}
}

func TestEdit(t *testing.T) {
	var e Edit
	typing(&e, uitest.Burst("hello wide world"), uitest.Key("ctrl+w"), uitest.Key("home"), uitest.Key("delete"), uitest.Key("H"),
		uitest.Key("ctrl+right"), uitest.Key("ctrl+k"), uitest.Key("end"), uitest.Key("!"), uitest.Key("left"), uitest.Key("backspace"))
	if e.Value() != "Hell!" {
		t.Errorf("%q", e.Value())
	}
	typing(&e, uitest.Key("ctrl+u"))
	if e.Value() != "!" {
		t.Errorf("%q", e.Value())
	}
	e.Set("")
	e.Max = 3
	typing(&e, uitest.Burst("abcdef"))
	if e.Value() != "abc" {
		t.Errorf("%q is longer than allowed", e.Value())
	}
	typing(&e, uitest.Alt('x'))
	if e.Value() != "abc" {
		t.Error("alt+x was typed")
	}
}

func TestEditDrawsSafely(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		e := Edit{Secret: rapid.Bool().Draw(t, "secret")}
		for range rapid.IntRange(0, 8).Draw(t, "steps") {
			if rapid.Bool().Draw(t, "key") {
				e.Type(keymap.Parse(rapid.SampledFrom([]string{"left", "right", "home", "end", "backspace", "delete", "ctrl+w", "ctrl+left"}).Draw(t, "which")))
			} else {
				e.Type(keymap.Read(uitest.Burst(rapid.String().Draw(t, "text")).(tea.KeyMsg)))
			}
			w := rapid.IntRange(0, 30).Draw(t, "w")
			v := e.View(plainTheme, w, true, "a hint that is long")
			if err := uitest.CheckLine(v); err != nil || ansi.StringWidth(v) > w {
				t.Fatalf("%q in %d cells: %q %v", e.Value(), w, v, err)
			}
		}
	})
}

func TestSecretIsNotDrawn(t *testing.T) {
	f := NewForm(Field{Label: "Share token", Secret: true}, Field{Label: "Note"})
	typing(&f, uitest.Paste("  tok-12345\n"))
	if v := strings.Join(formView(&f), "\n"); strings.Contains(v, "tok-") || !strings.Contains(v, "•••••••••") {
		t.Errorf("drawn as\n%s", v)
	}
	if f.Value(0) != "tok-12345" || !f.Dirty() {
		t.Errorf("%q", f.Value(0))
	}
	f.Move(1)
	typing(&f, uitest.Key("n"))
	f.Clear()
	if f.Value(0) != "" || f.Value(1) != "n" {
		t.Error("only secrets are forgotten")
	}
}

func formView(f *Form) []string {
	return f.View(plainTheme, 60, true).Lines
}

// TestAFieldShowsWhereToType: empty or not, a field has a bar behind which the text begins; the
// hint is in the column of the text, and all fields are equally far apart.
func TestAFieldShowsWhereToType(t *testing.T) {
	look := func(context.Context, string) (string, error) { return "", nil }
	f := NewForm(Field{Label: "A", Value: "text"}, Field{Label: "B", Hint: "hint", Look: look}, Field{Label: "C"},
		Field{Label: "D", Hint: "hint"})
	for _, spaced := range []bool{true, false} {
		for range f.Len() {
			v, apart := f.View(plainTheme, 20, spaced), 2
			if spaced {
				apart = 3
			}
			for i, want := range []string{"text", "hint", "", "hint"} {
				got := strings.TrimRight(ansi.Strip(v.Lines[i*apart+1]), " ")
				if want := strings.TrimRight("  "+plainTheme.Signs.Side+" "+want, " "); got != want {
					t.Errorf("field %d, spaced %v: %q, want %q", i, spaced, got, want)
				}
			}
			if v.Label != f.Focus()*apart || v.Below != v.Label+2 {
				t.Errorf("focus %d: label %d, below %d", f.Focus(), v.Label, v.Below)
			}
			f.Move(1)
		}
	}
}

func TestFormChecksItsFields(t *testing.T) {
	needed := func(s string) error {
		if s == "" {
			return errors.New("this is\x1b[2J needed")
		}
		return nil
	}
	f := NewForm(Field{Label: "A", Check: needed}, Field{Label: "B", Check: needed}, Field{Label: "C", Max: 5})
	if strings.Contains(strings.Join(formView(&f), "\n"), "needed") {
		t.Error("an untouched field complains")
	}
	typing(&f, uitest.Key("x"))
	f.Move(2)
	typing(&f, uitest.Paste("abcdefgh"))
	if v := strings.Join(formView(&f), "\n"); f.Value(2) != "" || !strings.Contains(v, "too long: 8 of 5") {
		t.Errorf("a paste that is too long was taken in part: %q\n%s", f.Value(2), v)
	}
	if f.Ready() {
		t.Error("ready with an empty field")
	}
	v := strings.Join(formView(&f), "\n")
	if err := uitest.CheckLine(strings.ReplaceAll(v, "\n", "")); err != nil || !strings.Contains(v, "› B") || !strings.Contains(v, "✗ this is·[2J needed") {
		t.Errorf("%v\n%s", err, v)
	}
	typing(&f, uitest.Key("y"))
	if !f.Ready() {
		t.Error("not ready though all is right")
	}
}

// TestALabelIsWholeWhereItsRowHasRoom: a wide value elsewhere does not cut it.
func TestALabelIsWholeWhereItsRowHasRoom(t *testing.T) {
	const id, label = "5b55db86-17e5-4612-81f9-29d3bd5082a1", "destination beneficiary"
	text := strings.Join(Pairs(plainTheme, []Pair{{Label: "opid", Value: id}, {Label: label, Value: "U6OFFp"},
		{Label: label, Value: id}}, 58), "\n")
	for _, want := range []string{id, label + "  U6OFFp", "destination benefic…  " + id} {
		if !strings.Contains(text, want) {
			t.Errorf("%q is not in\n%s", want, text)
		}
	}
}

func TestPairs(t *testing.T) {
	list := []Pair{{Value: "Source"}, {Label: "account", Value: "••••3000"}, {Label: "customer", Value: "株式会社 ACME"}, {},
		{Value: "Destination"}, {Label: "bank", Value: strings.Repeat("long ", 30), Long: true}, {Label: "comment", Value: strings.Repeat("cut ", 40)}}
	for w := 0; w <= 200; w += 3 {
		for i, l := range Pairs(plainTheme, list, w) {
			if ansi.StringWidth(l) > w && w > 0 {
				t.Fatalf("at %d cells line %d is %q", w, i, l)
			}
		}
	}
	if n, wide := len(Pairs(plainTheme, list, 90)), len(Pairs(plainTheme, list, 160)); wide >= n {
		t.Errorf("%d lines when wide, %d when narrow", wide, n)
	}
}

func TestFramesAndLists(t *testing.T) {
	steps := []Step{{Text: "Share the token", Sign: present.SignGood, Word: "done", Note: "12:04"},
		{Text: "Collect what is missing", Sign: present.SignNext, Word: "next"},
		{Text: "Finalize", Sign: present.SignWait, Word: "open"}}
	for w := 0; w < 90; w++ {
		for _, lines := range [][]string{
			Checklist(plainTheme, steps, w), {Gauge(plainTheme, 3, 12, w, theme.Good)}, {Sparkline(plainTheme, []int{1, 2, 3, -4}, w, theme.Good)},
			{Tabs(plainTheme, []string{"Details", "Documents", "History"}, 1, w)},
		} {
			for _, l := range lines {
				if ansi.StringWidth(l) > w {
					t.Fatalf("at %d cells: %q", w, l)
				}
			}
		}
		for h := 0; h < 10; h++ {
			box := Box(plainTheme, "Title 株式会社", []string{"one", strings.Repeat("long ", 30)}, "foot", w, h, theme.Warn)
			if len(box) != h {
				t.Fatalf("%dx%d: %d lines", w, h, len(box))
			}
			for _, l := range box {
				if ansi.StringWidth(l) > w {
					t.Fatalf("%dx%d: %q", w, h, l)
				}
			}
		}
	}
	got := Checklist(plainTheme, steps, 60)
	for i, part := range []string{"✓ done", "› next", "◌ open"} {
		if !strings.HasPrefix(got[i], part) {
			t.Errorf("%q does not say %q", got[i], part)
		}
	}
}

func TestViewer(t *testing.T) {
	v := NewViewer(plainTheme, keymap.New())
	var lines []string
	for i := range 200 {
		lines = append(lines, strings.Repeat("word ", i%30)+"needle"[:i%7])
	}
	v.SetLines(lines)
	v.SetSize(40, 10)
	press := func(keys ...string) {
		for _, k := range keys {
			v.Update(keymap.Parse(k))
		}
	}
	press("/", "n", "e", "e", "d", "l", "e", "enter")
	if got := strings.Join(v.Lines(), "\n"); !strings.Contains(got, "needle") || !strings.Contains(got, "1/28") {
		t.Errorf("the first hit is not on screen:\n%s", got)
	}
	press("p")
	if !strings.Contains(strings.Join(v.Lines(), "\n"), "28/28") {
		t.Error("searching does not go around")
	}
	if !v.Clear() || v.Clear() {
		t.Error("a search ends once")
	}
	press("end")
	if v.Position() == "" || !strings.HasSuffix(v.Position(), " of "+strings.Fields(v.Position())[0]) {
		t.Errorf("at the end: %q", v.Position())
	}
	press("home", "ctrl+d", "ctrl+d", "ctrl+u")
	if !strings.HasPrefix(v.Position(), "15 of ") {
		t.Errorf("half a page of 10 down: %q", v.Position())
	}
	for w := range 50 {
		for h := range 12 {
			v.SetSize(w, h)
			got := v.Lines()
			if len(got) != h {
				t.Fatalf("%dx%d: %d lines", w, h, len(got))
			}
			for _, l := range got {
				if ansi.StringWidth(l) > w {
					t.Fatalf("%dx%d: %q", w, h, l)
				}
			}
		}
	}
}

// TestFootedViewer: the last line shows the position and the key for more, down to
// the end; if everything fits, there is no such line.
func TestFootedViewer(t *testing.T) {
	v := NewViewer(plainTheme, keymap.New()).Footed()
	lines := make([]string, 30)
	for i := range lines {
		lines[i] = "line " + string(rune('a'+i%26))
	}
	draw := func() []string { // as screens do: set again for each frame
		v.SetLines(lines)
		v.SetSize(40, 12)
		return v.Lines()
	}
	foot := func() string { l := draw(); return l[len(l)-1] }
	if got := foot(); got != "11 of 30 lines, pgdown shows more" {
		t.Errorf("%q", got)
	}
	v.Update(keymap.Parse("end"))
	if got := draw(); got[10] != lines[29] || got[11] != "30 of 30 lines, pgup goes back up" {
		t.Errorf("the end is %q", got[10:])
	}
	v.Update(keymap.Parse("/"))
	if !strings.HasPrefix(foot(), "/") || len(v.Hints()) != 2 {
		t.Errorf("the search line is %q", foot())
	}
	v.Clear()
	if lines = lines[:12]; foot() != lines[11] || v.Hints() != nil {
		t.Errorf("all fits, and the last line is %q", foot())
	}
}

// TestOneIndentBelowHeadings: whatever is below the heading of a section begins Indent to the right of it: facts with
// and without links, lines with and without links, sentences and bodies, in one column and in two.
func TestOneIndentBelowHeadings(t *testing.T) {
	facts := []Pair{{Label: "id", Value: "7f3a"}, {Label: "a much longer label", Value: strings.Repeat("word ", 40), Long: true}}
	linked := []Pair{{Label: "id", Value: "7f3a", Link: Link{ID: "id"}}, facts[1]}
	const head = "Section"
	for _, w := range []int{38, 60, 78, 118} {
		pairs := func(list []Pair) []string { return Pairs(plainTheme, append([]Pair{{Value: head}}, list...), w) }
		below := func(list []Pair, at string) []string {
			out, _ := PairsAt(plainTheme, list, w, 0, true, at)
			return append([]string{head}, out...)
		}
		lines := func(links []Link) []string {
			out, _ := LinesAt(plainTheme, []string{"one line", strings.Repeat("text ", 40)}, links, w, 0, true, "")
			return append([]string{head}, out...)
		}
		text := NewText(plainTheme, w)
		text.Section(head)
		text.Say(theme.Plain, strings.Repeat("sentence ", 40))
		text.Cut(theme.Plain, strings.Repeat("sentence ", 40))
		text.Pairs(facts)
		text.JSON([]byte("[\n]"), 9, "")
		text.Add("a drawn line")
		for name, drawn := range map[string][]string{"facts": pairs(facts), "below": below(facts, ""), "lines": lines(nil),
			"text": text.Lines, "no cursor": below(linked, "")} {
			oneIndent(t, name, drawn, head, Indent(plainTheme, w), w)
		}
		for name, drawn := range map[string][]string{"linked below": below(linked, "another"),
			"linked lines": lines([]Link{{ID: "x"}})} { // the cursor needs its place in any window
			oneIndent(t, name, drawn, head, indent, w)
		}
	}
	two := Pairs(plainTheme, append(append([]Pair{{Value: head}}, facts[:1]...), append([]Pair{{Value: head}}, facts[:1]...)...), 118)
	if at := strings.LastIndex(two[0], head); len(two) != 2 || strings.Index(two[1], "id") != indent || strings.LastIndex(two[1], "id") != at+indent {
		t.Errorf("two columns:\n%s", strings.Join(two, "\n"))
	}
}

// oneIndent checks that no line is wider than w and that all but the heading begin by cells to the right of it.
func oneIndent(t *testing.T, name string, lines []string, head string, by, w int) {
	t.Helper()
	for _, l := range lines {
		in := len(l) - len(strings.TrimLeft(l, " "))
		if draw.Width(l) > w || l == head && in != 0 || l != head && l != "" && in < by {
			t.Errorf("%s at %d: %d cells before %q, not %d", name, w, in, l, by)
		}
	}
	if first := lines[1]; strings.TrimLeft(first, " ") != first[by:] {
		t.Errorf("%s at %d: %q begins elsewhere than the others", name, w, first)
	}
}
