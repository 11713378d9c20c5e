package index

import (
	"bytes"
	"cmp"
	"encoding/json"
	"slices"
	"strconv"

	"opdeck/api"
	"opdeck/api/untrusted"
)

// Change is one field that differs between two states.
type Change struct {
	Path          string // "status", "sourceAmount.sum", "documents[GUID]"
	Before, After untrusted.Text
	Money         bool // Before and After are "EUR 12.5", exact
}

// Diff lists what differs between two states, in the order of the paths. Money
// is compared as numbers: 5 and 5.00 are the same. Documents are told apart by
// their guid, other lists by place. A missing field is "".
func Diff(a, b api.Operation) []Change {
	x, y := map[string]leaf{}, map[string]leaf{}
	flatten("", rawOf(a), x)
	flatten("", rawOf(b), y)
	var out []Change
	for path, was := range x {
		if is := y[path]; is.text != was.text {
			out = append(out, Change{path, untrusted.Text(was.text), untrusted.Text(is.text), was.money || is.money})
		}
	}
	for path, is := range y {
		if _, both := x[path]; !both && is.text != "" {
			out = append(out, Change{path, "", untrusted.Text(is.text), is.money})
		}
	}
	slices.SortFunc(out, func(a, b Change) int { return cmp.Compare(a.Path, b.Path) })
	return out
}

type leaf struct {
	text  string
	money bool
}

func rawOf(o api.Operation) json.RawMessage {
	b, err := json.Marshal(o)
	if err != nil {
		return nil // a made-up record that cannot be written has no fields
	}
	return b
}

func flatten(path string, raw json.RawMessage, out map[string]leaf) {
	raw = bytes.TrimSpace(raw)
	if len(raw) == 0 || string(raw) == "null" {
		return
	}
	switch raw[0] {
	case '{':
		var fields map[string]json.RawMessage
		if json.Unmarshal(raw, &fields) != nil {
			return
		}
		if m, ok := asMoney(raw, fields); ok {
			out[path] = leaf{m, true}
			return
		}
		for name, v := range fields {
			flatten(join(path, name), v, out)
		}
	case '[':
		var items []json.RawMessage
		if json.Unmarshal(raw, &items) != nil {
			return
		}
		for i, v := range items {
			flatten(path+"["+itemName(v, i)+"]", v, out)
		}
	case '"':
		var s string
		_ = json.Unmarshal(raw, &s) // valid: it was part of valid JSON
		out[path] = leaf{text: s}
	default:
		out[path] = leaf{text: string(raw)}
	}
}

func join(path, name string) string {
	if path == "" {
		return name
	}
	return path + "." + name
}

// asMoney reads an object that has units or nanos as an exact amount.
func asMoney(raw json.RawMessage, fields map[string]json.RawMessage) (string, bool) {
	_, units := fields["units"]
	_, nanos := fields["nanos"]
	var m api.Money
	if !units && !nanos || json.Unmarshal(raw, &m) != nil {
		return "", false
	}
	d, err := m.Decimal()
	if err != nil {
		return m.Raw(), true
	}
	return string(m.CurrencyCode) + " " + d.Text('f'), true
}

func itemName(raw json.RawMessage, i int) string {
	var o struct {
		GUID string `json:"guid"`
	}
	if json.Unmarshal(raw, &o) == nil && o.GUID != "" {
		return o.GUID
	}
	return strconv.Itoa(i)
}
