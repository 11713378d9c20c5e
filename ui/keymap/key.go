// Package keymap declares every key of the console once: what it is pressed
// with, what the hint line and the help say, whether it writes, and why it is
// off when it is off. Screens take their group, switch keys on and off and ask
// k.Match(press); no one compares names of keys with literals. Press is what was
// pressed, made from the framework's message in one place (Read).
package keymap

import (
	"cmp"
	"strings"
	"unicode/utf8"

	"github.com/charmbracelet/bubbles/key"
	tea "github.com/charmbracelet/bubbletea"

	"opdeck/internal/act"
)

// Key is one binding. It is a value: a screen copies its group from the Map
// and switches its own copy.
type Key struct {
	key.Binding
	Name   string   // stable: "document.remove"
	Act    *act.Act // that it does; nil: it is about the screen alone
	Long   string   // the sentence of the help screen
	Writes bool     // changes something at the service; off when read-only
	Extra  bool     // left out of the hint line, shown in the help
	Word   string   // names it where it is typed: "restore"
	Typed  Typed    // how plain mode offers it

	off    string // why the screen has switched it off
	barred string // why no one may switch it on: read-only, role
}

// Typed is how plain mode offers a key: as a command that is typed.
type Typed struct {
	None   string // why there is no command; empty: there is one
	Help   string // the sentence about the command, where Key.Long does not fit
	OfList bool   // it is about the whole list or leads elsewhere: a number behind it is no row
	Quiet  bool   // the screen is not read out again after it
}

// Why plain mode has no command for some keys.
const (
	byNumber  = "rows have numbers"
	drawnList = "plain mode has no columns"
	inFull    = "plain mode shows texts in full"
)

// Bind declares a key. short is for the hint line (one or two words), long for
// the help; the first of keys is shown.
func Bind(name, short, long string, keys ...string) Key {
	return Key{
		Binding: key.NewBinding(key.WithKeys(keys...), key.WithHelp(show(keys), short)),
		Name:    name, Long: long, Word: strings.ReplaceAll(strings.ToLower(short), " ", "-"),
	}
}

var shown = map[string]string{" ": "space", "up": "↑", "down": "↓", "left": "←", "right": "→"}

func show(keys []string) string { return cmp.Or(shown[keys[0]], keys[0]) }

// Shown are all keys of k as people read them.
func (k Key) Shown() []string {
	out := make([]string, len(k.Keys()))
	for i, name := range k.Keys() {
		out[i] = show([]string{name})
	}
	return out
}

func (k Key) extra() Key { k.Extra = true; return k }

func (k Key) unoffered(why string) Key { k.Typed.None = why; return k }
func (k Key) typed(help string) Key    { k.Typed.Help = help; return k }
func (k Key) ofList() Key              { k.Typed.OfList = true; return k }
func (k Key) quiet() Key               { k.Typed.Quiet = true; return k }

// Off switches k off; why is shown when it is pressed all the same.
func (k *Key) Off(why string) {
	if why == "" {
		why = "This key does nothing here."
	}
	k.off = why
	k.SetEnabled(false)
}

// On switches k on again, unless read-only mode or the role bars it.
func (k *Key) On() {
	k.off = ""
	k.SetEnabled(k.barred == "")
}

// Set is On when why is empty, else Off(why).
func (k *Key) Set(why string) {
	if why == "" {
		k.On()
		return
	}
	k.Off(why)
}

// Bar switches k off for good: On no longer helps.
func (k *Key) Bar(why string) { k.barred = why; k.SetEnabled(false) }

// Barred reports whether read-only mode or the role keeps k off.
func (k Key) Barred() bool { return k.barred != "" }

// Why says why k is off; empty when it is on.
func (k Key) Why() string {
	if k.barred != "" {
		return k.barred
	}
	return k.off
}

// layouts are the letters of keyboards without Latin letters, and below each the key of a US keyboard in its place.
// A character that a US keyboard has too is not among them.
var layouts = [...][2]string{
	{"йцукенгшщзхъфывапролджэячсмитьбюё", "qwertyuiop[]asdfghjkl;'zxcvbnm,.`"}, // Russian
	{"ЙЦУКЕНГШЩЗХЪФЫВАПРОЛДЖЭЯЧСМИТЬБЮЁ№", "QWERTYUIOP{}ASDFGHJKL:\"ZXCVBNM<>~#"},
	{"іїєґўІЇЄҐЎ", "s]'\\oS}\"|O"},                             // Ukrainian, Belarusian
	{"ςερτυθιοπασδφγηξκλζχψωβνμ", "wertyuiopasdfghjklzxcvbnm"}, // Greek
	{"ΕΡΤΥΘΙΟΠΑΣΔΦΓΗΞΚΛΖΧΨΩΒΝΜ", "ERTYUIOPASDFGHJKLZXCVBNM"},
	{"קראטוןםפשדגכעיחלךףזסבהנמצתץ", "ertyuiopasdfghjkl;zxcvbnm,."}, // Hebrew
}

