package console

import (
	"strings"
	"testing"

	"opdeck/internal/domain/verdict"
	"opdeck/internal/domain/verdict/verdicttest"
	"opdeck/ui/keymap"
)

// TestKeysOfNextSteps: the keys that a next step names exist: the first one everywhere, the second one on the screen that
// the first one opens.
func TestKeysOfNextSteps(t *testing.T) {
	m := keymap.New()
	screens := map[string][]keymap.Key{"5": keymap.All(m.Tariffs), "6": keymap.All(m.Session), "7": keymap.All(m.Events),
		"8": keymap.All(m.Audit)}
	tried := 0
	for name, one := range verdicttest.Incidents() {
		for _, f := range verdict.Conclude(one.Facts).Findings {
			if f.Next.Key == "" {
				continue
			}
			first, second, more := strings.Cut(f.Next.Key, ", then ")
			own, opens := screens[first]
			if !opens || more && !has(own, second) || !has(keymap.All(m.Global), first) {
				t.Errorf("%s: there are no keys %q", name, f.Next.Key)
			}
			tried++
		}
	}
	if tried < 20 {
		t.Errorf("only %d steps have keys", tried)
	}
}

func has(keys []keymap.Key, label string) bool {
	for _, k := range keys {
		if k.Help().Key == label {
			return true
		}
	}
	return false
}
