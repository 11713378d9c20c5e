package capsule

import (
	"slices"
	"strconv"
	"time"

	"opdeck/api/pattern"
)

// shownKeys are the settings whose text is shown: words of ours, addresses, and names of the service's members. Of all
// others only whether they are set is.
var shownKeys = []string{"base_url", "kind", "approval", "role", "policy", "paging", "page_name", "page_size_name",
	"cursor_name", "cursor_field", "list_field", "share_token_field", "theme", "time_zone", "verify", "algorithms",
	"priority", "listen", "metrics", "engine", "columns"}

var settingShape = pattern.New(`^[A-Za-z][A-Za-z0-9 ._\[\]-]{0,60}$|^https?://[A-Za-z0-9.:\[\]-]{1,255}/?$|` +
	`^[0-9A-Za-z.\[\]:-]{0,80}:[0-9]{1,5}$`)

// Settings returns the settings of a config that tell how it works, without names, paths, filters and secrets. keys are
// the names of keys; the key of anything else is a name that a person chose.
func Settings(m map[string]any, keys map[string]bool, n Names) map[string]any {
	out := map[string]any{}
	for k, v := range m {
		name := k
		if !keys[k] {
			name = n.Of("name", k)
		}
		out[name] = setting(k, v, keys, n)
	}
	return out
}

func setting(key string, v any, keys map[string]bool, n Names) any {
	switch v := v.(type) {
	case map[string]any:
		return Settings(v, keys, n)
	case []any:
		out := make([]any, len(v))
		for i, one := range v {
			out[i] = setting(key, one, keys, n)
		}
		return out
	case string:
		return shown(key, v)
	case bool, int64, float64, time.Time:
		return v
	}
	return "set"
}

// shown is the text of a setting, or whether it is set.
func shown(key, v string) string {
	_, notDuration := time.ParseDuration(v)
	_, notBool := strconv.ParseBool(v)
	switch {
	case v == "", notDuration == nil, notBool == nil, v == "forever":
		return v
	case key == "url":
		return "set"
	case slices.Contains(shownKeys, key) && settingShape.MatchString(v):
		return v
	}
	return "set"
}
