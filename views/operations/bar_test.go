package operations

import (
	"context"
	"errors"
	"strings"
	"testing"

	"opdeck/ui/draw"
	"opdeck/ui/keymap"
	"opdeck/ui/uitest"
)

// typed opens the filter and types text into it.
func (d *listed) typed(text string) *listed {
	d.keys("/")
	d.Send(uitest.Type(text))
	return d
}

func TestValuesThatWereSeenAreOffered(t *testing.T) {
	var asked []string
	f := &fake{n: 30, values: func(_ context.Context, field, typed string) ([]string, error) {
		asked = append(asked, field+" "+typed)
		return []string{"Acme Ltd", "株式会社", "x\x1b[2J"}, nil
	}}
	d := open(t, f).typed("customer:")
	d.Has(`"Acme Ltd"`, "株式会社", "x·[2J")
	d.keys("tab")
	d.Has(`/ customer:"Acme Ltd"`)
	d.keys("tab")
	d.Has("/ customer:株式会社")
	if n := len(asked); n == 0 || asked[n-1] != "customer " {
		t.Errorf("asked for %q", asked)
	}
	d.Send(uitest.Type(" status:PEN"))
	if last := asked[len(asked)-1]; last != "status PEN" {
		t.Errorf("asked for %q", last)
	}
}

// TestValuesAreAskedInACommand that the next key cancels.
func TestValuesAreAskedInACommand(t *testing.T) {
	f := &fake{n: 30}
	d := open(t, f)
	s := d.list
	d.keys("/")
	f.values = func(ctx context.Context, _, _ string) ([]string, error) { return []string{"OLD"}, ctx.Err() }
	for _, k := range "status" {
		s.Update(keymap.Parse(string(k)))
	}
	calls := f.calls
	_, late := s.Update(keymap.Parse(":"))
	if f.calls != calls || late == nil {
		t.Fatal("asked in the update loop, or not at all")
	}
	if _, again := s.Update(keymap.Parse("P")); again == nil {
		t.Fatal("not asked again")
	}
	d.Send(late())
	if strings.Contains(d.View(), "OLD") {
		t.Errorf("an answer to an older question is shown\n%s", d.View())
	}
	f.values = func(context.Context, string, string) ([]string, error) { return nil, errors.New("busy") }
	d.keys("E") // no values are no failure
	d.Has("/ status:PE")
}

func TestTheLastRightFilterIsNamed(t *testing.T) {
	d := open(t, &fake{n: 30}).typed("amount>=x")
	d.Has("is not an amount", "showing the last valid filter: amount") // "amount" alone was a word
	d.keys("esc")
	d.typed("(")
	d.Has("Not filtered: all 30 rows shown", "1 of 30")
	d.keys("esc")
	d.typed("status:PENDING currency>5")
	d.Has("showing the last valid filter: status:PENDING", "15")
	if n := d.list.loader.rows.Len(); n != 15 {
		t.Errorf("%d rows", n)
	}
}

// TestTheCaretStandsUnderTheCharacter, wide ones counted.
func TestTheCaretStandsUnderTheCharacter(t *testing.T) {
	for _, typed := range []string{"amount>=x", "customer:株式会社 amount>=x", "customer:é amount>=x", strings.Repeat("株 ", 60) + "amount>=x"} {
		d := open(t, &fake{n: 30}).typed(typed)
		var line, caret string
		lines := strings.Split(d.View(), "\n")
		for i, l := range lines {
			if strings.TrimSpace(l) == "^" {
				line, caret = lines[i-1], l
			}
		}
		at := draw.Width(caret[:strings.Index(caret, "^")])
		if x := strings.LastIndex(line, "x"); caret == "" || x < 0 || draw.Width(line[:x]) != at {
			t.Errorf("%q: the caret is wrong\n%s\n%s", typed, line, caret)
		}
	}
}

func TestCompletesInTheMiddle(t *testing.T) {
	d := open(t, &fake{n: 30}).typed("sta amount>=5")
	d.keys("home", "right", "right", "right", "tab")
	d.Has("/ status: amount>=5")
}

// TestAPastedEscapeReachesNoFrame, neither in the bar nor in the line above.
func TestAPastedEscapeReachesNoFrame(t *testing.T) {
	d := open(t, &fake{n: 30})
	d.keys("/")
	d.Send(uitest.Paste("customer:\x1b[2J\u202ex has:\x1b]0;y\a"))
	d.Send(uitest.Size(81, 24), uitest.Size(80, 24))
	d.keys("esc", "/")
	d.Send(uitest.Paste("customer:\x1b[2J\u202ex"))
	d.keys("enter")
	d.Has("match")
	if v := d.View(); strings.ContainsAny(v, "\x1b\u202e\a") {
		t.Errorf("%q", v)
	}
}
