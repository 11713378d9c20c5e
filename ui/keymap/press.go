package keymap

import (
	"strings"

	"github.com/charmbracelet/bubbles/key"
	tea "github.com/charmbracelet/bubbletea"
)

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
