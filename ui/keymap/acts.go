package keymap

import "opdeck/internal/act"

// of declares the key of an act; key, words and what it changes stand in the
// table of acts.
func of(name string) Key {
	a := act.Get(name)
	k := Bind(a.Name, a.Key.Hint, a.Key.Help, a.Key.Press)
	k.Writes, k.Extra = a.Barred(), a.Key.Extra
	return k
}
