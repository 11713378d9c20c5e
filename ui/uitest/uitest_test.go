package uitest

import (
	"fmt"
	"strings"
	"testing"
	"time"

	tea "github.com/charmbracelet/bubbletea"
)

// counter counts its messages and answers "b" with a batch, "w" with a timer.
type counter struct {
	clock *Clock
	log   []string
}

func (c *counter) Init() tea.Cmd { return func() tea.Msg { return "init" } }
func (c *counter) View() string  { return strings.Join(make([]string, 2), "\n") }
func (c *counter) Update(msg tea.Msg) (tea.Model, tea.Cmd) {
	c.log = append(c.log, fmt.Sprint(msg))
	if k, ok := msg.(tea.KeyMsg); ok {
		say := func(s string) tea.Cmd { return func() tea.Msg { return s } }
		switch k.String() {
		case "b":
			return c, tea.Batch(say("one"), tea.Sequence(say("two"), say("three")))
		case "w":
			return c, tea.Batch(c.clock.Slow(2*time.Second, func() tea.Msg { return "late" }), c.clock.Slow(time.Second, func() tea.Msg { return "soon" }))
		case "q":
			return c, tea.Quit
		}
	}
	return c, nil
}

func TestOrderAndTime(t *testing.T) {
	c := &counter{clock: NewClock()}
	r := Drive(t, c, Key("b"), Key("w"), Key("x"), c.clock.Wait(3*time.Second), Key("q"))
	want := "init b one two three w x soon late q"
	if got := strings.Join(c.log, " "); got != want {
		t.Errorf("got %q, want %q", got, want)
	}
	if !r.Quit || r.Ticks != 2 || c.clock.Pending() != 0 {
		t.Errorf("quit %v, ticks %d, pending %d", r.Quit, r.Ticks, c.clock.Pending())
	}
}

func TestCheckFrame(t *testing.T) {
	for view, ok := range map[string]bool{
		"ab\ncd": true, "\x1b[1;31mab\x1b[0m\n": true, "ab": false, "abc\n": false, "株株\n": false, "a\x1b[2J\n": false,
		"a\x1b]0;x\a\n": false, "a\r\n": false, "a\u202eb\n": false, "\xff\n": false, "a\u009b\n": false,
	} {
		if err := CheckFrame(view, 2, 2); (err == nil) != ok {
			t.Errorf("%q: %v", view, err)
		}
	}
}
