package hook

import (
	"encoding/json"
	"errors"
	"strconv"
	"strings"

	"opdeck/api/jsontree"
)

// parse parses one JSON text and refuses what JSON parsers read differently: see jsontree.Doubt.
func parse(b []byte) (*jsontree.Tree, *Malformed) {
	t, doubt, err := jsontree.ParseStrict(b)
	if err != nil {
		return nil, invalid(err)
	}
	if doubt.Kind == jsontree.NoDoubt {
		return t, nil
	}
	t.Free()
	bad := doubts[doubt.Kind]
	bad.Detail += " (byte " + strconv.Itoa(doubt.At) + ")"
	return t, &bad
}

var doubts = map[jsontree.DoubtKind]Malformed{
	jsontree.TooDeep:   {Reason: ReasonDepth, Detail: tooDeep},
	jsontree.Duplicate: {Reason: ReasonDuplicate, Detail: "a name occurs twice in one object"},
	jsontree.NotUTF8:   {Reason: ReasonEncoding, Detail: "a byte is not UTF-8"},
	jsontree.Halved:    {Reason: ReasonEncoding, Detail: "half a surrogate pair"},
}

var tooDeep = "nested deeper than " + strconv.Itoa(jsontree.MaxDepth) + " levels"

// invalid is the error of a text that is not JSON, with the position.
func invalid(err error) *Malformed {
	var at *json.SyntaxError
	if !errors.As(err, &at) {
		return &Malformed{Reason: ReasonJSON, Detail: "not JSON"}
	}
	place := " (byte " + strconv.FormatInt(at.Offset, 10) + ")"
	if strings.Contains(at.Error(), "max depth") {
		return &Malformed{Reason: ReasonDepth, Detail: tooDeep + place}
	}
	return &Malformed{Reason: ReasonJSON, Detail: "not one JSON value" + place}
}
