package hook

import (
	"bytes"
	"errors"
	"io"
	"mime"
	"mime/multipart"
	"net/url"
	"slices"
	"strings"

	"opdeck/api/jsontree"
)

// MaxParts bounds the deliveries in one body.
const MaxParts = 1000

// Unreadable is the error of a body without a recognisable delivery. It is not acknowledged, so that the sender
// retries.
type Unreadable struct{ Detail string } // a sentence, safe to print

func (u *Unreadable) Error() string { return u.Detail }

func unreadable(detail string) error { return &Unreadable{Detail: detail} }

// Parts returns the deliveries in a body, each as the JSON object that was sent, usually the body itself. It undoes
// compression, byte order marks, form fields, JSON in a JSON string, wrappers and lists. contentType and encoding are
// the header fields; at most most bytes are unpacked. The error is always an *Unreadable.
func Parts(body []byte, contentType, encoding string, most int) ([][]byte, error) {
	plain, err := jsontree.Unpack(body, encoding, most)
	var coding *jsontree.CodingError
	switch {
	case errors.As(err, &coding):
		return nil, unreadable("Its body has the content coding " + coding.Name +
			", which is not supported. Use gzip, deflate or none.")
	case errors.Is(err, jsontree.ErrTooLarge):
		return nil, unreadable("Its body is too large once it is unpacked.")
	case err != nil:
		return nil, unreadable("Its compressed body cannot be unpacked.")
	}
	return parts(formField(plain, contentType), 0)
}

const maxWrapping = 3

func parts(b []byte, depth int) ([][]byte, error) {
	tree, err := jsontree.Parse(b)
	if err != nil {
		return nil, unreadable("Its body is neither JSON, nor a form with JSON in a field, nor compressed JSON.")
	}
	defer tree.Free()
	v := tree.Root()
	if v.Kind() == jsontree.String && depth < maxWrapping {
		return parts([]byte(v.Text()), depth+1)
	}
	var out [][]byte
	for _, d := range deliveries(v, 0) {
		if d == v {
			return [][]byte{b}, nil // unchanged, with the white space around it
		}
		out = append(out, bytes.Clone(d.Raw()))
	}
	switch {
	case len(out) == 0:
		return nil, unreadable("Its body contains no delivery with a hook_id. It contains " + v.Keys() + ".")
	case len(out) > MaxParts:
		return nil, unreadable("Its body contains more than 1,000 deliveries.")
	}
	return out, nil
}

// envelopeNames are the member names that identify a delivery.
var envelopeNames = []string{"hook_id", "hook_type"}

// deliveries returns the deliveries in v: v itself, its elements, or those under the only member that holds any.
func deliveries(v jsontree.Value, depth int) []jsontree.Value {
	var out []jsontree.Value
	switch {
	case depth > maxWrapping:
	case v.Kind() == jsontree.Array:
		for _, it := range v.Members() {
			found := deliveries(it, depth+1)
			if len(found) == 0 {
				return nil // an element that is not a delivery would be lost
			}
			out = append(out, found...)
		}
	case v.Kind() != jsontree.Object:
	case slices.ContainsFunc(envelopeNames, func(name string) bool { return v.Named(name).Kind() != 0 }):
		return []jsontree.Value{v}
	default:
		for _, m := range v.Members() {
			found := deliveries(m, depth+1)
			if len(found) > 0 && len(out) > 0 {
				return nil
			}
			out = append(out, found...)
		}
	}
	return out
}

// formField returns the only field of a form that holds JSON; any other body unchanged.
func formField(b []byte, contentType string) []byte {
	kind, params, err := mime.ParseMediaType(contentType)
	trimmed := bytes.TrimSpace(b)
	if err != nil || len(trimmed) == 0 || trimmed[0] == '{' || trimmed[0] == '[' {
		return b
	}
	var fields []string
	switch kind {
	case "application/x-www-form-urlencoded":
		values, err := url.ParseQuery(string(trimmed))
		if err != nil {
			return b
		}
		for name, all := range values {
			fields = append(fields, all...)
			fields = append(fields, name) // JSON sent as a form is a field name without a value
		}
	case "multipart/form-data":
		form := multipart.NewReader(bytes.NewReader(b), params["boundary"])
		for part, err := form.NextPart(); err == nil; part, err = form.NextPart() {
			if text, err := io.ReadAll(part); err == nil {
				fields = append(fields, string(text))
			}
		}
	}
	fields = slices.DeleteFunc(fields, func(s string) bool {
		s = strings.TrimSpace(s)
		return s == "" || s[0] != '{' && s[0] != '['
	})
	if len(fields) != 1 {
		return b
	}
	return []byte(fields[0])
}
