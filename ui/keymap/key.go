// Package keymap declares every key of the console once: what it is pressed
// with, what the hint line and the help say, whether it writes, and why it is
// off when it is off. Screens take their group, switch keys on and off and ask
// k.Match(msg); nobody compares msg.String() with a literal.
package keymap

import (
	"strings"

	"github.com/charmbracelet/bubbles/key"
	tea "github.com/charmbracelet/bubbletea"
)

// Key is one binding. It is a value: a screen copies its group from the Map
// and switches its own copy.
type Key struct {
	key.Binding
	Name   string // stable: "document.remove"
	Long   string // the sentence of the help screen
	Writes bool   // changes something at the service; off when read-only
	Extra  bool   // left out of the hint line, shown in the help

	off    string // why the screen has switched it off
	barred string // why nobody may switch it on: read-only, role
}

// Bind declares a key. short is for the hint line (one or two words), long for
// the help; the first of keys is shown.
func Bind(name, short, long string, keys ...string) Key {
	return Key{
		Binding: key.NewBinding(key.WithKeys(keys...), key.WithHelp(show(keys), short)),
		Name:    name, Long: long,
	}
}

func show(keys []string) string {
	s := keys[0]
	switch s {
	case " ":
		return "space"
	case "up", "down", "left", "right":
		return map[string]string{"up": "↑", "down": "↓", "left": "←", "right": "→"}[s]
	}
	return s
}

func (k Key) writing() Key { k.Writes = true; return k }
func (k Key) extra() Key   { k.Extra = true; return k }

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

// Why tells why k is off; empty when it is on.
func (k Key) Why() string {
	if k.barred != "" {
		return k.barred
	}
	return k.off
}

// Match reports whether msg is k and k is on. Pasted text and several
// characters in one message are never a key.
func (k Key) Match(msg tea.KeyMsg) bool { return k.Enabled() && k.Pressed(msg) }

// Pressed is Match without regard to k being off.
func (k Key) Pressed(msg tea.KeyMsg) bool {
	if msg.Paste || msg.Type == tea.KeyRunes && len(msg.Runes) != 1 {
		return false
	}
	s := msg.String()
	for _, p := range k.Keys() {
		if p == s {
			return true
		}
	}
	return false
}

// Msg returns the message that pressing k sends, for menus that press keys.
func (k Key) Msg() tea.KeyMsg { return Parse(k.Keys()[0]) }

var named = map[string]tea.KeyType{
	"enter": tea.KeyEnter, "esc": tea.KeyEsc, "tab": tea.KeyTab, "shift+tab": tea.KeyShiftTab,
	"up": tea.KeyUp, "down": tea.KeyDown, "left": tea.KeyLeft, "right": tea.KeyRight,
	"home": tea.KeyHome, "end": tea.KeyEnd, "pgup": tea.KeyPgUp, "pgdown": tea.KeyPgDown,
	"backspace": tea.KeyBackspace, "delete": tea.KeyDelete,
	"ctrl+a": tea.KeyCtrlA, "ctrl+b": tea.KeyCtrlB, "ctrl+c": tea.KeyCtrlC, "ctrl+e": tea.KeyCtrlE, "ctrl+f": tea.KeyCtrlF,
	"ctrl+k": tea.KeyCtrlK, "ctrl+l": tea.KeyCtrlL, "ctrl+n": tea.KeyCtrlN, "ctrl+p": tea.KeyCtrlP, "ctrl+u": tea.KeyCtrlU, "ctrl+w": tea.KeyCtrlW,
	"ctrl+left": tea.KeyCtrlLeft, "ctrl+right": tea.KeyCtrlRight,
}

// Parse makes the message of a key written as in a binding ("x", "enter", "ctrl+c").
func Parse(s string) tea.KeyMsg {
	if t, ok := named[s]; ok {
		return tea.KeyMsg{Type: t}
	}
	if s == " " {
		return tea.KeyMsg{Type: tea.KeySpace, Runes: []rune{' '}}
	}
	return tea.KeyMsg{Type: tea.KeyRunes, Runes: []rune(s)}
}

// Printable reports whether msg is one typed character, space included; pasted
// text and several characters in one message are not.
func Printable(msg tea.KeyMsg) bool {
	return !msg.Paste && !msg.Alt && (msg.Type == tea.KeySpace || msg.Type == tea.KeyRunes && len(msg.Runes) == 1)
}

// Name is how msg is written for people, without control characters: safe to
// draw whatever the terminal sent.
func Name(msg tea.KeyMsg) string {
	if msg.Paste || msg.Type == tea.KeyRunes && len(msg.Runes) != 1 {
		return "pasted text"
	}
	if msg.Type == tea.KeyRunes {
		if r := msg.Runes[0]; r < 0x21 || r > 0x7e {
			return "this key"
		}
	}
	return strings.ReplaceAll(msg.String(), " ", "space")
}

// Help is a list of keys in the form the shell and bubbles/help ask for. A
// screen returns it from Help: keymap.Help{Title: "Documents", List: s.keys.All()}.
type Help struct {
	Title string
	List  []Key
}

// Keys returns the list: the shell needs it to say why a key is off.
func (h Help) Keys() []Key { return h.List }

// ShortHelp implements help.KeyMap: the keys of the hint line.
func (h Help) ShortHelp() []key.Binding {
	var out []key.Binding
	for _, k := range h.List {
		if !k.Extra && k.Enabled() {
			out = append(out, k.Binding)
		}
	}
	return out
}

// FullHelp implements help.KeyMap.
func (h Help) FullHelp() [][]key.Binding {
	out := make([]key.Binding, 0, len(h.List))
	for _, k := range h.List {
		out = append(out, k.Binding)
	}
	return [][]key.Binding{out}
}
