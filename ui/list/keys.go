package list

import (
	"cmp"
	"slices"

	"opdeck/ui/keymap"
	"opdeck/ui/widget"
)

// Keys implements ui.Screen.
func (l *List[T]) Keys() []keymap.Key {
	switch {
	case l.Filter.Typing():
		return widget.FilterKeys(l.Env.Keys)
	case l.Page.Seeking():
		return l.Page.View.Hints()
	}
	keys := l.screen.HelpKeys()
	if l.Page != nil || !l.Loaded || l.rows.Len() > 0 {
		return keys
	}
	return rowless(l, keys)
}

// rowless returns the keys of a list without rows: those for a row are off.
func rowless[T any](l *List[T], keys []keymap.Key) []keymap.Key {
	k, item, open := l.Env.Keys, l.screen.Item(), l.spec.Rowless
	var off []string
	for _, one := range []struct {
		key  keymap.Key
		none bool // it has nothing to act on
	}{{k.List.Open, open == ""}, {k.List.Sort, true}, {k.List.Mark, true}, {k.Item.CopyID, item.ID == ""},
		{k.Item.CopyJSON, len(item.JSON) == 0 && item.NoJSON == ""}, {k.Item.Raw, len(item.JSON) == 0 && item.NoJSON == ""}} {
		if one.none {
			off = append(off, one.key.Name)
		}
	}
	keys = slices.Clone(keys)
	for i := range keys {
		one := &keys[i]
		switch {
		case slices.Contains(off, one.Name):
			one.Set(cmp.Or(one.Why(), "The list has no rows."))
		case one.Name == k.List.Open.Name:
			one.SetHelp(one.Help().Key, open)
			one.Long = open
		case slices.ContainsFunc(keymap.All(k.Item), func(o keymap.Key) bool { return o.Name == one.Name }):
			one.Extra = true
		}
	}
	return keys
}
