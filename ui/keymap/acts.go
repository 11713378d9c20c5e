package keymap

import "opdeck/internal/act"

// of is the key of an act; the act's row says which key, its words and what it changes.
func of(a *act.Act) Key {
	k := Bind(a.Name, a.Key.Hint, a.Key.Help, a.Key.Press)
	k.Act, k.Writes, k.Extra = a, a.Barred(), a.Key.Extra
	return k
}
