package present

import (
	"encoding/json"
	"regexp"
	"strconv"
	"strings"
	"time"
	"unicode"
	"unicode/utf8"

	"opdeck/api"
	"opdeck/api/untrusted"
	"opdeck/internal/domain/mask"
	"opdeck/internal/field"
	"opdeck/internal/format"
)

// FactsOf returns the facts of a record's field: its value and a note if that is suspicious.
func FactsOf[T any](o Options, f field.Field[T], r T) []Fact {
	switch f.Kind {
	case field.Money:
		return o.Money(f.Name, f.Money(r))
	case field.Time:
		return []Fact{o.Moment(f.Name, f.Time(r))}
	case field.Count:
		return []Fact{{Label: f.Name, Value: exactCount(f, r)}}
	case field.Lock:
		return []Fact{lockFact(f.Lock(r), "it cannot be removed or replaced")}
	case field.Flag:
		return []Fact{{Label: f.Name, Value: f.YesNo(r), Copy: f.YesNo(r)}}
	}
	if f.Status {
		return []Fact{o.Status(f.Name, f.Text(r))}
	}
	return Text(f.Name, shown(o, f, r), "–")
}

// exactCount is a number as a fact: bytes are rounded, with the exact number.
func exactCount[T any](f field.Field[T], r T) string {
	switch n := f.Count(r); {
	case !f.IsReported(r):
		return "–"
	case f.Bytes:
		return format.Size(int64(n)) + " (" + format.Count(n) + " bytes)"
	default:
		return format.Count(n)
	}
}

// Fields returns the facts of these fields of a record.
func Fields[T any](o Options, c *field.Catalogue[T], r T, names ...string) []Fact {
	var out []Fact
	for _, name := range names {
		out = append(out, FactsOf(o, c.Get(name), r)...)
	}
	return out
}

// rest lists the catalogue's fields that are not in known, in its order, so that a new field is shown without further
// code.
func rest[T any](c *field.Catalogue[T], known ...[]string) []string {
	placed := map[string]bool{}
	for _, list := range known {
		for _, name := range list {
			placed[name] = true
		}
	}
	var out []string
	for _, f := range c.All() {
		if !placed[f.Name] {
			out = append(out, f.Name)
		}
	}
	return out
}

// Text is a text from outside as facts: the safe text and a note if it is suspicious. none replaces an empty text; if
// none is empty too, there is no fact.
func Text(label string, u untrusted.Text, none string) []Fact {
	switch {
	case u == "" && none == "":
		return nil
	case u == "":
		return []Fact{{Label: label, Value: none, Tone: Dim}}
	}
	out := []Fact{{Label: label, Value: u.Line(1200), Long: true, Copy: string(u)}}
	if odd := format.Suspicious(u); odd != "" {
		out = append(out, Fact{Label: "  ! unsafe text", Value: odd, Tone: Warn, Long: true, Note: true})
	}
	return out
}

// Texts is Text for alternating labels and texts; empty texts are omitted.
func Texts(labelsAndTexts ...string) []Fact {
	var out []Fact
	for i := 0; i+1 < len(labelsAndTexts); i += 2 {
		out = append(out, Text(labelsAndTexts[i], untrusted.Text(labelsAndTexts[i+1]), "")...)
	}
	return out
}

// Money is an amount as facts; one that is not a number is also shown raw.
func (o Options) Money(label string, m api.Money) []Fact {
	if m.Empty() {
		return []Fact{{Label: label, Value: format.Money(m), Tone: Dim, What: "the amount", Amount: true}}
	}
	out := []Fact{{Label: label, Value: format.Money(m), Copy: plainMoney(m), What: "the amount", Amount: true}}
	if _, err := m.Decimal(); err != nil {
		said := "cannot be trusted: " + err.Error() + ": " + untrusted.Text(m.Raw()).Line(300)
		out = append(out, Fact{Label: "! " + label, Value: said, Tone: Warn, Long: true, Note: true})
	}
	return out
}

// plainMoney is an amount for other programs, without thousands separators.
func plainMoney(m api.Money) string { return strings.ReplaceAll(format.Money(m), ",", "") }

