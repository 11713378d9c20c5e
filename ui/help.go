package ui

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/aymanbagabas/go-osc52/v2"
	tea "github.com/charmbracelet/bubbletea"

	"opdeck/internal/format"
	"opdeck/internal/format/shellwords"
	"opdeck/ui/draw"
	"opdeck/ui/keymap"
	"opdeck/ui/theme"
)

// The columns of the help, in cells.
const (
	helpWidth  = 240 // maximum of the whole help
	helpKeys   = 46  // minimum of a column of keys
	helpNames  = 14  // of the keys' names
	helpGap    = 3
	helpAcross = 3  // columns at most
	helpLine   = 56 // enough for a topic's column: longer lines continue below themselves
)

// newHelp returns the help of a screen from its keys, in columns if there is room.
func newHelp(s *Shell, top *openScreen) *pager {
	p := newPager(s.win, top.id, "Help "+s.win.th.Signs.Sep+" "+safe(top.screen.Title()), nil)
	p.wide = helpWidth
	p.lines = func(s *Shell) []string {
		w := p.room(s)
		out := helpColumns(w, helpKeys, func(w int) []helpBlock { return s.win.helpOfKeys(top.screen, w) })
		if g, ok := top.screen.(HelpTopic); ok {
			title, lines := g.HelpTopic()
			out = append(out, "", s.win.th.Title.Render(title))
			widest := 0
			for _, l := range lines {
				widest = max(widest, draw.Width(l)+2)
			}
			out = append(out, helpColumns(w, min(widest, helpLine),
				func(w int) []helpBlock { return topicBlocks(lines, w) })...)
		}
		return out
	}
	return p
}

// helpBlock is lines that stay in one column. gap is the number of empty lines before it, unless it begins a column;
// then again is above it: the title of the group that it continues; "": none.
type helpBlock struct {
	lines []string
	gap   int
	again string
}

// atTop returns the lines of a block that begins a column.
func (b helpBlock) atTop() []string {
	if b.again == "" {
		return b.lines
	}
	return append([]string{b.again}, b.lines...)
}

// helpGroup returns a group of blocks with a title, which stays with the first of them.
func helpGroup(th *theme.Theme, title string, blocks []helpBlock) []helpBlock {
	for i := range blocks {
		blocks[i].again = th.Title.Render(title) + th.Dim.Render(" (continued)")
	}
	blocks[0] = helpBlock{lines: append([]string{th.Title.Render(title)}, blocks[0].lines...), gap: 1}
	return blocks
}

// helpOfKeys is the groups of keys in blocks of w cells, and the signs.
func (s *window) helpOfKeys(screen Screen, w int) []helpBlock {
	var own []keymap.Key
	shared := map[string]bool{}
	for _, k := range keymap.Join(s.keys.Nav, s.keys.Global) {
		shared[k.Name] = true
	}
	for _, k := range screen.Keys() {
		if !shared[k.Name] {
			own = append(own, k)
		}
	}
	global := keymap.All(s.keys.Global)
	var out []helpBlock
	for _, group := range []struct {
		title string
		keys  []keymap.Key
	}{{"This screen", own}, {"Anywhere", global[places:]}, {"Screens", global[:places]},
		{"Moving", keymap.All(s.keys.Nav)}} {
		if len(group.keys) > 0 {
			out = append(out, helpGroup(s.th, group.title, helpLines(s.th, group.keys, w))...)
		}
	}
	return append(out, helpGroup(s.th, "Signs", helpSigns(s.th, w))...)
}

// helpSigns explains the signs of the margin and of all screens; those of a list's rows are in its topic.
func helpSigns(th *theme.Theme, w int) []helpBlock {
	var out []helpBlock
	signs := th.Signs
	for _, one := range [][2]string{
		{signs.Cursor, "in the margin: the row of the cursor"},
		{signs.Mark, "in the margin: a marked row"},
		{signs.Good, "good, or done"},
		{signs.Bad, "bad, or failed"},
		{signs.Warn, "needs attention"},
		{signs.Wait, "waits, or is sent and not answered"},
		{signs.Unknown, "not known, as the outcome of a write without an answer"},
		{signs.Off, "off, as a key that does nothing now"},
		{signs.Info, "a fact or work in progress"},
		{signs.Locked, "locked"},
		{"·", "hidden or unsafe character; the raw view is exact. " +
			"Joined emoji and some Indic and Persian spellings show it too."},
	} {
		out = append(out, helpBlock{lines: helpEntry(one[0], namesIn(w, 1), th.Key, one[1], theme.Style{}, w)})
	}
	return out
}

