package keymap

import (
	"fmt"
	"maps"
	"regexp"
	"slices"
	"strings"
)

// Together lists the keys that work together, by place: on each screen, in a question, a form.
func (m *Map) Together() map[string][]Key {
	screen := func(groups ...any) []Key { return Join(append([]any{m.Global, m.Nav}, groups...)...) }
	return map[string][]Key{
		"operations": screen(m.List, m.Item, m.Operations, m.Related),
		"totals":     append(screen(m.Totals), m.List.Open, m.Operations.Totals, m.Operations.Export),
		"columns":    Join(m.Columns, m.Nav),
		"operation":  append(screen(m.Item, m.Operation, m.Related), m.Viewer.Search, m.Viewer.Next, m.Viewer.Prev),
		"documents":  append(screen(m.Item, m.Documents, m.Related), m.List.Open, m.List.Filter, m.List.Sort),
		"files": append(screen(m.Item, m.Files), m.List.Open, m.Documents.Save, m.List.Filter,
			m.List.Sort, m.Related.Customer),
		"content": append(screen(m.Item), m.Documents.Save, m.Viewer.Search, m.Viewer.Next,
			m.Viewer.Prev),
		"compliance":   append(screen(m.Item, m.Compliance), m.Viewer.Search, m.Viewer.Next, m.Viewer.Prev),
		"customers":    append(screen(m.List, m.Item), m.Compliance.Operations),
		"directory":    append(screen(m.List, m.Item), m.Related.Customer),
		"record":       append(screen(m.Item), m.Related.Customer, m.Viewer.Search, m.Viewer.Next, m.Viewer.Prev),
		"session":      append(screen(m.Item, m.Session), m.Viewer.Search, m.Viewer.Next, m.Viewer.Prev),
		"events":       screen(m.List, m.Item, m.Events),
		"audit":        screen(m.List, m.Item, m.Audit),
		"settings":     append(screen(m.Item, m.Hooks), m.Viewer.Search, m.Viewer.Next, m.Viewer.Prev),
		"approvals":    append(screen(m.Item, m.Approvals), m.List.Open, m.Audit.Approve, m.Audit.Deny),
		"approval":     append(screen(m.Item), m.Audit.Approve, m.Audit.Deny, m.Viewer.Search, m.Viewer.Next),
		"hits in it":   append(screen(m.Item), m.Viewer.Search, m.Viewer.Next, m.Viewer.Prev),
		"history":      append(screen(m.Item), m.List.Open, m.List.Mark),
		"difference":   append(screen(m.Item), m.Viewer.Search, m.Viewer.Next, m.Viewer.Prev),
		"limits":       append(screen(m.Tariffs), m.Viewer.Search, m.Viewer.Next, m.Viewer.Prev),
		"question":     Join(m.Dialog),
		"form":         Join(m.Form),
		"viewer":       Join(m.Viewer, m.Nav),
		"menu":         Join(m.Menu),
		"explanations": append(Join(m.Nav), m.Dialog.Answer, m.Dialog.No, m.Dialog.Close, m.Item.CopyID),
	}
}

// fixed are the beginnings of the names of keys that nobody can change: places, ways out, and what a question, a form,
// a menu and a text take.
var fixed = []string{"dialog.", "form.", "menu.", "viewer.", "columns.", "leave", "back", "list.open", "nav.up",
	"nav.down"}

// retired are the names of keys that left, with what to do instead.
var retired = map[string]string{
	"customer.set-application": "use opdeck customer set-application CUID FILE",
	"document.open":            "w saves the document to a file",
	"operations.compare":       "open the two operations in two windows",
}

// pressable are the presses that a key can get: a character of a US keyboard but for digits, and these names.
var pressable = regexp.MustCompile(`^([!-/:-~]|space|f([1-9]|1[0-2])|ctrl\+[abdefgklnopqrstuvwxy])$`)

// Remap gives keys other presses, by the key's name: "X", "space", "ctrl+x", "f5". It returns what is wrong by name,
// and changes nothing if anything is.
func (m *Map) Remap(to map[string]string) (wrong map[string]string) {
	if len(to) == 0 { // most people have no [keys], and looking for conflicts takes a millisecond of each start
		return nil
	}
	wrong = map[string]string{}
	known := map[string]bool{}
	m.each(func(k *Key) { known[k.Name] = true })
	for name, press := range to {
		switch {
		case retired[name] != "":
			wrong[name] = "retired: " + retired[name]
		case !known[name]:
			wrong[name] = "there is no key of this name; docs/keys.md lists them"
		case m.isFixed(name):
			wrong[name] = "this key cannot be changed"
		case !pressable.MatchString(press):
			wrong[name] = `must be one character, "space", "f1" to "f12" or a key like "ctrl+x"`
		}
	}
	if len(wrong) > 0 {
		return wrong
	}
	next := *m
	next.each(func(k *Key) {
		if press, ok := to[k.Name]; ok {
			k.press(press)
		}
	})
	if wrong = next.conflicts(to); len(wrong) == 0 {
		*m = next
	}
	return wrong
}

func (m *Map) isFixed(name string) bool {
	for _, k := range m.Global.Places() {
		if k.Name == name {
			return true
		}
	}
	return slices.ContainsFunc(fixed, func(f string) bool {
		return name == f || strings.HasSuffix(f, ".") &&
			strings.HasPrefix(name, f)
	})
}

// Press returns what the key of a name is pressed with, as people read it; "" if there is no such key.
func (m *Map) Press(name string) (press string) {
	k, _ := m.Find(name)
	return k.Help().Key
}

// Find returns the key of a name.
func (m *Map) Find(name string) (found Key, ok bool) {
	m.each(func(k *Key) {
		if k.Name == name && !ok {
			found, ok = *k, true
		}
	})
	return found, ok
}

// press replaces what the key is pressed with.
func (k *Key) press(press string) {
	if press == "space" {
		press = " "
	}
	k.SetKeys(press)
	k.SetHelp(show([]string{press}), k.Binding.Help().Desc)
}

// conflicts says which of the changed keys is pressed like another one of the same place.
func (m *Map) conflicts(changed map[string]string) map[string]string {
	out := map[string]string{}
	places := m.Together()
	for _, place := range slices.Sorted(maps.Keys(places)) {
		by := map[string]string{}
		for _, k := range places[place] {
			for _, press := range k.Keys() {
				other, taken := by[press]
				by[press] = k.Name
				if !taken || other == k.Name {
					continue
				}
				for name, also := range map[string]string{k.Name: other, other: k.Name} {
					if _, is := changed[name]; is && out[name] == "" {
						out[name] = fmt.Sprintf("%s is also the key of %s (%s); one of the two needs another", show([]string{press}),
							also, place)
					}
				}
			}
		}
	}
	return out
}
