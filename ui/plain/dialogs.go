package plain

import (
	"context"
	"errors"
	"io"
	"os"
	"slices"
	"strconv"
	"strings"

	tea "github.com/charmbracelet/bubbletea"

	"opdeck/api/secret"
	"opdeck/ui"
	"opdeck/ui/keymap"
	"opdeck/ui/widget"
)

// mostClosed is how many dialogs that follow each other are given up at once.
const mostClosed = 8

// dialogs goes through what is open above the screens, until nothing is.
func (h *Host) dialogs(ctx context.Context) error {
	for d := h.sh.Dialog(); d != nil; d = h.sh.Dialog() {
		cmd, err := h.dialog(ctx, d)
		if err != nil {
			for range mostClosed { // a No may ask something else instead
				if h.sh.Dialog() != nil {
					h.loop.start(h.sh.Close(), false)
				}
			}
			return err
		}
		h.loop.start(cmd, false)
		if err := h.settle(ctx); err != nil {
			return err
		}
	}
	return nil
}

// maxLines bounds what is said of one text.
const maxLines = 2000

func (h *Host) dialog(ctx context.Context, open any) (tea.Cmd, error) {
	switch d := open.(type) {
	case ui.Question:
		return h.question(ctx, d)
	case ui.Ask:
		return h.ask(ctx, d)
	case ui.Choose:
		return h.choose(ctx, d)
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
	case ui.Text:
		h.talk.Say(d.Title + ".")
		h.talk.Say(d.Lines[:min(len(d.Lines), maxLines)]...)
		if len(d.Lines) > maxLines {
			h.talk.Say("The text is longer; the rest is not shown.")
		}
	}
	return h.sh.Close(), nil
}

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
		if f.Secret {
			s, err := h.secret(ctx, f)
			if err != nil {
				return nil, err
			}
			secrets[i] = secret.New(s)
			continue
		}
		var err error
		if text[i], err = h.text(ctx, f); err != nil {
			return nil, err
		}
	}
	return h.sh.Submit(text, secrets), nil
}

func (h *Host) text(ctx context.Context, f widget.Field) (string, error) {
	looked := ""
	check := func(s string) (err error) {
		if p := f.Problem(s); p != "" {
			return errors.New(p)
		}
		if f.Look != nil {
			looked, err = f.Look(ctx, s)
		}
		return err
	}
	s, err := h.talk.Ask(ctx, Field{Label: f.Label, Help: help(f), Value: f.Value, Check: check,
		Optional: f.Value == "" && f.Problem("") == ""})
	if looked != "" && err == nil {
		h.talk.Say(sentence(looked))
	}
	if f.Capitals && s != f.Value {
		s = strings.ToUpper(s)
	}
	return s, err
}

// help explains a field: what it is, and the values that are known for it.
func help(f widget.Field) string {
	hint := f.Hint
	if hint != "" && !strings.HasSuffix(hint, ".") {
		hint += "."
	}
	if len(f.Options) == 0 {
		return hint
	}
	known := make([]string, len(f.Options))
	for i, o := range f.Options {
		if known[i] = o.Value; o.Text != "" && o.Text != o.Value {
			known[i] += ", " + o.Text
		}
	}
	return strings.TrimSpace(hint + " Known values: " + strings.Join(known, "; ") + ".")
}

// secret takes a text unseen, or from a file where nothing can be typed unseen.
func (h *Host) secret(ctx context.Context, f widget.Field) (string, error) {
	if h.talk.ahead != "" {
		h.talk.Say("Do not type a secret after the command: it is visible there. If it was a real one, change it.")
		return "", ErrBack
	}
	for {
		s, err := h.talk.Secret(ctx, f.Label)
		switch {
		case errors.Is(err, ErrNoSecret):
			if s, err = h.fromFile(ctx, f.Label); err != nil {
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

const maxSecretFile = 16 << 10

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
	for offered := false; ; {
		if h.talk.ahead == "" && !offered {
			h.offer(c)
			offered = true
		}
		s, err := h.talk.prompt(ctx, c.Title+". A number, or back:")
		if err == nil {
			err = way(s)
		}
		i := chosen(c.Items, s)
		switch {
		case err != nil:
			return nil, err
		case s == "":
			return nil, ErrBack
		case i >= 0 && c.Items[i].Why == "":
			return h.sh.Pick(i), nil
		case !offered:
			h.talk.Say("Not one of these: " + s + ".")
		case i < 0:
			h.talk.Say("Type a number from 1 to " + strconv.Itoa(len(c.Items)) + ". An empty line goes back.")
		default:
			h.talk.Say("Not available now. " + c.Items[i].Why)
		}
	}
}

// offer says the items of a menu with their numbers.
func (h *Host) offer(c ui.Choose) {
	h.talk.Say(c.Title + ".")
	h.talk.Say(sentences([]string{c.Foot})...)
	for i, it := range c.Items {
		line := strconv.Itoa(i+1) + ". " + it.Text
		for _, cell := range it.Cells {
			if cell.Text != "" {
				line += ", " + sentence(cell.Text)
			}
		}
		if it.Note != "" {
			line += ", " + sentence(it.Note)
		}
		if it.Why != "" {
			line += ". Not now: " + it.Why
		}
		h.talk.Say(line)
	}
}

// chosen is the index of the item that was typed: by one of its other names, whole, by its
// number or by its beginning; -1: none.
func chosen(list []ui.Choice, typed string) int {
	if i := slices.IndexFunc(list, func(c ui.Choice) bool {
		return slices.ContainsFunc(c.Words, func(w string) bool { return strings.EqualFold(w, typed) })
	}); i >= 0 {
		return i
	}
	if n, is := number(typed); is {
		if n > len(list) {
			n = 0
		}
		return max(n, 0) - 1
	}
	return slices.IndexFunc(list, func(c ui.Choice) bool {
		return strings.HasPrefix(strings.ToLower(c.Text), strings.ToLower(typed))
	})
}

// filter takes the text of an open filter line: what was typed behind the command,
// else it is asked for. "off" takes the filter away.
func (h *Host) filter(ctx context.Context) error {
	k := h.sh.Map()
	if g, ok := h.sh.Shell.Top().(ui.HelpTopic); ok && strings.EqualFold(h.talk.ahead, "help") {
		title, lines := g.HelpTopic()
		h.talk.Say(append([]string{title + "."}, sentences(lines)...)...)
		return h.press(ctx, k.Form.Cancel)
	}
	text, err := h.talk.Ask(ctx, Field{Label: "Filter", Help: "off shows everything, help explains the language."})
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