// helpLines returns keys with their sentences. A reason that switches off several of them
// is shown once, below them.
func helpLines(th *theme.Theme, keys []keymap.Key, w int) []helpBlock {
	off := map[string][]string{} // names by reason
	var reasons []string
	var out []helpBlock
	widest := 0
	for _, k := range keys {
		widest = max(widest, draw.Width(strings.Join(k.Shown(), " ")))
		if why := k.Why(); why != "" {
			if off[why] == nil {
				reasons = append(reasons, why)
			}
			off[why] = append(off[why], k.Binding.Help().Key)
		}
	}
	names := namesIn(w, widest)
	for _, k := range keys {
		name, text := th.Key, theme.Style{}
		why := k.Why()
		if why != "" {
			name, text = th.Dim, th.Dim
		}
		lines := helpEntry(strings.Join(k.Shown(), " "), names, name, k.Long, text, w)
		if why != "" {
			lines[0] = th.Dim.Render(th.Signs.Off) + lines[0][1:]
		}
		if len(off[why]) == 1 {
			lines = append(lines, helpEntry("", names, name, "off: "+why, th.Warn, w)...)
		}
		out = append(out, helpBlock{lines: lines})
	}
	for _, why := range reasons {
		if len(off[why]) > 1 {
			out = append(out, helpBlock{lines: helpEntry("", names, th.Dim, strings.Join(off[why], " ")+" off: "+why,
				th.Warn, w)})
		}
	}
	return out
}

// namesIn returns the width of the names in a column of w cells: the same in all groups, but in
// a narrow window no wider than the widest name.
func namesIn(w, widest int) int {
	if w < helpKeys {
		return min(widest+1, helpNames)
	}
	return helpNames
}

// helpEntry returns a name and its explanation in lines of w cells; the names take names cells.
func helpEntry(name string, names int, ns theme.Style, text string, ts theme.Style, w int) []string {
	out := draw.Wrap(text, max(w-names-2, 8))
	for i, l := range out {
		if i > 0 {
			name = ""
		}
		out[i] = "  " + ns.Render(draw.Fit(name, names-1)) + " " + ts.Render(l)
	}
	return out
}

// topicBlocks are the lines of a topic in w cells, each with the indented ones below it.
func topicBlocks(lines []string, w int) []helpBlock {
	var out []helpBlock
	for _, l := range lines {
		below := strings.HasPrefix(l, " ") && len(out) > 0
		if !below {
			out = append(out, helpBlock{})
		}
		b := &out[len(out)-1]
		b.lines = append(b.lines, draw.Hang("  "+l, textAt("  "+l), w)...)
	}
	return out
}

// textAt returns the column where the text of a topic's line begins: after its name and
// two spaces.
func textAt(l string) int {
	in := len(l) - len(strings.TrimLeft(l, " "))
	name, text, ok := strings.Cut(l[in:], "  ")
	if !ok {
		return in
	}
	return in + draw.Width(name) + 2 + len(text) - len(strings.TrimLeft(text, " "))
}

// helpColumns lays blocks out in the number of columns (of at least least cells) that needs the
// fewest lines. blocks makes them for a width.
func helpColumns(w, least int, blocks func(w int) []helpBlock) []string {
	var best [][]string
	bestW := w
	for n := 1; n <= helpAcross; n++ {
		each := (w - (n-1)*helpGap) / n
		if n > 1 && each < least {
			break
		}
		if cols := fillColumns(blocks(each), n); best == nil || height(cols) < height(best) {
			best, bestW = cols, each
		}
	}
	out := make([]string, height(best))
	for i := range out {
		for x, col := range best {
			cell := ""
			if i < len(col) {
				cell = col[i]
			}
			if x < len(best)-1 {
				cell = draw.Pad(cell, bestW+helpGap)
			}
			out[i] += cell
		}
		out[i] = strings.TrimRight(out[i], " ")
	}
	return out
}

func height(cols [][]string) int {
	h := 0
	for _, c := range cols {
		h = max(h, len(c))
	}
	return h
}

