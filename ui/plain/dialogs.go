package plain

import (
	"cmp"
	"context"
	"errors"
	"io"
	"os"
	"slices"
	"strconv"
	"strings"
	"time"

	tea "github.com/charmbracelet/bubbletea"

	"opdeck/api/secret"
	"opdeck/api/untrusted"
	"opdeck/internal/format"
	"opdeck/ui"
	"opdeck/ui/keymap"
	"opdeck/ui/widget"
)

// dialogs goes through what is open above the screens, until nothing is.
func (h *Host) dialogs(ctx context.Context) error {
	for {
		var cmd tea.Cmd
		var err error
		switch d := h.sh.Dialog().(type) {
		case nil:
			return nil
		case ui.Question:
			cmd, err = h.question(ctx, d)
		case ui.Ask:
			cmd, err = h.ask(ctx, d)
		case ui.Choose:
			cmd, err = h.choose(ctx, d)
		case ui.Explain:
			h.talk.Say(d.Title + ".")
			for _, l := range d.Lines {
				if l != "" && l == d.Copy.Text {
					h.talk.Whole(l)
					continue
				}
				h.talk.Say(sentences([]string{l})...)
			}
			h.talk.Say(widget.Sentences(d.Facts)...)
			cmd = h.sh.Close()
		case ui.Text:
			h.talk.Say(d.Title + ".")
			h.talk.Say(d.Lines[:min(len(d.Lines), maxLines)]...)
			if len(d.Lines) > maxLines {
				h.talk.Say("The text is longer; the rest is not shown.")
			}
			cmd = h.sh.Close()
		}
		if err != nil {
			for range mostClosed { // a No may ask something else instead
				if h.sh.Dialog() == nil {
					break
				}
				h.loop.start(h.sh.Close(), false)
			}
			return err
		}
		h.loop.start(cmd, false)
		if err := h.settle(ctx); err != nil {
			return err
		}
	}
}

// mostClosed is how many dialogs that follow each other are given up at once.
const mostClosed = 8

// maxLines bounds what is said of one text.
const maxLines = 2000

// question asks what the screen asks. What happened meanwhile comes first: an answer
// is about what is so now.
func (h *Host) question(ctx context.Context, d ui.Question) (tea.Cmd, error) {
	if err := h.readNews(ctx); err != nil || !h.stillOpen(d) {
		return nil, err
	}
	yes, err := h.talk.Confirm(ctx, h.opt.Ground, d)
	if err != nil {
		return nil, err
	}
	if err := h.readNews(ctx); err != nil || !h.stillOpen(d) {
		return nil, err
	}
	return h.sh.Answer(yes), nil
}

// stillOpen reports whether the same question is still open.
func (h *Host) stillOpen(d ui.Question) bool {
	now, ok := h.sh.Dialog().(ui.Question)
	return ok && now.ID == d.ID && now.Ask == d.Ask && now.Risk == d.Risk && slices.Equal(now.Facts, d.Facts)
}

// ask takes the fields of a form one after the other.
func (h *Host) ask(ctx context.Context, a ui.Ask) (tea.Cmd, error) {
	h.talk.Say(a.Title + ".")
	h.talk.Say(sentences(a.Intro)...)
	text, secrets := make([]string, len(a.Fields)), make([]secret.Value, len(a.Fields))
	for i, f := range a.Fields {
		label := f.Label
		if f.Secret {
			s, err := h.secret(ctx, label, f)
			if err != nil {
				return nil, err
			}
			secrets[i] = secret.New(s)
			continue
		}
		s, err := h.text(ctx, label, f)
		if err != nil {
			return nil, err
		}
		text[i] = s
	}
	return h.sh.Submit(text, secrets), nil
}

func (h *Host) text(ctx context.Context, label string, f widget.Field) (string, error) {
	var looked string
	check := func(s string) error {
		if p := f.Problem(s); p != "" {
			return errors.New(p)
		}
		var err error
		if f.Look != nil {
			looked, err = f.Look(ctx, s)
		}
		return err
	}
	taken := func(s string) string {
		if looked != "" {
			h.talk.Say(sentence(looked))
		}
		if f.Capitals && s != f.Value {
			return strings.ToUpper(s)
		}
		return s
	}
	if arg := h.arg; arg != "" {
		h.arg = ""
		err := check(arg)
		if err == nil {
			return taken(arg), nil
		}
		h.talk.Say(err.Error())
	}
	said, err := h.talk.Ask(ctx, Field{Label: label, Help: help(f), Value: f.Value, Optional: f.Value == "" &&
		f.Problem("") == "", Check: check})
	return taken(said), err
}

// help explains a field: what it is, and the values that are known for it.
func help(f widget.Field) string {
	if len(f.Options) == 0 {
		return f.Hint
	}
	known := make([]string, len(f.Options))
	for i, o := range f.Options {
		if known[i] = o.Value; o.Text != "" && o.Text != o.Value {
			known[i] += ", " + o.Text
		}
	}
	return strings.TrimSpace(f.Hint + " Known values: " + strings.Join(known, "; ") + ".")
}

const maxSecretFile = 16 << 10

