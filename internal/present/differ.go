package present

import (
	"strings"

	"github.com/cockroachdb/apd/v3"

	"opdeck/api"
	"opdeck/api/untrusted"
	"opdeck/internal/domain/index"
	"opdeck/internal/domain/mask"
	"opdeck/internal/field"
	"opdeck/internal/format"
)

// Differences are what differs between two states of an operation, what people look for first.
func Differences(a, b api.Operation) []index.Change { return Important(index.Diff(a, b)) }

// entry reports whether a change is part of a list's entry that came, went or
// changed in several fields, and says that once: "documents[g-1]", "removed".
func entry(all []index.Change, c index.Change) (item, word string) {
	i := strings.IndexByte(c.Path, ']')
	if i < 0 {
		return "", ""
	}
	item = c.Path[:i+1]
	n, came, went := 0, true, true
	for _, o := range all {
		if strings.HasPrefix(o.Path, item) {
			n++
			came, went = came && o.Before == "", went && o.After == ""
		}
	}
	switch {
	case came:
		return item, "added"
	case went:
		return item, "removed"
	case n > 1:
		return item, "changed"
	}
	return "", ""
}

// Important puts what people look for first: status, then money, then the rest;
// the moment of the change itself last.
func Important(list []index.Change) []index.Change {
	var first, money, rest, last []index.Change
	for _, c := range list {
		switch {
		case c.Path == "status":
			first = append(first, c)
		case c.Money:
			money = append(money, c)
		case c.Path == "updatedAt":
			last = append(last, c)
		default:
			rest = append(rest, c)
		}
	}
	return append(append(append(first, money...), rest...), last...)
}

// FieldName is the field of a change by its name of the catalogue; others come from outside.
func FieldName(c index.Change) string { return untrusted.Text(field.PathLabel(c.Path)).Line(120) }

// Value is a value of a change in at most max characters, exact for money; account numbers are masked while masking is
// on. A missing one is a dash.
func Value(o Options, c index.Change, v untrusted.Text, max int) string {
	switch {
	case v == "":
		return "–"
	case c.Money:
		return amount(string(v))
	}
	return Held(o, c, v).Line(max)
}

// Held is what a field held, masked while masking is on.
func Held(o Options, c index.Change, v untrusted.Text) untrusted.Text {
	return mask.Detail(api.Detail{Path: c.Path, Value: v}, o.Masked)
}

// amount turns "EUR 12.5" into the console's way of writing money, digits of the
// currency and thousands grouped; anything else is shown as it is.
func amount(s string) string {
	code, number, ok := strings.Cut(s, " ")
	if !ok || number == "" || strings.Trim(number, "-.0123456789") != "" {
		return untrusted.Text(s).Line(200)
	}
	d, _, err := apd.NewFromString(number)
	if err != nil {
		return untrusted.Text(s).Line(200)
	}
	digits, _ := format.Digits(code)
	return format.Number(d, digits) + " " + untrusted.Text(code).Line(12)
}