// Placed returns the press that the same key makes on a US keyboard, if p is a letter of a Cyrillic, Greek or Hebrew
// layout; else p. Only command keys are read so: text keeps its letters, and a question takes no other key for its
// answer.
func (p Press) Placed() Press {
	typed, size := utf8.DecodeRuneInString(p.Name)
	if p.IsText() || size != len(p.Name) || typed < utf8.RuneSelf {
		return p
	}
	for _, l := range layouts {
		at := 0
		for _, r := range l[0] {
			if r == typed {
				p.Name, p.Runes = l[1][at:at+1], []rune{rune(l[1][at])}
				return p
			}
			at++
		}
	}
	return p
}

// Press is one key, or text that came in one piece. Read makes it from the
// framework's message; screens, dialogs and widgets see nothing else.
type Press struct {
	Name   string // as in a binding: "x", "enter", "ctrl+c", " "; empty for text
	Runes  []rune // what it types; nil when it types nothing
	Pasted bool   // the terminal marked it as pasted
	// Burst is true for what arrived in one read with something else: quick typing
	// over a slow line, a paste without marks, an answer of the terminal. It moves
	// and types like other keys, but it answers no question.
	Burst bool
}

// Names of keys that edit a line of text.
const (
	Backspace = "backspace"
	Delete    = "delete"
	Left      = "left"
	Right     = "right"
	Home      = "home"
	End       = "end"
	WordLeft  = "ctrl+left"
	WordRight = "ctrl+right"
	LineStart = "ctrl+a"
	LineEnd   = "ctrl+e"
	CutStart  = "ctrl+u" // to the start of the line
	CutEnd    = "ctrl+k" // to its end
	CutWord   = "ctrl+w"
)

// Read is the one place where the framework's key becomes ours.
func Read(msg tea.KeyMsg) Press {
	p := Press{Pasted: msg.Paste, Burst: msg.Alt || len(msg.Runes) > 1}
	if !msg.Alt { // alt types nothing: terminals begin their answers with it
		p.Runes = msg.Runes
	}
	if !msg.Paste && len(msg.Runes) <= 1 {
		p.Name = msg.String()
	}
	return p
}

// Parse makes the press of a key written as in a binding ("x", "enter", "ctrl+c").
func Parse(name string) Press {
	p := Press{Name: name}
	if r := []rune(name); len(r) == 1 {
		p.Runes = r
	}
	return p
}

// Each returns the characters of text one by one, all of them marked as a burst.
func (p Press) Each() []Press {
	out := make([]Press, len(p.Runes))
	for i, r := range p.Runes {
		out[i] = Press{Name: string(r), Runes: []rune{r}, Burst: true}
	}
	return out
}

// IsText reports whether p is not a single key: pasted text, or several characters.
func (p Press) IsText() bool { return p.Pasted || p.Name == "" }

// String is the name; key.Matches compares it.
func (p Press) String() string { return p.Name }

// Label is how p is written for people, safe to draw whatever the terminal sent.
func (p Press) Label() string {
	switch {
	case p.IsText():
		return "pasted text"
	case strings.ContainsFunc(p.Name, func(r rune) bool { return r < 0x20 || r > 0x7e }):
		return "this key"
	}
	return strings.ReplaceAll(p.Name, " ", "space")
}

// Match reports whether p is k and k is on. Text is never a key.
func (k Key) Match(p Press) bool { return k.Enabled() && k.Pressed(p) }

// Pressed is Match without regard to k being off.
func (k Key) Pressed(p Press) bool {
	k.SetEnabled(true)
	return !p.IsText() && key.Matches(p, k.Binding)
}

// Msg is what pressing k sends, for menus that press keys.
func (k Key) Msg() Press { return Parse(k.Keys()[0]) }

// of is the key of an act; the act's row says which key, its words and what it changes.
func of(a *act.Act) Key {
	k := Bind(a.Name, a.Key.Hint, a.Key.Help, a.Key.Press)
	k.Act, k.Writes, k.Extra = a, a.Barred(), a.Key.Extra
	return k
}