// fillColumns fills n columns with blocks, each whole, so that the highest column is as
// low as it can be.
func fillColumns(blocks []helpBlock, n int) [][]string {
	h, all := 0, 0
	for _, b := range blocks {
		h, all = max(h, len(b.atTop())), all+len(b.lines)
	}
	h = max(h, all/n)
	for ; ; h++ {
		cols, at := make([][]string, n), 0
		for _, b := range blocks {
			if len(cols[at]) > 0 && len(cols[at])+b.gap+len(b.lines) > h {
				if at++; at == n {
					break
				}
			}
			switch {
			case len(cols[at]) > 0:
				cols[at] = append(append(cols[at], make([]string, b.gap)...), b.lines...)
			case strings.TrimSpace(strings.Join(b.lines, "")) != "": // no column begins with an empty line
				cols[at] = slices.Clone(b.atTop())
			}
		}
		if at < n {
			return cols
		}
	}
}

// Cell is one cell of a choice that is a row of a table. A narrow menu has no room for the last columns.
type Cell struct {
	Text   string    // safe; a text may be cut
	Number bool      // Text is a number, perhaps with a unit: aligned by its decimal point and never cut
	Whole  bool      // Text is never cut, and long names leave room for it
	Day    time.Time // in the place of Text: its day in the person's time zone
}

// leastCell is the width to which a text is cut at most; a shorter one is never cut.
const leastCell = 12

// choices returns found objects as choices.
func (s *window) choices(list []Found) []Choice {
	out := make([]Choice, len(list))
	for i, f := range list {
		out[i] = Choice{Text: f.Text, About: f.About}
		for _, c := range f.Cells {
			if !c.Day.IsZero() {
				c.Text = format.Date(c.Day, s.shown.zone)
			}
			out[i].Cells = append(out[i].Cells, c)
		}
	}
	return out
}

// said returns the cells in one line, for the filter and for plain mode.
func (c Choice) said() string {
	var out []string
	for _, one := range c.Cells {
		if one.Text != "" {
			out = append(out, one.Text)
		}
	}
	return strings.Join(out, "  ")
}

// wholeCells is the width of the columns whose texts are never cut.
func wholeCells(list []Choice) int {
	var widths []int
	for _, c := range list {
		for k, one := range c.Cells {
			if k >= len(widths) {
				widths = append(widths, 0)
			}
			if one.Whole && one.Text != "" {
				widths[k] = max(widths[k], draw.Width(one.Text)+columnGap)
			}
		}
	}
	all := 0
	for _, w := range widths {
		all += w
	}
	return all
}

// tabled returns choices with their cells as one aligned text in About, at most w cells wide behind the
// widest name of all of them.
func tabled(list []Choice, w int) []Choice {
	out, columns, name := make([]Choice, len(list)), 0, 0
	for i, c := range list {
		if out[i] = c; len(c.Cells) > 0 {
			columns, name = max(columns, len(c.Cells)), max(name, draw.Width(c.Text))
		}
	}
	name = max(min(name, w-wholeCells(list)), min(name, leastName))
	room, full := w-name, false
	for k := range columns {
		column, number, whole := make([]string, len(list)), false, false
		for i, c := range list {
			if k < len(c.Cells) {
				column[i], number, whole = c.Cells[k].Text, number || c.Cells[k].Number, whole || c.Cells[k].Whole
			}
		}
		if number {
			column = draw.Align(column)
		}
		widest := 0
		for _, s := range column {
			widest = max(widest, draw.Width(s))
		}
		least := min(widest, leastCell)
		if number || whole {
			least = widest
		}
		full = full || least+columnGap > room
		if widest == 0 || full {
			continue
		}
		width := min(widest, room-columnGap)
		room -= width + columnGap
		for i, c := range list {
			switch {
			case len(c.Cells) == 0:
			case out[i].About == "":
				out[i].Text, out[i].About = draw.Pad(draw.Middle(c.Text, name), name), draw.Fit(column[i], width)
			default:
				out[i].About += draw.Space(columnGap) + draw.Fit(column[i], width)
			}
		}
	}
	return out
}

// ClipMode is the multiplexer between the console and the terminal.
type ClipMode uint8

// The modes.
const (
	ClipPlain ClipMode = iota
	ClipTmux
	ClipScreen
	ClipOff // no clipboard: plain or recorded sessions, or by role
)