// clockError is by how much clocks differ without a warning.
const clockError = time.Minute

// Moment is a time as a fact, with a warning if it is ahead of this clock; an unreadable one is shown raw.
func (o Options) Moment(label string, t api.Time) Fact {
	out := Fact{Label: label, Copy: string(t.Raw), What: "the moment"}
	switch {
	case t.IsZero() && t.Raw == "":
		out.Value, out.Tone = "–", Dim
	case t.IsZero():
		out.Value, out.Tone = "unreadable: "+t.Raw.Quoted(), Warn
	case o.Zone == nil:
		out.Value = t.Raw.Line(40)
	default:
		out.Value = o.moment(t.Time)
		if !o.Now.IsZero() && t.Sub(o.Now) > clockError { // a record cannot tell of a later time
			ahead, _ := format.Age(o.Now, t.Time)
			out.Value, out.Tone = format.Time(t.Time, o.Zone)+"  "+o.sign(SignWarn)+ahead+" ahead of this clock", Warn
		}
	}
	return out
}

// Details returns values that may identify a person.
func (o Options) Details(list []api.Detail) []Fact {
	out := make([]Fact, len(list))
	for i, d := range list {
		value := mask.Detail(d, o.Masked)
		f := Fact{Name: d.Label, Label: memberLabel(d.Label), Value: value.Line(2000), Long: true, Copy: string(value)}
		switch whole := value == d.Value; {
		case whole && !d.At.IsZero() && o.Zone != nil:
			f.Value = format.Time(d.At.Time, o.Zone)
		case whole && !d.Money.Empty():
			f.Value = format.Money(d.Money)
		case d.Odd && o.Sign != nil:
			f.Value, f.Tone = f.Value+"  "+o.Sign(SignWarn)+" cannot be read", Warn
		case d.Odd:
			f.Value, f.Tone = f.Value+" (cannot be read)", Warn
		case value.Flags().Suspicious():
			f.Value, f.Tone = format.Suspicious(value), Warn
		default:
			f.Value = listed(value).Line(2000)
		}
		out[i] = f
	}
	return out
}

// More returns members of a record without a Go field, at most limit of them; left is how many are omitted.
func (o Options) More(unknown []api.Field, limit int) (facts []Fact, left int) {
	n := min(len(unknown), limit)
	return o.Details(api.Details(unknown[:n])), len(unknown) - n
}

// listed is a JSON list of texts as a text; others are unchanged.
func listed(value untrusted.Text) untrusted.Text {
	var list []string
	if !strings.HasPrefix(string(value), "[") || json.Unmarshal([]byte(value), &list) != nil || len(list) == 0 {
		return value
	}
	return untrusted.Text(strings.Join(list, ", "))
}

// memberLabels are members that a label says better than their own words.
var memberLabels = map[string]string{"operationLimit": "limit per operation"}

// listItem is the place of an item in a path.
var listItem = regexp.MustCompile(`\[[0-9]{1,6}\]\.?`)

// memberLabel is the label of a member without a Go field: its words in lower case, "daily limit" for dailyLimit,
// "created" for createdAt.
func memberLabel(path string) string {
	if label, known := memberLabels[path]; known {
		return label
	}
	var b strings.Builder
	var last rune
	for i, r := range path {
		next, _ := utf8.DecodeRuneInString(path[i+utf8.RuneLen(r):])
		switch {
		case !unicode.IsUpper(r):
			b.WriteRune(r)
		case unicode.IsLower(last) || unicode.IsDigit(last):
			b.WriteByte(' ')
			fallthrough
		default:
			if unicode.IsLower(next) {
				r = unicode.ToLower(r)
			}
			b.WriteRune(r)
		}
		last = r
	}
	out := listItem.ReplaceAllStringFunc(b.String(), func(at string) string {
		n, _ := strconv.Atoi(strings.Trim(at, "[].")) // from 0, of few digits
		return " " + strconv.Itoa(n+1) + " "
	})
	out = strings.TrimSpace(strings.ReplaceAll(out, ".", " "))
	if short, timed := strings.CutSuffix(out, " at"); timed && short != "" {
		return short
	}
	return out
}
