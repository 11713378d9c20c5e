// Package keymap declares every key of the console once: what it is pressed
// with, what the hint line and the help say, whether it writes, and why it is
// off when it is off. Screens take their group, switch keys on and off and ask
// k.Match(press); no one compares names of keys with literals. Press is what was
// pressed, made from the framework's message in one place (Read).
package keymap

import (
	"cmp"
	"strings"

	"github.com/charmbracelet/bubbles/key"

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
