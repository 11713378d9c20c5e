package console

import (
	"slices"
	"testing"

	"opdeck/internal/domain/verdict"
	"opdeck/internal/domain/verdict/verdicttest"
	"opdeck/ui/keymap"
)

// TestKeysOfNextSteps: the keys that a next step names exist: the first one opens a place, the second one is a key of its
// screen.
func TestKeysOfNextSteps(t *testing.T) {
	m := keymap.New()
	screens := map[string][]keymap.Key{"limits": keymap.All(m.Tariffs), "session.status": keymap.All(m.Session),
		"event.list": keymap.All(m.Events), "audit.list": keymap.All(m.Audit)}
	tried := 0
	for name, one := range verdicttest.Incidents() {
		for _, f := range verdict.Conclude(one.Facts).Findings {
			keys := f.Next.Keys()
			if len(keys) == 0 {
				continue
			}
			own, opens := screens[keys[0]]
			if !opens || len(keys) > 2 || len(keys) == 2 && !has(own, keys[1]) || m.Press(keys[0]) == "" {
				t.Errorf("%s: there are no keys %q", name, keys)
			}
			tried++
		}
	}
	if tried < 20 {
		t.Errorf("only %d steps have keys", tried)
	}
}

func has(keys []keymap.Key, name string) bool {
	return slices.ContainsFunc(keys, func(k keymap.Key) bool { return k.Name == name })
}
