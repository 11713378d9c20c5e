package sandbox

import (
	"bytes"
	"encoding/json"
	"reflect"
	"strconv"
	"strings"
)

// object is a JSON object with ordered fields: name, value, name, value … A name that ends in ",omitempty" omits its
// field if it is zero.
type object []any

// MarshalJSON writes the fields in order.
func (o object) MarshalJSON() ([]byte, error) {
	b := []byte{'{'}
	for i := 0; i < len(o); i += 2 {
		name, optional := strings.CutSuffix(o[i].(string), ",omitempty")
		if optional && reflect.ValueOf(o[i+1]).IsZero() {
			continue
		}
		if len(b) > 1 {
			b = append(b, ',')
		}
		b = append(strconv.AppendQuote(b, name), ':')
		b = append(b, encode(o[i+1])...)
	}
	return append(b, '}'), nil
}

// action is the body of answers to acts.
func action(success bool, message string) object {
	return object{"success", success, "message", message}
}

// item wraps a single resource.
func item(v any) object { return object{"item", v} }

// patch is an unordered JSON object, or a merge patch.
type patch map[string]any

// encode writes JSON without the HTML escapes of encoding/json.
func encode(v any) json.RawMessage {
	var b bytes.Buffer
	e := json.NewEncoder(&b)
	e.SetEscapeHTML(false)
	if err := e.Encode(v); err != nil {
		panic(err) // our own types
	}
	return bytes.TrimRight(b.Bytes(), "\n")
}

// decode decodes JSON; numbers keep their digits.
func decode(raw []byte, v any) error {
	d := json.NewDecoder(bytes.NewReader(raw))
	d.UseNumber()
	return d.Decode(v)
}

// mergePatch applies p to the object in raw (RFC 7396, but null stays null, so
// that a field can be shown as null).
func mergePatch(raw, p []byte) json.RawMessage {
	var base, over map[string]any
	if decode(raw, &base) != nil || decode(p, &over) != nil {
		return raw
	}
	merge(base, over)
	return encode(base)
}

func merge(base, over map[string]any) {
	for k, v := range over {
		inner, ok := v.(map[string]any)
		if under, has := base[k].(map[string]any); ok && has {
			merge(under, inner)
			continue
		}
		base[k] = v
	}
}
