package mask

import (
	"cmp"
	"encoding/json"
	"strings"

	"opdeck/api"
	"opdeck/api/redact"
	"opdeck/api/untrusted"
)

// Detail is the value of a field, masked if masked is true: as in JSON at the path of the field, which may be its
// label; a value that is JSON is masked inside.
func Detail(d api.Detail, masked bool) untrusted.Text {
	s, path := string(d.Value), cmp.Or(d.Path, d.Label)
	switch {
	case !masked:
	case strings.HasPrefix(s, "{") || strings.HasPrefix(s, "["):
		return untrusted.Text(within(path, []byte(s)))
	case s != "true" && s != "false" && s != "–":
		return untrusted.Text(hide(s, holds(levels(path), s)))
	}
	return d.Value
}

// hide is the masked form of a text of that kind.
func hide(s string, is redact.Kind) string {
	switch {
	case s == "":
		return ""
	case is == redact.Secret:
		return redact.Dots
	case is == redact.Personal:
		return redact.Person(s)
	case is == redact.Number:
		return string(redact.LastFour(untrusted.Text(s)))
	}
	inner := strings.TrimSpace(s)
	switch {
	case inner != "" && (inner[0] == '{' || inner[0] == '[') && json.Valid([]byte(inner)):
		return string(as(is, []byte(s)))
	case is == redact.Prose:
		return redact.Said(address(s))
	}
	return redact.Text(address(s))
}
