package config

import "strings"

// Presses are the keys of [keys] by name, written with dots or as one word in quotes: document.remove = "D".
func (c Config) Presses() map[string]string {
	out := map[string]string{}
	presses(c.Keys, "", func(name string, value any) {
		if press, ok := value.(string); ok {
			out[name] = press
		}
	})
	return out
}

func presses(all map[string]any, prefix string, f func(name string, value any)) {
	for name, value := range all {
		if more, ok := value.(map[string]any); ok {
			presses(more, prefix+name+".", f)
		} else {
			f(prefix+name, value)
		}
	}
}

func keyPath(name string) []string { return append([]string{"keys"}, strings.Split(name, ".")...) }

// KeyMistake is a mistake in the value of a key of [keys].
func (c Config) KeyMistake(what, name string) Mistake { return c.MistakeAt(what, keyPath(name)...) }

func (c *Config) checkKeys(k *checker) {
	presses(c.Keys, "", func(name string, value any) {
		if _, ok := value.(string); !ok {
			k.add(`must be a key in quotes, like "D"`, keyPath(name)...)
		}
	})
}