// Clip describes how to send text to the terminal's clipboard.
type Clip struct {
	Mode ClipMode
	Max  int // bytes of text; 0: 55,000, the limit of xterm and tmux for one sequence
	// Buffer puts a text into the buffer of a multiplexer on this host, which hands it on to the terminal; nil: the
	// sequence is written.
	Buffer func(ctx context.Context, text string) error
}

const clipMax = 55_000

// ClipFrom reads the mode from the environment (TMUX, STY, TERM). Over SSH only TERM is known.
func ClipFrom(getenv func(string) string) Clip {
	switch {
	case getenv("TMUX") != "", strings.HasPrefix(getenv("TERM"), "tmux"):
		return Clip{Mode: ClipTmux}
	case getenv("STY") != "", strings.HasPrefix(getenv("TERM"), "screen"):
		return Clip{Mode: ClipScreen}
	case getenv("TERM") == "dumb":
		return Clip{Mode: ClipOff}
	}
	return Clip{}
}

// ErrNoClip means that there is no clipboard.
var ErrNoClip = errors.New("this terminal has no clipboard")

// Sequences are the OSC 52 sequence for a text, and for a multiplexer the same one wrapped: one of the two is
// taken, by its settings. A text that is too long is an error, so that no copy is truncated.
func (c Clip) Sequences(s string) ([]osc52.Sequence, error) {
	limit := c.Max
	if limit <= 0 {
		limit = clipMax
	}
	switch {
	case c.Mode == ClipOff:
		return nil, ErrNoClip
	case len(s) > limit:
		return nil, fmt.Errorf("%s is too long to copy; the limit is %s", format.Size(int64(len(s))),
			format.Size(int64(limit)))
	}
	seq := osc52.New(s)
	switch c.Mode {
	case ClipTmux:
		return []osc52.Sequence{seq, seq.Tmux()}, nil
	case ClipScreen:
		return []osc52.Sequence{seq, seq.Screen()}, nil
	}
	return []osc52.Sequence{seq}, nil
}

// needs is what a multiplexer has to be set to so that it hands a copy on.
func (c Clip) needs() string {
	switch c.Mode {
	case ClipTmux:
		return " tmux passes it on if set-clipboard is on."
	case ClipScreen:
		return " tmux passes it on if set-clipboard is on; screen does."
	}
	return ""
}

// copy returns a command that sends text to the terminal.
func (s *statusLine) copy(c Copy) tea.Cmd {
	if s.win.opt.Report != nil {
		s.win.opt.Report(c)
		return nil
	}
	clip := s.win.opt.Clip
	sequences, err := clip.Sequences(c.Text)
	if err == nil && s.win.opt.Copy == nil {
		err = ErrNoClip
	}
	if err != nil {
		return s.notify(Error, "Not copied: "+err.Error()+".")
	}
	write, ctx := s.win.opt.Copy, s.win.root
	return func() tea.Msg {
		known, err := true, error(nil)
		if clip.Buffer == nil || clip.Buffer(ctx, c.Text) != nil {
			known, err = false, write(sequences)
		}
		return do(func(s *Shell) tea.Cmd { return s.status.copied(cmp.Or(c.What, "text"), known, err) })
	}
}

// copied shows the notice. known: a multiplexer has it. Only a multiplexer answers; a terminal does not, so that
// nothing is claimed.
func (s *statusLine) copied(what string, known bool, err error) tea.Cmd {
	switch {
	case err != nil:
		return s.notify(Error, "Not copied: "+err.Error()+".")
	case known:
		return s.notify(Success, "Copied "+what+" to tmux, which hands it on to the clipboard.")
	}
	return s.notify(Success, "Sent "+what+" to the terminal's clipboard."+s.win.opt.Clip.needs())
}

// RemoteCommand returns a command line for the local shell of a person who is connected over SSH.
func (e *Env) RemoteCommand(words ...string) string {
	return e.About.Remote + " " + shellwords.Remote(words...)
}

// OverSSH shows a command line, which a key copies, instead of a form that asks for a file:
// over SSH a file of the host would be the server's.
func (e *Env) OverSSH(title, line string, more ...string) Action {
	return Explain{Title: title, Copy: Copy{Text: line, What: "the command"},
		Lines: append([]string{"Files here are on the server. Run this on your own machine and fill in the " +
			"words in capitals:", "", line, "",
			"The host is this server's address; use the name you know it by."}, more...)}
}
