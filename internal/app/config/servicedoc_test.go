package config

import (
	"os"
	"reflect"
	"regexp"
	"slices"
	"strings"
	"testing"
)

// keysOf are the keys of a section of the config.
func keysOf(section string) (keys []string) {
	for f := range reflect.TypeFor[Config]().Fields() {
		if f.Tag.Get("toml") != section {
			continue
		}
		for k := range f.Type.Fields() {
			keys = append(keys, k.Tag.Get("toml"))
		}
	}
	return keys
}

// TestEachAssumptionNamesItsSetting: docs/service.md gives each assumption the keys that change it, or says that there are
// none, and each key of [service] belongs to one.
func TestEachAssumptionNamesItsSetting(t *testing.T) {
	text, err := os.ReadFile("../../../docs/service.md")
	if err != nil {
		t.Fatal(err)
	}
	_, table, _ := strings.Cut(string(text), "## Gaps\n")
	named, rows, word := []string{}, 0, regexp.MustCompile("`(?:\\[(\\w+)\\] )?(\\w+)`")
	for line := range strings.Lines(table) {
		cells := strings.Split(strings.Trim(strings.TrimSpace(line), "|"), " | ")
		if !strings.HasPrefix(line, "| ") || strings.HasPrefix(line, "| Gap ") {
			continue
		}
		if rows++; len(cells) != 5 {
			t.Errorf("%d cells: %s", len(cells), line)
			continue
		}
		setting, section := strings.TrimSpace(cells[4]), ""
		if setting == "none" {
			continue
		}
		found := word.FindAllStringSubmatch(setting, -1)
		if len(found) == 0 {
			t.Errorf("%s: the setting %q is neither a key nor none", cells[0], setting)
		}
		for _, m := range found {
			if m[1] != "" {
				section = m[1]
			}
			if !slices.Contains(keysOf(section), m[2]) {
				t.Errorf("%s: [%s] has no key %s", cells[0], section, m[2])
			}
			if section == "service" {
				named = append(named, m[2])
			}
		}
	}
	if rows < 30 {
		t.Errorf("%d assumptions", rows)
	}
	for _, key := range keysOf("service") {
		if !slices.Contains(named, key) {
			t.Errorf("no assumption has the setting %s", key)
		}
	}
}