// secret takes a text unseen, or from a file where nothing can be typed unseen.
func (h *Host) secret(ctx context.Context, label string, f widget.Field) (string, error) {
	if h.arg != "" {
		h.talk.Say("Do not type a secret after the command: it is visible there. If it was a real one, change it.")
		return "", ErrBack
	}
	for {
		s, err := h.talk.Secret(ctx, label)
		switch {
		case errors.Is(err, ErrNoSecret):
			if s, err = h.fromFile(ctx, label); err != nil {
				return "", err
			}
		case errors.Is(err, ErrBack) && f.Problem("") == "": // it may be empty
			return "", nil
		case err != nil:
			return "", err
		}
		if f.Problem(s) == "" {
			return s, nil
		}
		h.talk.Say(f.Problem(s))
	}
}

func (h *Host) fromFile(ctx context.Context, label string) (string, error) {
	const cannot = "Input cannot be hidden here, so you cannot type a secret."
	if h.opt.NoFiles != "" {
		h.talk.Say(cannot, "Use the command over SSH; it reads the secret from standard input.")
		return "", ErrBack
	}
	h.talk.Say(cannot, "Put it in a file on this host and name the file, or use the command, "+
		"which reads standard input or a file.")
	path, err := h.talk.Ask(ctx, Field{Label: "File with the " + strings.ToLower(label),
		Help: "The file is read once; delete it afterwards."})
	if err != nil {
		return "", err
	}
	file, err := os.Open(path)
	if err == nil {
		defer file.Close()
		var b []byte
		if b, err = io.ReadAll(io.LimitReader(file, maxSecretFile)); err == nil {
			return strings.TrimSpace(string(b)), nil
		}
	}
	h.talk.Say("That file cannot be read.")
	return "", ErrBack
}

// choose offers the items of a menu; what was typed behind the command takes one.
func (h *Host) choose(ctx context.Context, c ui.Choose) (tea.Cmd, error) {
	items := make([]string, len(c.Items))
	for i, it := range c.Items {
		items[i] = it.Text
	}
	i := -1
	if arg := h.arg; arg != "" {
		h.arg = ""
		if i = chosen(c.Items, arg); i >= 0 && c.Items[i].Why != "" {
			i = -1
		}
		if i < 0 {
			h.talk.Say("Not one of these: " + arg + ".")
		}
	}
	if i < 0 {
		h.talk.Say(c.Title + ".")
		for j, it := range c.Items {
			for _, cell := range it.Cells {
				if cell.Text != "" {
					items[j] += ", " + sentence(cell.Text)
				}
			}
			if it.Note != "" {
				items[j] += ", " + sentence(it.Note)
			}
			if it.Why != "" {
				items[j] += ". Not now: " + it.Why
			}
		}
		var err error
		if c.Foot != "" {
			h.talk.Say(sentence(c.Foot))
		}
		find := func(typed string) int { return chosen(c.Items, typed) }
		if i, err = h.talk.choose(ctx, c.Title, items, find, func(i int) string { return c.Items[i].Why }); err != nil {
			return nil, err
		}
	}
	return h.sh.Pick(i), nil
}

// chosen is the index of the item that was typed: by one of its other names, whole, by its
// number or by its beginning; -1: none.
func chosen(list []ui.Choice, typed string) int {
	texts := make([]string, len(list))
	for i, it := range list {
		if texts[i] = it.Text; slices.ContainsFunc(it.Words, func(w string) bool { return strings.EqualFold(w, typed) }) {
			return i
		}
	}
	return choice(typed, texts)
}

// filter takes the text of an open filter line: what was typed behind the command,
// else it is asked for. "off" takes the filter away.
func (h *Host) filter(ctx context.Context) error {
	text := h.arg
	var err error
	if text == "" {
		text, err = h.talk.Ask(ctx, Field{Label: "Filter", Help: "off shows everything, help explains the language."})
	}
	k := h.sh.Map()
	if strings.EqualFold(text, "help") {
		if g, ok := h.sh.Shell.Top().(ui.HelpTopic); ok {
			title, lines := g.HelpTopic()
			h.talk.Say(append([]string{title + "."}, sentences(lines)...)...)
		}
		return errors.Join(h.press(ctx, k.Form.Cancel), err)
	}
	if err != nil {
		return errors.Join(h.press(ctx, k.Form.Cancel), err)
	}
	if strings.EqualFold(text, "off") {
		text = ""
	}
	for _, msg := range []keymap.Press{{Name: keymap.End}, {Name: keymap.CutStart}, {Runes: []rune(text), Pasted: true},
		k.Form.Submit.Msg()} {
		if err := h.run(ctx, h.update(msg)); err != nil {
			return err
		}
	}
	if bar := h.content().Filter; bar != nil {
		h.talk.Say("Not a valid filter. "+sentence(bar.Said()),
			"The list is unchanged. filter help explains the language.")
		return h.press(ctx, k.Form.Cancel)
	}
	return nil
}

