package present

import (
	"strings"
	"time"

	"github.com/cockroachdb/apd/v3"

	"opdeck/api"
	"opdeck/api/untrusted"
	"opdeck/internal/domain/index"
	"opdeck/internal/domain/mask"
	"opdeck/internal/field"
	"opdeck/internal/format"
)

// Differences lists the differences between two states of an operation, the most important first.
func Differences(a, b api.Operation) []index.Change { return Important(index.Diff(a, b)) }

// entry reports whether a change is part of a list entry that was added, removed or changed in several fields, and
// describes it once: "documents[g-1]", "removed".
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

// timeOfChange is the path of the time of the last change.
const timeOfChange = "updatedAt"

// Important sorts changes by importance: status, money, the rest, and last the time of the change.
func Important(list []index.Change) []index.Change {
	var first, money, rest, last []index.Change
	for _, c := range list {
		switch {
		case c.Path == "status":
			first = append(first, c)
		case c.Money:
			money = append(money, c)
		case c.Path == timeOfChange:
			last = append(last, c)
		default:
			rest = append(rest, c)
		}
	}
	return append(append(append(first, money...), rest...), last...)
}

// FieldName is the catalogue's name of a change's field; other names come from outside.
func FieldName(c index.Change) string { return untrusted.Text(field.PathLabel(c.Path)).Line(120) }

// Value is a value of a change in at most max runes, exact for money; account numbers are masked if masking is on. A
// missing one is a dash.
func Value(o Options, c index.Change, v untrusted.Text, max int) string {
	switch {
	case v == "":
		return "–"
	case c.Money:
		return amount(string(v))
	case o.Zone != nil && field.IsTime(c.Path):
		if at, err := time.Parse(time.RFC3339Nano, string(v)); err == nil {
			return format.Time(at, o.Zone)
		}
	}
	return Held(o, c, v).Line(max)
}

// Held is the value of a field, masked if masking is on.
func Held(o Options, c index.Change, v untrusted.Text) untrusted.Text {
	return mask.Detail(api.Detail{Path: c.Path, Value: v}, o.Masked)
}

// amount reformats "EUR 12.5" as the console shows money; anything else is unchanged.
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