func promptOf(q ui.Question) string {
	what := "yes"
	if q.Typed {
		what = "the last " + strconv.Itoa(len(ui.LastOf(q.ID))) + " characters of the " + cmp.Or(q.IDLabel, "id")
	}
	return "Type " + what + " to " + strings.ToLower(q.Verb) + "; anything else is No:"
}

func isYes(q ui.Question, answer string) bool {
	if q.Typed {
		return answer != "" && answer == ui.LastOf(q.ID)
	}
	return strings.EqualFold(answer, "yes")
}

// Confirm asks what a screen asks, after the sentence lead. Nothing but the answer in
// full, typed after the question was said to its end, is a yes. Whatever was typed before the question was said to its
// end is
// dropped, and an answer that more lines follow at once is pasted text: both are
// No, as are an empty line, a letter and the end of input. The error is set when
// the person wants elsewhere as well.
func (t *Talk) Confirm(ctx context.Context, lead string, q ui.Question) (bool, error) {
	t.question(lead, q)
	if q.Typed && ui.LastOf(q.ID) == "" {
		t.Say("The end of this id cannot be typed, so it cannot be confirmed here. Nothing was sent.")
		return false, nil
	}
	for {
		t.in.hush(ctx, t.opt.Pause)
		t.Say(promptOf(q))
		answer, err := t.read(ctx, false)
		if err != nil {
			return false, err
		}
		if answer == "?" {
			t.question(lead, q)
			t.Say("An empty line is No.")
			continue
		}
		return t.judge(ctx, q, answer)
	}
}

func (t *Talk) judge(ctx context.Context, q ui.Question, answer string) (bool, error) {
	switch {
	case !isYes(q, answer):
		t.Say("No. Nothing was sent.")
		if err := way(answer); err != nil && !errors.Is(err, ErrBack) {
			return false, err
		}
		return false, nil
	case t.in.follows(ctx, t.opt.Settle):
		t.in.hush(ctx, t.opt.Pause)
		t.Say("More text followed the answer, as in a paste. That counts as No. Nothing was sent.")
		return false, nil
	case ctx.Err() != nil:
		return false, ErrInterrupted
	}
	return true, nil
}

func (t *Talk) question(lead string, q ui.Question) {
	if lead != "" {
		t.Say(lead)
	}
	t.Say("Question. " + q.Ask)
	if q.ID != "" {
		t.Say(cmp.Or(q.IDLabel, "id") + ": " + untrusted.Text(q.ID).Line(200))
	}
	for _, f := range q.Facts {
		if f.Label != "" {
			t.Say(f.Label + ": " + f.Value)
		}
	}
	if q.Risk != "" {
		t.Say(q.Risk)
	}
}

// choose offers numbered choices; it returns the index of the one taken, which find finds by
// what was typed (-1: none). An empty line goes back (ErrBack). why says why choice i cannot
// be taken; nil: all can.
func (t *Talk) choose(ctx context.Context, label string, choices []string, find func(typed string) int,
	why func(i int) string) (int, error) {
	for i, c := range choices {
		t.Say(strconv.Itoa(i+1) + ". " + c)
	}
	for {
		s, err := t.prompt(ctx, label+". A number, or back:")
		switch {
		case err != nil:
			return 0, err
		case s == "":
			return 0, ErrBack
		}
		if err := way(s); err != nil {
			return 0, err
		}
		switch i := find(s); {
		case i < 0:
			t.Say("Type a number from 1 to " + strconv.Itoa(len(choices)) + ". An empty line goes back.")
		case why != nil && why(i) != "":
			t.Say("Not available now. " + why(i))
		default:
			return i, nil
		}
	}
}

// choice is the index of the choice that was typed: by its number, or by its
// beginning; -1: none.
func choice(typed string, choices []string) int {
	if n, err := strconv.Atoi(strings.TrimSuffix(typed, ".")); err == nil {
		if n < 1 || n > len(choices) {
			return -1
		}
		return n - 1
	}
	for i, c := range choices {
		if strings.HasPrefix(strings.ToLower(c), strings.ToLower(typed)) {
			return i
		}
	}
	return -1
}

// span says a length of time in its one or two largest units, rounded down:
// "4 minutes 20 seconds".
func span(d time.Duration) string {
	if d < 0 {
		d = 0
	}
	parts := []struct {
		n    int64
		unit string
	}{{int64(d / (24 * time.Hour)), "day"}, {int64(d / time.Hour % 24), "hour"}, {int64(d / time.Minute % 60), "minute"},
		{int64(d / time.Second % 60), "second"}}
	for i, p := range parts {
		if p.n == 0 {
			continue
		}
		s := format.Plural(int(p.n), p.unit, p.unit+"s")
		if i+1 < len(parts) && parts[i+1].n > 0 {
			s += " " + format.Plural(int(parts[i+1].n), parts[i+1].unit, parts[i+1].unit+"s")
		}
		return s
	}
	if d > 0 {
		return "less than a second"
	}
	return "0 seconds"
}

// List joins words: "a, b and c".
func List(words []string) string {
	n := len(words)
	if n < 2 {
		return strings.Join(words, "")
	}
	return strings.Join(words[:n-1], ", ") + " and " + words[n-1]
}
